"""LEML on the paper's problems."""

from __future__ import annotations

import pytest

from covmetric.experiments.rank_one import RankOnePoint, rank_one, rank_one_runs, summarize_rank_one


@pytest.fixture(scope="module")
def points():
    return rank_one(n=6, K=15, lambdas=[1e-2, 1e-3], seeds=2, cycles=60)


def test_leml_stays_above_the_optimum(points):
    assert all(point.excess > 1e-3 for point in points)
    assert {(point.lam, point.seed) for point in points} == {(lam, seed) for lam in (1e-2, 1e-3) for seed in (0, 1)}
    assert max(point.cycle for point in points) == 61  # the limit is passed by the last cycle


def test_runs_hold_one_problem_each(points):
    runs = rank_one_runs(points)
    assert len(runs) == 4
    for run in runs:
        assert [point.cycle for point in run] == list(range(62))
        assert len({(point.lam, point.seed, point.optimum) for point in run}) == 1


def test_summary_has_the_last_and_the_best_iterate():
    excesses = [0.9, 0.2, 0.5]
    points = [RankOnePoint(1e-2, 3, cycle, 0.0, excess, 7.0) for cycle, excess in enumerate(excesses)]
    (row,) = summarize_rank_one(points)
    assert (row.lam, row.seed, row.optimum, row.excess, row.best_excess) == (1e-2, 3, 7.0, 0.5, 0.2)
