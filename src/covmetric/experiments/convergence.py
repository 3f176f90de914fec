"""Section 4.1 of the paper: how fast Dykstra's algorithm closes the gap with each selection order."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from covmetric.problem import make_paper_problem
from covmetric.solvers import Dykstra, SolveResult, solve

SIZES = (10, 50, 100)
LAMBDAS = (1e-2, 1e-3, 1e-4)
ORDERS = ("cyclic", "perm", "rand")
#: Relative gap of the Newton solve that yields P*.
OPTIMUM_TOL = 1e-12


@dataclass(frozen=True)
class Point:
    """One run after one epoch.

    Attributes
    ----------
    n : int
        The size of the matrices.
    lam : float
        The paper's lambda.
    order : str
        The selection order.
    seed : int
        The seed of the problem and of the random orders.
    epoch, projections : int
        The epochs and projections so far.
    seconds : float
        The time so far, which includes one certificate per epoch.
    primal : float
        The smallest objective so far.
    gap, relative_gap : float
        The smallest certified gap so far.
    true_gap : float
        P(W_t) - P* of the current iterate, which the paper's figure shows, with P* from Newton's method.
    """

    n: int
    lam: float
    order: str
    seed: int
    epoch: int
    projections: int
    seconds: float
    primal: float
    gap: float
    relative_gap: float
    true_gap: float


@dataclass(frozen=True)
class ConvergenceSummary:
    """Medians over the seeds at the first epoch whose certified gap meets the tolerance.

    A run that does not meet the tolerance counts with all of its epochs.

    Attributes
    ----------
    n : int
        The size of the matrices.
    lam : float
        The paper's lambda.
    order : str
        The selection order.
    epochs, projections, seconds : float
        The medians.
    unsolved : int
        The number of runs that did not meet the tolerance.
    """

    n: int
    lam: float
    order: str
    epochs: float
    projections: float
    seconds: float
    unsolved: int


@dataclass(frozen=True)
class ConvergenceTable:
    """All runs of the experiment.

    Attributes
    ----------
    points : list of Point
        Every epoch of every run.
    K : int
        The number of half-spaces.
    slack : str
        The slack divergence.
    tol : float
        The relative gap at which a run ends.
    last : SolveResult
        The result of the last run.
    """

    points: list[Point]
    K: int
    slack: str
    tol: float
    last: SolveResult

    def summary(self) -> list[ConvergenceSummary]:
        """Return the medians over the seeds.

        Returns
        -------
        list of ConvergenceSummary
            One entry per size, lambda and order.
        """
        rows = []
        for (n, lam, order), group in groupby(self.points, key=lambda p: (p.n, p.lam, p.order)):
            ends, unsolved = [], 0
            for _, run in groupby(group, key=lambda p: p.seed):
                points = list(run)
                solved = [p for p in points if p.relative_gap <= self.tol]
                unsolved += not solved
                ends.append(solved[0] if solved else points[-1])
            rows.append(
                ConvergenceSummary(
                    n,
                    lam,
                    order,
                    epochs=median(p.epoch for p in ends),
                    projections=median(p.projections for p in ends),
                    seconds=median(p.seconds for p in ends),
                    unsolved=unsolved,
                )
            )
        return rows

    def gap_after(self, n: int, lam: float, order: str, epoch: int) -> float | None:
        """Return the median certified relative gap after an epoch.

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
        last = {p.seed: p.relative_gap for p in runs if p.epoch <= epoch}
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
) -> ConvergenceTable:
    """Run Dykstra's algorithm on the paper's synthetic problems, with a certificate after each epoch.

    Every combination of size, lambda, order and seed is one run.

    Parameters
    ----------
    sizes : sequence of int, default=(10, 50, 100)
        The sizes of the matrices.
    lambdas : sequence of float, default=(1e-2, 1e-3, 1e-4)
        The values of lambda.
    orders : sequence of str, default=all
        The selection orders.
    seeds : int, default=5
        The number of problems per setting. The seed also drives the random orders.
    K : int, default=50
        The number of half-spaces, which is also the number of projections in an epoch.
    slack : {'is', 'l2', 're'}, default='is'
        The slack divergence.
    tol : float, default=1e-6
        The relative gap at which a run ends.
    max_epochs : int, default=2000
        The maximum number of epochs of a run.
    progress : bool, default=False
        Whether to show a progress bar.

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
    runs = [(n, lam, order, seed) for n in sizes for lam in lambdas for order in orders for seed in range(seeds)]
    if not runs:
        raise ValueError("there is nothing to run: sizes, lambdas and orders must not be empty, and seeds must be >= 1")
    points: list[Point] = []
    optima: dict[tuple[int, float, int], float] = {}
    for n, lam, order, seed in tqdm(runs, desc="convergence", unit="run", disable=not progress):
        problem = make_paper_problem(n, K, lam, seed, slack)
        with warnings.catch_warnings():
            # A run that does not meet the tolerance is a result of this experiment; the table counts it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            if (n, lam, seed) not in optima:
                optima[n, lam, seed] = solve(problem, "newton", tol=OPTIMUM_TOL).certificate.primal
            last = solve(problem, Dykstra(order, certify_every=1), tol=tol, max_iter=max_epochs, random_state=seed)
        points.extend(_points(n, lam, order, seed, last, optima[n, lam, seed]))
    return ConvergenceTable(points, K, slack, tol, last)


def _points(n: int, lam: float, order: str, seed: int, result: SolveResult, optimum: float) -> Iterator[Point]:
    h = result.history
    primals, duals = np.minimum.accumulate(h.primal), np.maximum.accumulate(h.dual)
    for epoch, projections, seconds, current, primal, dual in zip(
        h.n_iter, h.projections, h.seconds, h.primal, primals, duals, strict=True
    ):
        yield Point(
            n,
            lam,
            order,
            seed,
            epoch=int(epoch),
            projections=int(projections),
            seconds=float(seconds),
            primal=float(primal),
            gap=float(primal - dual),
            relative_gap=float((primal - dual) / max(1.0, abs(primal))),
            true_gap=float(current - optimum),
        )
