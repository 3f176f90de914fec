"""The variables of the interior-point method, and the terms of the problem that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem import MetricProblem
from covmetric.solvers.base import StepFailed
from covmetric.solvers.systems import rates_along


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

    def ratios(self, W: FloatArray) -> FloatArray:
        """Return the squared distances divided by their bounds.

        Parameters
        ----------
        W : array of shape (n, n)
            The metric.

        Returns
        -------
        array of shape (a,)
        """
        return np.asarray(rates_along(self.problem.sums, W)[self.index] / self.bounds)

    def dual_matrix(self, tau: FloatArray) -> FloatArray:
        """Return I + S, the matrix of the multipliers tau / b.

        Parameters
        ----------
        tau : array of shape (a,)
            Multipliers times bounds.

        Returns
        -------
        array of shape (n, n)
        """
        weights = np.zeros(self.problem.n_pairs)
        weights[self.index] = self.similar * tau / self.bounds
        return np.asarray(self.problem.sums.half.identity + self.problem.sums.weighted_sum(weights))


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
