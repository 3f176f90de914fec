"""The synthetic problem of the paper's convergence experiment (its section 4.1)."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import check_counts, is_number
from covmetric.problem.metric_problem import MetricProblem
from covmetric.slacks import Slack


def make_paper_problem(
    n: int = 10, K: int = 50, lam: float = 1e-2, seed: int = 0, slack: str | Slack = "is"
) -> MetricProblem:
    """K differences F uniform in [-0.5, 0.5], y = +-1 with equal chances, b = 1, c = 1/(lam K).

    Parameters
    ----------
    n : int
        Size of the matrices.
    K : int
        Number of pairs.
    lam : float
        The weight of the regulariser; the smaller, the more the pairs count.
    seed : int
    slack : {"is", "l2", "re"} or Slack

    Examples
    --------
    >>> make_paper_problem(n=10, K=50, lam=1e-3, seed=0)
    MetricProblem(n=10, m=10, pairs=50 (30 similar, 20 dissimilar), slack='is')
    """
    if not (is_number(lam) and lam > 0):
        raise ValueError(f"lam must be positive, got {lam!r}")
    check_counts(n=n, K=K)
    rng = np.random.default_rng(seed)
    F = rng.uniform(-0.5, 0.5, (K, n, n))
    similar = rng.choice([-1.0, 1.0], K)
    return MetricProblem.from_differences(F, similar, 1.0, 1.0 / (lam * K), slack)
