"""Checks of a problem's input that need more than one array: index pairs, scales, equal examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, first_index
from covmetric.problem.terms import PairTerms

# A sum of up to 1e8 terms of this size is still finite in double precision.
_LARGEST_LOSS_SCALE = 1e300


def check_pairs(pairs: Any, n_examples: int) -> IntArray:
    """Return index pairs as a C-contiguous array of int64.

    Parameters
    ----------
    pairs : array-like of int of shape (K, 2)
        The pairs.
    n_examples : int
        The number of examples that they index.

    Returns
    -------
    array of int of shape (K, 2)
        A copy.

    Raises
    ------
    ValueError
        If there are no pairs, or if they have the wrong shape or type, or if an index is out of range.
    """
    array = np.asarray(pairs)
    if array.size == 0:
        raise ValueError("pairs is empty: at least one pair is needed")
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"pairs must have shape (K, 2), got {array.shape}")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"pairs must be integers (indices into embedded), got dtype {array.dtype}")
    outside = (array < 0) | (array >= n_examples)
    if outside.any():
        where = first_index(outside)
        raise ValueError(f"pairs{where} is {array[tuple(where)]}: it must be in 0..{n_examples - 1}")
    return np.array(array, dtype=np.int64, order="C")


def check_kept(keep: Any, n_pairs: int) -> IntArray:
    """Return the indices of the pairs to keep.

    Parameters
    ----------
    keep : array-like of int or bool, or None
        Indices from -n_pairs to n_pairs - 1, or one Boolean per pair. None keeps all pairs.
    n_pairs : int
        The number of pairs.

    Returns
    -------
    array of int of shape (n_kept,)
        Indices from 0 to n_pairs - 1, in the order of `keep`.

    Raises
    ------
    ValueError
        If `keep` has the wrong shape or type, or if an index is out of range.

    Examples
    --------
    >>> check_kept([False, True, True], 3), check_kept([2, -3], 3)
    (array([1, 2]), array([2, 0]))
    """
    if keep is None:
        return np.arange(n_pairs)
    try:
        chosen = np.asarray(keep)
    except ValueError as error:
        raise ValueError(f"keep must be a list of indices, or of one Boolean per pair: {error}") from None
    if chosen.ndim == 1 and chosen.size == 0:
        return np.arange(0)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iub":
        raise ValueError(
            f"keep must be a list of indices, or of one Boolean per pair; got {chosen.dtype} of shape {chosen.shape}"
        )
    if chosen.dtype.kind == "b":
        if len(chosen) != n_pairs:
            raise ValueError(f"keep must have one Boolean per pair: it has {len(chosen)}, there are {n_pairs} pairs")
        return np.flatnonzero(chosen)
    outside = (chosen < -n_pairs) | (chosen >= n_pairs)
    if outside.any():
        where = first_index(outside)
        raise ValueError(f"keep{where} is {chosen[tuple(where)]}: it must be in 0..{n_pairs - 1}")
    kept: IntArray = np.arange(n_pairs)[chosen]
    return kept


@np.errstate(all="ignore")  # this function detects overflow
def check_scale(terms: PairTerms, squared_norms: FloatArray, start: int = 0) -> None:
    """Raise ValueError if the objective overflows, or if a pair has an infinite loss in every metric.

    Parameters
    ----------
    terms : PairTerms
        The pairs.
    squared_norms : array of shape (K,)
        The squared distances of the pairs at W = I.
    start : int, default=0
        The number of the first pair, if they are a block of a larger problem.

    Raises
    ------
    ValueError
        If a squared distance is too far from its bound for its loss to be computed, or if a pair of equal examples is
        dissimilar and its loss is infinite.
    """
    ratios = squared_norms / terms.bounds
    losses = terms.weights * terms.slack.divergence(np.where(squared_norms > 0.0, ratios, 1.0))
    too_far = ~(np.isfinite(ratios) & np.isfinite(losses) & (ratios * terms.weights < _LARGEST_LOSS_SCALE))
    if too_far.any():
        k = first_index(too_far)[0]
        raise ValueError(
            f"{_name(terms, k, start)} is too far from its bound: with the squared distance {squared_norms[k]:.3g}, "
            f"bounds[{start + k}] = {terms.bounds[k]:.3g} and weights[{start + k}] = {terms.weights[k]:.3g} the "
            "objective overflows; rescale the examples or the bounds"
        )
    coincident = terms.coincident
    if coincident.any() and np.isinf(terms.slack.divergence(np.zeros(1)))[0]:
        k = first_index(coincident)[0]
        raise ValueError(
            f"{_name(terms, k, start)} is dissimilar, but its examples are equal (F = 0): with slack "
            f"{terms.slack.name!r} its loss is infinite; leave the pair out, or choose slack 'l2' or 're'"
        )


def _name(terms: PairTerms, k: int, start: int) -> str:
    i, j = terms.sums.pairs[k]
    return f"pair {start + k} ({i}, {j})"
