"""The variables of the interior-point method, and the terms of the problem that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem import MetricProblem
from covmetric.solvers.base import StepFailed
from covmetric.solvers.systems import rates_along

# The factor of I + S is accurate if its diagonal entries differ by less than this. (The matrix has the squares.)
_WELL_CONDITIONED = 1e-4


@dataclass(slots=True, eq=False)
class ScaledPairs:
    """The pairs that depend on W, with their distances in units of their bounds.

    Attributes
    ----------
    problem : MetricProblem
        The problem.
    index : array of int of shape (a,)
        The pairs with F != 0.
    similar, bounds, weights : arrays of shape (a,)
        The signs, bounds and weights of these pairs.
    """

    problem: MetricProblem
    index: IntArray
    similar: FloatArray
    bounds: FloatArray
    weights: FloatArray

    @classmethod
    def from_problem(cls, problem: MetricProblem) -> ScaledPairs:
        """Return the pairs of a problem, without pairs of equal examples.

        Parameters
        ----------
        problem : MetricProblem
            The problem.

        Returns
        -------
        ScaledPairs
        """
        index = np.flatnonzero(problem.squared_norms > 0.0)
        return cls(problem, index, problem.similar[index], problem.bounds[index], problem.weights[index])

    def ratios(self, L: FloatArray) -> FloatArray:
        """Return the squared distances in the metric L L^T, divided by their bounds.

        Parameters
        ----------
        L : array of shape (n, n)
            The factor of the metric.

        Returns
        -------
        array of shape (a,)
        """
        sums, norms = self.problem.sums, np.linalg.norm(L, axis=0)
        if float(norms.min()) > _WELL_CONDITIONED * float(norms.max()):
            squared = rates_along(sums, L @ L.T)
        else:
            squared = sums.squared_distances(L)
        return np.asarray(squared[self.index] / self.bounds)

    def dual_factor(self, tau: FloatArray) -> FloatArray:
        """Return the lower triangular R with R R^T = I + S, the matrix of the multipliers tau / b.

        Parameters
        ----------
        tau : array of shape (a,)
            Multipliers times bounds.

        Returns
        -------
        array of shape (n, n)

        Raises
        ------
        StepFailed
            If the matrix is not positive definite.
        """
        sums = self.problem.sums
        weights = np.zeros(self.problem.n_pairs)
        weights[self.index] = self.similar * tau / self.bounds
        factor, failed = lapack.dpotrf(sums.half.identity + sums.weighted_sum(weights), lower=True, clean=True)
        extent = np.abs(factor.diagonal())
        if not failed and float(extent.min()) > _WELL_CONDITIONED * float(extent.max()):
            return np.asarray(factor)
        # The similar part is factorised without being formed; the rest is small beside the identity in its metric.
        R = sums.triangular_factor(weights)
        inverse, failed = lapack.dtrtri(R)
        if failed:
            raise StepFailed
        rest = sums.gram(-weights, transform=inverse)
        product = R.T @ cholesky(sums.half.identity - rest)
        return np.asarray(product * np.sign(product.diagonal()))  # R may have negative entries on its diagonal

    def transformed_sum(self, tau: FloatArray, transform: FloatArray) -> FloatArray:
        """Return T^T (sum_k tau_k / b_k A_k) T.

        Parameters
        ----------
        tau : array of shape (a,)
            Multipliers times bounds; pairs with zero are left out.
        transform : array of shape (n, n)
            The transform T.

        Returns
        -------
        array of shape (n, n)
        """
        weights = np.zeros(self.problem.n_pairs)
        weights[self.index] = tau / self.bounds
        return self.problem.sums.gram(weights, transform=transform)


@dataclass(slots=True, eq=False)
class InteriorPoint:
    """A point inside of all cones.

    The problem in standard form: minimise tr W - log det W + sum_k c_k d(xi_k) subject to v_k = y_k (xi_k - s_k) >= 0
    and xi_k >= 0. The multipliers of the two constraints are tau_k and u_k; M = I + S is the inverse of W at the
    optimum.

    Attributes
    ----------
    L : array of shape (n, n)
        A factor of W = L L^T.
    R : array of shape (n, n)
        The lower Cholesky factor of M.
    s : array of shape (a,)
        Squared distances divided by their bounds.
    tau, v, xi, u : arrays of shape (a,)
        Multipliers, slacks of the bounds, slack variables, and the multipliers of xi >= 0; all positive.
    """

    L: FloatArray
    R: FloatArray
    s: FloatArray
    tau: FloatArray
    v: FloatArray
    xi: FloatArray
    u: FloatArray

    @property
    def theta(self) -> float:
        """The mean of tau v, which tends to zero."""
        return float(np.mean(self.tau * self.v)) if len(self.tau) else 0.0


def cholesky(matrix: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor of a matrix.

    Parameters
    ----------
    matrix : array of shape (n, n)
        A symmetric matrix.

    Returns
    -------
    array of shape (n, n)

    Raises
    ------
    StepFailed
        If the matrix is not positive definite.
    """
    factor, failed = lapack.dpotrf(matrix, lower=True, clean=True)
    if failed or not np.isfinite(factor).all():
        raise StepFailed
    return np.asarray(factor)
