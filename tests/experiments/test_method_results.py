"""What the results of comparisons have in common, for those on folds."""

from __future__ import annotations

import pytest

from covmetric.experiments.fold_results import ComparisonTable, FoldResult, MethodRow


def row(method, *accuracies, kind="fixed", **settings):
    return MethodRow(kind, method, tuple(FoldResult(0, fold, a, **settings) for fold, a in enumerate(accuracies)))


def make_table(*rows):
    return ComparisonTable(rows, examples=10, size=3, classes=2, groups=None, folds=2, repeats=1, seed=0, reg=0.0)


def test_chosen_settings_are_sorted_by_frequency():
    folds = [FoldResult(0, i, 0.5, chosen=chosen, candidates=4) for i, chosen in enumerate(["a=1", "a=2", "a=2"])]
    one = MethodRow("learned", "m", tuple(folds))
    assert list(one.chosen.items()) == [("a=2", 2), ("a=1", 1)] and one.candidates == 4
    assert make_table(one).summary()[0].chosen == "a=2 (2), a=1 (1)"


def test_best_fixed_metric_has_the_highest_accuracy():
    table = make_table(row("a", 0.5, 0.6), row("b", 0.7, 0.6), row("c", 0.9, 0.9, kind="learned"))
    assert table.best_fixed.method == "b"
    assert table.difference(table.rows[2]) == (pytest.approx(0.25), pytest.approx(0.05))
    summary = table.summary()
    assert [one.method for one in summary] == ["a", "b", "c"]
    assert [one.difference for one in summary] == [pytest.approx(-0.1), None, pytest.approx(0.25)]


def test_median_seconds_ignore_a_slow_first_fold():
    folds = tuple(FoldResult(0, fold, 0.5, fit_seconds=s) for fold, s in enumerate([9.0, 1.0, 1.2]))
    assert MethodRow("learned", "m", folds).seconds("fit") == 1.2
    assert MethodRow("learned", "m", folds).seconds("predict") is None
