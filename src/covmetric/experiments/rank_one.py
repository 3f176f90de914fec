"""LEML on the paper's problems: how far an update that assumes rank one stays from the certified optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from covmetric.peers import leml
from covmetric.problem import make_paper_problem
from covmetric.solvers import solve

LAMBDAS = (1e-2, 1e-3, 1e-4)
#: Relative gap to which the optimum P* is certified.
OPTIMUM_TOL = 1e-9


@dataclass(frozen=True)
class RankOnePoint:
    """LEML after a number of cycles over the pairs.

    Attributes
    ----------
    lam : float
        The paper's lambda.
    seed : int
        The seed of the problem.
    cycle : int
        The cycles so far.
    seconds : float
        The time that LEML has taken, without the certificates.
    excess : float
        P(W) - P*, with P* from Newton's method.
    optimum : float
        P*, certified to a relative gap of 1e-9.
    """

    lam: float
    seed: int
    cycle: int
    seconds: float
    excess: float
    optimum: float


@dataclass(frozen=True)
class RankOneSummary:
    """The end of one run of LEML.

    Attributes
    ----------
    lam : float
        The paper's lambda.
    seed : int
        The seed of the problem.
    optimum : float
        P*.
    excess : float
        P(W) - P* after the last cycle.
    best_excess : float
        The smallest P(W) - P* of all cycles.
    """

    lam: float
    seed: int
    optimum: float
    excess: float
    best_excess: float


def rank_one(
    n: int = 10, K: int = 50, lambdas: Sequence[float] = LAMBDAS, seeds: int = 5, cycles: int = 1000
) -> list[RankOnePoint]:
    """Run LEML on the paper's synthetic problems for a fixed number of cycles.

    Parameters
    ----------
    n : int, default=10
        The size of the matrices.
    K : int, default=50
        The number of pairs.
    lambdas : sequence of float, default=(1e-2, 1e-3, 1e-4)
        The values of lambda.
    seeds : int, default=5
        The number of problems per lambda.
    cycles : int, default=1000
        The number of cycles over the pairs.

    Returns
    -------
    list of RankOnePoint
        Every cycle of every run.

    Examples
    --------
    >>> points = rank_one(n=4, K=10, lambdas=[1e-2], seeds=1, cycles=50)
    >>> points[-1].excess > 1e-3
    True
    """
    points = []
    for lam in lambdas:
        for seed in range(seeds):
            problem = make_paper_problem(n, K, lam, seed)
            optimum = solve(problem, "newton", tol=OPTIMUM_TOL).certificate.primal
            h = leml(problem, tol=0.0, max_iter=cycles * K).history
            points += [
                RankOnePoint(lam, seed, int(cycle), float(seconds), float(primal - optimum), optimum)
                for cycle, seconds, primal in zip(h.n_iter, h.seconds, h.primal, strict=True)
            ]
    return points


def rank_one_runs(points: Sequence[RankOnePoint]) -> list[list[RankOnePoint]]:
    """Group the points by run.

    Parameters
    ----------
    points : sequence of RankOnePoint
        The result of `rank_one`.

    Returns
    -------
    list of lists of RankOnePoint
        One list per lambda and seed.
    """
    return [list(run) for _, run in groupby(points, key=lambda point: (point.lam, point.seed))]


def summarize_rank_one(points: Sequence[RankOnePoint]) -> list[RankOneSummary]:
    """Return how far above the optimum each run ends.

    Parameters
    ----------
    points : sequence of RankOnePoint
        The result of `rank_one`.

    Returns
    -------
    list of RankOneSummary
        One entry per lambda and seed.

    Examples
    --------
    >>> point = RankOnePoint(lam=1e-2, seed=0, cycle=0, seconds=0.0, excess=0.5, optimum=2.0)
    >>> later = RankOnePoint(lam=1e-2, seed=0, cycle=1, seconds=0.1, excess=0.7, optimum=2.0)
    >>> summarize_rank_one([point, later])
    [RankOneSummary(lam=0.01, seed=0, optimum=2.0, excess=0.7, best_excess=0.5)]
    """
    return [
        RankOneSummary(run[-1].lam, run[-1].seed, run[-1].optimum, run[-1].excess, min(point.excess for point in run))
        for run in rank_one_runs(points)
    ]
