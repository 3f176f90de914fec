"""Symmetric matrices as vectors of half the length, with the same inner product."""

from __future__ import annotations

import functools

import numpy as np

from covmetric._utils.tuning import HALF_VECTORS_KEPT_BELOW
from covmetric._utils.validation import FloatArray


class HalfVectors:
    """Symmetric n x n matrices as vectors of p = n(n+1)/2 entries: the lower triangle, sqrt(2) off the diagonal.

    Examples
    --------
    >>> HalfVectors(2).pack(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3)
    array([1.   , 2.828, 3.   ])
    """

    def __init__(self, n: int) -> None:
        self.n = n
        rows, columns = np.tril_indices(n)
        self._flat = rows * n + columns
        self._back = np.empty(n * n, dtype=np.int64)
        self._back[self._flat] = self._back[columns * n + rows] = np.arange(len(rows))
        self._scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
        self._times = np.where(rows == columns, 1.0, 2.0)
        self.size = len(rows)
        self.diagonal = np.flatnonzero(rows == columns)
        self.identity = np.eye(n)

    def pack(self, matrices: FloatArray) -> FloatArray:
        """The vectors, shape (..., p), of symmetric matrices, shape (..., n, n)."""
        return self.scaled(self.lower(matrices))

    def scaled(self, lower: FloatArray) -> FloatArray:
        """The vectors of symmetric matrices with these lower triangles."""
        return np.asarray(lower * self._scale)

    def unpack(self, vector: FloatArray) -> FloatArray:
        """The symmetric matrices, shape (..., n, n), of vectors, shape (..., p)."""
        return self.from_lower(vector / self._scale)

    def lower(self, matrices: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """The lower triangles as they are, shape (..., p)."""
        flat = matrices.reshape(*matrices.shape[:-2], self.n * self.n)
        return np.asarray(flat.take(self._flat, axis=-1, out=out, mode="clip"))

    def doubled(self, matrix: FloatArray) -> FloatArray:
        """The lower triangle with the off-diagonal entries doubled: `lower(A) @ doubled(B)` is <A, B>."""
        return np.asarray(self.lower(matrix) * self._times)

    def from_lower(self, entries: FloatArray) -> FloatArray:
        """The symmetric matrices, shape (..., n, n), with these lower triangles, shape (..., p)."""
        return np.asarray(entries[..., self._back].reshape(*entries.shape[:-1], self.n, self.n))


def half_vectors_of(n: int) -> HalfVectors:
    """The half vectors of one size; those of small matrices are kept."""
    return _kept(n) if n <= HALF_VECTORS_KEPT_BELOW else HalfVectors(n)


@functools.lru_cache(maxsize=16)
def _kept(n: int) -> HalfVectors:
    return HalfVectors(n)
