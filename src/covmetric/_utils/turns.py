"""The choice of a few examples of all classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from covmetric._utils.validation import IntArray


def choose_in_turn(labels: Sequence[Hashable], count: int, first: IntArray | None = None) -> IntArray:
    """Choose examples in turn by class.

    Parameters
    ----------
    labels : sequence of l labels
        The classes.
    count : int
        The largest number of examples.
    first : array of int or None, default=None
        Examples that come first.

    Returns
    -------
    array of int
        The indices of the chosen examples.

    Examples
    --------
    >>> choose_in_turn(["a", "a", "a", "b", "b"], 4)
    array([0, 3, 1, 4])
    """
    places: dict[Hashable, int] = {}
    seen: dict[Hashable, int] = {}
    turns = []
    for i, label in enumerate(labels):
        seen[label] = seen.get(label, 0) + 1
        turns.append((seen[label], places.setdefault(label, len(places)), i))
    leading = [] if first is None else [int(i) for i in first]
    rest = [i for _, _, i in sorted(turns) if i not in set(leading)]
    return np.array([*leading, *rest][:count], dtype=np.int64)
