"""The hand gestures of the demo."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from covmetric import CovMetricClassifier, CovMetricCV
from covmetric.datasets import load_emg
from covmetric.experiments.gesture_results import FIXED, LEARNED, PEER, PYRIEMANN
from covmetric.experiments.gestures import DETERMINISTIC, LEARNERS, PEERS, TUNED, Sessions, gestures
from covmetric.experiments.methods import Training, available_methods
from covmetric.experiments.reports import gesture_figure
from covmetric.peers import GMML

WINDOW, SEEDS = 2000, (1, 4)


@pytest.fixture(scope="module", autouse=True)
def few_candidates():
    """Three values of C instead of twenty, and of GMML's t instead of five, because the tests have to be fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("covmetric.experiments.methods.CS", [1e-3, 1e-1, 1e1])
        patch.setattr(GMML, "grid", {"t": [0.0, 0.25, 0.5]})
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
    assert list(table.methods) == [*DETERMINISTIC, *TUNED, *PEERS, *LEARNERS]
    assert list(table.methods.values()) == [FIXED] * 6 + [PYRIEMANN] * 5 + [PEER] + [LEARNED] * 2
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
        assert repr(run.classifier) == repr(LEARNERS[run.row.method](run.row.seed))


def test_learners_have_default_settings_and_the_first_one_chooses_the_rule():
    recommended, searched = (make(7) for make in LEARNERS.values())
    defaults = CovMetricClassifier().get_params()
    assert recommended.get_params() == {**defaults, "rule": "auto", "random_state": 7}
    assert searched.learner.get_params() == {**CovMetricCV().get_params(), "random_state": 7}
    assert searched.get_params(deep=False) == {**defaults, "learner": searched.learner}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", LEARNERS)
def test_learners_use_the_rounds_as_groups_and_the_folds_of_all_methods(table, sessions, method, seed):
    """A search on the given folds and rounds has the same scores and predictions, fold by fold."""
    (run,) = (one for one in table.learned if (one.row.method, one.row.person, one.row.seed) == (method, "mg", seed))
    drawn = run.classifier.learner_
    folds = sessions.folds(seed)
    assert len(folds) == 6  # one for each round
    given = CovMetricClassifier(clone(drawn).set_params(cv=folds), rule=run.classifier.rule)
    given.fit(sessions.X, sessions.codes, groups=sessions.groups)
    for fold in range(6):
        name = f"split{fold}_test_score"
        np.testing.assert_array_equal(drawn.cv_results_[name], given.learner_.cv_results_[name])
    np.testing.assert_array_equal(run.classifier.metric_.W, given.metric_.W)


@pytest.mark.parametrize("seed", SEEDS)
def test_folds_keep_rounds_together(sessions, seed):
    for train, test in sessions.folds(seed):
        assert not set(sessions.groups[train]) & set(sessions.groups[test])
        assert sorted([*train, *test]) == list(range(len(sessions.X)))


@pytest.mark.parametrize("method", [*TUNED, *PEERS])
def test_tuned_methods_equal_a_grid_search_on_the_folds_of_each_seed(table, sessions, method, tmp_path):
    """Although the seeds share folds, scores and tangent vectors."""
    for seed in SEEDS:
        training = Training(0.0, seed, lambda seed=seed: sessions.folds(seed), str(tmp_path))
        search = available_methods()[{**TUNED, **PEERS}[method]].make(training).fit(sessions.X, sessions.codes)
        expected = np.mean(search.predict(sessions.X_test) == sessions.codes_test)
        (row,) = (row for row in table.rows if (row.method, row.person, row.seed) == (method, "mg", seed))
        assert row.accuracy == expected


def test_accuracies_do_not_depend_on_the_number_of_processes(table, monkeypatch):
    monkeypatch.setattr("covmetric.experiments.gestures.TUNED", {})  # the processes have all candidates
    monkeypatch.setattr("covmetric.experiments.gestures.PEERS", {})
    parallel = gestures(WINDOW, SEEDS[:1], n_jobs=2)
    expected = [row for row in table.rows if row.seed in (None, SEEDS[0]) and row.method not in {**TUNED, **PEERS}]
    assert [(row.method, row.person, row.accuracy) for row in parallel.rows] == [
        (row.method, row.person, row.accuracy) for row in expected
    ]


def test_figure_shows_means_with_ranges_and_two_embeddings(table):
    ranges, fixed, learned = gesture_figure(table).axes
    summary = table.summary()
    assert [label.get_text() for label in ranges.get_yticklabels()] == [row.method for row in summary]
    dots = [container.lines[0].get_xdata()[0] for container in ranges.containers]
    np.testing.assert_allclose(dots, [100 * row.accuracy for row in summary])
    whiskers = [container.lines[2][0].get_segments()[0][:, 0] for container in ranges.containers[-6:]]
    np.testing.assert_allclose(whiskers, [(100 * row.lowest, 100 * row.highest) for row in summary[-6:]])
    assert not any(container.has_xerr for container in ranges.containers[:-6])
    assert "2 seeds" in ranges.get_xlabel()
    bold = [label.get_text() for label in ranges.get_yticklabels() if label.get_fontweight() == "bold"]
    assert bold == ["CovMetricClassifier, auto"]
    typical = table.typical("CovMetricClassifier, auto")
    for axes in (fixed, learned):
        assert sum(len(points.get_offsets()) for points in axes.collections) == len(table.test[typical.row.person][1])
    assert "log" in fixed.get_title() and f"person {typical.row.person}" in fixed.get_title()
    title = learned.get_title()
    assert "learned metric (CovMetricClassifier, auto)" in title and f"seed {typical.row.seed}" in title
    assert f"{100 * typical.row.accuracy:.1f} %, nearest to the mean of {100 * summary[-2].accuracy:.1f} %" in title
