"""Small problems of extreme scales, for the tests of the solvers that have to cope with any scale."""

from __future__ import annotations

import numpy as np

from covmetric import MetricProblem
from tests.problems import SLACKS


def hostile_problem(seed: int) -> MetricProblem:
    """Return problem `seed`: n 1..14, m 1..2n, K 1..80, lambda 10..1e-7, scales and ranks as the seed decides.

    The scales of the rows, the bounds and the weights vary over six decades in some problems. Other problems have
    differences of low rank, or pairs that contradict each other.
    """
    rng = np.random.default_rng([15, seed])
    n = int(rng.integers(1, 15))
    m = int(rng.choice([1, 2, n, rng.integers(1, 2 * n + 1)]))
    K = int(rng.integers(1, 81))
    lam = 10.0 ** rng.uniform(-7, 1)
    F = rng.standard_normal((K, n, m))
    kind = seed % 6
    if kind == 1:  # the rows have different units
        F *= 10.0 ** rng.uniform(-3, 3, (1, n, 1))
    if kind == 2:  # low rank
        F = rng.standard_normal((n, max(1, n // 3))) @ rng.standard_normal((K, max(1, n // 3), m))
    if kind == 3 and K > 1:  # the same differences, similar and dissimilar
        F[K // 2 :] = F[: K - K // 2] * (1.0 + 1e-6 * rng.standard_normal((K - K // 2, n, m)))
    norms = (F**2).sum(axis=(1, 2))
    bounds = np.median(norms) * (10.0 ** rng.uniform(-3, 3, K) if kind == 4 else rng.uniform(0.3, 3.0, K))
    weights = (10.0 ** rng.uniform(-3, 3, K) if kind == 5 else np.ones(K)) / (lam * K)
    if seed % 4 == 3:  # all distances are off their bounds by the same factor
        bounds = bounds * 10.0 ** rng.uniform(-3, 3)
    return MetricProblem.from_differences(F, rng.choice([-1.0, 1.0], K), bounds, weights, SLACKS[seed % len(SLACKS)])
