"""Sums over pairs, by chunks: arrays of all the pairs are held only where they are small."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from covmetric._validation import FloatArray, IntArray, read_only
from covmetric.slacks import Slack

# Bytes of one chunk of differences: a few fit into the cache of a core, one is enough to keep BLAS busy, and the memory
# is not handed back to the system after each (2 MB were, at times, and took twice as long).
_CHUNK_BYTES = 2**19
# Arrays of all the pairs are kept where they take no more than this; larger ones cost more to make than they save.
_KEPT_BYTES = 2**24


def is_multiple_of_identity(matrix: FloatArray) -> bool:
    """Whether a square matrix is w I: where solves begin, and where sums over pairs are known already."""
    diagonal = matrix.diagonal()
    return bool(np.count_nonzero(matrix) == len(matrix) and (diagonal == diagonal[0]).all() and diagonal[0] != 0.0)


@dataclass(frozen=True)
class PairTerms:
    """The pairs of a problem: their differences, and what each of them asks for (arrays of shape (K,))."""

    sums: PairSums
    similar: FloatArray
    bounds: FloatArray
    weights: FloatArray
    slack: Slack


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
        self._kept: FloatArray | None = None
        self._kept_outer: FloatArray | None = None
        self._kept_norms: FloatArray | None = None

    def outer(self) -> FloatArray | None:
        """All the A_k = F_k F_k^T as rows, shape (K, n^2), if they are small: a sum is then 2 m times less work."""
        _, m, n = self.rows.shape
        if self._kept_outer is None and m > 1 and 8 * len(self.pairs) * n * n <= _KEPT_BYTES:
            outer = np.empty((len(self.pairs), n, n))
            for part, F in self._chunks():
                np.matmul(np.swapaxes(F, 1, 2), F, out=outer[part])
            self._kept_outer = read_only(outer.reshape(len(outer), -1))
        return self._kept_outer

    def _chunks(self, indices: IntArray | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Consecutive parts of `indices` (None: all pairs), as slices, with their differences, shape (q, m, n)."""
        _, m, n = self.rows.shape
        count = len(self.pairs) if indices is None else len(indices)
        if self._kept is None and 8 * len(self.pairs) * m * n <= _KEPT_BYTES:
            i, j = self.pairs.T
            self._kept = self.rows[i] - self.rows[j]
        size = max(1, _CHUNK_BYTES // (8 * m * n))
        for start in range(0, count, size):
            part = slice(start, min(start + size, count))
            if self._kept is not None:
                yield part, self._kept[part if indices is None else indices[part]]
            else:
                i, j = (self.pairs[part] if indices is None else self.pairs[indices[part]]).T
                yield part, self.rows[i] - self.rows[j]

    def transformed(self, indices: IntArray | None, C: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Consecutive parts of `indices`, as slices, with the transformed differences (C^T F_k)^T, shape (q, m, n)."""
        for part, F in self._chunks(indices):
            yield part, (F.reshape(-1, F.shape[2]) @ C).reshape(F.shape)

    def roughly_transformed(self, indices: IntArray, C: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """`transformed`, by way of the examples where there are fewer of them than pairs.

        What is lost is a digit or two where the examples are far from each other: good for a step, not for a proof.
        """
        count, m, n = self.rows.shape
        if len(indices) < 2 * count:
            yield from self.transformed(indices, C)
            return
        images = (self.centred().reshape(-1, n) @ C).reshape(count, m, n)
        size = max(1, _CHUNK_BYTES // (8 * m * n))
        for start in range(0, len(indices), size):
            part = slice(start, min(start + size, len(indices)))
            i, j = self.pairs[indices[part]].T
            yield part, images[i] - images[j]

    def centred(self) -> FloatArray:
        """The examples less their mean, shape (l, m, n)."""
        return np.asarray(self.rows - self.rows.mean(axis=0))

    def distances(self, factor: FloatArray) -> FloatArray:
        """Squared distances ||L^T F_k||^2 of all pairs, shape (K,), in the metric L L^T given by its factor L."""
        result = np.empty(len(self.pairs))
        for part, G in self.transformed(None, factor):
            result[part] = np.einsum("kan,kan->k", G, G)
        return result

    def squared_norms(self) -> FloatArray:
        """||F_k||^2 of all pairs, shape (K,)."""
        if self._kept_norms is None:
            norms = np.empty(len(self.pairs))
            for part, F in self._chunks():
                norms[part] = np.einsum("kan,kan->k", F, F)
            self._kept_norms = read_only(norms)
        return self._kept_norms

    def quadratic(self, E: FloatArray, indices: IntArray | None = None) -> FloatArray:
        """<A_k, E> of the pairs `indices` (None: all), for a symmetric E."""
        outer = self.outer()
        if outer is not None:
            return np.asarray((outer if indices is None else outer[indices]) @ E.ravel())
        result = np.empty(len(self.pairs) if indices is None else len(indices))
        for part, F in self._chunks(indices):
            result[part] = np.einsum("kan,kan->k", (F.reshape(-1, len(E)) @ E).reshape(F.shape), F)
        return result

    def gram(self, weights: FloatArray, transform: FloatArray | None = None) -> FloatArray:
        """The sum of w_k F_k F_k^T over the pairs with a positive weight, shape (n, n).

        With a `transform` T of shape (n, n), of the transformed differences T^T F_k.
        """
        n = self.rows.shape[2]
        outer = self.outer() if transform is None else None
        if outer is not None:
            return np.asarray((np.maximum(weights, 0.0) @ outer).reshape(n, n))
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
        chosen = np.flatnonzero(weights > 0.0)
        roots = np.sqrt(weights[chosen])
        for part, F in self._chunks(chosen):
            yield (F * roots[part, None, None]).reshape(-1, F.shape[2])
