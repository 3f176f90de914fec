"""The table of the convergence experiment, from made-up points."""

from __future__ import annotations

from dataclasses import replace

import pytest

from covmetric.experiments.convergence_table import ConvergenceTable, Point


def make_point(epoch, objective_gap, gap, **settings):
    point = Point(
        n=5, K=50, lam=1e-2, slack="is", order="perm", seed=0, tol=1e-3, max_epochs=9, epoch=epoch,
        seconds=0.1 * epoch, optimum=10.0, objective_gap=objective_gap, paper_bound=objective_gap, gap=gap,
        best_excess=0.5 * gap,
    )  # fmt: skip
    return replace(point, **settings)


def make_run(seed, objective_gaps, gaps, **settings):
    pairs = enumerate(zip(objective_gaps, gaps, strict=True), start=1)
    return [make_point(epoch, *pair, seed=seed, **settings) for epoch, pair in pairs]


@pytest.fixture
def small_table():
    """Three runs with an optimum of 10.

    The objective gap is within 1e-2 after 2 epochs, after 4 epochs and never; the certified gap is after 1, after 3 and
    after 5 epochs.
    """
    return ConvergenceTable(
        make_run(0, [1.0, 1e-2, 1e-3, 1e-3, 1e-3], [1e-3, 1e-3, 1e-3, 1e-3, 1e-3])
        + make_run(1, [1.0, 0.1, 2e-2, 1e-3], [1.0, 0.1, 1e-3, 1e-3])
        + make_run(2, [1.0] * 6, [1.0] * 4 + [1e-2] * 2)
    )


def test_summary_has_medians_at_the_first_epoch_within_the_tolerance(small_table):
    (row,) = small_table.summary()
    assert (row.epochs, row.seconds) == (4, pytest.approx(0.4))
    assert (row.certified_epochs, row.certified_seconds) == (3, pytest.approx(0.3))
    assert row.unsolved == 1


def test_objective_gap_after_counts_finished_runs_with_their_last_gap(small_table):
    assert small_table.objective_gap_after(5, 1e-2, "perm", 1) == pytest.approx(0.1)
    assert small_table.objective_gap_after(5, 1e-2, "perm", 3) == pytest.approx(2e-3)
    assert small_table.objective_gap_after(5, 1e-2, "perm", 6) == pytest.approx(1e-4)
    assert small_table.objective_gap_after(5, 1e-2, "perm", 7) is None


def test_gaps_are_relative_to_the_optimum_or_to_one():
    assert make_point(1, 0.5, 0.2).relative_objective_gap == 0.05
    assert make_point(1, 0.5, 0.2).relative_gap == 0.02
    assert make_point(1, 0.5, 0.2, optimum=0.1).relative_gap == 0.2


def test_wins_count_settings_with_strictly_fewer_epochs():
    def run(order, lam, epochs):
        return make_run(0, [1.0] * (epochs - 1) + [1e-4], [1e-4] * epochs, order=order, lam=lam)

    points = run("cyclic", 1e-2, 3) + run("perm", 1e-2, 3) + run("cyclic", 1e-3, 5) + run("perm", 1e-3, 4)
    points += run("perm", 1e-4, 2)
    table = ConvergenceTable(points)
    assert table.wins("perm") == (1, 2)
    assert table.wins("cyclic", "perm") == (0, 2)
    assert table.wins("rand") == (0, 0)


def test_table_has_the_settings_of_its_points(small_table):
    assert (small_table.K, small_table.slack, small_table.tol) == (50, "is", 1e-3)


def test_table_without_points_or_with_mixed_settings_raises():
    with pytest.raises(ValueError, match="one K, slack, tol and max_epochs"):
        ConvergenceTable([])
    with pytest.raises(ValueError, match="one K, slack, tol and max_epochs"):
        ConvergenceTable([make_point(1, 1.0, 1.0), make_point(1, 1.0, 1.0, slack="l2")])


def test_point_meets_the_tolerance_if_both_gaps_do():
    assert make_point(1, 1e-2, 1e-2).meets_tolerance
    assert not make_point(1, 1e-2, 2e-2).meets_tolerance
    assert not make_point(1, 2e-2, 1e-2).meets_tolerance
