"""Section 5.1 of the paper: how fast Dykstra's algorithm closes the objective gap with each selection order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from tqdm import tqdm

from covmetric._utils import tuning
from covmetric._utils.threads import limited_threads
from covmetric._utils.validation import generator
from covmetric.experiments.convergence_table import ConvergenceTable, Point, Run, first_within
from covmetric.experiments.optimum import certified_optimum
from covmetric.experiments.rows import RowFile, resume
from covmetric.problem import MetricProblem, make_paper_problem, paper_bound
from covmetric.solvers import Dykstra, solve

__all__ = ["LAMBDAS", "OPTIMUM_TOL", "ORDERS", "SIZES", "ConvergenceTable", "Point", "convergence"]

SIZES = (10, 50, 100)
LAMBDAS = (1e-2, 1e-3, 1e-4)
ORDERS = ("cyclic", "perm", "rand")
#: Relative gap of the Newton solve that yields P*.
OPTIMUM_TOL = 1e-12
#: Every epoch up to this one is kept, and 20 epochs per decade afterwards.
DENSE_EPOCHS = 30


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
            values = (optimum, bound.objective - optimum, bound.gap, primal - dual, primal - optimum)
            points.append(Point(*run, epoch, round(seconds, 6), *map(_six_digits, values)))
            if points[-1].meets_tolerance:
                break
    return points


def _six_digits(value: float) -> float:
    """Round to six significant digits, which keeps the CSV file small."""
    return float(f"{value:.6g}")


def _thinned(run: Sequence[Point]) -> list[Point]:
    """Leave out most of the later epochs, but none at which a gap meets the tolerance for the first time."""
    kept = {round(10.0 ** (k / 20.0)) for k in range(20 * len(str(len(run))))}
    kept |= {run[-1].epoch, first_within(run, lambda p: p.relative_objective_gap).epoch}
    kept |= {first_within(run, lambda p: p.relative_gap).epoch}
    return [point for point in run if point.epoch <= DENSE_EPOCHS or point.epoch in kept]
