"""The matrix I + t Delta by which a step stretches the metric, with its determinant and its factor."""

from __future__ import annotations

import functools

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.validation import FloatArray
from covmetric.solvers.base import StepFailed

# Steps that stretch W by more than this, in any direction, are long.
_LONG_STEP = 0.5
# No eigenvalue of W shrinks by more than this fraction in one step, because steps near the edge of the cone are short.
_SHRINK = 0.8


class Stretch:
    """The matrix I + t Delta of a step from W = C C^T to C (I + t Delta) C^T.

    The eigenvalues of Delta give its determinant for every t. They take as long as ten Cholesky factorisations. If
    Delta is small, t = 1 is nearly always the step length, and the factors of I + Delta and I - Delta are enough.

    Parameters
    ----------
    Delta : array of shape (n, n)
        A symmetric matrix.
    identity : array of shape (n, n)
        The identity matrix.

    Attributes
    ----------
    Delta : array of shape (n, n)
        The matrix.
    is_short : bool
        Whether the norm of Delta is so small that the step t = 1 is within the limit and not long.
    """

    def __init__(self, Delta: FloatArray, identity: FloatArray) -> None:
        self.Delta = Delta
        self._identity = identity
        self._root: FloatArray | None = None  # the factor for t = 1
        self.is_short = float(np.vdot(Delta, Delta)) <= _LONG_STEP**2

    @functools.cached_property
    def spectrum(self) -> FloatArray:
        """The eigenvalues of Delta, ascending, shape (n,)."""
        spectrum, _, failed = lapack.dsyevd(self.Delta, compute_v=0)
        if failed:
            raise StepFailed
        return np.asarray(spectrum)

    @property
    def largest(self) -> float:
        """The largest eigenvalue of Delta."""
        return float(self.spectrum[-1])

    @property
    def is_long(self) -> bool:
        """Whether the step stretches W so much that Newton's model may be poor."""
        return not self.is_short and self.largest > _LONG_STEP

    @property
    def limit(self) -> float:
        """The largest t for which no eigenvalue of W shrinks too much."""
        smallest = float(self.spectrum[0])
        return -_SHRINK / smallest if smallest < 0.0 else np.inf

    def logdet(self, t: float) -> tuple[float, float]:
        """Return log det(I + t Delta) and its derivative in t.

        Parameters
        ----------
        t : float
            A step length below the limit.

        Returns
        -------
        value : float
            The logarithm of the determinant.
        slope : float
            Its derivative.
        """
        if t == 1.0 and self.is_short:
            root = self.root(1.0)
            lower, _ = lapack.dpotri(root, lower=True)  # the lower triangle of the inverse, with zeros above
            slope = 2.0 * float(np.vdot(lower.T, self.Delta)) - float(lower.diagonal() @ self.Delta.diagonal())
            return 2.0 * float(np.log(root.diagonal()).sum()), slope
        stretched = 1.0 + t * self.spectrum
        return float(np.log(stretched).sum()), float((self.spectrum / stretched).sum())

    def reverse_logdet(self) -> float | None:
        """Return log det(I - Delta).

        Returns
        -------
        float or None
            None if I - Delta is not positive definite.
        """
        if not self.is_short:
            return float(np.log1p(-self.spectrum).sum()) if self.largest < 1.0 else None
        root, _ = lapack.dpotrf(self._identity - self.Delta, lower=True)
        return 2.0 * float(np.log(root.diagonal()).sum())

    def root(self, t: float) -> FloatArray:
        """Return the lower triangular Cholesky factor of I + t Delta.

        Parameters
        ----------
        t : float
            A step length below the limit.

        Returns
        -------
        array of shape (n, n)

        Raises
        ------
        StepFailed
            If the matrix is not positive definite in floating point arithmetic.
        """
        if t == 1.0 and self._root is not None:
            return self._root
        root, failed = lapack.dpotrf(self._identity + t * self.Delta, lower=True, clean=True)
        if failed:
            raise StepFailed
        if t == 1.0:
            self._root = root
        return np.asarray(root)


def inverse_step_factor(C: FloatArray, Delta: FloatArray) -> FloatArray | None:
    """Return the factor of the metric after a step in W^-1 instead of W = C C^T, C (I - Delta)^-1 C^T.

    Parameters
    ----------
    C : array of shape (n, n)
        The lower triangular factor of W.
    Delta : array of shape (n, n)
        The step in the coordinates of C.

    Returns
    -------
    array of shape (n, n) or None
        A lower triangular factor with a positive diagonal; None if I - Delta is not positive definite.
    """
    root, failed = lapack.dpotrf(np.eye(len(C)) - Delta, lower=True, clean=True)
    if failed:
        return None
    inner, _ = lapack.dtrtrs(root, C.T, lower=True)
    upper = np.triu(lapack.dgeqrf(inner, overwrite_a=True)[0])
    factor = upper.T * np.sign(upper.diagonal())
    valid = np.isfinite(factor).all() and (factor.diagonal() > 0.0).all()
    return np.asarray(factor) if valid else None
