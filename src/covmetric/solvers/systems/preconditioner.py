"""Preconditioners for the system of a step: the matrix of a sample, or that of Gaussian differences."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.half_vectors import HalfVectors
from covmetric._utils.validation import FloatArray
from covmetric.solvers.base import StepFailed
from covmetric.solvers.systems.direct import cholesky


class Preconditioner(ABC):
    """An approximate inverse of the matrix of a step."""

    @abstractmethod
    def apply(self, matrix: FloatArray) -> FloatArray:
        """Return the preconditioned residual.

        Parameters
        ----------
        matrix : array of shape (n, n)
            The residual, a symmetric matrix.

        Returns
        -------
        array of shape (n, n)
            An exactly symmetric matrix.
        """


class SampledPreconditioner(Preconditioner):
    """The inverse of the matrix that a sample of the pairs gives.

    Parameters
    ----------
    matrix : array of shape (p, p)
        The identity plus the weighted sum of vec(B_k) vec(B_k)^T over the sample, in column-major order. Only its
        upper triangle is read, and it is overwritten.
    half : HalfVectors
        The half vectors of n x n matrices.

    Raises
    ------
    StepFailed
        If the matrix is not positive definite in floating point arithmetic.
    """

    def __init__(self, matrix: FloatArray, half: HalfVectors) -> None:
        self._factor, self._half = cholesky(matrix), half

    def apply(self, matrix: FloatArray) -> FloatArray:
        return self._half.unpack(np.asarray(lapack.dpotrs(self._factor, self._half.pack(matrix))[0]))


class GaussianPreconditioner(Preconditioner):
    """The inverse of I + N (kappa B (x) B + vec(B) vec(B)^T), with the mean B of the B_k.

    N is the sum of the weights h_k. If the columns of the differences are Gaussian, sum_k h_k vec(B_k) vec(B_k)^T has
    this form with kappa = 2/m, and it is close to it on real data. In the eigenbasis of B the first term is diagonal,
    and the second is a correction of rank one. kappa is chosen such that the traces are equal.

    Parameters
    ----------
    mean : array of shape (n, n)
        The weighted mean B of the B_k.
    total : float
        The sum N of the weights.
    mean_square : float
        The weighted mean of ||B_k||^2.

    Examples
    --------
    >>> preconditioner = GaussianPreconditioner(np.eye(2), total=2.0, mean_square=5.0)
    >>> preconditioner.apply(np.array([[0.0, 3.0], [3.0, 0.0]]))
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(self, mean: FloatArray, total: float, mean_square: float) -> None:
        values, self._vectors, failed = lapack.dsyevd(mean)
        if failed or not np.isfinite(values).all():
            raise StepFailed
        values = np.maximum(values, 0.0)
        squares = float(values @ values)
        products = 0.5 * (float(values.sum()) ** 2 + squares)
        kappa = max(0.0, mean_square - squares) / products if products > 0.0 else 0.0
        self._inverse = 1.0 / (1.0 + total * kappa * np.outer(values, values))
        self._values = values
        self._scaled = values * self._inverse.diagonal()
        self._shift = total / (1.0 + total * float(values @ self._scaled))

    def apply(self, matrix: FloatArray) -> FloatArray:
        U = self._vectors
        image = (U.T @ matrix @ U) * self._inverse
        image.flat[:: len(U) + 1] -= self._shift * float(self._values @ image.diagonal()) * self._scaled
        result = U @ image @ U.T
        # Sums over pairs read one triangle of a matrix. Conjugate gradients amplify any difference to the other one.
        return np.asarray(0.5 * (result + result.T))
