"""Random problems for the tests: all the sizes, slacks, ranks and weights for which the optimum has to be right."""

from __future__ import annotations

import numpy as np

from covmetric import MetricProblem

SLACKS = ("is", "l2", "re")
ORDERS = ("cyclic", "perm", "rand")


def random_problem(seed: int) -> MetricProblem:
    """Number `seed`: n 2..12, m in {1, 2, n}, K 1..60, lambda 1e-1..1e-4; some rank-deficient, some with duplicates."""
    rng = np.random.default_rng(1000 + seed)
    n = int(rng.integers(2, 13))
    m = (1, 2, n)[seed % 3]
    K = int(rng.integers(1, 61))
    slack = SLACKS[(seed // 3) % 3]
    lam = 10.0 ** -rng.uniform(1, 4)
    examples = rng.uniform(-0.5, 0.5, (max(4, K // 2), n, m))
    if seed % 5 == 1:  # every difference lives in a subspace
        basis = np.linalg.qr(rng.standard_normal((n, n)))[0][:, : max(1, n // 2)]
        examples = basis @ (basis.T @ examples)
    pairs = np.array([rng.choice(len(examples), 2, replace=False) for _ in range(K)])
    similar = rng.choice([-1.0, 1.0], K)
    if seed % 4 == 2 and K > 2:  # the same pair twice, also with the other sign
        pairs[0] = pairs[1] = pairs[2]
        similar[0], similar[1] = similar[2], -similar[2]
    squared = ((examples[pairs[:, 0]] - examples[pairs[:, 1]]) ** 2).sum(axis=(1, 2))
    bounds = np.median(squared) * rng.uniform(0.3, 3.0, K)
    if seed % 7 == 3 and slack != "is":  # examples that are equal
        examples[pairs[0, 1]] = examples[pairs[0, 0]]
    return MetricProblem(examples, pairs, similar, bounds, 1.0 / (lam * K), slack)
