"""The comparison of methods on the same folds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.experiments import compare as module
from covmetric.experiments.compare import compare
from covmetric.experiments.comparison_inputs import draw_seed
from covmetric.experiments.fold_results import ComparisonTable
from covmetric.experiments.methods import Method
from covmetric.learning import search as search_module
from covmetric.learning.splits import make_splits
from covmetric.solvers import Newton

FEW = ["log-3nn", "relog-mean", "mdm", "covmetric-3nn"]


def broken(_):
    raise TypeError("no such thing")


def test_accuracies_equal_those_of_the_estimators(data):
    table = compare(data.X, data.y, data.groups, ["sqrt-3nn", "covmetriccv-mean"], folds=2, reg=1e-3, seed=4)
    splits = make_splits(2, data.X, data.y, data.groups, draw_seed([4, 0]))
    for fold, split in enumerate(splits):
        train, test = split.train, split.test
        fixed = CovMetricClassifier(CovMetric("sqrt", lam=np.inf, reg=1e-3)).fit(data.X[train], data.y[train])
        assert table.rows[0].folds[fold].accuracy == fixed.score(data.X[test], data.y[test])
        search = CovMetricCV(rule="mean", reg=1e-3, random_state=4)  # draws the same inner folds by groups
        ours = CovMetricClassifier(search, rule="mean").fit(data.X[train], data.y[train], data.groups[train])
        assert table.rows[1].folds[fold].accuracy == ours.score(data.X[test], data.y[test])
        assert f"phi={ours.learner_.best_params_['phi']}" in table.rows[1].folds[fold].chosen


@pytest.mark.parametrize("grouped", [True, False])
def test_groups_stay_together_and_all_methods_get_the_same_folds(data, add_methods, grouped):
    seen = []

    class Spy:
        def __init__(self, given):
            self.inner = given.inner_folds()

        def fit(self, X, y):
            self.X, self.first = X, y[0]
            return self

        def predict(self, X):
            seen.append((self.X, X, self.inner))
            return np.full(len(X), self.first)

    add_methods(spy=Method("peer", Spy), spy_too=Method("peer", Spy))
    compare(data.X, data.y, data.groups if grouped else None, ["spy", "spy_too"], folds=3, repeats=2)
    assert len(seen) == 12
    which = {matrix.tobytes(): i for i, matrix in enumerate(0.5 * (data.X + data.X.transpose(0, 2, 1)))}
    tested = []
    for train, test, inner in seen:
        first, second = (np.array([which[matrix.tobytes()] for matrix in part]) for part in (train, test))
        tested.append(second)
        together = [(first, second)] + [(first[a], first[b]) for a, b in inner]
        assert len(inner) == (4 if grouped else 5)  # training parts have four groups of a class
        overlaps = [np.intersect1d(data.groups[a], data.groups[b]).size for a, b in together]
        assert not any(overlaps) if grouped else all(overlaps)
    for one, other in zip(tested[::2], tested[1::2], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.sort(np.concatenate(tested[0:6:2])), np.arange(36))
    assert any(not np.array_equal(a, b) for a, b in zip(tested[:6], tested[6:], strict=True))


def test_settings_are_tuned_without_groups_if_the_training_part_has_one(data):
    table = compare(data.X, data.y, np.arange(36) % 2, ["mdm"], folds=5)
    assert table.folds == 2 and table.groups == 2 and not table.rows[0].failure


def test_differences_are_paired_by_fold(data):
    table = compare(data.X, data.y, methods=FEW, folds=3, repeats=2)
    best = table.best_fixed
    assert best.kind == "fixed" and best.accuracy == max(r.accuracy for r in table.rows if r.kind == "fixed")
    ours = table.rows[-1]
    differences = [a.accuracy - b.accuracy for a, b in zip(ours.folds, best.folds, strict=True)]
    expected = np.mean(differences), np.std(differences, ddof=1) / np.sqrt(6)
    np.testing.assert_allclose(table.difference(ours), expected)
    assert table.difference(best) == (None, None)
    assert compare(data.X, data.y, methods=["mdm"], folds=2).best_fixed is None


def test_accuracies_do_not_depend_on_the_number_of_jobs(data):
    one, two = (compare(data.X, data.y, methods=FEW[:2], folds=2, n_jobs=jobs) for jobs in (None, 2))
    assert [row.accuracies for row in one.rows] == [row.accuracies for row in two.rows]


def test_table_equals_itself_after_a_round_trip_through_json(data, add_methods):
    add_methods(broken=Method("peer", broken))
    table = compare(data.X, data.y, data.groups, [*FEW, "broken"], folds=2)
    text = json.dumps(table.as_dict(), allow_nan=False)
    assert ComparisonTable.from_dict(json.loads(text)) == table
    assert json.loads(text)["summary"][-1]["failure"] == "no such thing"


def test_failure_of_all_candidates_has_a_reason_in_one_line(data):
    singular = data.X * np.array([1.0, 1.0, 1.0, 0.0])[:, None] * np.array([1.0, 1.0, 1.0, 0.0])
    with np.errstate(all="ignore"):
        table = compare(singular, data.y, methods=["id-3nn", "log-3nn", "riemann-knn"], folds=2, reg=0)
    assert table.rows[0].failure == "" and "set reg" in table.rows[1].failure
    assert "\n" not in table.rows[2].failure


class Recorder:
    """A classifier that keeps its training and test matrices."""

    fitted, tested = [], []

    def __init__(self, training):
        self.training = training

    def fit(self, X, y):
        self.fitted.append(X)
        self.first = y[0]
        return self

    def predict(self, X):
        self.tested.append(X)
        return np.full(len(X), self.first)


@pytest.mark.parametrize("adds_reg", [True, False])
def test_reg_is_a_fraction_of_the_mean_eigenvalue(data, add_methods, monkeypatch, adds_reg):
    """A method without a parameter `reg` gets regularised matrices; other methods get the matrices and `reg`."""
    monkeypatch.setattr(Recorder, "fitted", [])
    monkeypatch.setattr(Recorder, "tested", [])
    add_methods(recorder=Method("peer", Recorder, adds_reg=adds_reg))
    compare(data.X, data.y, methods=["recorder"], folds=2, reg=0.5)
    expected = data.X if adds_reg else np.stack([x + 0.5 * np.linalg.eigvalsh(x).mean() * np.eye(4) for x in data.X])
    for parts in (Recorder.fitted, Recorder.tested):
        found = np.concatenate(parts)
        order, expected_order = (np.lexsort(np.round(X.reshape(36, -1), 6).T) for X in (found, expected))
        np.testing.assert_allclose(found[order], expected[expected_order], rtol=1e-12)


def test_reg_reaches_the_methods_that_add_it_themselves(data, add_methods):
    given = []
    add_methods(spy=Method("peer", lambda training: given.append((training.reg, training.seed)) or Recorder(training)))
    compare(data.X, data.y, methods=["spy"], folds=2, reg=0.25, seed=7)
    assert given == [(0.25, 7)] * 2


def test_interrupted_search_is_not_a_result(data, add_methods, monkeypatch):
    """CovMetricCV keeps its best candidate after Ctrl-C; a comparison must not count it."""
    real, calls = search_module.score_candidates, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(search_module, "score_candidates", interrupted)
    search = CovMetricCV(phi=["id", "log"], random_state=0)
    add_methods(cut=Method("learned", lambda _: CovMetricClassifier(search)))
    table = compare(data.X, data.y, methods=["log-3nn", "cut"], folds=2)
    assert table.interrupted and [row.method for row in table.rows] == ["log-3nn"]
    assert len(calls) == 3


def test_interrupted_calibration_is_not_a_result(data, add_methods, monkeypatch):
    """CovMetricClassifier(rule='auto') keeps its best rule after Ctrl-C; a comparison must not count it."""

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(CovMetricCV, "_out_of_fold", interrupted)
    search = CovMetricCV("log", lambdas=[0.1], rule=["mean", "neighbors"], random_state=0)
    add_methods(cut=Method("learned", lambda _: CovMetricClassifier(search, rule="auto")))
    table = compare(data.X, data.y, methods=["log-3nn", "cut"], folds=2)
    assert table.interrupted and [row.method for row in table.rows] == ["log-3nn"]


def test_interrupted_solve_is_not_a_result(data, add_methods):
    """A solver returns its best W after Ctrl-C; a comparison must not count it."""

    class Interrupted(Newton):
        def step(self, *_, **__):
            raise KeyboardInterrupt

    make = lambda _: CovMetricClassifier(CovMetric("log", solver=Interrupted()))  # noqa: E731
    add_methods(stopped=Method("learned", make))
    table = compare(data.X, data.y, methods=["log-3nn", "stopped"], folds=2)
    assert table.interrupted and [row.method for row in table.rows] == ["log-3nn"]


def test_interruption_before_the_first_result_is_raised(data, add_methods):
    def stop(_):
        raise KeyboardInterrupt

    add_methods(stop=Method("peer", stop))
    with pytest.raises(KeyboardInterrupt):
        compare(data.X, data.y, methods=["stop"], folds=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": ["log-3nn", "magic"]}, "there is no method 'magic'; the methods are id-3nn, log-3nn"),
        ({"methods": []}, "methods is empty"),
        ({"repeats": 0}, "repeats must be an integer >= 1, got 0"),
        ({"reg": -1.0}, r"reg must be a number >= 0, got -1\.0"),
        ({"folds": 1}, "integer >= 2"),
        ({"groups": [0, 1]}, r"groups must have one entry per matrix, shape \(36,\); got shape \(2,\)"),
    ],
)
def test_invalid_settings_raise(data, settings, message):
    with pytest.raises(ValueError, match=message):
        compare(data.X, data.y, **settings)


def test_confusion_counts_the_predictions_of_all_folds(data, add_methods):
    """The literal twin: predict each fold again and count one by one."""
    table = compare(data.X, data.y, data.groups, ["sqrt-3nn", "covmetric-3nn"], folds=3, repeats=2, seed=1)
    for row, make in zip(table.rows, (lambda: CovMetric("sqrt", lam=np.inf, reg=1e-6), None), strict=True):
        matrix = table.confusion(row)
        assert matrix.sum() == 72 and matrix.trace() / 72 == pytest.approx(row.accuracy, abs=1e-12)
        if make is not None:
            expected = np.zeros_like(matrix)
            for repeat in range(2):
                for split in make_splits(3, data.X, data.y, data.groups, draw_seed([1, repeat])):
                    fitted = CovMetricClassifier(make()).fit(data.X[split.train], data.y[split.train])
                    for i in split.test:
                        expected[data.y[i], fitted.predict(data.X[i : i + 1])[0]] += 1
            np.testing.assert_array_equal(matrix, expected)


def test_class_names_follow_the_numbers_of_the_classes(data):
    """Numbers are sorted as numbers: as texts, 10 would come before 9."""
    table = compare(data.X, np.where(data.y == 0, 10, np.where(data.y == 1, 9, 101)), methods=["id-3nn"], folds=2)
    assert table.class_names == ("9", "10", "101")
    other = compare(data.X, np.array([1, 0, 2])[data.y], methods=["id-3nn"], folds=2)
    np.testing.assert_array_equal(table.confusion(table.rows[0]), other.confusion(other.rows[0]))


@pytest.mark.parametrize("learned", ["covmetric-mean", "covmetric-logreg"])
def test_neighbours_are_the_nearest_training_examples_in_both_metrics(data, learned):
    methods = ["chol-3nn", "distance:stein", learned]
    names = [f"trial {i}" for i in range(len(data.X))]
    table = compare(data.X, data.y, data.groups, methods, folds=3, seed=2, names=names)
    found = table.neighbors
    assert found.fixed == table.best_fixed.method and found.learned == learned
    assert all(name == f"trial {i}" and found.labels[i] == data.y[int(i)] for i, name in found.names.items())
    splits = make_splits(3, data.X, data.y, data.groups, draw_seed([2, 0]))
    part = {int(i): split for split in splits for i in split.test}
    assert sorted(one.example for one in found.after) == list(range(36))  # at most 48 test examples: here all
    (row,) = [row for row in table.rows if row.method == learned]
    assert sum(one.predicted == data.y[one.example] for one in found.after) == round(36 * row.accuracy)
    for one in found.after[:5]:
        train = part[one.example].train
        learner = CovMetric(reg=1e-6, random_state=2)
        if learned == "covmetric-logreg" and "inf" in row.folds[0].chosen:
            continue  # the search chose a fixed metric
        fitted = learner.fit(data.X[train], data.y[train], data.groups[train] if learned == "covmetric-mean" else None)
        distances = np.array([fitted.distance(data.X[one.example], data.X[j]) for j in train])
        assert [i for i, _ in one.nearest] == train[np.argsort(distances, kind="stable")[:6]].tolist()
        np.testing.assert_allclose([d for _, d in one.nearest], np.sort(distances)[:6], rtol=1e-6)
    for one, other in zip(found.before, found.after, strict=True):
        assert one.example == other.example
        assert {i for i, _ in one.nearest} <= set(part[one.example].train.tolist())


def test_queries_are_few_and_of_all_classes(data, monkeypatch):
    monkeypatch.setattr(module, "MAX_QUERIES", 6)
    table = compare(data.X, data.y, methods=["log-3nn", "covmetric-3nn"], folds=2, repeats=2)
    assert sorted(table.neighbors.labels[str(one.example)] for one in table.neighbors.after) == [0, 0, 1, 1, 2, 2]


def test_without_a_learned_metric_there_are_no_neighbours(data):
    assert compare(data.X, data.y, methods=["log-3nn", "mdm"], folds=2).neighbors is None
    table = compare(data.X, data.y, methods=["covmetric-3nn"], folds=2)
    assert table.neighbors.before == () and table.neighbors.fixed == "" and len(table.neighbors.after) == 36


def test_table_with_neighbours_survives_json(data):
    table = compare(data.X, data.y, methods=["log-3nn", "covmetric-3nn"], folds=2)
    assert ComparisonTable.from_dict(json.loads(json.dumps(table.as_dict()))) == table
    old = table.as_dict()
    for row in old["rows"]:
        del row["confusion"]
    for name in ("neighbors", "class_names"):
        del old[name]
    assert ComparisonTable.from_dict(old).summary() == table.summary()  # a result of an earlier version


def test_folds_keep_the_status_and_the_gap_of_learned_metrics(data):
    table = compare(data.X, data.y, methods=["log-3nn", "covmetric-3nn", "covmetric-auto"], folds=2)
    fixed, learned, _ = table.rows
    assert all(fold.status == "" and fold.relative_gap is None for fold in fixed.folds)
    assert all(fold.status == "SOLVED" and 0.0 <= fold.relative_gap <= 1e-6 for fold in learned.folds)


def test_names_must_be_one_for_each_matrix(data):
    with pytest.raises(ValueError, match="names must have one entry per matrix, 36 in all; got 2"):
        compare(data.X, data.y, names=["a", "b"])
