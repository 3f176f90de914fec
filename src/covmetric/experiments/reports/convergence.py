"""The report of the convergence experiment."""

from __future__ import annotations

from covmetric.experiments.convergence import OPTIMUM_TOL
from covmetric.experiments.convergence_table import ConvergenceTable
from covmetric.experiments.reports.report import Picture, Report, TextTable
from covmetric.plotting import plot_convergence

_EPOCHS_SHOWN = (1, 3, 10, 30, 100)


def convergence_report(table: ConvergenceTable) -> Report:
    """Report how many epochs each selection order needs.

    Parameters
    ----------
    table : ConvergenceTable
        The result of `convergence`.

    Returns
    -------
    Report

    Examples
    --------
    >>> from covmetric.experiments.convergence import convergence
    >>> report = convergence_report(convergence(sizes=[5], lambdas=[1e-2], seeds=1))
    >>> [row.order for row in report.summary]
    ['cyclic', 'perm', 'rand']
    """
    return Report(
        name="convergence",
        title="Convergence of the selection orders (section 5.1 of the paper)",
        parts=[
            _definitions(),
            _explanation(table),
            _text_table(table),
            *_comparisons(table),
            *(_picture(table, x) for x in ("epoch", "projections", "seconds")),
        ],
        summary=table.summary(),
    )


def _definitions() -> str:
    return (
        "Figure 1 of the paper shows the objective gap BD(W_t, xi-bar_t) - P* of Dykstra's iterates: W_t is the metric "
        "of the current multipliers, xi-bar_t are the paper's feasible slacks (its section 4.1), and P* comes from "
        f"Newton's method at a gap of {OPTIMUM_TOL:g}. The certified gap is our upper bound on the error of the best "
        "point so far, which uses the best slacks for its metric. Users do not know P*, but they do know this bound."
    )


def _explanation(table: ConvergenceTable) -> str:
    seeds = len({point.seed for point in table.points})
    return (
        f"The table has medians over {seeds} problems with K = {table.K} and slack `{table.slack}`: epochs and seconds "
        f"until the objective gap is within {table.tol:g}, and epochs until the certified gap is. Both gaps are "
        "relative to max(1, P*). A run ends when both are within the tolerance, and it is unsolved if it does not get "
        "there. An epoch consists of K projections onto a half-space. Seconds are those of the projections, after "
        "their compilation and without certificates. The last columns are relative objective gaps after a number of "
        "epochs (empty if all runs ended earlier)."
    )


def _text_table(table: ConvergenceTable) -> TextTable:
    rows = []
    for row in table.summary():
        gaps = [table.objective_gap_after(row.n, row.lam, row.order, epoch) for epoch in _EPOCHS_SHOWN]
        rows.append(
            [
                str(row.n),
                f"{row.lam:.0e}",
                row.order,
                f"{row.epochs:g}",
                f"{row.seconds:.4f}",
                f"{row.certified_epochs:g}",
                str(row.unsolved),
                *("" if gap is None else f"{gap:.1e}" for gap in gaps),
            ]
        )
    head = ["n", "lambda", "order", "epochs", "seconds", "certified: epochs", "unsolved"]
    return TextTable([*head, *(f"gap, ep. {epoch}" for epoch in _EPOCHS_SHOWN)], rows)


def _comparisons(table: ConvergenceTable) -> list[str]:
    """Say how often the other orders are faster than the cyclic one."""
    orders = dict.fromkeys(point.order for point in table.points)
    counts = [
        f"`{order}` in {wins} of {settings}"
        for order in orders
        if order != "cyclic"
        for wins, settings in [table.wins(order)]
        if settings
    ]
    return [f"Settings with fewer epochs than `cyclic`, by the objective gap: {', '.join(counts)}."] if counts else []


def _picture(table: ConvergenceTable, x: str) -> Picture:
    return Picture(f"convergence-{x}.png", f"The objective gap against {x}", lambda: plot_convergence(table.points, x))
