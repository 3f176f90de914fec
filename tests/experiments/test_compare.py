"""The comparison of methods on the same folds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.experiments import compare as module
from covmetric.experiments.compare import compare
from covmetric.experiments.fold_results import ComparisonTable
from covmetric.experiments.methods import Method
from covmetric.learning import search as search_module
from covmetric.solvers import Newton

FEW = ["log-3nn", "relog-mean", "mdm", "covmetric-3nn"]


def broken(_):
    raise TypeError("no such thing")


def test_accuracies_equal_those_of_the_estimators(data):
    table = compare(data.X, data.y, data.groups, ["sqrt-3nn", "covmetriccv-mean"], folds=2, reg=1e-3, seed=4)
    splits = module.make_splits(2, data.X, data.y, data.groups, module._seed([4, 0]))
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
