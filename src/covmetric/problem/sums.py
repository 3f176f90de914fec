"""Sums over pairs, computed by chunks: arrays over all pairs are kept only if they are small."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.distances import squared_distances
from covmetric._utils.half_vectors import HalfVectors, half_vectors_of
from covmetric._utils.tuning import CHUNK_BYTES, KEPT_BYTES
from covmetric._utils.validation import FloatArray, IntArray, read_only
from covmetric.problem.coordinates import CoordinateError
from covmetric.problem.error_free import exact_difference
from covmetric.problem.examples import Examples
from covmetric.problem.triangles import fill_triangles, signed_sum_length, signed_sums, weighted_sum

# Differences of images lose all digits if two examples are nearly equal: the error is that of the images. Pairs whose
# squared norm is below this fraction of that of an example are transformed after they are subtracted.
_CLOSE = 1e-8


def is_multiple_of_identity(matrix: FloatArray) -> bool:
    """Return whether a square matrix is w I with w != 0.

    Solves start at such a matrix, for which sums over the pairs follow from the squared norms.

    Parameters
    ----------
    matrix : array of shape (n, n)
        The matrix.

    Returns
    -------
    bool
    """
    diagonal = matrix.diagonal()
    return bool(np.count_nonzero(matrix) == len(matrix) and (diagonal == diagonal[0]).all() and diagonal[0] != 0.0)


def triangular_factor_of(matrix: FloatArray) -> FloatArray:
    """Return the upper triangular R with R^T R = M^T M, by QR.

    The routine of SciPy is used, because that of NumPy gains nothing from a second thread.

    Parameters
    ----------
    matrix : array of shape (q, n)
        The matrix M.

    Returns
    -------
    array of shape (min(q, n), n)
    """
    if len(matrix) == 0:  # LAPACK takes no matrix without rows
        return matrix
    # The least workspace that SciPy takes by default is twice as slow from 200 columns on.
    factored = lapack.dgeqrf(matrix, lwork=int(lapack.dgeqrf_lwork(*matrix.shape)[0]))[0]
    return np.asarray(np.triu(factored[: matrix.shape[1]]))


class PairSums:
    """The differences F_k = Phi(X_i) - Phi(X_j) of index pairs, and sums over them.

    Every sum is a product of matrices, because the differences of a chunk of pairs are the rows of one matrix.

    Parameters
    ----------
    rows : array of shape (l, m, n)
        The embedded examples, each transposed, C-contiguous.
    pairs : array of int of shape (K, 2)
        Indices into `rows`.
    coordinates : CoordinateError or None, default=None
        If the rows are coordinates in a basis, how far they are from the examples.
    kept_bytes : float or None, default=None
        Arrays over all pairs are kept up to this size. None means `tuning.KEPT_BYTES`.
    examples : Examples or None, default=None
        The examples, if other sums over pairs share them. None creates them from `rows`.
    norms : array of shape (K,) or None, default=None
        The squared norms ||F_k||^2, if they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.problem import PairSums
    >>> rows = np.array([[[0.0, 0.0]], [[1.0, 2.0]], [[3.0, 0.0]]])
    >>> sums = PairSums(rows, np.array([[0, 1], [0, 2]]))
    >>> sums.squared_norms()
    array([5., 9.])
    >>> sums.gram(np.array([1.0, 2.0]))
    array([[19.,  2.],
           [ 2.,  4.]])
    """

    def __init__(
        self,
        rows: FloatArray,
        pairs: IntArray,
        coordinates: CoordinateError | None = None,
        kept_bytes: float | None = None,
        examples: Examples | None = None,
        norms: FloatArray | None = None,
    ) -> None:
        self.rows = rows
        self.pairs = pairs
        self.coordinates = coordinates
        self._given_bytes = kept_bytes
        self.examples = Examples(rows) if examples is None else examples
        self._kept_differences: FloatArray | None = None
        self._kept_triangles: FloatArray | None = None
        self._kept_norms = norms
        self._n_users = 0
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that cannot be computed from others."""
        return {
            "rows": self.rows,
            "pairs": self.pairs,
            "coordinates": self.coordinates,
            "kept_bytes": self._given_bytes,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def kept_bytes(self) -> float:
        """The size up to which arrays over all pairs are kept."""
        return KEPT_BYTES if self._given_bytes is None else self._given_bytes

    @functools.cached_property
    def half(self) -> HalfVectors:
        """The isometry between symmetric n x n matrices and vectors of length n(n+1)/2."""
        return half_vectors_of(self.rows.shape[2])

    def lower_triangles(self, max_bytes: float | None = None) -> FloatArray | None:
        """Return the lower triangles of all A_k = F_k F_k^T, if they are kept or small enough to be kept.

        A sum over the pairs takes 2 m times less work with them.

        Parameters
        ----------
        max_bytes : float or None, default=None
            The triangles are computed and kept if they take at most this many bytes; None for `kept_bytes`. `Newton`
            passes its `memory`; what exceeds `kept_bytes` is released when the last `in_use` block ends.

        Returns
        -------
        array of shape (K, n(n+1)/2) or None
            The triangles, or None if they would take more than `max_bytes`. Also None if m = 1, because the differences
            themselves are shorter.
        """
        if self._kept_triangles is not None:
            return self._kept_triangles
        _, m, n = self.rows.shape
        size = n * (n + 1) // 2
        if m == 1 or 8.0 * len(self.pairs) * size > (self.kept_bytes if max_bytes is None else max_bytes):
            return None
        with self._lock:
            if self._kept_triangles is None:
                triangles = np.empty((len(self.pairs), size))
                fill_triangles(triangles, self.rows, self.pairs, self._chunks(keep=False), self.half)
                self._kept_triangles = read_only(triangles)
            return self._kept_triangles

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep large arrays within a ``with`` block, until the last user leaves its block.

        Yields
        ------
        None
        """
        with self._lock:
            self._n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                triangles = self._kept_triangles
                if self._n_users == 0 and triangles is not None and triangles.nbytes > self.kept_bytes:
                    self._kept_triangles = None

    def _chunks(self, indices: IntArray | None = None, *, keep: bool = True) -> Iterator[tuple[slice, FloatArray]]:
        """Yield consecutive parts of `indices` (None: all pairs) as slices, with their differences, shape (q, m, n).

        With `keep`, small arrays of differences are kept for the next call.
        """
        _, m, n = self.rows.shape
        count = len(self.pairs) if indices is None else len(indices)
        if keep and self._kept_differences is None and 8 * len(self.pairs) * m * n <= self.kept_bytes:
            i, j = self.pairs.T
            self._kept_differences = self.rows[i] - self.rows[j]
        size = max(1, CHUNK_BYTES // (8 * m * n))
        for start in range(0, count, size):
            part = slice(start, min(start + size, count))
            if self._kept_differences is not None:
                yield part, self._kept_differences[part if indices is None else indices[part]]
            else:
                i, j = (self.pairs[part] if indices is None else self.pairs[indices[part]]).T
                yield part, self.rows[i] - self.rows[j]

    def transformed(self, indices: IntArray | None, C: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over chunks of pairs and their transformed differences C^T F_k.

        Parameters
        ----------
        indices : array of int of shape (a,) or None
            The pairs. None means all pairs.
        C : array of shape (n, n)
            The transform.

        Yields
        ------
        part : slice
            A part of `indices`.
        transformed : array of shape (q, m, n)
            (C^T F_k)^T of these pairs.
        """
        for part, F in self._chunks(indices):
            yield part, (F.reshape(-1, F.shape[2]) @ C).reshape(F.shape)

    def roughly_transformed(self, indices: IntArray, C: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate as `transformed` does, but transform the examples if there are fewer of them than pairs.

        The result loses a few digits if the examples are far apart. It is accurate enough for a step, but not for a
        certificate. Examples that are nearly equal are subtracted first.

        Parameters
        ----------
        indices : array of int of shape (a,)
            The pairs.
        C : array of shape (n, n)
            The transform.

        Yields
        ------
        part : slice
            A part of `indices`.
        transformed : array of shape (q, m, n)
            (C^T F_k)^T of these pairs.
        """
        count, m, n = self.rows.shape
        if len(indices) < 2 * count:
            yield from self.transformed(indices, C)
            return
        images = (self.centred_rows().reshape(-1, n) @ C).reshape(count, m, n)
        size = max(1, CHUNK_BYTES // (8 * m * n))
        for start in range(0, len(indices), size):
            part = slice(start, min(start + size, len(indices)))
            i, j = self.pairs[indices[part]].T
            G = images[i] - images[j]
            if len(self.close_pairs):
                close = np.isin(indices[part], self.close_pairs)
                F = self.rows[i[close]] - self.rows[j[close]]
                G[close] = (F.reshape(-1, n) @ C).reshape(F.shape)
            yield part, G

    def centred_rows(self) -> FloatArray:
        """Return the transposed examples minus their mean.

        Returns
        -------
        array of shape (l, m, n)
        """
        return self.examples.centred()

    @functools.cached_property
    def close_pairs(self) -> IntArray:
        """The pairs of examples that are nearly equal, of shape (q,)."""
        sizes = self.examples.sizes()
        return np.flatnonzero(self.squared_norms() < _CLOSE * sizes[self.pairs].max(axis=1))

    def squared_distances(self, factor: FloatArray) -> FloatArray:
        """Return the squared distances ||L^T F_k||^2 of all pairs in the metric L L^T.

        Parameters
        ----------
        factor : array of shape (n, n)
            The factor L of the metric.

        Returns
        -------
        array of shape (K,)
        """
        result = np.empty(len(self.pairs))
        for part, G in self.transformed(None, factor):
            result[part] = np.einsum("kan,kan->k", G, G)
        return result

    def squared_norms(self) -> FloatArray:
        """Return the squared norms ||F_k||^2 of all pairs.

        Returns
        -------
        array of shape (K,)
        """
        if self._kept_norms is None:
            triangles = self.lower_triangles()
            if triangles is not None:
                norms = triangles[:, self.half.diagonal].sum(axis=1)
            else:
                vectors = self.rows.reshape(len(self.rows), -1)
                norms = squared_distances(vectors, vectors, *self.pairs.T)
            self._kept_norms = read_only(norms)
        return self._kept_norms

    def inner_products(self, E: FloatArray, indices: IntArray | None = None) -> FloatArray:
        """Return the inner products <A_k, E> of the pairs with a symmetric matrix.

        Parameters
        ----------
        E : array of shape (n, n)
            The symmetric matrix.
        indices : array of int of shape (a,) or None, default=None
            The pairs. None means all pairs.

        Returns
        -------
        array of shape (a,)
        """
        triangles = self.lower_triangles()
        if triangles is not None:
            return np.asarray((triangles if indices is None else triangles[indices]) @ self.half.doubled(E))
        result = np.empty(len(self.pairs) if indices is None else len(indices))
        for part, F in self._chunks(indices):
            result[part] = np.einsum("kan,kan->k", (F.reshape(-1, len(E)) @ E).reshape(F.shape), F)
        return result

    def gram(self, weights: FloatArray, transform: FloatArray | None = None) -> FloatArray:
        """Return the sum of w_k F_k F_k^T over the pairs with a positive weight.

        Parameters
        ----------
        weights : array of shape (K,)
            The weights w_k. Pairs with a weight of zero or less are left out.
        transform : array of shape (n, n) or None, default=None
            A matrix T. If given, T^T F_k replaces F_k.

        Returns
        -------
        array of shape (n, n)
        """
        n = self.rows.shape[2]
        triangles = self.lower_triangles() if transform is None else None
        if triangles is not None:
            return self.half.from_lower(signed_sums(weights, triangles)[0])
        total = np.zeros((n, n))
        for flat in self._weighted_rows(weights):
            if transform is not None:
                flat = flat @ transform
            total += flat.T @ flat
        return total

    def signed_grams(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return `gram(weights)` and `gram(-weights)`, whose difference is the sum of all w_k F_k F_k^T.

        Parameters
        ----------
        weights : array of shape (K,)
            The weights w_k, of either sign.

        Returns
        -------
        plus : array of shape (n, n)
            The sum over the pairs with a positive weight.
        minus : array of shape (n, n)
            The sum of -w_k F_k F_k^T over the pairs with a negative weight.
        """
        triangles = self.lower_triangles()
        if triangles is None:
            return self.gram(weights), self.gram(-weights)
        plus, minus = self.half.from_lower(signed_sums(weights, triangles))
        return plus, minus

    @property
    def inner_product_length(self) -> int:
        """The number of roundings, at most, that an entry of `inner_products` accumulates."""
        _, m, n = self.rows.shape
        return int(self.half.size + m if self.lower_triangles() is not None else n + m * n)

    @property
    def norm_length(self) -> int:
        """The number of roundings, at most, that a sum of squares over a difference accumulates."""
        _, m, n = self.rows.shape
        return int(m * n + 2)

    @property
    def gram_length(self) -> int:
        """The number of roundings, at most, that an entry of `gram` accumulates."""
        _, m, n = self.rows.shape
        K = len(self.pairs)
        if self.lower_triangles() is not None:
            return int(signed_sum_length(K) + m)
        per_chunk = max(1, CHUNK_BYTES // (8 * m * n))
        return int(m * min(K, per_chunk) + -(-K // per_chunk) + 2)

    def exact_rows(self, weights: FloatArray) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """Iterate over the rows of the differences, without rounding error, of the pairs with a weight.

        Parameters
        ----------
        weights : array of shape (K,)
            The weights w_k; pairs with a weight of zero are left out.

        Yields
        ------
        weights : array of shape (q,)
            The weight of each row.
        high, low : arrays of shape (q, n)
            The rounded rows of F_k^T, and their rounding errors.
        """
        _, m, n = self.rows.shape
        chosen = np.flatnonzero(weights)
        size = max(1, CHUNK_BYTES // (8 * m * n))
        for start in range(0, len(chosen), size):
            part = chosen[start : start + size]
            i, j = self.pairs[part].T
            high, low = exact_difference(self.rows[i], self.rows[j])
            yield np.repeat(weights[part], m), high.reshape(-1, n), low.reshape(-1, n)

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_k A_k, with weights of either sign.

        Positive and negative terms may cancel, so the sum is accurate enough for a step, but not for a certificate.

        Parameters
        ----------
        weights : array of shape (K,)
            The weights w_k.

        Returns
        -------
        array of shape (n, n)
        """
        triangles = self.lower_triangles()
        if triangles is not None:
            return self.half.from_lower(weighted_sum(weights, triangles))
        return self.gram(weights) - self.gram(-weights)

    def hessian_product(self, E: FloatArray, weights: FloatArray, indices: IntArray) -> FloatArray:
        """Return the sum of w_k <A_k, E> A_k over the pairs `indices`.

        Parameters
        ----------
        E : array of shape (n, n)
            A symmetric matrix.
        weights : array of shape (a,)
            The weights w_k of these pairs.
        indices : array of int of shape (a,)
            The pairs.

        Returns
        -------
        array of shape (n, n)
        """
        n = len(E)
        total = np.zeros((n, n))
        for part, F in self._chunks(indices):
            flat = F.reshape(-1, n)
            pulls = weights[part] * np.einsum("kan,kan->k", (flat @ E).reshape(F.shape), F)
            total += (F * pulls[:, None, None]).reshape(-1, n).T @ flat
        return total

    def triangular_factor(self, weights: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """Return the upper triangular R with R^T R = I + `gram(weights)`, without forming the right-hand side.

        This is slower but more accurate than a Cholesky factorisation of the sum, which loses half of the digits if the
        sum is ill-conditioned.

        Parameters
        ----------
        weights : array of shape (K,)
            The weights w_k. Pairs with a weight of zero or less are left out.
        start : array of shape (q, n) or None, default=None
            The factor of another matrix that takes the place of I. None means I.

        Returns
        -------
        array of shape (n, n)
            With fewer than n rows if the rows of all differences, and of `start`, are fewer.
        """
        R = np.eye(self.rows.shape[2]) if start is None else start
        for flat in self._weighted_rows(weights):
            R = triangular_factor_of(np.vstack([R, flat]))
        return R

    def _weighted_rows(self, weights: FloatArray) -> Iterator[FloatArray]:
        """Yield chunks of the rows of sqrt(w_k) F_k^T, over the pairs with a positive weight."""
        chosen = np.flatnonzero(weights > 0.0)
        roots = np.sqrt(weights[chosen])
        for part, F in self._chunks(chosen):
            yield (F * roots[part, None, None]).reshape(-1, F.shape[2])
