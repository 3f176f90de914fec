"""The convergence experiment."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest

from covmetric import Dykstra, make_paper_problem, solve
from covmetric.experiments import convergence as module
from covmetric.experiments.convergence import convergence
from covmetric.experiments.convergence_table import Point, Run
from covmetric.experiments.rows import RowFile
from tests import naive


@pytest.fixture(scope="module")
def table():
    return convergence(sizes=[10], lambdas=[1e-2, 1e-3, 1e-4], seeds=5)


def runs_of(table):
    return [list(run) for _, run in groupby(table.points, key=lambda point: point.run)]


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
    """The paper's claim, for n = 10 and the median epochs of five problems, by both measures."""
    summary = {(row.lam, row.order): row for row in table.summary()}
    for lam in (1e-3, 1e-4):
        for order in ("perm", "rand"):
            assert summary[lam, order].epochs < summary[lam, "cyclic"].epochs
            assert summary[lam, order].certified_epochs < summary[lam, "cyclic"].certified_epochs
    assert all(row.unsolved == 0 for row in table.summary())
    assert table.wins("perm") == table.wins("rand") == (3, 3)


def test_median_epochs_match_the_documentation(table):
    """The row n = 10 of the table in docs/performance/orders.md, up to rounding errors that move an epoch."""
    expected = [20, 9, 18, 150, 29, 38, 410, 100, 113]
    assert [row.epochs for row in table.summary()] == pytest.approx(expected, rel=0.02, abs=1.0)


def test_points_of_a_run_follow_each_other(table):
    runs = runs_of(table)
    assert len(runs) == 3 * 3 * 5
    for run in runs:
        assert run[0].epoch == 0 and run[0].seconds == 0.0
        for before, after in pairwise(run):
            assert after.epoch == before.epoch + 1 or before.epoch >= module.DENSE_EPOCHS
            assert after.seconds > before.seconds and after.gap <= before.gap
        assert all(point.projections == 50 * point.epoch for point in run)
        assert max(run[-1].relative_objective_gap, run[-1].relative_gap) <= 1e-6
        assert all(max(point.relative_objective_gap, point.relative_gap) > 1e-6 for point in run[:-1])


def test_gaps_are_ordered(table):
    """0 <= BD - P* <= the paper's bound, 0 <= P(W) - P* <= certified gap <= the paper's bound."""
    for point in table.points:
        scale = 1e-10 * max(1.0, point.optimum)
        assert point.objective_gap >= -scale
        assert point.objective_gap <= point.paper_bound * (1.0 + 1e-5) + scale
        assert point.gap <= point.paper_bound * (1.0 + 1e-5) + scale
        assert -scale <= point.best_excess <= point.gap * (1.0 + 1e-5) + scale


@pytest.mark.parametrize("order", ["cyclic", "perm", "rand"])
def test_gaps_belong_to_the_unrepaired_iterates_of_the_solver(order):
    """A solve with the same seed has the same iterates; the literal formulas at its multipliers give the same gaps."""
    iterates = []

    class RecordedDykstra(Dykstra):
        def candidate(self, state):
            iterates.append(state.alpha.copy())
            return super().candidate(state)

    table = convergence(sizes=[6], lambdas=[1e-3], orders=[order], seeds=2, K=12, max_epochs=10)
    run = [point for point in table.points if point.seed == 1]
    problem = make_paper_problem(6, 12, 1e-3, 1)
    history = solve(problem, RecordedDykstra(order, certify_every=1), tol=0.0, max_iter=10, random_state=1).history
    optimum = solve(problem, "newton", tol=1e-12).certificate.primal
    assert len(run) == 11
    np.testing.assert_allclose([point.optimum for point in run], optimum, rtol=1e-5)
    objectives = [naive.paper_objective(problem, alpha) for alpha in iterates]
    np.testing.assert_allclose([p.objective_gap for p in run[1:]], np.array(objectives) - optimum, rtol=1e-5)
    bounds = [naive.paper_bound(problem, alpha) for alpha in iterates]
    np.testing.assert_allclose([p.paper_bound for p in run[1:]], bounds, rtol=1e-5)
    gaps = np.minimum.accumulate(history.primal) - np.maximum.accumulate(history.dual)
    np.testing.assert_allclose([p.gap for p in run], gaps, rtol=1e-5)


def test_thinned_runs_have_the_same_summary(monkeypatch):
    settings = {"sizes": [10], "lambdas": [1e-4], "orders": ["cyclic", "perm"], "seeds": 1}
    thinned = convergence(**settings)
    monkeypatch.setattr(module, "DENSE_EPOCHS", 10**9)
    whole = convergence(**settings)
    assert 2 * len(thinned.points) < len(whole.points)
    assert [row.epochs for row in thinned.summary()] == [row.epochs for row in whole.summary()]
    assert [row.certified_epochs for row in thinned.summary()] == [row.certified_epochs for row in whole.summary()]
    for epoch in (1, 30, 100):
        assert thinned.objective_gap_after(10, 1e-4, "cyclic", epoch) is not None
        assert thinned.objective_gap_after(10, 1e-4, "cyclic", epoch) == whole.objective_gap_after(
            10, 1e-4, "cyclic", epoch
        )


def test_unsolved_runs_are_counted():
    table = convergence(sizes=[10], lambdas=[1e-4], orders=["cyclic"], seeds=2, max_epochs=3)
    assert table.summary()[0].unsolved == 2
    assert [point.epoch for point in table.points] == [0, 1, 2, 3] * 2


def test_runs_of_a_file_are_not_repeated(tmp_path, monkeypatch):
    file = RowFile(tmp_path / "convergence.csv", Point)
    settings = {"sizes": [4], "lambdas": [1e-1], "orders": ["perm", "rand"], "file": file}
    convergence(**settings, seeds=1)
    before = file.read()
    solved = []
    original = module._points
    monkeypatch.setattr(module, "_points", lambda run, *rest: solved.append(run) or original(run, *rest))
    table = convergence(**settings, seeds=2)
    assert [(run.order, run.seed) for run in solved] == [("perm", 1), ("rand", 1)]
    assert file.read() == table.points and [point for point in table.points if point.seed == 0] == before
    assert {point.run for point in table.points} == {
        Run(4, 50, 0.1, "is", order, seed, 1e-6, 2000) for order in ("perm", "rand") for seed in (0, 1)
    }


@pytest.mark.parametrize("setting", [{"tol": 1e-3}, {"max_epochs": 50}, {"slack": "l2"}, {"K": 20}])
def test_rows_of_other_settings_are_not_used(setting, tmp_path):
    file = RowFile(tmp_path / "convergence.csv", Point)
    convergence(sizes=[4], lambdas=[1e-1], orders=["perm"], seeds=1, file=file)
    with pytest.warns(UserWarning, match="rows of other settings"):
        table = convergence(sizes=[4], lambdas=[1e-1], orders=["perm"], seeds=1, file=file, **setting)
    ((name, value),) = setting.items()
    assert {getattr(point, name) for point in table.points} == {value}
    assert file.read() == table.points


def test_kernels_are_compiled_before_the_first_timed_run(monkeypatch):
    events = []
    for name in ("_compile", "_points"):
        original = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *args, name=name, original=original: events.append(name) or original(*args)
        )
    convergence(sizes=[3], lambdas=[1e-1], orders=["perm"], seeds=2)
    assert events == ["_compile", "_points", "_points"]


def test_nothing_to_run_raises():
    with pytest.raises(ValueError, match="there is nothing to run"):
        convergence(sizes=[])
