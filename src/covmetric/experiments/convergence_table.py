"""The points, medians and comparisons of the convergence experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from statistics import median
from typing import NamedTuple


class Run(NamedTuple):
    """The settings of one run of Dykstra's algorithm on one problem, which are the first fields of `Point`.

    Parameters
    ----------
    n, K, lam, slack, order, seed, tol, max_epochs : int, float or str
        As in `Point`.
    """

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
    best_excess : float
        P(W) - P* of the best point so far, which `gap` bounds.
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
    best_excess: float

    @property
    def run(self) -> Run:
        """The settings of the run to which the point belongs."""
        return Run(*astuple(self)[: len(Run._fields)])

    @property
    def projections(self) -> int:
        """The number of projections onto a half-space so far."""
        return self.K * self.epoch

    @property
    def meets_tolerance(self) -> bool:
        """Whether both relative gaps are within the tolerance."""
        return max(self.relative_objective_gap, self.relative_gap) <= self.tol

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
            ends = [first_within(run, lambda p: p.relative_objective_gap) for run in runs]
            certified_ends = [first_within(run, lambda p: p.relative_gap) for run in runs]
            rows.append(
                ConvergenceSummary(
                    n,
                    lam,
                    order,
                    epochs=median(p.epoch for p in ends),
                    seconds=median(p.seconds for p in ends),
                    certified_epochs=median(p.epoch for p in certified_ends),
                    certified_seconds=median(p.seconds for p in certified_ends),
                    unsolved=sum(not any(point.meets_tolerance for point in run) for run in runs),
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


def first_within(run: Sequence[Point], relative_gap: Callable[[Point], float]) -> Point:
    """Return the first point of a run whose gap meets the tolerance, or else the last point.

    Parameters
    ----------
    run : sequence of Point
        The points of one run.
    relative_gap : function
        Returns the relative gap of a point.

    Returns
    -------
    Point
    """
    return next((point for point in run if relative_gap(point) <= point.tol), run[-1])
