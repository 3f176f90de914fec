"""Squared Euclidean distances of vectors, by blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from covmetric._validation import FloatArray, IntArray

_BLOCK_BYTES = 2**25
# Distances by a matrix product are known to a few eps of the squared norms: below this share, look again.
_NEAR = 1e-5


def distance_blocks(vectors: FloatArray, first: int = 0) -> Iterator[tuple[slice, FloatArray]]:
    """Blocks of the rows from `first` on, as slices, with their squared distances from all vectors, shape (q, l)."""
    count = len(vectors)
    # Distances by a matrix product lose the digits that the vectors have in common.
    centred = vectors - vectors.mean(axis=0)
    norms = np.einsum("iq,iq->i", centred, centred)
    size = max(1, _BLOCK_BYTES // (8 * count))
    for start in range(first, count, size):
        rows = slice(start, min(start + size, count))
        yield rows, norms[rows, None] + norms - 2.0 * centred[rows] @ centred.T


def nearest_columns(squared: FloatArray, k: int) -> IntArray:
    """The columns of the k smallest of each row, shape (rows, k), in any order; the first columns where they tie."""
    k = min(k, squared.shape[1])
    columns = np.argpartition(squared, k - 1, axis=1)[:, :k]
    last = np.take_along_axis(squared, columns, axis=1).max(axis=1)
    tied = (squared <= last[:, None]).sum(axis=1) > k
    columns[tied] = np.argsort(squared[tied], axis=1, kind="stable")[:, :k]
    return columns


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
    size = max(1, _BLOCK_BYTES // (8 * len(second)))

    def fill(start: int) -> None:
        rows, out = one[start : start + size], result[start : start + size]
        sums = np.einsum("iq,iq->i", rows, rows)[:, None] + norms
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(rows, other.T, out=out)
            out *= -2.0
            out += sums
        near_rows, near = np.nonzero(out <= _NEAR * sums)
        # Of the vectors as they are: centring has rounded the others.
        out[near_rows, near] = _by_difference(first, second, start + near_rows, near)

    starts = range(0, len(first), size)
    if n_jobs in (None, 1) or len(starts) == 1:
        for start in starts:
            fill(start)
        return result
    from joblib import Parallel, delayed

    Parallel(n_jobs, require="sharedmem")(delayed(fill)(start) for start in starts)
    return result


def _by_difference(first: FloatArray, second: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """The squared distances of first[i] and second[j], pair by pair."""
    result = np.empty(len(i))
    size = max(1, _BLOCK_BYTES // (8 * first.shape[1]))
    for start in range(0, len(i), size):
        part = slice(start, start + size)
        difference = first[i[part]] - second[j[part]]
        result[part] = np.einsum("iq,iq->i", difference, difference)
    return result
