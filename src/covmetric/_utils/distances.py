"""Squared Euclidean distances between vectors, by blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from covmetric._utils.tuning import DIFFERENCE_ENTRIES, DISTANCE_BLOCK_BYTES, NEAREST_BLOCK
from covmetric._utils.validation import FloatArray, IntArray

# A distance from a matrix product is accurate to a few eps of the squared norms. Those below this fraction of the norms
# are computed again from differences.
_NEAR = 1e-5


def squared_distances(first: FloatArray, second: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return the squared distances between first[i] and second[j], pair by pair, from their differences.

    Parameters
    ----------
    first, second : arrays of shape (l1, q) and (l2, q)
        The vectors.
    i, j : arrays of int, shape (K,)
        Indices into `first` and into `second`.

    Returns
    -------
    array of shape (K,)
    """
    result = np.empty(len(i))
    size = max(1, DIFFERENCE_ENTRIES // max(1, first.shape[1]))
    for start in range(0, len(i), size):
        chunk = slice(start, start + size)
        difference = first[i[chunk]]
        difference -= second[j[chunk]]
        np.einsum("kq,kq->k", difference, difference, out=result[chunk])
    return result


def distance_blocks(vectors: FloatArray, start: int = 0) -> Iterator[tuple[slice, FloatArray]]:
    """Iterate over blocks of rows and their squared distances from all vectors.

    Parameters
    ----------
    vectors : array of shape (l, q)
        The vectors.
    start : int, default=0
        The first row.

    Yields
    ------
    rows : slice
        The rows of the block.
    squared : array of shape (n_rows, l)
        Their squared distances from all vectors.
    """
    count = len(vectors)
    # A matrix product loses the digits that all vectors have in common.
    centred = vectors - vectors.mean(axis=0)
    norms = np.einsum("iq,iq->i", centred, centred)
    size = max(1, DISTANCE_BLOCK_BYTES // (8 * count))
    for begin in range(start, count, size):
        rows = slice(begin, min(begin + size, count))
        yield rows, norms[rows, None] + norms - 2.0 * centred[rows] @ centred.T


def nearest_columns(squared: FloatArray, k: int) -> IntArray:
    """The columns of the k smallest of each row, ascending, shape (rows, k); the first columns where they tie.

    Long rows are cut into blocks: the k smallest are no larger than the k smallest minima of blocks, and only the few
    entries that are no larger are sorted. Three to five times as fast as `argpartition`.
    """
    rows, count = squared.shape
    k = min(k, count)
    if np.isnan(squared).any():
        squared = np.where(np.isnan(squared), np.inf, squared)
    if count < 2 * k * NEAREST_BLOCK:
        bound = np.partition(squared, k - 1, axis=1)[:, k - 1]
    else:
        minima = np.minimum.reduceat(squared, np.arange(0, count, NEAREST_BLOCK), axis=1)
        bound = np.partition(minima, k - 1, axis=1)[:, k - 1]
    row, column = np.nonzero(squared <= bound[:, None])
    return smallest(rows, k, row, column, squared[row, column])[1]


def smallest(count: int, k: int, rows: IntArray, columns: IntArray, squared: FloatArray) -> tuple[FloatArray, IntArray]:
    """Of lists of (row, column, squared distance), the k smallest of each of `count` rows: distances and columns.

    Every row has k or more entries. The first column comes first where distances tie.
    """
    order = np.lexsort((columns, squared, rows))
    starts = np.searchsorted(rows[order], np.arange(count))
    chosen = order[starts[:, None] + np.arange(k)]
    return squared[chosen], columns[chosen]


def cross_distances(first: FloatArray, second: FloatArray, n_jobs: int | None = None) -> FloatArray:
    """The squared distances of the rows of two arrays, shape (l1, l2), each with nearly all its digits.

    `n_jobs` threads share the blocks, which do not depend on it.
    """
    if len(first) == 0 or len(second) == 0:
        return np.empty((len(first), len(second)))
    centre = second.mean(axis=0)
    one, other = first - centre, second - centre
    norms = np.einsum("iq,iq->i", other, other)
    result = np.empty((len(first), len(second)))
    size = max(1, DISTANCE_BLOCK_BYTES // (8 * len(second)))

    def fill(start: int) -> None:
        rows, out = one[start : start + size], result[start : start + size]
        sums = np.einsum("iq,iq->i", rows, rows)[:, None] + norms
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(rows, other.T, out=out)
            out *= -2.0
            out += sums
        near_rows, near = np.nonzero(out <= _NEAR * sums)
        # From the vectors as given: centring has rounded the others.
        out[near_rows, near] = squared_distances(first, second, start + near_rows, near)

    starts = range(0, len(first), size)
    if n_jobs in (None, 1) or len(starts) == 1:
        for start in starts:
            fill(start)
        return result
    from joblib import Parallel, delayed

    Parallel(n_jobs, require="sharedmem")(delayed(fill)(start) for start in starts)
    return result
