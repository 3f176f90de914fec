"""The time of projections: rows, growth and resuming. No test asserts a time."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.experiments import projection as module
from covmetric.experiments.projection import (
    ProjectionRow,
    active_problem,
    growth_exponent,
    projection,
    projection_timer,
    summarize_projection,
)
from covmetric.experiments.rows import RowFile
from covmetric.problem import MetricProblem


def test_rows_have_all_sizes_and_rounds():
    rows = projection(sizes=[4, 3], K=5, rounds=3)
    assert [(row.n, row.K, row.rounds, row.round) for row in rows] == [(n, 5, 3, i) for n in (4, 3) for i in range(3)]
    assert all(row.seconds > 0.0 for row in rows)


def test_all_pairs_are_active():
    problem = active_problem(6, 20)
    excess = problem.squared_distances(np.eye(6)) - problem.bounds
    assert (excess * problem.similar > 0.0).all() and problem.n_pairs == 20


def test_idle_pairs_are_refused():
    """A similar pair within its bound needs no projection."""
    F = np.eye(3)[None] * 0.1
    problem = MetricProblem.from_differences(F, [1.0], [1.0], [1.0])
    with pytest.raises(RuntimeError, match="1 idle pairs at n = 3"):
        projection_timer(problem)()


def test_stored_sizes_are_not_timed_again(tmp_path, monkeypatch):
    file = RowFile(tmp_path / "projection.csv", ProjectionRow)
    rows = projection(sizes=[3], K=5, rounds=2, file=file)
    timed = []
    monkeypatch.setattr(module, "active_problem", lambda n, K: timed.append(n) or active_problem(n, K))
    assert projection(sizes=[3, 4], K=5, rounds=2, file=file)[:2] == rows
    assert timed == [4] and [row.n for row in file.read()] == [3, 3, 4, 4]


def test_growth_is_per_doubling_of_the_size():
    rows = [ProjectionRow(n, 40, 2, i, 1e-9 * n**3 * (1 + i)) for n in (100, 25) for i in range(2)]
    small, large = summarize_projection(rows)
    assert (small.n, small.growth) == (25, None)
    assert small.seconds == pytest.approx(1e-9 * 25**3) and small.median_seconds == pytest.approx(1.5e-9 * 25**3)
    assert large.growth == pytest.approx(8.0)
    assert growth_exponent(rows) == pytest.approx(3.0)
