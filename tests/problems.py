"""Random problems for the tests: all the sizes, slacks, ranks and weights for which the optimum has to be right.

The slacks, orders and solvers come from the registries, so that a new entry meets every test that walks them.
"""

from __future__ import annotations

import functools

import numpy as np

from covmetric import MetricProblem
from covmetric import solvers as _solvers
from covmetric.orders import ORDERS as _ORDERS
from covmetric.slacks import SLACKS as _SLACKS
from covmetric.slacks import get_slack

SLACKS = tuple(_SLACKS)
ORDERS = tuple(_ORDERS)
SOLVERS = tuple(_solvers.SOLVERS)

# The slacks of the seeds below 1000. They never change, so that each seed keeps its problem.
_FIRST_SLACKS = ("is", "l2", "re")
LATER_SLACKS = tuple(name for name in SLACKS if name not in _FIRST_SLACKS)


def has_finite_price(slack: str) -> bool:
    """Return whether a dissimilar pair of equal examples has a finite loss."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(get_slack(slack).divergence(np.zeros(1)))[0])


def problem_seeds(count: int) -> list[int]:
    """Return the seeds 0..count-1 for the first three slacks, and a third as many seeds for each later slack."""
    later = range(1, len(LATER_SLACKS) + 1)
    return [*range(count), *(1000 * group + seed for group in later for seed in range(-(-count // 3)))]


def slack_of_seed(seed: int) -> str:
    """Return the slack of a seed: three slacks alternate below 1000, and each later slack has a separate thousand."""
    group, number = divmod(seed, 1000)
    return LATER_SLACKS[group - 1] if group else _FIRST_SLACKS[(number // 3) % 3]


def random_problem(seed: int) -> MetricProblem:
    """Return problem `seed`: n 2..12, m in {1, 2, n}, K 1..60, lambda 1e-1..1e-4.

    Some are rank-deficient, some have duplicate pairs, some have pairs of equal examples.
    """
    rng = np.random.default_rng(1000 + seed)
    slack = slack_of_seed(seed)
    n = int(rng.integers(2, 13))
    m = (1, 2, n)[seed % 3]
    K = int(rng.integers(1, 61))
    lam = 10.0 ** -rng.uniform(1, 4)
    examples = rng.uniform(-0.5, 0.5, (max(4, K // 2), n, m))
    if seed % 5 == 1:  # all differences lie in a subspace
        basis = np.linalg.qr(rng.standard_normal((n, n)))[0][:, : max(1, n // 2)]
        examples = basis @ (basis.T @ examples)
    pairs = np.array([rng.choice(len(examples), 2, replace=False) for _ in range(K)])
    similar = rng.choice([-1.0, 1.0], K)
    if seed % 4 == 2 and K > 2:  # the same pair three times, once with the opposite sign
        pairs[0] = pairs[1] = pairs[2]
        similar[0], similar[1] = similar[2], -similar[2]
    squared = ((examples[pairs[:, 0]] - examples[pairs[:, 1]]) ** 2).sum(axis=(1, 2))
    bounds = np.median(squared) * rng.uniform(0.3, 3.0, K)
    if seed % 7 == 3 and has_finite_price(slack):  # a pair of equal examples
        examples[pairs[0, 1]] = examples[pairs[0, 0]]
    return MetricProblem(examples, pairs, similar, bounds, 1.0 / (lam * K), slack)


@functools.cache
def small_problems() -> tuple[MetricProblem, ...]:
    """Return three small problems of every slack, of different shapes, which every solver solves quickly."""
    problems = []
    for slack in SLACKS:
        rng = np.random.default_rng(list(slack.encode()))
        for n, m, K in ((3, 3, 8), (4, 1, 12), (5, 2, 6)):
            F = rng.uniform(-0.5, 0.5, (K, n, m))
            similar = np.where(np.arange(K) % 2, -1.0, 1.0)
            bounds = n * m / 12.0 * rng.uniform(0.5, 2.0, K)
            problems.append(MetricProblem.from_differences(F, similar, bounds, 20.0 / K, slack))
    return tuple(problems)
