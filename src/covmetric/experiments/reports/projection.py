"""The report on the time of a projection."""

from __future__ import annotations

from collections.abc import Sequence

from covmetric.experiments.projection import ProjectionRow, growth_exponent, summarize_projection
from covmetric.experiments.reports.report import Report, TextTable


def projection_report(rows: Sequence[ProjectionRow]) -> Report:
    """Report how the time of a projection grows with the size of the matrices.

    Parameters
    ----------
    rows : sequence of ProjectionRow
        The result of `projection`, for at least two sizes.

    Returns
    -------
    Report

    Examples
    --------
    >>> report = projection_report([ProjectionRow(n, 40, 1, 0, 1e-9 * n**2) for n in (50, 100)])
    >>> print(report.parts[1].text())
      n  microseconds  median  growth per doubling of n
     50           2.5     2.5
    100          10.0    10.0                       4.0
    """
    summary = summarize_projection(rows)
    lines = [
        [
            str(row.n),
            f"{1e6 * row.seconds:.1f}",
            f"{1e6 * row.median_seconds:.1f}",
            "" if row.growth is None else f"{row.growth:.1f}",
        ]
        for row in summary
    ]
    explanation = (
        f"The time of a projection of W onto a half-space, with differences of n x n (m = n) and slack `is`, on one "
        f"BLAS thread and after compilation. A round makes {rows[0].K} projections, all of which change W. The table "
        f"has the best and the median of {rows[0].rounds} rounds, in which the sizes take turns."
    )
    fit = (
        f"The best times grow as n^{growth_exponent(rows):.2f} (least squares on logarithms). A cubic cost grows by 8 "
        "for each doubling of n. `python -m benchmarks.projection` compares our projection with a literal "
        "implementation of the paper and with the BLAS calls alone."
    )
    return Report(
        name="projection",
        title="The time of a projection (section 4 of the paper)",
        parts=[explanation, TextTable(["n", "microseconds", "median", "growth per doubling of n"], lines), fit],
        summary=summary,
    )
