"""Phi(X) = log(M^-1/2 X M^-1/2), the log seen from the mean M of the training set."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices, as_numbers, symmetric
from covmetric.embeddings.base import definite, from_spectrum
from covmetric.embeddings.log import Log

_MEANS = ("logeuclid", "riemann")


class RecentredLog(Log):
    """The matrix logarithm after the training set was moved to the identity: the tangent space at its mean.

    D with W = I is the squared distance in the tangent space that pyRiemann's `TangentSpace` maps to. With the
    Riemannian mean it does not change if all matrices X become A X A^T; the log-Euclidean one is many times faster to
    find, and classified as well wherever we compared the two.

    Parameters
    ----------
    mean : {"logeuclid", "riemann"}, default="logeuclid"
        Which mean of the training matrices; the Riemannian one is that of ``pyriemann.geometry.mean``.
    reg : float, default=0.0
        See `Embedding`.

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
            self.whitener_ = _of_spectrum(logs, lambda exponents: np.exp(-0.5 * exponents))
        else:
            middle = _riemannian_mean(X.reshape(-1, n, n), _of_spectrum(logs, np.exp))
            self.whitener_ = _of_spectrum(middle, lambda values: 1.0 / np.sqrt(values))

    def probe(self) -> Matrices:
        """Return the mean of the training set.

        Returns
        -------
        array of shape (n, n)
        """
        root = np.linalg.inv(self.whitener_)
        return np.asarray(root @ root)

    def filters(self, vectors: Matrices) -> Matrices:
        """Return M^-1/2 v for each direction v, with the mean M of the training set.

        Parameters
        ----------
        vectors : array of shape (n, k)
            Directions of the whitened channels, as columns.

        Returns
        -------
        array of shape (n, k)
        """
        return np.asarray(self.whitener_ @ vectors)

    def patterns(self, vectors: Matrices) -> Matrices:
        """Return M^1/2 v for each direction v, with the mean M of the training set.

        Parameters
        ----------
        vectors : array of shape (n, k)
            Directions of the whitened channels, as columns.

        Returns
        -------
        array of shape (n, k)
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
        # The whitened matrix may look better than X, whose rounding errors it has. With a wide margin it does not.
        scales = np.linalg.eigvalsh(self.whitener_)
        margin = 10.0 * (scales[-1] / scales[0]) ** 2
        if not definite(eigenvalues, margin * eps).all():
            self._require_definite(X, np.asarray(np.linalg.eigvalsh(X), dtype=np.float64), eps)
        good = eigenvalues[..., 0] > 0.0
        if not good.all():
            self._refuse(X, ~good, "positive definite beside the mean of the training set", eps)
        return from_spectrum(np.log(eigenvalues), vectors)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        root = np.linalg.inv(self.whitener_)
        product = root @ super()._inverse(embedded) @ root
        return np.asarray(0.5 * (product + np.swapaxes(product.conj(), -1, -2)))


def _riemannian_mean(X: Matrices, start: Matrices) -> Matrices:
    from pyriemann.geometry.mean import mean_riemann  # takes two seconds to import

    with warnings.catch_warnings():
        # Any point near the mean serves as the origin.
        warnings.filterwarnings("ignore", message="Convergence not reached")
        return np.asarray(mean_riemann(X, tol=1e-5, init=start))


def _of_spectrum(M: Matrices, function: Callable[[FloatArray], FloatArray]) -> Matrices:
    eigenvalues, vectors = np.linalg.eigh(M)
    return from_spectrum(function(eigenvalues), vectors)
