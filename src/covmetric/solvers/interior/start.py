"""A starting point near the central path, for any scale of the differences, bounds and weights."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from covmetric._utils.validation import FloatArray
from covmetric.solvers.interior.point import InteriorPoint, ScaledPairs, cholesky

# The path starts where the products of primal and dual variables are about this many times the largest weight.
_FIRST_THETA = 2.0
# The largest entry of M: the identity must not vanish beside the similar pairs.
_LARGEST_ENTRY = 1e13
# The largest eigenvalue that dissimilar pairs may take away from M, in the metric of the similar pairs.
_TAKEN = 0.5


def central_start(pairs: ScaledPairs) -> InteriorPoint:
    """Return a point whose products W M, tau v and xi u have about the same size theta.

    The similar pairs determine the scale of W in every direction: with tau = c/2 and W = theta M^-1 they are all
    nearly centred. The multipliers of the dissimilar pairs are as large as M > 0 allows, but not larger than theta / v.

    Parameters
    ----------
    pairs : ScaledPairs
        The pairs.

    Returns
    -------
    InteriorPoint

    Raises
    ------
    StepFailed
        If the scales of the pairs differ too much for double precision.
    """
    c, similar = pairs.weights, pairs.similar > 0.0
    theta = _FIRST_THETA * max(1.0, float(c.max(initial=0.0)))
    tau = np.where(similar, 0.5 * c, 0.0)
    M = pairs.dual_matrix(tau)
    largest = float(np.abs(M).max())
    if largest > _LARGEST_ENTRY:
        tau *= _LARGEST_ENTRY / largest
        M = pairs.dual_matrix(tau)
    R = cholesky(M)
    s = theta * pairs.ratios(_inverse(R))
    if not similar.all():
        wanted = np.where(similar, 0.0, 2.0 * theta / s)
        taken = pairs.problem.sums.half.identity - pairs.dual_matrix(wanted)
        scaled = solve_triangular(R, solve_triangular(R, taken, lower=True).T, lower=True)
        largest = float(np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[-1])
        tau = np.where(similar, tau, min(1.0, _TAKEN / largest) * wanted)
        R = cholesky(pairs.dual_matrix(tau))
    L = np.sqrt(theta) * solve_triangular(R, np.eye(len(R)), lower=True).T
    s = pairs.ratios(L @ L.T)
    xi = np.where(similar, 2.0 * s + theta / c, np.minimum(0.5 * s, theta / (c + tau)))
    return InteriorPoint(L, R, s, tau, v=pairs.similar * (xi - s), xi=xi, u=theta / xi)


def _inverse(R: FloatArray) -> FloatArray:
    """Return (R R^T)^-1."""
    half = solve_triangular(R, np.eye(len(R)), lower=True)
    return np.asarray(half.T @ half)
