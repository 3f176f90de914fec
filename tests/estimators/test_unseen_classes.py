"""CovMetricCV chooses a metric for classes that are not in the training data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from covmetric import ClassKFold, ClassShuffleSplit, CovMetric, CovMetricClassifier, CovMetricCV, load_model
from covmetric.estimators.grid import make_grid
from covmetric.learning.search import choose_candidate
from covmetric.learning.splits import make_splits
from covmetric.model_selection import SCORERS, get_scorer
from covmetric.report import model_page
from covmetric.tasks import ModelView
from covmetric.tasks.measured import measured_accuracies

SMALL = {"phi": ["log", "sqrt"], "lambdas": [np.inf, 1e-2], "random_state": 0}


@pytest.fixture(scope="module")
def data():
    """Twelve classes that differ in channels 0 and 1; the scale of channel 2 varies strongly within each class."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 8)
    scales = np.exp(rng.standard_normal((12, 3)) * [1.0, 1.0, 0.0])[y]
    scales[:, 2] *= np.exp(2.0 * rng.standard_normal(len(y)))
    A = scales[:, :, None] * rng.standard_normal((len(y), 3, 60))
    return A @ A.swapaxes(1, 2) / 60, np.array([f"class {c:02}" for c in y]), np.tile(np.arange(4), 24)


def literal_scores(search, X, y, groups, scorer):
    """Return the scores of the candidates of a fitted search, each learned on its own."""
    codes = np.unique(y, return_inverse=True)[1]
    seed = search.best_estimator_.random_state
    scores = []
    for params in search.cv_results_["params"]:
        row = []
        for fold, split in enumerate(make_splits(search.cv, X, codes, groups, seed, new_classes=True)):
            rng = np.random.default_rng([seed, fold])
            learner = CovMetric(tol=search.search_tol, random_state=rng, shrinkage=0.5, **params)
            given = [None, None] if groups is None else [groups[split.train], groups[split.test]]
            learner.fit(X[split.train], y[split.train], given[0])
            row.append(scorer(learner, X[split.test], y[split.test], given[1]))
        scores.append(row)
    return np.array(scores)


@pytest.mark.parametrize("scoring", [None, "one_shot_accuracy", "neg_verification_eer"])
@pytest.mark.parametrize("grouped", [False, True])
def test_search_equals_its_literal_version(data, scoring, grouped):
    X, y, groups = data
    groups = groups if grouped else None
    search = CovMetricCV(cv="classes", scoring=scoring, **SMALL).fit(X, y, groups)
    scores = literal_scores(search, X, y, groups, get_scorer(scoring or "mean_average_precision"))
    found = np.stack([search.cv_results_[f"split{i}_test_score"] for i in range(5)], axis=1)
    np.testing.assert_allclose(found, scores, atol=2e-3)
    assert np.abs(found - scores).mean() < 1e-4
    assert len(search.cv_results_["params"]) == 2 * 2 * 2
    preference = make_grid(search, X).preference
    assert search.best_index_ == choose_candidate(preference, found, search.n_std_errors)
    assert search.best_rule_ == {}


def test_the_search_finds_the_metric_for_new_classes(data):
    """The channel that varies within the classes is worth ignoring for new classes too."""
    X, y, _ = data
    new = np.isin(y, [f"class {c:02}" for c in range(4)])
    search = CovMetricCV(cv="classes", random_state=0).fit(X[~new], y[~new])
    scorer = get_scorer("mean_average_precision")
    fixed = [scorer(CovMetric(phi, lam=np.inf).fit(X[~new], y[~new]), X[new], y[new]) for phi in ("log", "sqrt")]
    assert search.best_params_["prior"] == "within" or search.best_params_["lam"] < np.inf
    assert scorer(search, X[new], y[new]) > max(fixed) + 0.1


def test_the_default_search_has_two_priors_with_strong_shrinkage(data):
    X = data[0]
    grid = make_grid(CovMetricCV(cv="classes"), X)
    assert {one["prior"] for one in grid.params} == {"within", "identity"}
    assert {path.settings.shrinkage for phi in grid.metrics for path in phi.paths} == {0.5}
    assert len(grid.params) == 4 * 2 * 3
    first = grid.params[int(np.argmin(grid.preference))]
    assert (first["phi"], first["prior"], first["lam"]) == ("tangent-pca", "within", 1e-1)
    # The search of a classifier has one prior, and does not mention it.
    assert all("prior" not in one and "shrinkage" not in one for one in make_grid(CovMetricCV(), X).params)


def test_shrinkage_can_be_searched_without_new_classes(data):
    X, y, _ = data
    search = CovMetricCV("log", prior="within", shrinkage=[0.1, 0.9], lambdas=np.inf, cv=2, random_state=0).fit(X, y)
    assert search.cv_results_["param_shrinkage"].tolist() == [0.1, 0.9]
    assert search.best_estimator_.prior == "within"
    assert search.best_estimator_.shrinkage == search.best_params_["shrinkage"]


def test_a_single_shrinkage_reaches_the_metric(data):
    X, y, _ = data
    search = CovMetricCV("log", prior=["identity", "within"], shrinkage=0.3, lambdas=np.inf, cv="classes").fit(X, y)
    assert search.best_estimator_.get_params()["shrinkage"] == 0.3


@pytest.mark.parametrize("cv", [ClassKFold(2), 2])
def test_other_splits(data, cv):
    """Folds of classes score distances by default; other folds do if a scorer is named."""
    X, y, _ = data
    scoring = "recall_at_1" if cv == 2 else None
    search = CovMetricCV(cv=cv, scoring=scoring, **SMALL).fit(X, y)
    scores = literal_scores(search, X, y, None, get_scorer(scoring or "mean_average_precision"))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores.mean(axis=1), atol=2e-3)


def test_a_classifier_can_use_the_metric(data):
    X, y, _ = data
    search = CovMetricCV(cv="classes", **SMALL)
    classifier = CovMetricClassifier(search).fit(X, y)
    np.testing.assert_array_equal(classifier.learner_.W_, search.fit(X, y).W_)
    with pytest.raises(ValueError, match="rule='auto' is scored on classes that were trained on"):
        CovMetricClassifier(search, rule="auto").fit(X, y)


def test_seeds_and_processes(data):
    X, y, _ = data
    search = CovMetricCV(cv="classes", **SMALL).fit(X, y)
    again = CovMetricCV(cv="classes", n_jobs=2, **SMALL).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(search.W_, again.W_)


def test_model_files(data, tmp_path):
    X, y, _ = data
    search = CovMetricCV(cv="classes", scoring="recall_at_1", **SMALL).fit(X, y)
    search.save(tmp_path / "search.npz")
    loaded = load_model(tmp_path / "search.npz")
    assert loaded.scoring == "recall_at_1" and loaded.cv == "classes"
    np.testing.assert_array_equal(loaded.transform(X), search.transform(X))


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"cv": ClassKFold(2)}, "mean_average_precision"),
        ({"cv": ClassShuffleSplit(2, test_size=2)}, "mean_average_precision"),
        ({"cv": "classes", "scoring": get_scorer("recall_at_1")}, "recall_at_1"),
    ],
)
def test_a_model_file_says_what_was_scored(data, settings, name, tmp_path):
    """A file holds neither splitters nor scorers. A score of distances must not be taken for an accuracy."""
    X, y, _ = data
    classifier = CovMetricClassifier(CovMetricCV(**settings, **SMALL)).fit(X, y)
    with warnings.catch_warnings():  # of the splitter
        warnings.simplefilter("ignore", UserWarning)
        classifier.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.learner_.scoring == loaded.learner.scoring == name
    assert classifier.learner_.scoring == settings.get("scoring"), "the fitted search is not changed"
    assert loaded.learner_.best_rule_ == {}
    assert measured_accuracies(ModelView(loaded)).whole is None
    assert f"percent {name.replace('_', ' ')}" in model_page(loaded).headline


@pytest.mark.parametrize("rule", ["logistic", "svm", "mean", "auto", ["neighbors", "mean"]])
def test_rules_need_classes_that_were_trained_on(data, rule):
    X, y, _ = data
    with pytest.raises(ValueError, match=r"rule=.* is scored on classes that were trained on"):
        CovMetricCV(cv="classes", rule=rule).fit(X, y)


@pytest.mark.parametrize(
    ("params", "n_classes", "message"),
    [
        ({"cv": "loo", "scoring": "recall_at_1"}, 12, r"cv='loo' .* scoring='recall_at_1' needs cv='classes'"),
        ({"cv": "classes", "scoring": "accuracy"}, 12, "scoring must be one of 'mean_average_precision'"),
        ({"cv": "classes"}, 3, "cv='classes' needs at least 4 classes, .* but y has 3; use a number of folds as cv"),
        ({"cv": ClassKFold(5)}, 8, "n_splits=5 needs at least 10 classes"),
        ({"cv": "classes", "scoring": get_scorer("recall_at_1")}, 12, None),
        ({"cv": "class"}, 12, "cv must be None, an integer >= 2, 'loo', 'classes', a splitter"),
    ],
)
def test_invalid_searches(data, params, n_classes, message):
    X, y, _ = data
    few = np.isin(y, np.unique(y)[:n_classes])
    search = CovMetricCV("log", lambdas=np.inf, **params)
    if message is None:
        search.fit(X[few], y[few])
    else:
        with pytest.raises(ValueError, match=message):
            search.fit(X[few], y[few])


def test_scores_that_need_more_examples_say_so(data):
    X, y, _ = data
    few = np.concatenate([np.flatnonzero(y == name)[:4] for name in np.unique(y)])
    with pytest.raises(ValueError, match="n_shots=5 needs two classes with more than 5 examples"):
        CovMetricCV(cv="classes", scoring="five_shot_accuracy", **SMALL).fit(X[few], y[few])


def test_every_scorer_can_choose(data):
    X, y, _ = data
    for name in SCORERS:
        assert CovMetricCV("log", lambdas=np.inf, cv="classes", scoring=name).fit(X, y).best_score_ <= 1.0
