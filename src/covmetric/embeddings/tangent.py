"""The tangent space at the mean of the training matrices, as half vectors, and its principal directions."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices, as_floats, is_count, is_number
from covmetric.embeddings.half_vector import HalfVectorEmbedding, pack, unpack
from covmetric.embeddings.matrices import from_spectrum
from covmetric.embeddings.recentred_log import RecentredLog

# The largest error of the inner products of principal directions from a file. Fitted ones are orthonormal to 1e-12.
_ORTHONORMAL = 1e-8


class Tangent(HalfVectorEmbedding, RecentredLog):
    """The tangent space at the mean M of the training matrices.

    The value is the half vector of log(M^-1/2 X M^-1/2), shape (..., p, 1) with p = n(n+1)/2 entries, in which the
    off-diagonal entries are multiplied by sqrt(2). These are the vectors of pyRiemann's `TangentSpace` [1]_, with the
    lower triangle in place of the upper one. With W = I, D is the same as for `RecentredLog`. The learned W has size
    p x p and weighs every pair of entries. Hermitian matrices have n^2 entries, the real parts first.

    A null space that all training matrices share is projected out; see `RecentredLog`. The half vector then has
    r(r+1)/2 entries, where r is the rank of the mean.

    Parameters
    ----------
    mean : {'logeuclid', 'riemann'}, default='riemann'
        The kind of mean. The default is that of `TangentSpace`; the log-Euclidean mean is faster.
    n_components : int, float or None, default=None
        The number of principal components of the embedded training examples that Phi consists of. A number between 0
        and 1 is a fraction of the variance: Phi has as many components as it takes to exceed it. A number that is
        larger than the number of components with a positive variance, which is at most p and less than the number of
        examples, is reduced to it, but not below 1. None keeps the half vector; a problem of metric learning is
        reduced to the span of the examples in any case, without loss.
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Attributes
    ----------
    whitener_ : array of shape (n, r)
        M^-1/2; if the training matrices share a null space, Q (Q^T M Q)^-1/2, as in `RecentredLog`.
    null_space_ : array of shape (n, n - r)
        An orthonormal basis of the null space that was removed, as columns.
    centre_ : array of shape (p, 1) or None
        The mean of the half vectors, which is subtracted from them. None if `n_components` is None.
    components_ : array of shape (n_components, p) or None
        The principal directions, as orthonormal rows, in descending order of their variances. The largest entry of
        each direction is positive. None if `n_components` is None.

    References
    ----------
    .. [1] A. Barachant, S. Bonnet, M. Congedo and C. Jutten, "Classification of covariance matrices using a
       Riemannian-based kernel for BCI applications", Neurocomputing 112, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.stack([np.diag([1.0, 2.0]), np.diag([4.0, 2.0])])
    >>> Tangent().fit_transform(X).shape
    (2, 3, 1)
    >>> Tangent().fit_transform(X)[:, 0, 0].round(3)
    array([-0.693,  0.693])
    >>> Tangent(n_components=1).fit_transform(X).shape
    (2, 1, 1)
    """

    name = "tangent"
    fitted_attributes = ("whitener_", "centre_", "components_")

    centre_: FloatArray | None
    components_: FloatArray | None

    def __init__(self, mean: str = "riemann", n_components: float | None = None, reg: float = 0.0) -> None:
        super().__init__(mean=mean, reg=reg)
        self.n_components = n_components

    @property
    def shape_out_(self) -> tuple[int, int]:
        """The shape of an embedded example: (p, 1), or (n_components, 1)."""
        if self.components_ is not None:
            return len(self.components_), 1
        return self._n_entries, 1

    @property
    def _n_entries(self) -> int:
        """The length of the half vector."""
        rank: int = self.whitener_.shape[1]
        return rank * rank if self.complex_ else rank * (rank + 1) // 2

    def to_named_rows(self, columns: Matrices) -> Matrices:
        entries = self._to_entries(columns)
        return entries if self._full_rank else _congruence(self._range_basis(), entries)

    def filters(self, vectors: Matrices) -> Matrices:
        """Return the half vectors of M^-1/2 V M^-1/2 for directions V of the tangent space.

        To first order, the inner product of this matrix and X - M is that of V and log(M^-1/2 X M^-1/2).

        Parameters
        ----------
        vectors : array of shape (n_rows, k)
            The directions V, as half vectors or as coordinates in the principal directions, as columns.

        Returns
        -------
        array of shape (n_names, k)
            The weights of the entries of the covariance matrix, as columns.
        """
        return _congruence(self.whitener_, self._to_entries(vectors))

    def patterns(self, vectors: Matrices) -> Matrices:
        """Return the half vectors of M^1/2 V M^1/2 for directions V of the tangent space.

        To first order, this is how X changes when its value moves in the direction V.

        Parameters
        ----------
        vectors : array of shape (n_rows, k)
            The directions V, as half vectors or as coordinates in the principal directions, as columns.

        Returns
        -------
        array of shape (n_names, k)
            The patterns over the entries of the covariance matrix, as columns.
        """
        return _congruence(self._inverse_whitener()[0], self._to_entries(vectors))

    def _to_entries(self, columns: Matrices) -> Matrices:
        """Return columns over the rows of Phi as columns over the entries of the half vector."""
        return columns if self.components_ is None else np.asarray(self.components_.T @ columns)

    def _fit(self, X: Matrices, eps: float) -> None:
        self._check_n_components()
        super()._fit(X, eps)
        self.centre_ = self.components_ = None
        if self.n_components is not None:
            half_vectors = self._half_vectors(X, eps)
            self.centre_, self.components_ = _principal_directions(
                half_vectors.reshape(-1, half_vectors.shape[-2]), self.n_components
            )

    def _check_n_components(self) -> None:
        value = self.n_components
        if value is None:
            return
        if not is_number(value) or not (0.0 < value < 1.0 or (is_count(value) and value >= 1)):
            raise ValueError(
                "n_components must be None, an integer >= 1 (a number of components) or a number between 0 and 1 "
                f"(a fraction of the variance), got {value!r}"
            )

    def _half_vectors(self, X: Matrices, eps: float) -> FloatArray:
        return pack(super()._transform(X, eps))

    def _transform(self, X: Matrices, eps: float) -> FloatArray:
        half_vectors = self._half_vectors(X, eps)
        if self.components_ is None or self.centre_ is None:
            return half_vectors
        # One product per example, so that the bits do not depend on the other examples.
        return np.asarray(self.components_ @ (half_vectors - self.centre_))

    def _inverse(self, embedded: FloatArray) -> Matrices:
        half_vectors = embedded
        if self.components_ is not None and self.centre_ is not None:
            half_vectors = self.components_.T @ embedded + self.centre_
        eigenvalues, vectors = np.linalg.eigh(unpack(half_vectors, self.whitener_.shape[1]))
        return self._undo_whitening(from_spectrum(np.exp(eigenvalues), vectors))

    def _check_restored(self) -> None:
        super()._check_restored()
        self._check_n_components()
        if self.n_components is None:
            for name in ("centre_", "components_"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} must be None, because n_components is None")
            return
        p = self._n_entries
        self.centre_, components = as_floats("centre_", self.centre_), as_floats("components_", self.components_)
        if self.centre_.shape != (p, 1):
            raise ValueError(f"centre_ must have shape ({p}, 1), got {self.centre_.shape}")
        if components.ndim != 2 or components.shape[1] != p or not 1 <= len(components) <= p:
            raise ValueError(f"components_ must have shape (k, {p}) with 1 <= k <= {p}, got {components.shape}")
        if not np.abs(components @ components.T - np.eye(len(components))).max() <= _ORTHONORMAL:
            raise ValueError("components_ must have orthonormal rows")
        self.components_ = components


class TangentPCA(Tangent):
    """The first principal components of the tangent space at the log-Euclidean mean of the training matrices.

    These are the defaults of `Tangent` for a search: so many components that accuracy does not suffer, and so few that
    the learned W is small and the mean is fast.

    Parameters
    ----------
    mean : {'logeuclid', 'riemann'}, default='logeuclid'
        The kind of mean, as in `Tangent`.
    n_components : int, float or None, default=100
        The number of principal components, as in `Tangent`.
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.stack([np.diag([1.0, 2.0]), np.diag([4.0, 2.0])])
    >>> TangentPCA().fit_transform(X).shape
    (2, 1, 1)
    """

    name = "tangent-pca"

    def __init__(self, mean: str = "logeuclid", n_components: float | None = 100, reg: float = 0.0) -> None:
        super().__init__(mean, n_components, reg)


def _principal_directions(vectors: FloatArray, n_components: float) -> tuple[FloatArray, FloatArray]:
    """Return the mean (p, 1) and the leading principal directions (k, p) of vectors (l, p)."""
    centre = vectors.mean(axis=0)
    _, singular_values, directions = np.linalg.svd(vectors - centre, full_matrices=False)
    variances = singular_values**2
    # The rounding error of the singular values of a matrix of this size, as in numpy.linalg.matrix_rank.
    rounding = max(vectors.shape) * np.finfo(np.float64).eps * singular_values[0]
    available = max(1, int(np.count_nonzero(singular_values > rounding)))
    if is_count(n_components):
        count = int(n_components)
    else:
        count = int(np.searchsorted(np.cumsum(variances), n_components * variances.sum(), side="right")) + 1
    directions = directions[: min(count, available)]
    # The sign of a direction is arbitrary: make its largest entry positive.
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return centre[:, None], np.ascontiguousarray(directions * np.sign(largest))


def _congruence(A: Matrices, columns: Matrices) -> FloatArray:
    """Return the half vectors of A V A^H for matrices V, whose half vectors are given as columns."""
    matrices = unpack(columns.T[..., None], A.shape[1])
    return np.asarray(pack(A @ matrices @ A.conj().T)[..., 0].T)
