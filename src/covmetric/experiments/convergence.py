"""Section 5.1 of the paper: how fast Dykstra's algorithm closes the objective gap with each selection order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from statistics import median
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from covmetric._utils import tuning
from covmetric._utils.threads import limited_threads
from covmetric._utils.validation import generator
from covmetric.experiments.optimum import certified_optimum
from covmetric.experiments.rows import RowFile, resume
from covmetric.problem import MetricProblem, make_paper_problem, paper_bound
from covmetric.solvers import Dykstra, solve

SIZES = (10, 50, 100)
LAMBDAS = (1e-2, 1e-3, 1e-4)
ORDERS = ("cyclic", "perm", "rand")
#: Relative gap of the Newton solve that yields P*.
OPTIMUM_TOL = 1e-12
#: Every epoch up to this one is kept, and 20 epochs per decade afterwards.
DENSE_EPOCHS = 30


class Run(NamedTuple):
    """The settings of one run of Dykstra's algorithm on one problem."""

    n: int
    K: int
    lam: float
    slack: str
    order: str
    seed: int
    tol: float
    max_epochs: int


@dataclass(frozen=True)
class Point:
    """One run after one epoch. The first fields are the settings of the run.

    Attributes
    ----------
    n : int
        The size of the matrices.
    K : int
        The number of half-spaces.
    lam : float
        The paper's lambda.
    slack : str
        The slack divergence.
    order : str
        The selection order.
    seed : int
        The seed of the problem and of the random orders.
    tol : float
        The relative gap at which the run ends.
    max_epochs : int
        The maximum number of epochs.
    epoch : int
        The epochs so far.
    seconds : float
        The time of the projections so far, without the certificates.
    optimum : float
        The optimum P*, from Newton's method.
    objective_gap : float
        BD(W_t, xi-bar_t) - P* at the current iterate, before any repair of its multipliers. This is the objective gap
        of the paper's figure 1.
    paper_bound : float
        The paper's upper bound on `objective_gap`.
    gap : float
        The certified gap of the best point so far.
    """

    n: int
    K: int
    lam: float
    slack: str
    order: str
    seed: int
    tol: float
    max_epochs: int
    epoch: int
    seconds: float
    optimum: float
    objective_gap: float
    paper_bound: float
    gap: float

    @property
    def run(self) -> Run:
        """The settings of the run to which the point belongs."""
        return Run(*astuple(self)[: len(Run._fields)])

    @property
    def projections(self) -> int:
        """The number of projections onto a half-space so far."""
        return self.K * self.epoch

    @property
    def relative_objective_gap(self) -> float:
        """The paper's objective gap, divided by max(1, P*)."""
        return self.objective_gap / max(1.0, self.optimum)

    @property
    def relative_gap(self) -> float:
        """The certified gap, divided by max(1, P*)."""
        return self.gap / max(1.0, self.optimum)


@dataclass(frozen=True)
class ConvergenceSummary:
    """Medians over the seeds at the first epoch whose gap meets the tolerance.

    A run that does not meet the tolerance counts with all of its epochs.

    Attributes
    ----------
    n : int
        The size of the matrices.
    lam : float
        The paper's lambda.
    order : str
        The selection order.
    epochs, seconds : float
        The median epochs and seconds to the tolerance on the paper's relative objective gap.
    certified_epochs, certified_seconds : float
        The median epochs and seconds to the tolerance on the certified relative gap.
    unsolved : int
        The number of runs that did not meet both tolerances.
    """

    n: int
    lam: float
    order: str
    epochs: float
    seconds: float
    certified_epochs: float
    certified_seconds: float
    unsolved: int


@dataclass(frozen=True)
class ConvergenceTable:
    """All runs of the experiment.

    Attributes
    ----------
    points : sequence of Point
        The kept epochs of every run, run by run. All runs have the same K, slack, tolerance and limit of epochs.

    Raises
    ------
    ValueError
        If there are no points, or if their settings differ.
    """

    points: Sequence[Point]

    def __post_init__(self) -> None:
        settings = {(point.K, point.slack, point.tol, point.max_epochs) for point in self.points}
        if len(settings) != 1:
            raise ValueError(f"the points must have one K, slack, tol and max_epochs, got {sorted(settings)}")

    @property
    def K(self) -> int:
        """The number of half-spaces."""
        return self.points[0].K

    @property
    def slack(self) -> str:
        """The slack divergence."""
        return self.points[0].slack

    @property
    def tol(self) -> float:
        """The relative gap at which a run ends."""
        return self.points[0].tol

    def summary(self) -> list[ConvergenceSummary]:
        """Return the medians over the seeds.

        Returns
        -------
        list of ConvergenceSummary
            One entry per size, lambda and order.
        """
        rows = []
        for (n, lam, order), group in groupby(self.points, key=lambda p: (p.n, p.lam, p.order)):
            runs = [list(run) for _, run in groupby(group, key=lambda p: p.seed)]
            ends = [_first_within(run, lambda p: p.relative_objective_gap) for run in runs]
            certified_ends = [_first_within(run, lambda p: p.relative_gap) for run in runs]
            rows.append(
                ConvergenceSummary(
                    n,
                    lam,
                    order,
                    epochs=median(p.epoch for p in ends),
                    seconds=median(p.seconds for p in ends),
                    certified_epochs=median(p.epoch for p in certified_ends),
                    certified_seconds=median(p.seconds for p in certified_ends),
                    unsolved=sum(not any(map(_meets_tolerance, run)) for run in runs),
                )
            )
        return rows

    def wins(self, order: str, other: str = "cyclic") -> tuple[int, int]:
        """Return in how many settings an order needs fewer epochs than another, by the paper's objective gap.

        Parameters
        ----------
        order : str
            The order.
        other : str, default="cyclic"
            The order that it is compared with.

        Returns
        -------
        wins : int
            The number of settings in which the median number of epochs of `order` is smaller.
        settings : int
            The number of settings, which are the combinations of size and lambda that have both orders.
        """
        epochs = {(row.n, row.lam, row.order): row.epochs for row in self.summary()}
        settings = [(n, lam) for n, lam, name in epochs if name == order and (n, lam, other) in epochs]
        return sum(epochs[n, lam, order] < epochs[n, lam, other] for n, lam in settings), len(settings)

    def objective_gap_after(self, n: int, lam: float, order: str, epoch: int) -> float | None:
        """Return the median relative objective gap after an epoch.

        Parameters
        ----------
        n : int
            The size of the matrices.
        lam : float
            The paper's lambda.
        order : str
            The selection order.
        epoch : int
            The epoch. A run that ended earlier counts with its last gap.

        Returns
        -------
        float or None
            None if all runs ended earlier.
        """
        runs = [p for p in self.points if (p.n, p.lam, p.order) == (n, lam, order)]
        last = {p.seed: p.relative_objective_gap for p in runs if p.epoch <= epoch}
        return median(last.values()) if any(p.epoch >= epoch for p in runs) else None


def convergence(
    sizes: Sequence[int] = SIZES,
    lambdas: Sequence[float] = LAMBDAS,
    orders: Sequence[str] = ORDERS,
    seeds: int = 5,
    K: int = 50,
    slack: str = "is",
    tol: float = 1e-6,
    max_epochs: int = 2000,
    progress: bool = False,
    file: RowFile[Point] | None = None,
) -> ConvergenceTable:
    """Run Dykstra's algorithm on the paper's synthetic problems, with the paper's bound and a certificate per epoch.

    Every combination of size, lambda, order and seed is one run. A run ends as soon as both the paper's objective gap
    and the certified gap are within the tolerance.

    Parameters
    ----------
    sizes : sequence of int, default=(10, 50, 100)
        The sizes of the matrices.
    lambdas : sequence of float, default=(1e-2, 1e-3, 1e-4)
        The values of lambda.
    orders : sequence of str, default=('cyclic', 'perm', 'rand')
        The selection orders.
    seeds : int, default=5
        The number of problems per setting. The seed also drives the random orders.
    K : int, default=50
        The number of half-spaces, which is also the number of projections in an epoch.
    slack : {'is', 'l2', 're'}, default='is'
        The slack divergence.
    tol : float, default=1e-6
        The tolerance on both gaps, relative to max(1, P*).
    max_epochs : int, default=2000
        The maximum number of epochs of a run.
    progress : bool, default=False
        Whether to show a progress bar.
    file : RowFile of Point, or None, default=None
        The file to which each run is written as soon as it ends. Runs that it holds already are not repeated.

    Returns
    -------
    ConvergenceTable

    Raises
    ------
    ValueError
        If there is nothing to run.

    Examples
    --------
    >>> table = convergence(sizes=[5], lambdas=[1e-2], orders=["perm"], seeds=1)
    >>> table.summary()[0].unsolved
    0
    """
    runs = [
        Run(n, K, lam, slack, order, seed, tol, max_epochs)
        for n in sizes
        for lam in lambdas
        for order in orders
        for seed in range(seeds)
    ]
    if not runs:
        raise ValueError("there is nothing to run: sizes, lambdas and orders must not be empty, and seeds must be >= 1")

    def compute(missing: Sequence[Run]) -> Iterator[tuple[Run, list[Point]]]:
        if missing:
            _compile(missing[0].slack)
        optima: dict[tuple[int, float, int], float] = {}
        for run in tqdm(missing, desc="convergence", unit="run", disable=not progress):
            problem = make_paper_problem(run.n, run.K, run.lam, run.seed, run.slack)
            if (run.n, run.lam, run.seed) not in optima:
                optima[run.n, run.lam, run.seed] = certified_optimum(problem, OPTIMUM_TOL)
            yield run, _thinned(_points(run, problem, optima[run.n, run.lam, run.seed]))

    return ConvergenceTable(resume(file, runs, lambda point: point.run, compute))


def _compile(slack: str) -> None:
    """Compile the kernels, so that the first timed run does not include it."""
    solve(make_paper_problem(2, 2, 1.0, 0, slack), Dykstra(), tol=0.0, max_iter=2, random_state=0)


def _points(run: Run, problem: MetricProblem, optimum: float) -> list[Point]:
    """Run Dykstra's algorithm, and return a point per epoch.

    The loop of `solve` reports repaired multipliers, but the paper's objective belongs to the multipliers before their
    repair. Therefore this function steps the solver itself.
    """
    solver = Dykstra(run.order, certify_every=1)
    points: list[Point] = []
    with np.errstate(all="ignore"), limited_threads(1 if run.n < tuning.ONE_THREAD_BELOW else None, "blas"):
        certified = problem.certified(np.eye(run.n), np.zeros(run.K), run.tol)
        state = solver.start(problem, certified, generator(run.seed))
        seconds, primal, dual = 0.0, np.inf, -np.inf
        for epoch in range(run.max_epochs + 1):
            if epoch > 0:
                solver.resume(problem, state, certified)
                started = time.perf_counter()
                solver.step(problem, state)
                seconds += time.perf_counter() - started
            _, multipliers = solver.candidate(state)
            bound = paper_bound(problem, multipliers)
            certified = problem.certified(None, multipliers, run.tol)
            primal, dual = min(primal, certified.certificate.primal), max(dual, certified.certificate.dual)
            values = (optimum, bound.objective - optimum, bound.gap, primal - dual)
            points.append(Point(*run, epoch, round(seconds, 6), *map(_six_digits, values)))
            if _meets_tolerance(points[-1]):
                break
    return points


def _six_digits(value: float) -> float:
    """Round to six significant digits, which keeps the CSV file small."""
    return float(f"{value:.6g}")


def _meets_tolerance(point: Point) -> bool:
    """Return whether both gaps meet the tolerance."""
    return max(point.relative_objective_gap, point.relative_gap) <= point.tol


def _first_within(run: Sequence[Point], relative_gap: Callable[[Point], float]) -> Point:
    """Return the first point whose relative gap meets the tolerance, or else the last point."""
    return next((point for point in run if relative_gap(point) <= point.tol), run[-1])


def _thinned(run: Sequence[Point]) -> list[Point]:
    """Leave out most of the later epochs, but none at which a gap meets the tolerance for the first time."""
    kept = {round(10.0 ** (k / 20.0)) for k in range(20 * len(str(len(run))))}
    kept |= {run[-1].epoch, _first_within(run, lambda p: p.relative_objective_gap).epoch}
    kept |= {_first_within(run, lambda p: p.relative_gap).epoch}
    return [point for point in run if point.epoch <= DENSE_EPOCHS or point.epoch in kept]
