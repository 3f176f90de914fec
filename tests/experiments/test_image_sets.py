"""The image-set experiment, on a small stand-in for ETH-80."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covmetric.experiments import image_sets as module
from covmetric.experiments.image_sets import SetRow, chosen_lambda, image_sets, split_objects, summarize_image_sets
from covmetric.experiments.rows import RowFile
from tests.images import write_objects

pytest.importorskip("PIL.Image")

ROW = SetRow("log", 0, "0.01", 1e-4, 1e-2, 0.9, 0.8, 0.0, "SOLVED", 3600.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    load = module.load_eth80_sets
    monkeypatch.setattr(module, "load_eth80_sets", lambda folder: load(folder, size=(3, 3)))
    (tmp_path / "images").mkdir()
    return write_objects(tmp_path / "images")


def test_path_begins_with_W_I_and_is_solved(folder):
    rows = image_sets(folder, lambdas=[1e-3, 1e-1], repeats=2, tol=1e-6)
    assert {(row.lambdas, row.tol) for row in rows} == {("0.1 0.001", 1e-6)}
    assert [(row.repeat, row.lam) for row in rows] == [(r, lam) for r in (0, 1) for lam in (np.inf, 1e-1, 1e-3)]
    assert [row.status for row in rows] == ["", "SOLVED", "SOLVED"] * 2
    assert all(row.relative_gap <= 1e-6 and 0.0 <= row.accuracy <= 1.0 for row in rows)
    assert rows[0].seconds < rows[1].seconds < rows[2].seconds


def test_experiment_resumes_with_the_missing_repeats(folder, tmp_path, monkeypatch):
    file = RowFile(tmp_path / "rows.csv", SetRow)
    first = image_sets(folder, lambdas=[1e-1], repeats=1, file=file)
    real, computed = module._path, []
    monkeypatch.setattr(module, "_path", lambda run, *given: computed.append(run.repeat) or real(run, *given))
    rows = image_sets(folder, lambdas=[1e-1], repeats=3, file=file)
    assert computed == [1, 2] and rows[:2] == first and file.read() == rows
    assert [(row.repeat, row.lam) for row in rows] == [(r, lam) for r in range(3) for lam in (np.inf, 1e-1)]


@pytest.mark.parametrize("change", [{"lambdas": [1e-1, 1e-2]}, {"tol": 1e-3}, {"phis": ["chol"]}])
def test_rows_of_other_settings_are_not_reused(folder, tmp_path, change):
    file, settings = RowFile(tmp_path / "rows.csv", SetRow), {"lambdas": [1e-1], "repeats": 1}
    image_sets(folder, **settings, file=file)
    with pytest.warns(UserWarning, match="holds rows of other settings"):
        rows = image_sets(folder, **{**settings, **change}, file=file)
    fresh = image_sets(folder, **{**settings, **change})
    assert [replace(row, seconds=0.0) for row in rows] == [replace(row, seconds=0.0) for row in fresh]


def test_accuracies_are_those_of_one_nearest_neighbour():
    references, codes = np.array([[0.0], [1.0], [5.0], [5.5]]), np.array([0, 1, 1, 1])
    queries, query_codes = np.array([[0.2], [0.3], [0.9]]), np.array([0, 1, 1])
    assert module._one_nn(references, queries, codes, query_codes) == pytest.approx(2 / 3)
    assert module._one_nn(references, None, codes, codes) == pytest.approx(2 / 4)


def test_lambda_is_chosen_by_leave_one_out_in_the_first_repeats():
    rows = [
        ROW,
        replace(ROW, lam=1e-3, leave_one_out=0.9),
        replace(ROW, lam=1e-4, leave_one_out=0.9, accuracy=1.0),
        replace(ROW, repeat=2, leave_one_out=1.1),
    ]
    assert chosen_lambda(rows) == 1e-3  # the larger of two equal ones; the third repeat does not count
    assert chosen_lambda(rows, repeats=3) == 1e-2  # a mean of 0.95


def test_summary_averages_over_the_repeats():
    rows = [
        replace(ROW, repeat=repeat, lam=lam, accuracy=accuracy, leave_one_out=0.5, status=status, seconds=seconds)
        for repeat, accuracies in enumerate([(0.6, 0.9), (0.8, 0.7)])
        for lam, accuracy, status, seconds in zip(
            (np.inf, 1e-2), accuracies, ("", "MAX_ITER" if repeat else "SOLVED"), (10.0, 1800.0), strict=True
        )
    ]
    table = summarize_image_sets(rows)
    eye, learned = table.rows
    assert (eye.lam, eye.accuracy.mean, eye.solved, eye.seconds) == (np.inf, pytest.approx(70.0), 2, 10.0)
    assert learned.accuracy.mean == pytest.approx(80.0)
    assert learned.accuracy.standard_error == pytest.approx(10.0)
    assert eye.difference is None
    assert (learned.difference.mean, learned.difference.standard_error) == (pytest.approx(10.0), pytest.approx(20.0))
    assert (learned.leave_one_out.mean, learned.solved) == (50.0, 1)
    assert table.chosen is eye
    assert table.hours == 1.0  # two paths of half an hour


def test_split_has_half_of_the_objects_of_each_class():
    codes = np.repeat(np.arange(8), 10)
    split = split_objects(codes, 3)
    assert not set(split.train) & set(split.test)
    np.testing.assert_array_equal(np.bincount(codes[split.train]), 5)
    np.testing.assert_array_equal(np.bincount(codes[split.test]), 5)
    assert not np.array_equal(split.train, split_objects(codes, 4).train)
