"""Random points inside of all cones, for the tests of the interior-point method."""

from __future__ import annotations

import numpy as np

from covmetric import MetricProblem
from covmetric.solvers.interior.point import InteriorPoint, ScaledPairs


def random_pairs(slack: str, m: int = 2, seed: int = 0, K: int = 9, n: int = 4) -> ScaledPairs:
    """Return the pairs of a random problem with bounds and weights of different size."""
    rng = np.random.default_rng([m, seed])
    F = rng.standard_normal((K, n, m))
    similar = np.where(np.arange(K) % 3, 1.0, -1.0)
    problem = MetricProblem.from_differences(F, similar, rng.uniform(0.3, 3.0, K), rng.uniform(0.5, 5.0, K), slack)
    return ScaledPairs.from_problem(problem)


def random_point(pairs: ScaledPairs, seed: int = 0) -> InteriorPoint:
    """Return a point that meets none of the equations."""
    rng = np.random.default_rng(seed)
    K, n = len(pairs.index), pairs.problem.n
    tau = np.where(pairs.similar > 0.0, 1.0, 0.01) * rng.uniform(0.2, 1.0, K)
    A = rng.standard_normal((n, n))
    L = np.linalg.cholesky(A @ A.T / n + 0.1 * np.eye(n)) @ np.linalg.qr(A)[0]
    v, xi, u = rng.uniform(0.1, 2.0, (3, K))
    return InteriorPoint(L, pairs.dual_factor(tau), pairs.ratios(L), tau, v, xi, u)
