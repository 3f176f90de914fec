"""The recentred logarithm, Phi(X) = log(M^-1/2 X M^-1/2), with the mean M of the training matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices, as_numbers, symmetric
from covmetric.embeddings.log import Log
from covmetric.embeddings.matrices import definite, from_spectrum

_MEANS = ("logeuclid", "riemann")


class RecentredLog(Log):
    """The matrix logarithm after whitening with the mean of the training matrices.

    This is the tangent space at the mean: with W = I, D is the squared distance in the tangent space of pyRiemann's
    `TangentSpace`. With the Riemannian mean, D does not change if every X is replaced by A X A^T. The log-Euclidean
    mean is many times faster to compute, and gave the same accuracy wherever we compared the two.

    Parameters
    ----------
    mean : {'logeuclid', 'riemann'}, default='logeuclid'
        The kind of mean. The Riemannian mean is computed by ``pyriemann.geometry.mean``.
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Attributes
    ----------
    whitener_ : array of shape (n, n)
        M^-1/2.

    Examples
    --------
    >>> import numpy as np
    >>> phi = RecentredLog()
    >>> phi.fit_transform(np.stack([np.diag([1.0, 2.0]), np.diag([4.0, 2.0])])).round(3)[:, 0, 0]
    array([-0.693,  0.693])
    """

    name = "relog"
    fitted_attributes = ("whitener_",)

    def __init__(self, mean: str = "logeuclid", reg: float = 0.0) -> None:
        super().__init__(reg=reg)
        self.mean = mean

    def _fit(self, X: Matrices, eps: float) -> None:
        if self.mean not in _MEANS:
            raise ValueError(f"mean must be one of {', '.join(map(repr, _MEANS))}, got {self.mean!r}")
        n = X.shape[-1]
        eigenvalues, vectors = np.linalg.eigh(X)
        self._require_definite(X, eigenvalues, eps)
        logs = from_spectrum(np.log(eigenvalues), vectors).reshape(-1, n, n).mean(axis=0)
        if self.mean == "logeuclid":
            self.whitener_ = _spectral_function(logs, lambda exponents: np.exp(-0.5 * exponents))
        else:
            centre = _riemannian_mean(X.reshape(-1, n, n), _spectral_function(logs, np.exp))
            self.whitener_ = _spectral_function(centre, lambda values: 1.0 / np.sqrt(values))

    def probe(self) -> Matrices:
        """Return the mean of the training matrices, which Phi maps to zero.

        Returns
        -------
        array of shape (n, n)
            The mean M.
        """
        root = np.linalg.inv(self.whitener_)
        return np.asarray(root @ root)

    def filters(self, vectors: Matrices) -> Matrices:
        """Return M^-1/2 v for each direction v of the whitened channels.

        Parameters
        ----------
        vectors : array of shape (n, k)
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
        vectors : array of shape (n, k)
            Directions v, as columns.

        Returns
        -------
        array of shape (n, k)
            The patterns over the channels, as columns.
        """
        return np.asarray(np.linalg.solve(self.whitener_, vectors))

    def _check_restored(self) -> None:
        whitener = symmetric("whitener_", as_numbers("whitener_", self.whitener_))
        if whitener.shape != self.shape_in_ or np.iscomplexobj(whitener) != self.complex_:
            raise ValueError(f"whitener_ must have shape {self.shape_in_}, got {whitener.shape}, {whitener.dtype}")
        if not np.linalg.eigvalsh(whitener)[0] > 0.0:
            raise ValueError("whitener_ must be positive definite")
        self.whitener_ = whitener

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        whitened = self.whitener_ @ X @ self.whitener_
        eigenvalues, vectors = np.linalg.eigh(0.5 * (whitened + np.swapaxes(whitened.conj(), -1, -2)))
        # Whitening keeps the rounding errors of X, but may hide them, because it changes the eigenvalues by up to the
        # condition number of the mean. A matrix that is definite by this margin after whitening is definite before.
        scales = np.linalg.eigvalsh(self.whitener_)
        margin = 10.0 * (scales[-1] / scales[0]) ** 2
        if not definite(eigenvalues, margin * eps).all():
            self._require_definite(X, np.asarray(np.linalg.eigvalsh(X), dtype=np.float64), eps)
        good = eigenvalues[..., 0] > 0.0
        if not good.all():
            self._refuse(X, ~good, "positive definite relative to the mean of the training matrices", eps)
        return from_spectrum(np.log(eigenvalues), vectors)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        root = np.linalg.inv(self.whitener_)
        product = root @ super()._inverse(embedded) @ root
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
