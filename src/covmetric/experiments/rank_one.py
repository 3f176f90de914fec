"""LEML's update treats a full-rank matrix as if it had rank one: where that leads, beside the certified optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from covmetric.peers import leml
from covmetric.problem import make_paper_problem
from covmetric.solvers import solve

LAMBDAS = (1e-2, 1e-3, 1e-4)


@dataclass(frozen=True)
class RankOnePoint:
    """LEML after so many cycles over the pairs.

    Attributes
    ----------
    lam : float
    seed : int
    cycle : int
    seconds : float
        Of LEML, without the certificates.
    excess : float
        P(W) - P*, with P* from Newton.
    optimum : float
        P*, proven to a relative gap of 1e-9.
    """

    lam: float
    seed: int
    cycle: int
    seconds: float
    excess: float
    optimum: float


def rank_one(
    n: int = 10, K: int = 50, lambdas: Sequence[float] = LAMBDAS, seeds: int = 5, cycles: int = 1000
) -> list[RankOnePoint]:
    """LEML, with all the cycles it is given, on the paper's synthetic problems.

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
            optimum = solve(problem, "newton", tol=1e-9).certificate.primal
            h = leml(problem, tol=0.0, max_iter=cycles * K).history
            points += [
                RankOnePoint(lam, seed, int(cycle), float(seconds), float(primal - optimum), optimum)
                for cycle, seconds, primal in zip(h.n_iter, h.seconds, h.primal, strict=True)
            ]
    return points
