"""The recentred logarithm, Phi(X) = log(M^-1/2 X M^-1/2), with the mean M of the training matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices, as_numbers, symmetric
from covmetric._utils.warning import warn
from covmetric.embeddings.log import Log
from covmetric.embeddings.matrices import definite, from_spectrum
from covmetric.embeddings.null_space import range_of_mean, restrict

_MEANS = ("logeuclid", "riemann")


class RecentredLog(Log):
    """The matrix logarithm after whitening with the mean of the training matrices.

    This is the tangent space at the mean: with W = I, D is the squared distance in the tangent space of pyRiemann's
    `TangentSpace`. With the Riemannian mean, D does not change if every X is replaced by A X A^T. The log-Euclidean
    mean is many times faster to compute, and gave the same accuracy wherever we compared the two.

    A null space that all training matrices share, as after an average reference, the removal of independent components
    or the interpolation of bad channels, is found in `fit` and projected out, with a warning: X is replaced by Q^T X Q,
    where Q is an orthonormal basis of the range of the mean, and Phi has r <= n rows and columns. Later matrices are
    projected in the same way. A matrix that is singular within the range is refused.

    Parameters
    ----------
    mean : {'logeuclid', 'riemann'}, default='logeuclid'
        The kind of mean. The Riemannian mean is computed by ``pyriemann.geometry.mean``.
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Attributes
    ----------
    whitener_ : array of shape (n, r)
        M^-1/2; if the training matrices share a null space, Q (Q^T M Q)^-1/2, where r is the rank of M.
    null_space_ : array of shape (n, n - r)
        An orthonormal basis of the null space that was removed, as columns.

    Examples
    --------
    >>> import numpy as np
    >>> phi = RecentredLog()
    >>> phi.fit_transform(np.stack([np.diag([1.0, 2.0]), np.diag([4.0, 2.0])])).round(3)[:, 0, 0]
    array([-0.693,  0.693])
    """

    name = "relog"
    fitted_attributes: ClassVar[tuple[str, ...]] = ("whitener_",)

    def __init__(self, mean: str = "logeuclid", reg: float = 0.0) -> None:
        super().__init__(reg=reg)
        self.mean = mean

    def _fit(self, X: Matrices, eps: float) -> None:
        if self.mean not in _MEANS:
            raise ValueError(f"mean must be one of {', '.join(map(repr, _MEANS))}, got {self.mean!r}")
        eigenvalues, vectors = np.linalg.eigh(X)
        basis = None if definite(eigenvalues, eps).all() else range_of_mean(X, eigenvalues, eps)
        if basis is not None:
            X = restrict(X, basis)
            eigenvalues, vectors = np.linalg.eigh(X)
        self._require_definite(X, eigenvalues, eps)
        n = X.shape[-1]
        logs = from_spectrum(np.log(eigenvalues), vectors).reshape(-1, n, n).mean(axis=0)
        if self.mean == "logeuclid":
            whitener = _spectral_function(logs, lambda exponents: np.exp(-0.5 * exponents))
        else:
            centre = _riemannian_mean(X.reshape(-1, n, n), _spectral_function(logs, np.exp))
            whitener = _spectral_function(centre, lambda values: 1.0 / np.sqrt(values))
        self.whitener_ = whitener if basis is None else np.asarray(basis @ whitener)
        if basis is not None:
            warn(
                f"{self.name!r} projects out {len(basis) - n} of {len(basis)} dimensions, in which all training "
                "matrices are singular, as after an average reference or the interpolation of channels; see null_space_"
            )

    @property
    def shape_out_(self) -> tuple[int, int]:
        """The shape (r, r) of an embedded example, or (2r, 2r) for Hermitian matrices."""
        n_rows = self.whitener_.shape[1] * (2 if self.complex_ else 1)
        return n_rows, n_rows

    @property
    def null_space_(self) -> Matrices:
        """An orthonormal basis, as columns, of the null space that all training matrices share; it may be empty."""
        left_vectors: Matrices = np.linalg.svd(self.whitener_)[0]
        return left_vectors[:, self.whitener_.shape[1] :]

    def probe(self) -> Matrices:
        """Return the mean of the training matrices, which Phi maps to zero.

        Returns
        -------
        array of shape (n, n)
            The mean M.
        """
        left, right = self._inverse_whitener()
        return np.asarray(left @ right)

    def to_named_rows(self, columns: Matrices) -> Matrices:
        return columns if self._full_rank else np.asarray(self._range_basis() @ columns)

    def filters(self, vectors: Matrices) -> Matrices:
        """Return M^-1/2 v for each direction v of the whitened channels.

        Parameters
        ----------
        vectors : array of shape (r, k)
            Directions v, as columns.

        Returns
        -------
        array of shape (n, k)
            The weights of the channels, as columns.
        """
        return np.asarray(self.whitener_ @ vectors)

    def patterns(self, vectors: Matrices) -> Matrices:
        """Return M^1/2 v for each direction v of the whitened channels.

        Parameters
        ----------
        vectors : array of shape (r, k)
            Directions v, as columns.

        Returns
        -------
        array of shape (n, k)
            The patterns over the channels, as columns.
        """
        if self._full_rank:
            return np.asarray(np.linalg.solve(self.whitener_, vectors))
        return np.asarray(self._inverse_whitener()[0] @ vectors)

    @property
    def _full_rank(self) -> bool:
        return bool(self.whitener_.shape[0] == self.whitener_.shape[1])

    def _range_basis(self) -> Matrices:
        """Return Q, the orthonormal factor of the polar decomposition of Q (Q^H M Q)^-1/2."""
        left_vectors, _, right_vectors = np.linalg.svd(self.whitener_, full_matrices=False)
        return np.asarray(left_vectors @ right_vectors)

    def _inverse_whitener(self) -> tuple[Matrices, Matrices]:
        """Return the factors that undo the whitening on the left and on the right, shapes (n, r) and (r, n)."""
        if self._full_rank:
            root = np.linalg.inv(self.whitener_)
            return root, root
        inverse = np.linalg.pinv(self.whitener_)
        return inverse.conj().T, inverse

    def _check_restored(self) -> None:
        whitener, n = as_numbers("whitener_", self.whitener_), self.shape_in_[0]
        valid_shape = whitener.ndim == 2 and len(whitener) == n and 1 <= whitener.shape[1] <= n
        if not valid_shape or np.iscomplexobj(whitener) != self.complex_:
            raise ValueError(
                f"whitener_ must have shape {self.shape_in_}, or fewer columns, got {whitener.shape}, {whitener.dtype}"
            )
        if whitener.shape[1] == n:
            whitener = symmetric("whitener_", whitener)
            if not np.linalg.eigvalsh(whitener)[0] > 0.0:
                raise ValueError("whitener_ must be positive definite")
        elif np.linalg.matrix_rank(whitener) < whitener.shape[1]:
            raise ValueError("whitener_ must have independent columns")
        self.whitener_ = whitener

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        left = self.whitener_ if self._full_rank else self.whitener_.conj().T
        whitened = left @ X @ self.whitener_
        eigenvalues, vectors = np.linalg.eigh(0.5 * (whitened + np.swapaxes(whitened.conj(), -1, -2)))
        # Whitening keeps the rounding errors of X, but may hide them, because it changes the eigenvalues by up to the
        # condition number of the mean. A matrix that is definite by this margin after whitening is definite before.
        scales = np.linalg.svd(self.whitener_, compute_uv=False)
        margin = 10.0 * (scales[0] / scales[-1]) ** 2
        if not definite(eigenvalues, margin * eps).all():
            projected = X if self._full_rank else restrict(X, self._range_basis())
            self._require_definite(projected, np.asarray(np.linalg.eigvalsh(projected), dtype=np.float64), eps)
        good = eigenvalues[..., 0] > 0.0
        if not good.all():
            self._refuse(X, ~good, "positive definite relative to the mean of the training matrices", eps)
        return from_spectrum(np.log(eigenvalues), vectors)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        return self._undo_whitening(super()._inverse(embedded))

    def _undo_whitening(self, whitened: Matrices) -> Matrices:
        left, right = self._inverse_whitener()
        product = left @ whitened @ right
        return np.asarray(0.5 * (product + np.swapaxes(product.conj(), -1, -2)))


def _riemannian_mean(X: Matrices, start: Matrices) -> Matrices:
    from pyriemann.geometry.mean import mean_riemann  # imported late, because it takes two seconds

    with warnings.catch_warnings():
        # Any point near the mean can serve as the origin.
        warnings.filterwarnings("ignore", message="Convergence not reached")
        return np.asarray(mean_riemann(X, tol=1e-5, init=start))


def _spectral_function(M: Matrices, function: Callable[[FloatArray], FloatArray]) -> Matrices:
    """Return the matrix function of M that applies a scalar function to the eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh(M)
    return from_spectrum(function(eigenvalues), vectors)
