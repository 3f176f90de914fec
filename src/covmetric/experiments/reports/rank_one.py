"""The report on LEML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covmetric.experiments.rank_one import OPTIMUM_TOL, RankOnePoint, rank_one_runs, summarize_rank_one
from covmetric.experiments.reports.report import Picture, Report, TextTable
from covmetric.plotting import plot_excess
from covmetric.plotting.figures import new_figure


def rank_one_report(points: Sequence[RankOnePoint]) -> Report:
    """Report how far above the certified optimum LEML ends.

    Parameters
    ----------
    points : sequence of RankOnePoint
        The result of `rank_one`.

    Returns
    -------
    Report

    Examples
    --------
    >>> from covmetric.experiments.rank_one import rank_one
    >>> report = rank_one_report(rank_one(n=4, K=10, lambdas=[1e-2], seeds=1, cycles=50))
    >>> report.summary[0].excess > 1e-3
    True
    """
    summary = summarize_rank_one(points)
    cycles = max(point.cycle for point in points)
    rows = [
        [f"{row.lam:g}", str(row.seed), f"{row.optimum:.4f}", f"{row.excess:.4f}", f"{row.best_excess:.4f}"]
        for row in summary
    ]
    head = ["lambda", "seed", "certified optimum", f"LEML above it, after {cycles:,} cycles", "its best iterate"]
    explanation = (
        "The LEML of this page is a reconstruction. The paper (section 1.1) only says that Huang et al. (ICML 2015) "
        '"misused the Woodbury matrix inversion formula when deriving the projection onto a single half-space". We '
        "did not have their text. Our reconstruction takes ITML's published iteration and updates W as if A = F F^T "
        "had rank one, which is one way to misuse the formula; the original may differ."
    )
    finding = (
        f"The pictures show P(W) - P* for {len(summary)} problems with n = {points[0].n} and K = {points[0].K}, with "
        f"P* certified to a relative gap of {OPTIMUM_TOL:g}. The smallest value of any run and cycle is "
        f"{min(row.best_excess for row in summary):.2g}. If A does have rank one, the iteration reaches the optimum "
        "(tests/peers/test_leml.py)."
    )
    return Report(
        name="leml",
        title="LEML, as reconstructed, does not reach the optimum",
        parts=[
            explanation,
            finding,
            Picture("leml.png", "P(W) - P* of LEML", lambda: _figure(points)),
            TextTable(head, rows),
        ],
        summary=summary,
    )


def _figure(points: Sequence[RankOnePoint]) -> Any:
    lambdas = list(dict.fromkeys(point.lam for point in points))
    figure, axes = new_figure(11, 3.2, len(lambdas))
    for panel, lam in zip(axes, lambdas, strict=True):
        runs = [run for run in rank_one_runs(points) if run[0].lam == lam]
        plot_excess(
            panel,
            [([point.cycle for point in run], [point.excess for point in run]) for run in runs],
            certified=OPTIMUM_TOL * runs[0][0].optimum,
            title=f"lambda = {lam:g}",
        )
    axes[0].set_ylabel("P(W) - P*")
    figure.suptitle("LEML as reconstructed (red) on the paper's problems; dashed: the gap that our solver certifies")
    return figure
