"""The statistics of a comparison."""

from __future__ import annotations

from covmetric.experiments.fold_results import ComparisonTable, FoldResult, MethodRow


def make_table(*rows):
    return ComparisonTable(rows, examples=10, size=3, classes=2, groups=None, folds=2, repeats=1, seed=0, reg=0.0)


def test_failure_in_one_fold_leaves_no_accuracy():
    failed = MethodRow("peer", "a", (FoldResult(0, 0, 0.9, 1.0, 3.0), FoldResult(0, 1, failure="no")))
    assert failed.failure == "no" and failed.accuracy is None and failed.standard_error is None
    assert failed.accuracies == {(0, 0): 0.9}
    assert failed.seconds("fit") == 1.0 and failed.seconds("predict") == 3.0
    assert make_table(failed).best_fixed is None
