"""A starting point near the central path, for any scale of the differences, bounds and weights."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack, solve_triangular

from covmetric.solvers.base import StepFailed
from covmetric.solvers.interior.point import InteriorPoint, ScaledPairs

# The path starts where the products of primal and dual variables are about this many times the largest weight.
_FIRST_THETA = 2.0
# The largest eigenvalue that dissimilar pairs may take away from M, in the metric of the similar pairs.
_LARGEST_PART = 0.5


def central_start(pairs: ScaledPairs, factor: float = 1.0) -> InteriorPoint:
    """Return a point whose products W M, tau v and xi u have about the same size theta.

    The similar pairs determine the scale of W in every direction: with tau = c/2 and W = theta M^-1 they are all
    nearly centred. The multipliers of the dissimilar pairs are as large as M > 0 allows, but not larger than theta / v.

    Parameters
    ----------
    pairs : ScaledPairs
        The pairs.
    factor : float, default=1.0
        The factor by which theta is larger than usual.

    Returns
    -------
    InteriorPoint

    Raises
    ------
    StepFailed
        If the scales of the pairs differ too much for double precision.
    """
    c, similar = pairs.weights, pairs.similar > 0.0
    theta = factor * _FIRST_THETA * max(1.0, float(c.max(initial=0.0)))
    # If there are more pairs than rows, the products of the pairs can only be equal if those of W and M are larger.
    theta_W = theta * max(1.0, len(c) / pairs.problem.n)
    tau = np.where(similar, 0.5 * c, 0.0)
    R = pairs.dual_factor(tau)
    inverse = solve_triangular(R, np.eye(len(R)), lower=True).T
    s = theta_W * pairs.ratios(inverse)
    if not similar.all():
        wanted = np.where(similar, 0.0, 2.0 * theta / s)
        part = pairs.transformed_sum(wanted, inverse)
        values, _, failed = lapack.dsyevd(part, compute_v=0)
        if failed or not np.isfinite(values).all():
            raise StepFailed
        tau = np.where(similar, tau, min(1.0, _LARGEST_PART / float(values[-1])) * wanted)
        R = pairs.dual_factor(tau)
        inverse = solve_triangular(R, np.eye(len(R)), lower=True).T
    L = np.sqrt(theta_W) * inverse
    s = pairs.ratios(L)
    above = s + np.maximum(s, theta / np.where(similar, tau, 1.0))
    xi = np.where(similar, above, np.minimum(0.5 * s, theta / (c + tau)))
    return InteriorPoint(L, R, s, tau, v=pairs.similar * (xi - s), xi=xi, u=theta / xi)
