"""The time of a projection onto a half-space, for matrices of growing size (section 4 of the paper)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np

from covmetric._utils.threads import limited_threads
from covmetric.experiments.rows import RowFile, resume
from covmetric.problem import MetricProblem
from covmetric.solvers.kernels.projection import sweep
from covmetric.solvers.kernels.slack import compile_slack

SIZES = (25, 50, 100, 200)
#: The number of projections that are timed together.
K = 40
#: The best of this many rounds counts, so that other work on the machine matters little.
ROUNDS = 25


class ProjectionRun(NamedTuple):
    """The settings of the rows of one size, which are the first fields of `ProjectionRow`.

    Parameters
    ----------
    n, K, rounds : int
        As in `ProjectionRow`.
    """

    n: int
    K: int
    rounds: int


@dataclass(frozen=True)
class ProjectionRow:
    """One round of projections for one size.

    Attributes
    ----------
    n : int
        The size of the matrices; the differences of the pairs are n x n.
    K : int
        The number of projections of a round.
    rounds : int
        The number of rounds.
    round : int
        The number of the round.
    seconds : float
        The time of a projection, averaged over the round.
    """

    n: int
    K: int
    rounds: int
    round: int
    seconds: float

    @property
    def run(self) -> ProjectionRun:
        """The settings of the run to which the row belongs."""
        return ProjectionRun(self.n, self.K, self.rounds)


@dataclass(frozen=True)
class ProjectionSummary:
    """The time of a projection for one size.

    Attributes
    ----------
    n : int
        The size of the matrices.
    seconds : float
        The time of a projection in the best round.
    median_seconds : float
        The median over the rounds.
    growth : float or None
        By how much the best time grows for each doubling of n, compared with the next smaller size; None for the
        smallest one.
    """

    n: int
    seconds: float
    median_seconds: float
    growth: float | None


def projection(
    sizes: Sequence[int] = SIZES, K: int = K, rounds: int = ROUNDS, file: RowFile[ProjectionRow] | None = None
) -> list[ProjectionRow]:
    """Time projections onto half-spaces, on one BLAS thread and after their compilation.

    All pairs violate their bounds, so that no projection is skipped. The sizes take turns, so that a disturbance of the
    machine concerns all of them.

    Parameters
    ----------
    sizes : sequence of int, default=(25, 50, 100, 200)
        The sizes of the matrices.
    K : int, default=40
        The number of projections of a round.
    rounds : int, default=25
        The number of rounds.
    file : RowFile of ProjectionRow, or None, default=None
        The file to which the rows are written. Sizes that it holds already are not repeated.

    Returns
    -------
    list of ProjectionRow
        The rows, ordered by size and round.

    Examples
    --------
    >>> rows = projection(sizes=[3, 6], K=5, rounds=2)
    >>> [(row.n, row.round, row.seconds > 0.0) for row in rows]
    [(3, 0, True), (3, 1, True), (6, 0, True), (6, 1, True)]
    """
    return resume(file, [ProjectionRun(n, K, rounds) for n in sizes], lambda row: row.run, _compute)


def _compute(runs: Sequence[ProjectionRun]) -> Iterator[tuple[ProjectionRun, list[ProjectionRow]]]:
    """Yield the rows of each size, after all of them have been timed."""
    with limited_threads(1, "blas"):
        timers = {run: projection_timer(active_problem(run.n, run.K)) for run in runs}
        for timer in timers.values():
            timer()
        rows: dict[ProjectionRun, list[ProjectionRow]] = {run: [] for run in runs}
        for number in range(max((run.rounds for run in runs), default=0)):
            for run, timer in timers.items():
                rows[run].append(ProjectionRow(*run, number, timer()))
    yield from rows.items()


def active_problem(n: int, K: int) -> MetricProblem:
    """Return a problem whose pairs all violate their bounds at W = I, with weights that keep W near I.

    Parameters
    ----------
    n : int
        The size of the matrices.
    K : int
        The number of pairs.

    Returns
    -------
    MetricProblem

    Examples
    --------
    >>> active_problem(3, 5).n_pairs
    5
    """
    rng = np.random.default_rng(n)
    F = rng.uniform(-0.5, 0.5, (K, n, n))
    squared = (F**2).sum(axis=(1, 2))
    similar = rng.choice([-1.0, 1.0], K)
    bounds = squared * np.where(similar > 0.0, 0.5, 2.0)
    return MetricProblem.from_differences(F, similar, bounds, 0.02 * bounds)


def projection_timer(problem: MetricProblem) -> Callable[[], float]:
    """Return a function that projects onto each half-space of a problem once, starting at W = I.

    Parameters
    ----------
    problem : MetricProblem
        The problem, whose pairs must all be active.

    Returns
    -------
    function
        Returns the seconds of a projection. It raises RuntimeError if a projection was skipped.

    Examples
    --------
    >>> projection_timer(active_problem(3, 5))() > 0.0
    True
    """
    slack = compile_slack(problem.slack)
    order = np.arange(problem.n_pairs)

    def timed() -> float:
        W, alpha, counts = np.eye(problem.n), np.zeros(problem.n_pairs), np.zeros(2, np.int64)
        visited = np.zeros((2, problem.n_pairs))
        started = time.perf_counter()
        sweep(
            W, alpha, problem.sums.rows, problem.pairs, problem.similar, problem.bounds, problem.weights, order,
            *slack.addresses, counts, visited,
        )  # fmt: skip
        seconds = time.perf_counter() - started
        if counts[1]:
            raise RuntimeError(f"{counts[1]} idle pairs at n = {problem.n}, but all pairs must be active")
        return seconds / problem.n_pairs

    return timed


def summarize_projection(rows: Sequence[ProjectionRow]) -> list[ProjectionSummary]:
    """Return the time of each size, and its growth for each doubling of the size.

    Parameters
    ----------
    rows : sequence of ProjectionRow
        The result of `projection`.

    Returns
    -------
    list of ProjectionSummary
        One entry per size, in ascending order.

    Examples
    --------
    >>> rows = [ProjectionRow(n, 40, 1, 0, 1e-9 * n**2) for n in (25, 50, 100)]
    >>> [row.growth for row in summarize_projection(rows)]
    [None, 4.0, 4.0]
    """
    seconds: dict[int, list[float]] = {}
    for row in rows:
        seconds.setdefault(row.n, []).append(row.seconds)
    summary: list[ProjectionSummary] = []
    for n in sorted(seconds):
        best, growth = min(seconds[n]), None
        if summary:
            smaller = summary[-1]
            growth = float((best / smaller.seconds) ** (1.0 / np.log2(n / smaller.n)))
        summary.append(ProjectionSummary(n, best, median(seconds[n]), growth))
    return summary


def growth_exponent(rows: Sequence[ProjectionRow]) -> float:
    """Fit the time of a projection by a power of n.

    Parameters
    ----------
    rows : sequence of ProjectionRow
        The result of `projection`, for at least two sizes.

    Returns
    -------
    float
        The exponent, by least squares on logarithms of the best times.

    Examples
    --------
    >>> rows = [ProjectionRow(n, 40, 1, 0, 1e-9 * n**2) for n in (25, 50, 100)]
    >>> round(growth_exponent(rows), 6)
    2.0
    """
    summary = summarize_projection(rows)
    slope = np.polyfit(np.log([row.n for row in summary]), np.log([row.seconds for row in summary]), 1)[0]
    return float(slope)
