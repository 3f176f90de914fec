"""The synthetic problem of the paper's convergence experiment (its section 5.1)."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import check_counts, is_number
from covmetric.problem.metric_problem import MetricProblem
from covmetric.slacks import Slack


def make_paper_problem(
    n: int = 10, K: int = 50, lam: float = 1e-2, seed: int = 0, slack: str | Slack = "is"
) -> MetricProblem:
    """Return the synthetic problem of the paper's convergence experiment.

    The entries of the K differences F are uniform in [-0.5, 0.5], the signs y are +1 or -1 with equal probability, the
    bounds are 1, and the weights are 1/(lam K).

    Parameters
    ----------
    n : int, default=10
        The size of the matrices.
    K : int, default=50
        The number of pairs.
    lam : float, default=1e-2
        The weight of the regulariser, lambda. A smaller lambda gives more weight to the pairs.
    seed : int, default=0
        The seed of the random numbers.
    slack : {'is', 'l2', 're'} or Slack, default='is'
        The divergence that penalises violated bounds.

    Returns
    -------
    MetricProblem

    Raises
    ------
    ValueError
        If an argument is not positive.

    Examples
    --------
    >>> from covmetric import make_paper_problem
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
