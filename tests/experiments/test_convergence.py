"""The convergence experiment."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import make_paper_problem
from covmetric.experiments.convergence import ConvergenceTable, Point, convergence


@pytest.fixture(scope="module")
def table():
    return convergence(sizes=[10], lambdas=[1e-2, 1e-3, 1e-4], seeds=5)


def test_problem_matches_the_paper():
    problem = make_paper_problem(n=10, K=50, lam=1e-3, seed=0)
    F = problem.embedded[:-1]
    assert F.shape == (50, 10, 10)
    assert -0.5 <= F.min() < -0.49 < 0.49 < F.max() <= 0.5
    assert set(problem.similar) == {-1.0, 1.0}
    assert (problem.bounds == 1.0).all()
    np.testing.assert_allclose(problem.weights, 1.0 / (1e-3 * 50))
    with pytest.raises(ValueError, match="lam must be positive, got 0"):
        make_paper_problem(lam=0.0)


def test_stochastic_orders_need_fewer_epochs_at_small_lambda(table):
    """The paper's claim, for n = 10 and the median epochs of five problems."""
    epochs = {(row.lam, row.order): row.epochs for row in table.summary()}
    for lam in (1e-3, 1e-4):
        assert epochs[lam, "perm"] < epochs[lam, "cyclic"]
        assert epochs[lam, "rand"] < epochs[lam, "cyclic"]
    assert all(row.unsolved == 0 for row in table.summary())


def test_gap_never_grows_and_an_epoch_has_K_projections(table):
    for a, b in zip(table.points, table.points[1:], strict=False):
        if (a.n, a.lam, a.order, a.seed) == (b.n, b.lam, b.order, b.seed):
            assert b.epoch == a.epoch + 1
            assert b.gap <= a.gap
            assert b.seconds > a.seconds
        assert a.projections == 50 * a.epoch
        assert a.true_gap >= -1e-10 * max(1.0, a.primal)
        assert a.relative_gap == pytest.approx(a.gap / max(1.0, abs(a.primal)))


def test_certified_gap_bounds_the_true_gap(table):
    runs = {}
    for p in table.points:
        runs.setdefault((p.lam, p.order, p.seed), []).append(p)
    assert len(runs) == 3 * 3 * 5
    for run in runs.values():
        true = np.minimum.accumulate([p.true_gap for p in run])
        assert (true <= np.array([p.gap for p in run]) + 1e-9).all()


def make_points(seed, gaps):
    return [Point(5, 1e-2, "perm", seed, e, 50 * e, 0.1 * e, 1.0, g, g, g) for e, g in enumerate(gaps, start=1)]


@pytest.fixture
def small_table():
    """Three runs, which meet 1e-3 after 2 epochs, after 4 epochs and never."""
    points = (
        make_points(0, [1e-1, 1e-4, 1e-5, 1e-6, 1e-6])
        + make_points(1, [1e-1, 1e-2, 2e-3, 1e-4])
        + make_points(2, [1e-1] * 6)
    )
    return ConvergenceTable(points, K=50, slack="is", tol=1e-3, last=None)


def test_summary_has_medians_at_the_first_epoch_within_the_tolerance(small_table):
    (row,) = small_table.summary()
    assert (row.epochs, row.projections, row.seconds, row.unsolved) == (4, 200, pytest.approx(0.4), 1)


def test_gap_after_counts_finished_runs_with_their_last_gap(small_table):
    assert small_table.gap_after(5, 1e-2, "perm", 1) == 1e-1
    assert small_table.gap_after(5, 1e-2, "perm", 3) == 2e-3
    assert small_table.gap_after(5, 1e-2, "perm", 6) == 1e-4
    assert small_table.gap_after(5, 1e-2, "perm", 7) is None


def test_unsolved_runs_are_counted():
    table = convergence(sizes=[10], lambdas=[1e-4], orders=["cyclic"], seeds=2, max_epochs=3)
    assert table.summary()[0].unsolved == 2


def test_nothing_to_run_raises():
    with pytest.raises(ValueError, match="there is nothing to run"):
        convergence(sizes=[])
