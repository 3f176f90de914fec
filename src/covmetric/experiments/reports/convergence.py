"""The report of the convergence experiment."""

from __future__ import annotations

from covmetric.experiments.convergence import OPTIMUM_TOL, ConvergenceTable
from covmetric.experiments.reports.report import Picture, Report, TextTable
from covmetric.plotting import plot_convergence

_EPOCHS_SHOWN = (1, 3, 10, 30, 100, 300)


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
    seeds = len({point.seed for point in table.points})
    summary = table.summary()
    rows = []
    for row in summary:
        gaps = [table.gap_after(row.n, row.lam, row.order, epoch) for epoch in _EPOCHS_SHOWN]
        rows.append(
            [
                str(row.n),
                f"{row.lam:.0e}",
                row.order,
                f"{row.epochs:g}",
                f"{row.projections:g}",
                f"{row.seconds:.3f}",
                str(row.unsolved),
                *("" if gap is None else f"{gap:.1e}" for gap in gaps),
            ]
        )
    head = ["n", "lambda", "order", "epochs", "projections", "seconds", "unsolved"]
    head += [f"gap, ep. {epoch}" for epoch in _EPOCHS_SHOWN]
    explanation = (
        f"Medians over {seeds} problems with K = {table.K} and slack `{table.slack}`: epochs, projections and seconds "
        f"to a certified relative gap of {table.tol:g}, the number of runs that did not reach it, and the certified "
        "relative gap after a number of epochs (empty if all runs ended earlier). An epoch consists of K projections "
        "onto a half-space. Seconds include one certificate per epoch."
    )
    pictures = (
        "The pictures show P(W) - P* of the best iterate so far (solid), with P* from Newton's method at a gap of "
        f"{OPTIMUM_TOL:g}, and its certified upper bound (dashed), with one line per problem."
    )
    return Report(
        name="convergence",
        title="Convergence of the selection orders (section 4.1 of the paper)",
        parts=[
            explanation,
            TextTable(head, rows),
            f"The last run: {table.last}",
            pictures,
            *(_picture(table, x) for x in ("epoch", "projections", "seconds")),
        ],
        records=table.points,
        summary=summary,
    )


def _picture(table: ConvergenceTable, x: str) -> Picture:
    return Picture(f"convergence-{x}.png", f"The gap against {x}", lambda: plot_convergence(table.points, x))
