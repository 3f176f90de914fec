"""The lower triangles of A_k = F_k F_k^T, one row per pair, and sums over the rows.

A large array is filled and summed up by compiled loops. Small problems do without them, and without the time to load
Numba.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from covmetric._utils.half_vectors import HalfVectors
from covmetric._utils.tuning import COMPILED_FROM_BYTES, LOOPS_UP_TO_ROWS
from covmetric._utils.validation import FloatArray, IntArray

# Pairs that are summed up at a time: the error of a sum grows with its number of terms. `compiled.signed_sums` has the
# same number.
_SUM_BLOCK = 1024


@functools.cache
def _compiled_sums() -> Any:
    """Import the compiled sums once, because even a repeated import statement takes a few microseconds."""
    from covmetric.problem import compiled

    return compiled


def fill_triangles(
    triangles: FloatArray,
    rows: FloatArray,
    pairs: IntArray,
    chunks: Iterable[tuple[slice, FloatArray]],
    half: HalfVectors,
) -> None:
    """Compute the lower triangles of the A_k of all pairs.

    Parameters
    ----------
    triangles : array of shape (K, n(n+1)/2)
        The array that receives the triangles.
    rows : array of shape (l, m, n)
        The embedded examples, each transposed.
    pairs : array of int of shape (K, 2)
        Indices into `rows`.
    chunks : iterable of tuples of a slice and an array of shape (q, m, n)
        Consecutive parts of the pairs with their transposed differences. Compiled loops do not need them.
    half : HalfVectors
        The half vectors of n x n matrices.
    """
    if triangles.nbytes >= COMPILED_FROM_BYTES and half.n <= LOOPS_UP_TO_ROWS:
        _compiled_sums().lower_triangles(rows, pairs, triangles)
    else:
        for part, F in chunks:
            half.lower(np.matmul(np.swapaxes(F, 1, 2), F), out=triangles[part])


def signed_sums(weights: FloatArray, triangles: FloatArray) -> FloatArray:
    """Return the sums of w_k triangle_k over the positive weights, and of -w_k triangle_k over the negative ones.

    Blocks of rows are summed up first, which keeps the bound on the rounding error small.

    Parameters
    ----------
    weights : array of shape (K,)
        The weights w_k, of either sign.
    triangles : array of shape (K, p)
        The triangles.

    Returns
    -------
    array of shape (2, p)
    """
    if triangles.nbytes >= COMPILED_FROM_BYTES:
        sums = np.empty((2, triangles.shape[1]))
        _compiled_sums().signed_sums(triangles, weights, *sums)
        return sums
    parts = np.empty((2, len(weights)))
    np.maximum(weights, 0.0, out=parts[0])
    np.subtract(parts[0], weights, out=parts[1])
    total = parts[:, :_SUM_BLOCK] @ triangles[:_SUM_BLOCK]
    for start in range(_SUM_BLOCK, len(triangles), _SUM_BLOCK):
        total += parts[:, start : start + _SUM_BLOCK] @ triangles[start : start + _SUM_BLOCK]
    return np.asarray(total)


def signed_sum_length(count: int) -> int:
    """Return the number of roundings, at most, that an entry of `signed_sums` accumulates.

    Parameters
    ----------
    count : int
        The number of triangles, K.

    Returns
    -------
    int
    """
    return min(count, _SUM_BLOCK) + -(-count // _SUM_BLOCK)


def weighted_sum(weights: FloatArray, triangles: FloatArray) -> FloatArray:
    """Return the sum of w_k triangle_k, in which positive and negative terms may cancel.

    Parameters
    ----------
    weights : array of shape (K,)
        The weights w_k, of either sign.
    triangles : array of shape (K, p)
        The triangles.

    Returns
    -------
    array of shape (p,)
    """
    if triangles.nbytes < COMPILED_FROM_BYTES:
        return np.asarray(weights @ triangles)
    plus, minus = signed_sums(weights, triangles)
    return np.asarray(plus - minus)
