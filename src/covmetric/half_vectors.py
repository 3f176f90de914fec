"""Symmetric matrices as vectors of half the length, with the same inner product."""

from __future__ import annotations

import functools

import numpy as np

from covmetric._validation import FloatArray


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
        self._flat_transposed = columns * n + rows
        self._scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
        self.size = len(rows)
        self.identity = np.eye(n)

    def pack(self, matrices: FloatArray) -> FloatArray:
        """The vectors, shape (..., p), of symmetric matrices, shape (..., n, n)."""
        packed: FloatArray = matrices.reshape(*matrices.shape[:-2], self.n * self.n)[..., self._flat] * self._scale
        return packed

    def unpack(self, vector: FloatArray) -> FloatArray:
        """The symmetric matrices, shape (..., n, n), of vectors, shape (..., p)."""
        matrices = np.empty((*vector.shape[:-1], self.n * self.n))
        entries = vector / self._scale
        matrices[..., self._flat] = entries
        matrices[..., self._flat_transposed] = entries
        return matrices.reshape(*vector.shape[:-1], self.n, self.n)


@functools.lru_cache(maxsize=16)
def half_vectors_of(n: int) -> HalfVectors:
    """The half vectors of one size, whose index arrays are worth keeping."""
    return HalfVectors(n)
