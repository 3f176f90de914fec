"""LEML on the paper's problems."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import make_paper_problem, solve
from covmetric.experiments import rank_one as module
from covmetric.experiments.rank_one import RankOnePoint, rank_one, rank_one_runs, summarize_rank_one
from covmetric.experiments.rows import RowFile
from covmetric.peers import leml


@pytest.fixture(scope="module")
def points():
    return rank_one(n=6, K=15, lambdas=[1e-2, 1e-3], seeds=2, cycles=60)


def test_leml_stays_above_the_optimum(points):
    assert all(point.best_excess > 1e-3 for point in points)
    assert {(point.lam, point.seed) for point in points} == {(lam, seed) for lam in (1e-2, 1e-3) for seed in (0, 1)}


def test_runs_hold_one_problem_each(points):
    runs = rank_one_runs(points)
    assert len(runs) == 4
    for run in runs:
        assert [point.cycle for point in run][:4] == [0, 1, 2, 3] and run[-1].cycle == 60
        assert len(run) <= 32 and len({point.cycle for point in run}) == len(run)
        assert len({(point.lam, point.seed, point.optimum) for point in run}) == 1


def test_points_equal_the_history_of_leml(points):
    problem = make_paper_problem(6, 15, 1e-2, 0)
    history = leml(problem, tol=0.0, max_iter=15 * 60 - 1).history
    excess = history.primal - solve(problem, "newton", tol=1e-9).certificate.primal
    assert excess.min() < excess[-1] - 1e-5  # the best cycle is not the last
    run = rank_one_runs(points)[0]
    assert run[0].run == (6, 15, 1e-2, 0, 60)
    np.testing.assert_allclose([p.excess for p in run], [excess[p.cycle] for p in run], atol=1e-8)
    np.testing.assert_allclose([p.best_excess for p in run], [excess[: p.cycle + 1].min() for p in run], atol=1e-8)


def test_summary_has_the_last_and_the_best_iterate():
    values = [(0.9, 0.9), (0.2, 0.2), (0.5, 0.1)]
    points = [RankOnePoint(4, 9, 1e-2, 3, 2, cycle, 0.0, *pair, 7.0) for cycle, pair in enumerate(values)]
    (row,) = summarize_rank_one(points)
    assert (row.lam, row.seed, row.optimum, row.excess, row.best_excess) == (1e-2, 3, 7.0, 0.5, 0.1)


def test_runs_of_a_file_are_not_repeated(tmp_path, monkeypatch):
    file = RowFile(tmp_path / "leml.csv", RankOnePoint)
    settings = {"n": 4, "K": 8, "lambdas": [1e-2], "cycles": 5, "file": file}
    before = rank_one(**settings, seeds=1)
    problems = []
    monkeypatch.setattr(module, "leml", lambda problem, **rest: problems.append(problem) or leml(problem, **rest))
    points = rank_one(**settings, seeds=3)
    assert len(problems) == 2
    assert points[: len(before)] == before and file.read() == points


@pytest.mark.parametrize("setting", [{"n": 5}, {"K": 9}, {"cycles": 6}])
def test_rows_of_other_settings_are_not_used(setting, tmp_path):
    file = RowFile(tmp_path / "leml.csv", RankOnePoint)
    settings = {"n": 4, "K": 8, "lambdas": [1e-2], "seeds": 1, "cycles": 5, "file": file}
    rank_one(**settings)
    with pytest.warns(UserWarning, match="rows of other settings"):
        points = rank_one(**{**settings, **setting})
    ((name, value),) = setting.items()
    assert {getattr(point, name) for point in points} == {value}
