"""Sums over pairs, by chunks: no array of all the differences is ever held."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from covmetric._validation import FloatArray, IntArray

# Bytes of one chunk of differences: a few fit into the cache of a core, and one is enough to keep BLAS busy.
_CHUNK_BYTES = 2**21


class PairSums:
    """The differences F_k = Phi(X_i) - Phi(X_j) of index pairs, and what is summed over them.

    Parameters
    ----------
    rows : array, shape (l, m, n)
        The embedded examples, each transposed, C-contiguous: the differences of a chunk of pairs are then the rows of
        one matrix, and every sum is a product of matrices.
    pairs : array of int, shape (K, 2)
    """

    def __init__(self, rows: FloatArray, pairs: IntArray) -> None:
        self.rows = rows
        self.pairs = pairs

    def _chunks(self, indices: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Consecutive parts of `indices` with their differences, shape (q, m, n)."""
        _, m, n = self.rows.shape
        size = max(1, _CHUNK_BYTES // (8 * m * n))
        for start in range(0, len(indices), size):
            part = indices[start : start + size]
            i, j = self.pairs[part].T
            yield part, self.rows[i] - self.rows[j]

    def distances(self, factor: FloatArray) -> FloatArray:
        """Squared distances ||L^T F_k||^2 of all pairs, shape (K,), in the metric L L^T given by its factor L."""
        n = self.rows.shape[2]
        result = np.empty(len(self.pairs))
        for part, F in self._chunks(np.arange(len(self.pairs))):
            projected = (F.reshape(-1, n) @ factor).reshape(len(part), -1)
            result[part] = np.einsum("kp,kp->k", projected, projected)
        return result

    def gram(self, weights: FloatArray, transform: FloatArray | None = None) -> FloatArray:
        """The sum of w_k F_k F_k^T over the pairs with a positive weight, shape (n, n).

        With a `transform` T of shape (n, n), of the transformed differences T^T F_k.
        """
        n = self.rows.shape[2]
        total = np.zeros((n, n))
        for flat in self._weighted_rows(weights):
            if transform is not None:
                flat = flat @ transform
            total += flat.T @ flat
        return total

    def triangle(self, weights: FloatArray) -> FloatArray:
        """The upper triangular R with R^T R = I + `gram(weights)`, without forming the right-hand side.

        Slower than a Cholesky factor of the sum, and accurate where that has lost half of the digits.
        """
        R = np.eye(self.rows.shape[2])
        for flat in self._weighted_rows(weights):
            R = np.asarray(np.linalg.qr(np.vstack([R, flat]), mode="r"))
        return R

    def _weighted_rows(self, weights: FloatArray) -> Iterator[FloatArray]:
        """Chunks of the rows of sqrt(w_k) F_k^T, over the pairs with a positive weight."""
        for part, F in self._chunks(np.flatnonzero(weights > 0.0)):
            F *= np.sqrt(weights[part])[:, None, None]
            yield F.reshape(-1, F.shape[2])
