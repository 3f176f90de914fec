"""Sums over pairs, by chunks: arrays of all the pairs are held only where they are small."""

from __future__ import annotations

import functools
import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from covmetric._utils.distances import squared_distances
from covmetric._utils.half_vectors import HalfVectors, half_vectors_of
from covmetric._utils.tuning import CHUNK_BYTES, KEPT_BYTES
from covmetric._utils.validation import FloatArray, IntArray, read_only


def is_multiple_of_identity(matrix: FloatArray) -> bool:
    """Whether a square matrix is w I: where solves begin, and where sums over pairs are known already."""
    diagonal = matrix.diagonal()
    return bool(np.count_nonzero(matrix) == len(matrix) and (diagonal == diagonal[0]).all() and diagonal[0] != 0.0)


def _fetched(shape: tuple[int, int]) -> FloatArray:
    """An empty array; a large one with its memory fetched at once, which page by page takes up to ten times as long."""
    size = 8 * shape[0] * shape[1]
    if size <= KEPT_BYTES or not hasattr(mmap, "MAP_POPULATE"):
        return np.empty(shape)
    try:
        buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
    except OSError:
        return np.empty(shape)  # or a MemoryError
    return np.frombuffer(buffer).reshape(shape)


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
        self._kept_lower: FloatArray | None = None
        self._kept_norms: FloatArray | None = None
        self._users = 0
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """What cannot be made again from the rest."""
        return {"rows": self.rows, "pairs": self.pairs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["rows"], state["pairs"])  # type: ignore[misc]

    @functools.cached_property
    def half(self) -> HalfVectors:
        """Symmetric n x n matrices as vectors."""
        return half_vectors_of(self.rows.shape[2])

    def lower(self, most: float = KEPT_BYTES) -> FloatArray | None:
        """The lower triangles of all the A_k = F_k F_k^T, shape (K, p), if they are known or take at most `most` bytes.

        A sum over the pairs is then 2 m times less work. None where the differences are vectors: they are shorter.
        """
        if self._kept_lower is not None:
            return self._kept_lower
        _, m, n = self.rows.shape
        size = n * (n + 1) // 2
        if m == 1 or 8.0 * len(self.pairs) * size > most:
            return None
        with self._lock:
            if self._kept_lower is None:
                lower = _fetched((len(self.pairs), size))
                for part, F in self._chunks(keep=False):
                    self.half.lower(np.matmul(np.swapaxes(F, 1, 2), F), out=lower[part])
                self._kept_lower = read_only(lower)
            return self._kept_lower

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Within, what takes much memory is kept; the last who leaves forgets it."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                lower = self._kept_lower
                if self._users == 0 and lower is not None and lower.nbytes > KEPT_BYTES:
                    self._kept_lower = None

    def _chunks(self, indices: IntArray | None = None, *, keep: bool = True) -> Iterator[tuple[slice, FloatArray]]:
        """Consecutive parts of `indices` (None: all pairs), as slices, with their differences, shape (q, m, n).

        The differences are kept for the next time, if there will be one and they are small.
        """
        _, m, n = self.rows.shape
        count = len(self.pairs) if indices is None else len(indices)
        if keep and self._kept is None and 8 * len(self.pairs) * m * n <= KEPT_BYTES:
            i, j = self.pairs.T
            self._kept = self.rows[i] - self.rows[j]
        size = max(1, CHUNK_BYTES // (8 * m * n))
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
        size = max(1, CHUNK_BYTES // (8 * m * n))
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
            lower = self.lower()
            if lower is not None:
                norms = lower[:, self.half.diagonal].sum(axis=1)
            else:
                vectors = self.rows.reshape(len(self.rows), -1)
                norms = squared_distances(vectors, vectors, *self.pairs.T)
            self._kept_norms = read_only(norms)
        return self._kept_norms

    def quadratic(self, E: FloatArray, indices: IntArray | None = None) -> FloatArray:
        """<A_k, E> of the pairs `indices` (None: all), for a symmetric E."""
        lower = self.lower()
        if lower is not None:
            return np.asarray((lower if indices is None else lower[indices]) @ self.half.doubled(E))
        result = np.empty(len(self.pairs) if indices is None else len(indices))
        for part, F in self._chunks(indices):
            result[part] = np.einsum("kan,kan->k", (F.reshape(-1, len(E)) @ E).reshape(F.shape), F)
        return result

    def gram(self, weights: FloatArray, transform: FloatArray | None = None) -> FloatArray:
        """The sum of w_k F_k F_k^T over the pairs with a positive weight, shape (n, n).

        With a `transform` T of shape (n, n), of the transformed differences T^T F_k.
        """
        n = self.rows.shape[2]
        lower = self.lower() if transform is None else None
        if lower is not None:
            return self.half.from_lower(np.maximum(weights, 0.0) @ lower)
        total = np.zeros((n, n))
        for flat in self._weighted_rows(weights):
            if transform is not None:
                flat = flat @ transform
            total += flat.T @ flat
        return total

    def weighted(self, weights: FloatArray) -> FloatArray:
        """The sum of w_k A_k, shape (n, n), with weights of either sign, as accurate as a step needs."""
        lower = self.lower()
        if lower is not None:
            return self.half.from_lower(weights @ lower)
        return self.gram(weights) - self.gram(-weights)

    def stretched(self, E: FloatArray, weights: FloatArray, indices: IntArray) -> FloatArray:
        """The sum of w_k <A_k, E> A_k over the pairs `indices`, shape (n, n), for a symmetric E."""
        n = len(E)
        total = np.zeros((n, n))
        for part, F in self._chunks(indices):
            flat = F.reshape(-1, n)
            pulls = weights[part] * np.einsum("kan,kan->k", (flat @ E).reshape(F.shape), F)
            total += (F * pulls[:, None, None]).reshape(-1, n).T @ flat
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
