"""The hand gestures of the demo."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import CovMetricCV
from covmetric.datasets import load_emg
from covmetric.experiments.gesture_results import FIXED, LEARNED, PYRIEMANN
from covmetric.experiments.gestures import DETERMINISTIC, SEARCHED, TUNED, Sessions, gestures
from covmetric.experiments.methods import Training, available_methods
from covmetric.experiments.reports import gesture_figure

WINDOW, SEEDS = 2000, (1, 4)


@pytest.fixture(scope="module", autouse=True)
def few_candidates():
    """Three values of C instead of twenty, because the tests have to be fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("covmetric.experiments.methods.CS", [1e-3, 1e-1, 1e1])
        yield


@pytest.fixture(scope="module")
def table():
    return gestures(WINDOW, SEEDS)


@pytest.fixture(scope="module")
def sessions():
    data = load_emg(WINDOW)
    codes = np.searchsorted(data.target_names, data.y)
    first, second = ((data.person == "mg") & (data.session == session) for session in (1, 2))
    return Sessions("mg", data.X[first], codes[first], data.groups[first], data.X[second], codes[second])


def test_table_has_every_method_for_every_person_and_seed(table):
    assert table.people == ["mg", "rr"] and table.seeds == list(SEEDS)
    assert list(table.methods) == [*DETERMINISTIC, *TUNED, *SEARCHED]
    assert list(table.methods.values()) == [FIXED] * 6 + [PYRIEMANN] * 4 + [LEARNED] * 2
    rows = [(row.method, row.person, row.seed) for row in table.rows]
    assert rows == [
        (method, person, seed)
        for method in table.methods
        for person in table.people
        for seed in ((None,) if method in DETERMINISTIC else SEEDS)
    ]
    assert all(row.accuracy > 0.3 and row.fit_seconds > 0 and row.predict_seconds > 0 for row in table.rows)
    assert table.channels == 8 and set(table.test) == {"mg", "rr"}


def test_learned_classifiers_belong_to_their_rows(table):
    assert [run.row for run in table.learned] == [row for row in table.rows if row.kind == LEARNED]
    names = load_emg(WINDOW).target_names
    for run in table.learned:
        X, y = table.test[run.row.person]
        assert np.mean(names[run.classifier.predict(X)] == y) == run.row.accuracy
        assert run.classifier.learner.random_state == run.row.seed
        assert run.classifier.learner.pairs == SEARCHED[run.row.method]


def test_search_keeps_rounds_together(table, sessions):
    learner = table.learned[0].classifier.learner_
    expected = CovMetricCV(random_state=SEEDS[0]).fit(sessions.X, sessions.codes, groups=sessions.groups)
    np.testing.assert_array_equal(learner.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


def test_default_search_is_the_first_learned_method(table):
    learner = table.learned[0].classifier.learner
    assert learner.get_params() == {**CovMetricCV().get_params(), "random_state": SEEDS[0]}


@pytest.mark.parametrize("seed", SEEDS)
def test_folds_are_those_of_CovMetricCV(sessions, seed):
    settings = {"phi": "log", "lambdas": 1e-1, "random_state": seed}
    drawn = CovMetricCV(**settings).fit(sessions.X, sessions.codes, groups=sessions.groups).cv_results_
    search = CovMetricCV(**settings, cv=sessions.folds(seed))
    given = search.fit(sessions.X, sessions.codes, groups=sessions.groups).cv_results_
    for fold in range(5):
        np.testing.assert_array_equal(drawn[f"split{fold}_test_score"], given[f"split{fold}_test_score"])


@pytest.mark.parametrize("method", TUNED)
def test_tuned_methods_equal_a_grid_search_on_the_folds_of_each_seed(table, sessions, method, tmp_path):
    """Although the folds that several seeds draw are scored only once."""
    for seed in SEEDS:
        training = Training(0.0, seed, lambda seed=seed: sessions.folds(seed), str(tmp_path))
        search = available_methods()[TUNED[method]].make(training).fit(sessions.X, sessions.codes)
        expected = np.mean(search.predict(sessions.X_test) == sessions.codes_test)
        (row,) = (row for row in table.rows if (row.method, row.person, row.seed) == (method, "mg", seed))
        assert row.accuracy == expected


def test_accuracies_do_not_depend_on_the_number_of_processes(table, monkeypatch):
    monkeypatch.setattr("covmetric.experiments.gestures.TUNED", {})  # the processes have all values of C
    parallel = gestures(WINDOW, SEEDS[:1], n_jobs=2)
    expected = [row for row in table.rows if row.seed in (None, SEEDS[0]) and row.method not in TUNED]
    assert [(row.method, row.person, row.accuracy) for row in parallel.rows] == [
        (row.method, row.person, row.accuracy) for row in expected
    ]


def test_figure_shows_means_with_ranges_and_two_embeddings(table):
    ranges, fixed, learned = gesture_figure(table).axes
    summary = table.summary()
    assert [label.get_text() for label in ranges.get_yticklabels()] == [row.method for row in summary]
    dots = [container.lines[0].get_xdata()[0] for container in ranges.containers]
    np.testing.assert_allclose(dots, [100 * row.accuracy for row in summary])
    whiskers = [container.lines[2][0].get_segments()[0][:, 0] for container in ranges.containers[-4:]]
    np.testing.assert_allclose(whiskers, [(100 * row.lowest, 100 * row.highest) for row in summary[-4:]])
    assert not any(container.has_xerr for container in ranges.containers[:-4])
    assert "2 seeds" in ranges.get_xlabel()
    typical = table.typical("CovMetricCV")
    for axes in (fixed, learned):
        assert sum(len(points.get_offsets()) for points in axes.collections) == len(table.test[typical.row.person][1])
    assert "log" in fixed.get_title() and f"person {typical.row.person}" in fixed.get_title()
    title = learned.get_title()
    assert "learned metric (CovMetricCV)" in title and f"seed {typical.row.seed}" in title
    assert f"{100 * typical.row.accuracy:.1f} %, nearest to the mean of {100 * summary[-2].accuracy:.1f} %" in title
