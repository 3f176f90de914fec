"""The comparison on classes that were not in the training data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pyriemann.geometry.distance import pairwise_distance
from pyriemann.tangentspace import FGDA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from covmetric import CovMetric, CovMetricCV
from covmetric.datasets import make_spd_classes
from covmetric.embeddings import get_embedding
from covmetric.experiments import unseen as module
from covmetric.experiments.comparison_inputs import draw_seed
from covmetric.experiments.estimates import mean_and_standard_error
from covmetric.experiments.method_results import FIXED
from covmetric.experiments.unseen import compare_unseen, inner_splits
from covmetric.experiments.unseen_methods import TunedDistance, UnseenMethod, UnseenTraining, unseen_methods
from covmetric.experiments.unseen_results import MEASURES, UnseenResult, UnseenRow, UnseenTable
from covmetric.learning.splits import make_splits
from covmetric.model_selection import ClassShuffleSplit, get_scorer, mean_average_precision
from covmetric.peers import GMML

FEW = ["log", "riemann", "tangent-lda", "covmetriccv-classes"]


@pytest.fixture(scope="module")
def data():
    return make_spd_classes(n_classes=7, n_per_class=8, n=3)


@pytest.fixture(scope="module")
def table(data):
    return compare_unseen(data.X, data.y, methods=FEW, splits=3, seed=4)


def splits_of(data, seed=4, count=3):
    return list(ClassShuffleSplit(count, random_state=draw_seed(seed)).split(data.X, data.y))


def test_scores_are_those_of_the_estimators_on_new_classes(data, table):
    log, _, _, ours = table.rows
    for result, searched, (train, test) in zip(log.splits, ours.splits, splits_of(data), strict=True):
        assert not set(data.y[train]) & set(data.y[test])
        metric = CovMetric("log", lam=np.inf, reg=1e-6).fit(data.X[train], data.y[train])
        search = CovMetricCV(cv="classes", reg=1e-6, random_state=4).fit(data.X[train], data.y[train])
        for measure in MEASURES[:-1]:
            assert result.scores[measure] == get_scorer(measure)(metric, data.X[test], data.y[test])
            assert searched.scores[measure] == get_scorer(measure)(search, data.X[test], data.y[test])
        eer = get_scorer("neg_verification_eer")(metric, data.X[test], data.y[test])
        assert result.scores["verification_eer"] == -eer >= 0.0
        assert f"phi={search.best_params_['phi']}" in searched.chosen
        assert searched.candidates == len(search.cv_results_["params"])


def test_riemann_is_pyriemanns_distance(data, table):
    row = next(row for row in table.rows if row.method == "riemann")
    for result, (_, test) in zip(row.splits, splits_of(data), strict=True):
        D = pairwise_distance(data.X[test], metric="riemann")
        expected = mean_average_precision(D, data.y[test], metric="precomputed")
        assert result.scores["mean_average_precision"] == pytest.approx(expected, abs=1e-9)


def test_statistics(table):
    assert (table.examples, table.size, table.classes, table.test_classes, table.splits) == (56, 3, 7, 2, 3)
    fixed = [row for row in table.rows if row.kind == FIXED]
    assert table.best_fixed is max(fixed, key=lambda row: row.estimate("mean_average_precision").mean)
    row, best = table.rows[-1], table.best_fixed
    mine, theirs = ([one.scores["recall_at_1"] for one in r.splits] for r in (row, best))
    assert row.estimate("recall_at_1") == mean_and_standard_error(mine)
    difference = table.difference(row, "recall_at_1")
    assert difference.mean == pytest.approx(np.mean(np.subtract(mine, theirs)))
    assert difference.standard_error == pytest.approx(np.std(np.subtract(mine, theirs), ddof=1) / np.sqrt(3))
    assert table.difference(best) is None
    summary = table.summary()[-1]
    assert summary.recall_at_1 == row.estimate("recall_at_1").mean
    assert summary.recall_at_1_error == row.estimate("recall_at_1").standard_error
    assert (summary.difference, summary.difference_error) == (
        table.difference(row).mean,
        table.difference(row).standard_error,
    )
    assert summary.splits == 3 and summary.fit_seconds == np.median([one.fit_seconds for one in row.splits])


def test_json(table):
    values = json.loads(json.dumps(table.as_dict()))
    assert UnseenTable.from_dict(values) == table
    assert values["best_fixed"] == table.best_fixed.method
    assert [one["method"] for one in values["summary"]] == FEW


def test_groups_change_searches_and_scores(data):
    groups = np.arange(len(data.y)) % 4
    table = compare_unseen(data.X, data.y, groups, ["log", "covmetriccv-classes", "covmetriccv"], 1, seed=4)
    train, test = splits_of(data)[0]
    search = CovMetricCV(cv="classes", reg=1e-6, random_state=4).fit(data.X[train], data.y[train], groups[train])
    scorer = get_scorer("mean_average_precision")
    log, ours, _ = (row.splits[0].scores["mean_average_precision"] for row in table.rows)
    assert ours == scorer(search, data.X[test], data.y[test], groups[test])
    metric = CovMetric("log", lam=np.inf, reg=1e-6).fit(data.X[train], data.y[train])
    assert log == scorer(metric, data.X[test], data.y[test], groups[test]) != scorer(metric, data.X[test], data.y[test])
    assert table.groups == 4 and not any(row.failure for row in table.rows)


def test_groups_of_the_training_part_reach_the_fit(data, monkeypatch):
    class Remembers(CovMetric):
        def fit(self, X, y, groups=None):
            given.append(groups)
            return super().fit(X, y, groups)

    given, groups = [], np.arange(len(data.y)) % 4
    methods = {"remembers": UnseenMethod("peer", lambda _: Remembers("log", lam=np.inf))}
    monkeypatch.setattr(module, "unseen_methods", lambda: methods)
    compare_unseen(data.X, data.y, groups, splits=1, seed=4)
    compare_unseen(data.X, data.y, splits=1, seed=4)
    np.testing.assert_array_equal(given[0], groups[splits_of(data)[0][0]])
    assert given[1] is None


def test_inner_splits_are_those_of_the_search(data):
    inner = inner_splits(data.y, 4)
    expected = make_splits("classes", data.X, data.y, None, draw_seed(4), new_classes=True)
    assert [(a.tolist(), b.tolist()) for a, b in inner] == [(s.train.tolist(), s.test.tolist()) for s in expected]
    assert inner_splits(np.repeat([0, 1, 2], 5), 0) == []


def test_tuned_distances_choose_the_best_candidate(data):
    groups, inner = np.arange(len(data.y)) % 4, inner_splits(data.y, 0)
    grid = {"t": [0.0, 0.5, 1.0]}
    tuned = TunedDistance(GMML(random_state=0), grid, inner).fit(data.X, data.y, groups)
    scorer = get_scorer("mean_average_precision")
    means = [
        np.mean([
            scorer(GMML(t, random_state=0).fit(data.X[a], data.y[a]), data.X[b], data.y[b], groups[b]) for a, b in inner
        ])
        for t in grid["t"]
    ]  # fmt: skip
    np.testing.assert_allclose(tuned.cv_results_["mean_test_score"], means)
    assert tuned.best_params_ == {"t": grid["t"][int(np.argmax(means))]}
    np.testing.assert_array_equal(
        tuned.transform(data.X), GMML(**tuned.best_params_, random_state=0).fit(data.X, data.y).transform(data.X)
    )
    assert TunedDistance(GMML(), grid, []).fit(data.X, data.y).best_params_ == {}


def test_rivals_are_what_they_say(data):
    training = UnseenTraining(0.0, 0, [])
    methods = unseen_methods()
    lda = methods["tangent-lda"].make(training).fit(data.X, data.y)
    vectors = get_embedding("tangent").fit_transform(data.X)[:, :, 0]
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(vectors, data.y).transform(vectors)
    scores = [mean_average_precision(one, data.y) for one in (lda.transform(data.X), theirs)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    fgmdm = methods["fgmdm-filter"].make(training).fit(data.X, data.y)
    filtered = FGDA().fit(data.X, data.y).transform(data.X)
    np.testing.assert_allclose(fgmdm.pairwise(data.X), pairwise_distance(filtered, metric="riemann"), atol=1e-6)


def test_every_method_runs(data):
    table = compare_unseen(data.X, data.y, splits=1)
    assert [row.method for row in table.rows] == list(unseen_methods())
    assert not any(row.failure for row in table.rows)
    assert all(0.0 <= row.estimate(measure).mean <= 1.0 for row in table.rows for measure in MEASURES)


def test_scores_that_small_classes_do_not_have_are_missing(data):
    few = np.concatenate([np.flatnonzero(data.y == c)[:4] for c in range(7)])
    table = compare_unseen(data.X[few], data.y[few], methods=["log"], splits=2)
    assert table.rows[0].splits[0].scores["five_shot_accuracy"] is None
    assert table.rows[0].estimate("five_shot_accuracy") is None and table.rows[0].estimate("one_shot_accuracy")
    assert table.summary()[0].five_shot_accuracy is None


def test_too_few_classes_for_a_search_are_a_failure(data):
    few = data.y < 5
    table = compare_unseen(data.X[few], data.y[few], methods=["covmetriccv-classes", "tangent-lda", "log"], splits=2)
    ours, lda, _ = table.rows
    assert ours.failure.startswith("cv='classes' needs at least 4 classes")
    assert ours.estimate("recall_at_1") is None and table.difference(ours) is None
    assert not lda.failure and lda.splits[0].candidates == 1


def test_failures_and_interruptions(data, monkeypatch):
    def broken(_):
        raise TypeError("no such thing")

    def stop(_):
        raise KeyboardInterrupt

    methods = {**unseen_methods(), "broken": UnseenMethod("peer", broken), "stop": UnseenMethod("peer", stop)}
    monkeypatch.setattr(module, "unseen_methods", lambda: methods)
    table = compare_unseen(data.X, data.y, methods=["broken", "log"], splits=2)
    assert [one.failure for one in table.rows[0].splits] == ["no such thing"] * 2
    table = compare_unseen(data.X, data.y, methods=["log", "stop"], splits=2)
    assert table.interrupted and [row.method for row in table.rows] == ["log"]
    with pytest.raises(KeyboardInterrupt):
        compare_unseen(data.X, data.y, methods=["stop", "log"], splits=2)


def test_seeds_and_processes(data, table):
    again = compare_unseen(data.X, data.y, methods=FEW, splits=3, seed=4, n_jobs=2)
    assert [[one.scores for one in row.splits] for row in again.rows] == [
        [one.scores for one in row.splits] for row in table.rows
    ]


def test_without_fixed_metrics_there_is_no_difference():
    row = UnseenRow("peer", "a", (UnseenResult(0, {"mean_average_precision": 0.5}),))
    table = UnseenTable((row,), 1, 1, 4, 2, None, 1, 0, 0.0)
    assert table.best_fixed is None and table.difference(row) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["magic"]}, "there is no method 'magic'; the methods are id, log"),
        ({"methods": []}, "methods is empty"),
        ({"splits": 0}, "n_splits must be an integer >= 1, got 0"),
        ({"test_size": 6}, "test_size=6 holds out 6 of 7 classes"),
        ({"reg": -1.0}, "reg must be a number >= 0"),
        ({"groups": [0, 1]}, "groups must have one entry per matrix"),
    ],
)
def test_invalid_arguments(data, changes, message):
    with pytest.raises(ValueError, match=message):
        compare_unseen(data.X, data.y, **changes)
