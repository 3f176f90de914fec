"""Votes of neighbours, and how many neighbours there may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray, is_count


def check_n_neighbors(n_neighbors: Any) -> None:
    """Raise ValueError unless a number of neighbours is an integer >= 1.

    Parameters
    ----------
    n_neighbors : int
        The number.
    """
    if not (is_count(n_neighbors) and n_neighbors >= 1):
        raise ValueError(f"n_neighbors must be an integer >= 1, got {n_neighbors!r}")


def available_neighbors(n_neighbors: Any, available: int) -> int:
    """Return the number of neighbours; raise ValueError if there are not enough.

    Parameters
    ----------
    n_neighbors : int
        The number.
    available : int
        The number of examples to find.

    Returns
    -------
    int
    """
    check_n_neighbors(n_neighbors)
    if n_neighbors > available:
        raise ValueError(f"n_neighbors is {n_neighbors}, but there are only {available} training examples to find")
    return int(n_neighbors)


def count_votes(votes: IntArray, n_classes: int, valid: npt.NDArray[np.bool_] | None = None) -> FloatArray:
    """Return the fraction of the votes that each class gets.

    Parameters
    ----------
    votes : array of int, shape (l, k)
        The classes of the neighbours, 0..n_classes-1.
    n_classes : int
        The number of classes.
    valid : array of bool, shape (l, k), or None, default=None
        The votes that count; None: all.

    Returns
    -------
    array of shape (l, n_classes)
        Rows sum to 1, or to 0 where no vote counts.
    """
    counts = np.zeros((len(votes), n_classes))
    np.add.at(counts, (np.arange(len(votes))[:, None], votes), 1.0 if valid is None else valid.astype(float))
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
