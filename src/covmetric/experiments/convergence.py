"""The paper's section 4.1: how fast each selection order closes the gap.

``python -m covmetric.experiments.convergence --help`` runs it from a shell.
"""

from __future__ import annotations

import argparse
import csv
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TextIO

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from covmetric.orders import ORDERS
from covmetric.problem import make_paper_problem
from covmetric.slacks import SLACKS
from covmetric.solvers import Dykstra, SolveResult, solve

SIZES = (10, 50, 100)
LAMBDAS = (1e-2, 1e-3, 1e-4)


@dataclass(frozen=True)
class Point:
    """One run after one epoch: the best objective and certified gap up to then, and the true gap of the iterate.

    `true_gap` is P(W_t) - P*, which the paper's figure plots, with P* from Newton at a gap of 1e-12. `seconds` include
    a certificate per epoch.
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
class Summary:
    """The medians over the seeds for one setting and order, at the first epoch whose gap met the tolerance.

    A run that did not meet it counts with all its epochs; `unsolved` says how many did not.
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
    """Every point of every run, and the result of the last one."""

    points: list[Point]
    tol: float
    last: SolveResult

    def summary(self) -> list[Summary]:
        """One row per setting and order."""
        rows = []
        for (n, lam, order), group in groupby(self.points, key=lambda p: (p.n, p.lam, p.order)):
            ends, unsolved = [], 0
            for _, run in groupby(group, key=lambda p: p.seed):
                points = list(run)
                met = [p for p in points if p.relative_gap <= self.tol]
                unsolved += not met
                ends.append(met[0] if met else points[-1])
            rows.append(
                Summary(
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
        """The median relative gap after an epoch; a run that ended before counts with its last one. None: all have."""
        runs = [p for p in self.points if (p.n, p.lam, p.order) == (n, lam, order)]
        last = {p.seed: p.relative_gap for p in runs if p.epoch <= epoch}
        return median(last.values()) if any(p.epoch >= epoch for p in runs) else None

    def write_csv(self, file: TextIO) -> None:
        """All points as CSV."""
        writer = csv.writer(file)
        writer.writerow([f.name for f in fields(Point)])
        writer.writerows(astuple(p) for p in self.points)


def convergence(
    sizes: Sequence[int] = SIZES,
    lambdas: Sequence[float] = LAMBDAS,
    orders: Sequence[str] = tuple(ORDERS),
    seeds: int = 5,
    K: int = 50,
    slack: str = "is",
    tol: float = 1e-6,
    max_epochs: int = 2000,
    progress: bool = False,
) -> ConvergenceTable:
    """Run Dykstra's algorithm on the paper's synthetic problems, with a certificate after each epoch.

    Parameters
    ----------
    sizes, lambdas, orders : sequences
        The settings; every combination is run.
    seeds : int
        Problems per setting; the seed also drives the random orders.
    K : int
        Half-spaces, which is also the number of projections of an epoch.
    slack : {"is", "l2", "re"}
    tol : float
        A run ends at this relative gap,
    max_epochs : int
        or after so many epochs.
    progress : bool
        Show a progress bar.

    Returns
    -------
    ConvergenceTable

    Examples
    --------
    >>> table = convergence(sizes=[5], lambdas=[1e-2], orders=["perm"], seeds=1)
    >>> table.summary()[0].unsolved
    0
    """
    runs = [(n, lam, order, seed) for n in sizes for lam in lambdas for order in orders for seed in range(seeds)]
    if not runs:
        raise ValueError("nothing to run: sizes, lambdas, orders and seeds must not be empty")
    points: list[Point] = []
    optima: dict[tuple[int, float, int], float] = {}
    for n, lam, order, seed in tqdm(runs, desc="convergence", unit="run", disable=not progress):
        problem = make_paper_problem(n, K, lam, seed, slack)
        with warnings.catch_warnings():
            # A run that does not meet the tolerance is a finding here, and the table says so.
            warnings.simplefilter("ignore", ConvergenceWarning)
            if (n, lam, seed) not in optima:
                optima[n, lam, seed] = solve(problem, "newton", tol=1e-12).certificate.primal
            last = solve(problem, Dykstra(order, certify_every=1), tol=tol, max_iter=max_epochs, random_state=seed)
        points.extend(_points(n, lam, order, seed, last, optima[n, lam, seed]))
    return ConvergenceTable(points, tol, last)


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


_EPOCHS_SHOWN = (1, 3, 10, 30, 100, 300)


def print_table(table: ConvergenceTable, seeds: int) -> None:
    """The summary as text, with the certified gap along the way."""
    print(f"Median over {seeds} seeds. Epochs, projections and seconds to a relative gap of {table.tol:g}, certified;")
    print("then the certified relative gap after so many epochs (blank once a run has ended).")
    print("One epoch is K projections onto a half-space; seconds include a certificate per epoch.\n")
    gaps = "".join(f"{'ep. ' + str(e):>9}" for e in _EPOCHS_SHOWN)
    print(f"{'n':>4} {'lambda':>8} {'order':>7} {'epochs':>7} {'project.':>9} {'seconds':>8} {gaps}")
    for row in table.summary():
        values = (table.gap_after(row.n, row.lam, row.order, e) for e in _EPOCHS_SHOWN)
        shown = "".join(f"{'' if v is None else format(v, '.1e'):>9}" for v in values)
        note = f"  {row.unsolved} not solved" if row.unsolved else ""
        print(
            f"{row.n:>4} {row.lam:>8.0e} {row.order:>7} {row.epochs:>7g} {row.projections:>9g} {row.seconds:>8.3f} "
            f"{shown}{note}"
        )
    print(f"\nThe last run: {table.last}")


def _positive(text: str) -> float:
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def _positive_int(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def main(arguments: Sequence[str] | None = None) -> None:
    """The experiment as a command."""
    parser = argparse.ArgumentParser(description="The paper's convergence experiment (section 4.1).")
    parser.add_argument("--sizes", type=_positive_int, nargs="+", default=list(SIZES), metavar="N")
    parser.add_argument("--lambdas", type=_positive, nargs="+", default=list(LAMBDAS), metavar="LAMBDA")
    parser.add_argument("--orders", nargs="+", default=list(ORDERS), choices=list(ORDERS))
    parser.add_argument("--slack", default="is", choices=list(SLACKS))
    parser.add_argument("--seeds", type=_positive_int, default=5, help="problems per setting (default 5)")
    parser.add_argument("--tol", type=float, default=1e-6, help="relative gap to reach (default 1e-6)")
    parser.add_argument("--max-epochs", type=_positive_int, default=2000, help="give up after so many (default 2000)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write every point to this file")
    options = parser.parse_args(arguments)
    if options.csv and not options.csv.parent.is_dir():
        parser.error(f"--csv: there is no folder {options.csv.parent}")
    table = convergence(
        options.sizes,
        options.lambdas,
        options.orders,
        options.seeds,
        slack=options.slack,
        tol=options.tol,
        max_epochs=options.max_epochs,
        progress=not options.json,
    )
    if options.csv:
        with options.csv.open("w", newline="") as file:
            table.write_csv(file)
    if options.json:
        print(json.dumps([asdict(row) for row in table.summary()], indent=2))
    else:
        print_table(table, options.seeds)


if __name__ == "__main__":
    main()
