"""The groups of examples (sessions, people), as users pass them."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import IntArray


def group_labels(groups: Any, n_examples: int) -> list[Any]:
    """Return the group of each example.

    Parameters
    ----------
    groups : array-like of shape (l,), scalar or None
        The group of each example, or one group for all of them. None is a group, too.
    n_examples : int
        The number of examples l.

    Returns
    -------
    list of length l
        Python scalars, such as str and int, which can be keys of a dict.

    Raises
    ------
    ValueError
        If there is not one group per example, or if an entry is missing.
    """
    if groups is None or np.ndim(groups) == 0:
        return [np.asarray(groups).item()] * n_examples
    array = np.asarray(groups)
    if array.shape != (n_examples,):
        raise ValueError(
            f"groups must have one entry per example, shape ({n_examples},), got {array.shape}; pass the groups of the "
            "same examples as X"
        )
    labels: list[Any] = array.tolist()
    for i, label in enumerate(labels):
        if label is None or not _equal_to_itself(label):
            raise ValueError(f"groups[{i}] is {label!r}: every example needs a group, a text or a number")
    return labels


def _equal_to_itself(label: Any) -> bool:
    """Return False for NaN, NaT and the NA of pandas, whose comparisons have no truth value."""
    try:
        return bool(label == label)
    except TypeError:
        return False


def positions_by_label(labels: list[Any]) -> dict[Any, IntArray]:
    """Return the positions of each label, in the order of the first appearance.

    Parameters
    ----------
    labels : list
        The group of each example.

    Returns
    -------
    dict from label to array of int
        The positions of the examples of each group, ascending.
    """
    positions: dict[Any, list[int]] = {}
    for i, label in enumerate(labels):
        positions.setdefault(label, []).append(i)
    return {label: np.array(index, dtype=np.int64) for label, index in positions.items()}


def group_numbers(labels: list[Any]) -> IntArray:
    """Number the groups in the order of their first appearance.

    Parameters
    ----------
    labels : list of length l
        The group of each example.

    Returns
    -------
    array of int of shape (l,)
        The number of the group of each example.

    Examples
    --------
    >>> group_numbers(["Monday", None, "Monday"]).tolist()
    [0, 1, 0]
    """
    numbers = np.empty(len(labels), dtype=np.int64)
    for number, index in enumerate(positions_by_label(labels).values()):
        numbers[index] = number
    return numbers


def group_name(label: Any) -> str:
    """Return how messages name a group.

    Parameters
    ----------
    label : object
        The group.

    Returns
    -------
    str
        The name.
    """
    return "the group of examples without groups" if label is None else f"group {label!r}"
