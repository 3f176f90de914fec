"""The report of each experiment, from made-up results."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.experiments.convergence import convergence
from covmetric.experiments.fold_results import ComparisonTable, FoldResult, MethodRow
from covmetric.experiments.rank_one import RankOnePoint
from covmetric.experiments.reports import (
    Picture,
    TextTable,
    comparison_figure,
    convergence_report,
    rank_one_report,
)


def tables(report):
    return [part for part in report.parts if isinstance(part, TextTable)]


def pictures(report):
    return [part for part in report.parts if isinstance(part, Picture)]


def test_convergence_report_has_one_row_per_setting_and_three_pictures():
    table = convergence(sizes=[4], lambdas=[1e-1, 1e-2], seeds=2)
    report = convergence_report(table)
    (text,) = tables(report)
    assert [row[:3] for row in text.rows] == [
        ["4", lam, o] for lam in ("1e-01", "1e-02") for o in ("cyclic", "perm", "rand")
    ]
    assert all(len(row) == len(text.head) for row in text.rows)
    summary = table.summary()[0]
    assert text.rows[0][3:7] == [
        f"{summary.epochs:g}", f"{summary.seconds:.4f}", f"{summary.certified_epochs:g}", "0"
    ]  # fmt: skip
    assert text.rows[0][7] == f"{table.objective_gap_after(4, 1e-1, 'cyclic', 1):.1e}"
    assert "BD(W_t, xi-bar_t) - P*" in report.parts[0] and "section 5.1" in report.title
    assert "over 2 problems with K = 50 and slack `is`" in report.parts[1]
    perm, rand = (table.wins(order)[0] for order in ("perm", "rand"))
    assert f"by the objective gap: `perm` in {perm} of 2, `rand` in {rand} of 2." in report.parts[3]
    assert [picture.filename for picture in pictures(report)] == [
        f"convergence-{x}.png" for x in ("epoch", "projections", "seconds")
    ]
    labels = [picture.draw().axes[0].get_xlabel() for picture in pictures(report)]
    assert labels == ["epochs", "projections onto a half-space", "seconds of projections"]


def test_convergence_report_without_the_cyclic_order_has_no_comparison():
    report = convergence_report(convergence(sizes=[3], lambdas=[1e-1], orders=["perm"], seeds=1))
    assert [type(part).__name__ for part in report.parts] == ["str", "str", "TextTable"] + ["Picture"] * 3


def test_rank_one_report_draws_one_line_per_run():
    points = [
        RankOnePoint(6, 15, lam, seed, 3, cycle, 0.0, 1.0 / (1 + cycle) + 0.1, 0.2, 5.0)
        for lam in (1e-1, 1e-2)
        for seed in (0, 1, 2)
        for cycle in range(4)
    ]
    report = rank_one_report(points)
    (table,) = tables(report)
    assert len(table.rows) == 6 and table.rows[0] == ["0.1", "0", "5.0000", "0.3500", "0.2000"]
    assert "after 3 cycles" in table.head[3]
    assert "is a reconstruction" in report.parts[0] and "6 problems with n = 6 and K = 15" in report.parts[1]
    assert "any run and cycle is 0.2." in report.parts[1]
    panels = pictures(report)[0].draw().axes
    assert [len(axes.lines) for axes in panels] == [3 + 1, 3 + 1]
    assert [axes.get_title() for axes in panels] == ["lambda = 0.1", "lambda = 0.01"]


def make_table(**accuracies):
    rows = [
        MethodRow("fixed" if name.startswith("log") else "learned", name, tuple(
            FoldResult(0, fold, a, 0.1, 0.1) if a is not None else FoldResult(0, fold, failure="no")
            for fold, a in enumerate(values)
        ))
        for name, values in accuracies.items()
    ]  # fmt: skip
    return ComparisonTable(tuple(rows), 36, 4, 3, None, 2, 1, 0, 1e-6)


def test_comparison_figure_leaves_out_failed_methods():
    (axes,) = comparison_figure(make_table(log=[0.5, 0.7], ours=[0.8, 1.0], broken=[0.9, None]), "mine").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["log", "ours"]
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], [60.0, 90.0])
    whiskers = axes.containers[-1].lines[2][0].get_segments()
    np.testing.assert_allclose([segment[:, 0] for segment in whiskers], [[50.0, 70.0], [80.0, 100.0]])
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert len(dashed) == 1 and dashed[0].get_xdata()[0] == pytest.approx(60.0)
    assert axes.get_title() == "mine: 2 folds; whiskers: standard error; dashed: log, the best fixed metric"


def test_comparison_figure_without_results_raises():
    with pytest.raises(ValueError, match="every method failed"):
        comparison_figure(make_table(broken=[None, None]), "mine")
