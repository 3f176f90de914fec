"""Half vectors: symmetric matrices as vectors of half the length, with the same inner product."""

from __future__ import annotations

import functools

import numpy as np

from covmetric._utils.tuning import HALF_VECTORS_KEPT_BELOW
from covmetric._utils.validation import FloatArray


class HalfVectors:
    """The map from symmetric n x n matrices to vectors of p = n(n+1)/2 entries.

    A half vector is the lower triangle, row by row, with the off-diagonal entries multiplied by sqrt(2). The inner
    product of two half vectors is the inner product <A, B> of the matrices.

    Parameters
    ----------
    n : int
        The size of the matrices.

    Attributes
    ----------
    size : int
        The length p of a half vector.
    diagonal : array of int of shape (n,)
        The positions of the diagonal entries.
    identity : array of shape (n, n)
        The identity matrix.

    Examples
    --------
    >>> HalfVectors(2).pack(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3)
    array([1.   , 2.828, 3.   ])
    """

    def __init__(self, n: int) -> None:
        self.n = n
        rows, columns = np.tril_indices(n)
        # Positions of the lower triangle in a flat matrix, and of each entry of a flat matrix in the lower triangle.
        self._lower_index = rows * n + columns
        self._full_index = np.empty(n * n, dtype=np.int64)
        self._full_index[self._lower_index] = self._full_index[columns * n + rows] = np.arange(len(rows))
        self._scale = np.where(rows == columns, 1.0, np.sqrt(2.0))
        self._multiplicity = np.where(rows == columns, 1.0, 2.0)
        self.size = len(rows)
        self.diagonal = np.flatnonzero(rows == columns)
        self.identity = np.eye(n)

    def pack(self, matrices: FloatArray) -> FloatArray:
        """Return the half vectors of symmetric matrices.

        Parameters
        ----------
        matrices : array of shape (..., n, n)
            Symmetric matrices.

        Returns
        -------
        array of shape (..., p)
            The half vectors.
        """
        return self.scaled(self.lower(matrices))

    def scaled(self, lower: FloatArray) -> FloatArray:
        """Return the half vectors of symmetric matrices that are given by their lower triangles.

        Parameters
        ----------
        lower : array of shape (..., p)
            Lower triangles, row by row.

        Returns
        -------
        array of shape (..., p)
            The half vectors.
        """
        return np.asarray(lower * self._scale)

    def unpack(self, vector: FloatArray) -> FloatArray:
        """Return the symmetric matrices of half vectors.

        Parameters
        ----------
        vector : array of shape (..., p)
            Half vectors.

        Returns
        -------
        array of shape (..., n, n)
            Symmetric matrices.
        """
        return self.from_lower(vector / self._scale)

    def lower(self, matrices: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return the lower triangles of matrices, without scaling.

        Parameters
        ----------
        matrices : array of shape (..., n, n)
            Matrices.
        out : array of shape (..., p) or None, default=None
            Where to store the result.

        Returns
        -------
        array of shape (..., p)
            Lower triangles, row by row.
        """
        flat = matrices.reshape(*matrices.shape[:-2], self.n * self.n)
        return np.asarray(flat.take(self._lower_index, axis=-1, out=out, mode="clip"))

    def doubled(self, matrix: FloatArray) -> FloatArray:
        """Return the lower triangle with doubled off-diagonal entries, so that `lower(A) @ doubled(B)` is <A, B>.

        Parameters
        ----------
        matrix : array of shape (..., n, n)
            Symmetric matrices.

        Returns
        -------
        array of shape (..., p)
            The doubled lower triangles.
        """
        return np.asarray(self.lower(matrix) * self._multiplicity)

    def from_lower(self, entries: FloatArray) -> FloatArray:
        """Return the symmetric matrices that have these lower triangles.

        Parameters
        ----------
        entries : array of shape (..., p)
            Lower triangles, row by row.

        Returns
        -------
        array of shape (..., n, n)
            Symmetric matrices.
        """
        full = entries.take(self._full_index, axis=-1, mode="clip")  # the indices are valid; checks take time
        return np.asarray(full.reshape(*entries.shape[:-1], self.n, self.n))


def half_vectors_of(n: int) -> HalfVectors:
    """Return the half vectors of n x n matrices; small ones are cached.

    Parameters
    ----------
    n : int
        The size of the matrices.

    Returns
    -------
    HalfVectors
        The map between matrices and half vectors.
    """
    return _cached_half_vectors(n) if n <= HALF_VECTORS_KEPT_BELOW else HalfVectors(n)


@functools.lru_cache(maxsize=16)
def _cached_half_vectors(n: int) -> HalfVectors:
    return HalfVectors(n)
