"""Phi(X) = log(M^-1/2 X M^-1/2), the log seen from the mean M of the training set."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from covmetric._validation import FloatArray, Matrices, as_numbers, symmetric
from covmetric.embeddings.base import definite, from_spectrum
from covmetric.embeddings.log import Log


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

    def __init__(self, mean: str = "logeuclid", reg: float = 0.0) -> None:
        super().__init__(reg=reg)
        self.mean = mean

    def _fit(self, X: Matrices, eps: float) -> None:
        means = {"logeuclid": _log_euclidean_mean, "riemann": _riemannian_mean}
        if self.mean not in means:
            raise ValueError(f"mean must be one of {', '.join(map(repr, means))}, got {self.mean!r}")
        self._require_definite(X, eps)
        n = X.shape[-1]
        self.whitener_ = _inverse_root(means[self.mean](X.reshape(-1, n, n)))

    def _probe(self) -> Matrices:
        """The mean of the training set."""
        root = np.linalg.inv(self.whitener_)
        return np.asarray(root @ root)

    def _restore(self, shape_in_: Any, complex_: Any, whitener_: Any = None) -> None:
        super()._restore(shape_in_, complex_)
        whitener = symmetric("whitener_", as_numbers("whitener_", whitener_))
        if whitener.shape != self.shape_in_ or np.iscomplexobj(whitener) != complex_:
            raise ValueError(f"whitener_ must have shape {self.shape_in_}, got {whitener.shape}, {whitener.dtype}")
        if not np.linalg.eigvalsh(whitener)[0] > 0.0:
            raise ValueError("whitener_ must be positive definite")
        self.whitener_ = whitener

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        self._require_definite(X, eps)  # the whitened matrix may look better than X, whose rounding errors it has
        whitened = self.whitener_ @ X @ self.whitener_
        eigenvalues, vectors = np.linalg.eigh(0.5 * (whitened + np.swapaxes(whitened.conj(), -1, -2)))
        good = eigenvalues[..., 0] > 0.0
        if not good.all():
            self._refuse(X, ~good, "positive definite beside the mean of the training set", eps)
        return from_spectrum(np.log(eigenvalues), vectors)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        root = np.linalg.inv(self.whitener_)
        product = root @ super()._inverse(embedded) @ root
        return np.asarray(0.5 * (product + np.swapaxes(product.conj(), -1, -2)))

    def _require_definite(self, X: Matrices, eps: float) -> None:
        good = definite(np.asarray(np.linalg.eigvalsh(X), dtype=np.float64), eps)
        if not good.all():
            self._refuse(X, ~good, "positive definite", eps)


def _riemannian_mean(X: Matrices) -> Matrices:
    from pyriemann.geometry.mean import mean_riemann  # takes two seconds to import

    with warnings.catch_warnings():
        # Any point near the mean serves as the origin.
        warnings.filterwarnings("ignore", message="Convergence not reached")
        return np.asarray(mean_riemann(X, tol=1e-5, init=_log_euclidean_mean(X)))


def _log_euclidean_mean(X: Matrices) -> Matrices:
    eigenvalues, vectors = np.linalg.eigh(X)
    return _of_spectrum(from_spectrum(np.log(eigenvalues), vectors).mean(axis=0), np.exp)


def _inverse_root(M: Matrices) -> Matrices:
    return _of_spectrum(M, lambda eigenvalues: 1.0 / np.sqrt(eigenvalues))


def _of_spectrum(M: Matrices, function: Callable[[FloatArray], FloatArray]) -> Matrices:
    eigenvalues, vectors = np.linalg.eigh(M)
    return from_spectrum(function(eigenvalues), vectors)
