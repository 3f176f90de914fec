"""LEML on the paper's problems: how far an update that assumes rank one stays from the certified optimum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from covmetric.experiments.optimum import certified_optimum
from covmetric.experiments.rows import RowFile, resume
from covmetric.peers import leml
from covmetric.problem import make_paper_problem

LAMBDAS = (1e-2, 1e-3, 1e-4)
#: Relative gap to which the optimum P* is certified.
OPTIMUM_TOL = 1e-9
#: The number of cycles of a run that are kept, at most, apart from the start and the last cycle.
KEPT_CYCLES = 30


class RankOneRun(NamedTuple):
    """The settings of one run of LEML on one problem, which are the first fields of `RankOnePoint`.

    Parameters
    ----------
    n, K, lam, seed, cycles : int or float
        As in `RankOnePoint`.
    """

    n: int
    K: int
    lam: float
    seed: int
    cycles: int


@dataclass(frozen=True)
class RankOnePoint:
    """LEML after a number of cycles over the pairs. The first fields are the settings of the run.

    Attributes
    ----------
    n : int
        The size of the matrices.
    K : int
        The number of pairs.
    lam : float
        The paper's lambda.
    seed : int
        The seed of the problem.
    cycles : int
        The number of cycles after which the run stops.
    cycle : int
        The cycles so far.
    seconds : float
        The time that LEML has taken, without the certificates.
    excess : float
        P(W) - P*, with P* from Newton's method.
    best_excess : float
        The smallest P(W) - P* of all cycles so far.
    optimum : float
        P*, certified to a relative gap of 1e-9.
    """

    n: int
    K: int
    lam: float
    seed: int
    cycles: int
    cycle: int
    seconds: float
    excess: float
    best_excess: float
    optimum: float

    @property
    def run(self) -> RankOneRun:
        """The settings of the run to which the point belongs."""
        return RankOneRun(*astuple(self)[: len(RankOneRun._fields)])


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
    n: int = 10,
    K: int = 50,
    lambdas: Sequence[float] = LAMBDAS,
    seeds: int = 5,
    cycles: int = 1000,
    file: RowFile[RankOnePoint] | None = None,
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
    file : RowFile of RankOnePoint, or None, default=None
        The file to which each run is written as soon as it ends. Runs that it holds already are not repeated.

    Returns
    -------
    list of RankOnePoint
        About 30 cycles of every run, evenly spaced on a logarithmic scale, with the start and the last cycle.

    Examples
    --------
    >>> points = rank_one(n=4, K=10, lambdas=[1e-2], seeds=1, cycles=50)
    >>> points[-1].cycle, points[-1].best_excess > 1e-3
    (50, True)
    """
    runs = [RankOneRun(n, K, lam, seed, cycles) for lam in lambdas for seed in range(seeds)]
    return resume(file, runs, lambda point: point.run, _compute)


def _compute(runs: Sequence[RankOneRun]) -> Iterator[tuple[RankOneRun, list[RankOnePoint]]]:
    """Yield the points of each run."""
    for run in runs:
        problem = make_paper_problem(run.n, run.K, run.lam, run.seed)
        optimum = certified_optimum(problem, OPTIMUM_TOL)
        # The cycle that passes max_iter is the last.
        history = leml(problem, tol=0.0, max_iter=run.cycles * run.K - 1).history
        excess = history.primal - optimum
        best_excess = np.minimum.accumulate(excess)
        kept = np.unique(np.geomspace(1, run.cycles, KEPT_CYCLES).round().astype(int))
        yield (
            run,
            [
                RankOnePoint(
                    *run,
                    cycle=int(history.n_iter[i]),
                    seconds=round(float(history.seconds[i]), 6),
                    excess=float(excess[i]),
                    best_excess=float(best_excess[i]),
                    optimum=optimum,
                )
                for i in [0, *kept]
            ],
        )


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
    return [list(run) for _, run in groupby(points, key=lambda point: point.run)]


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
    >>> summary = summarize_rank_one(rank_one(n=4, K=10, lambdas=[1e-2], seeds=2, cycles=5))
    >>> [row.seed for row in summary]
    [0, 1]
    """
    ends = [run[-1] for run in rank_one_runs(points)]
    return [RankOneSummary(end.lam, end.seed, end.optimum, end.excess, end.best_excess) for end in ends]
