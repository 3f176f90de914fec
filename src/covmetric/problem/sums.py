"""Sums over pairs, computed by chunks or from the lower triangles of all pairs, if these are small."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.half_vectors import HalfVectors, half_vectors_of
from covmetric._utils.validation import FloatArray, IntArray, read_only
from covmetric.problem.coordinates import CoordinateError
from covmetric.problem.differences import PairDifferences
from covmetric.problem.examples import Examples
from covmetric.problem.triangles import fill_triangles, signed_sum_length, signed_sums, weighted_sum


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
    if matrix[-1, 0] != 0.0 and len(matrix) > 1:  # as in most matrices and lower triangular factors
        return False
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


class PairSums(PairDifferences):
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
        super().__init__(rows, pairs, coordinates, kept_bytes, examples, norms)
        self._kept_triangles: FloatArray | None = None
        self._n_users = 0
        self._lock = threading.Lock()

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
                fill_triangles(
                    triangles, self.rows, self.pairs, self._chunks(keep=len(self.pairs) < 2 * len(self.rows)), self.half
                )
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
        if self._kept_norms is None:
            triangles = self.lower_triangles()
            if triangles is None:
                return super().squared_norms()
            self._kept_norms = read_only(triangles[:, self.half.diagonal].sum(axis=1))
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
        K, m = len(self.pairs), self.rows.shape[1]
        if self.lower_triangles() is not None:
            return int(signed_sum_length(K) + m)
        per_chunk = self.pairs_per_chunk
        return int(m * min(K, per_chunk) + -(-K // per_chunk) + 2)

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
