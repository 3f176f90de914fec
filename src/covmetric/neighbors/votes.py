"""The votes of neighbours, and checks of their number."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray, is_count


def check_n_neighbors(n_neighbors: Any) -> None:
    """Raise ValueError unless the number of neighbours is an integer >= 1.

    Parameters
    ----------
    n_neighbors : int
        The number of neighbours.

    Raises
    ------
    ValueError
        If it is not an integer, or if it is less than 1.
    """
    if not (is_count(n_neighbors) and n_neighbors >= 1):
        raise ValueError(f"n_neighbors must be an integer >= 1, got {n_neighbors!r}")


def available_neighbors(n_neighbors: Any, available: int) -> int:
    """Check that enough examples are available for a number of neighbours, and return the number.

    Parameters
    ----------
    n_neighbors : int
        The number of neighbours.
    available : int
        The number of examples that can be neighbours.

    Returns
    -------
    int
        The number of neighbours, as a Python int.

    Raises
    ------
    ValueError
        If the number is not an integer >= 1, or exceeds the number of examples.
    """
    check_n_neighbors(n_neighbors)
    if n_neighbors > available:
        raise ValueError(
            f"n_neighbors is {n_neighbors}, but there are only {available} training examples to choose from; lower it"
        )
    return int(n_neighbors)


def count_votes(votes: IntArray, n_classes: int, valid: npt.NDArray[np.bool_] | None = None) -> FloatArray:
    """Return the fraction of the votes for each class.

    Parameters
    ----------
    votes : array of int of shape (l, k)
        The classes of the neighbours, from 0 to n_classes - 1.
    n_classes : int
        The number of classes.
    valid : array of bool of shape (l, k) or None, default=None
        Whether each vote counts. None means that all votes count.

    Returns
    -------
    array of shape (l, n_classes)
        Fractions that sum to 1 in each row, or to 0 if no vote of the row counts.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.neighbors.votes import count_votes
    >>> count_votes(np.array([[0, 2, 2, 2]]), n_classes=3)
    array([[0.25, 0.  , 0.75]])
    """
    counts = np.zeros((len(votes), n_classes))
    np.add.at(counts, (np.arange(len(votes))[:, None], votes), 1.0 if valid is None else valid.astype(float))
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
