"""Messages for the mistakes that new users make, each with the remedy."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, get_embedding
from tests.data import classes_of_matrices, spd, two_classes

ESTIMATORS = [CovMetric(), CovMetricCV(), CovMetricClassifier(), CovMetricClassifier(rule="auto")]


@pytest.fixture
def data():
    return classes_of_matrices()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_raw_epochs_name_the_descriptor(estimator):
    epochs, y = np.random.default_rng(0).standard_normal((40, 4, 100)), np.arange(40) % 2
    with pytest.raises(ValueError, match=r"got \(40, 4, 100\).*make_pipeline\(SeriesCovariances\(\), \.\.\.\)"):
        estimator.fit(epochs, y)


def test_epochs_of_mne_name_the_descriptor(data):
    mne = pytest.importorskip("mne")
    series = np.random.default_rng(0).standard_normal((40, 4, 100))
    epochs = mne.EpochsArray(series, mne.create_info(4, 100.0, "eeg"), verbose="error")
    fitted = CovMetricClassifier(CovMetric(lam=np.inf)).fit(*data)
    for call in (lambda: CovMetric().fit(epochs, data[1]), lambda: fitted.predict(epochs)):
        with pytest.raises(ValueError, match=r"X is an object of the class EpochsArray.*SeriesCovariances"):
            call()


@pytest.mark.parametrize(
    "X",
    ["cats/1.png", Path("cats/1.png"), ["cats/1.png"] * 40, [Path("cats/1.png")] * 40, np.array(["cats/1.png"] * 40)],
)
def test_paths_name_the_descriptor_of_images(X, data):
    fitted = CovMetricClassifier(CovMetric(lam=np.inf)).fit(*data)
    for call in (lambda: CovMetricClassifier().fit(X, data[1]), lambda: fitted.predict(X)):
        with pytest.raises(ValueError, match=r"holds the path 'cats.1\.png'.*make_pipeline\(ImageCovariances\(\)"):
            call()


def test_colour_images_name_the_descriptor(data):
    with pytest.raises(ValueError, match=r"got \(40, 8, 8, 3\)\. If these are colour images.*ImageCovariances"):
        CovMetric().fit(np.zeros((40, 8, 8, 3)), data[1])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_single_matrix_asks_whether_a_stack_was_meant(estimator, data):
    X, y = data
    with pytest.raises(
        ValueError, match=r"single symmetric matrix of shape \(4, 4\).*\(40, 4, 4\) meant, X instead of X\[0\]"
    ):
        estimator.fit(X[0], y)


def test_square_arrays_of_vectors_are_not_taken_for_a_matrix():
    X = np.random.default_rng(0).standard_normal((12, 12))
    y = np.arange(12) % 2
    assert CovMetric(random_state=0).fit(X, y).n_features_in_ == 12
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CovMetric().fit(X, y[:-1])


@pytest.mark.parametrize(("theirs", "ours"), [("riemann", "relog"), ("logeuclid", "log"), ("euclid", "id")])
def test_metrics_of_pyriemann_name_the_embedding(theirs, ours, data):
    for call in (lambda: get_embedding(theirs), lambda: CovMetric(theirs).fit(*data)):
        with pytest.raises(ValueError, match=rf"phi must be one of .*; got '{theirs}' \(write '{ours}'\)$"):
            call()


def test_parameters_of_a_missing_learner_name_the_remedy(data):
    search = GridSearchCV(CovMetricClassifier(), {"learner__phi": ["log", "chol"]}, cv=2)
    with pytest.raises(ValueError, match=r"learner__phi cannot be set, because learner is None.*learner=CovMetric\(\)"):
        search.fit(*data)
    search.set_params(estimator=CovMetricClassifier(learner=CovMetric(random_state=0)))
    assert search.fit(*data).best_params_["learner__phi"] in ("log", "chol")
    both = CovMetricClassifier().set_params(learner=CovMetric(), learner__phi="chol")
    assert both.learner.phi == "chol"


@pytest.mark.parametrize("lambdas", [[np.inf], [1e-2]])
def test_best_params_always_have_the_same_keys(lambdas, data):
    one = CovMetricCV("log", lambdas=lambdas, random_state=0).fit(*data)
    assert list(one.best_params_) == ["phi", "pairs", "slack", "lam"]
    CovMetric(**one.best_params_).fit(*data)
    several = CovMetricCV(["log", "chol"], lambdas=lambdas, rule="auto", random_state=0).fit(*data)
    keys = {"phi", "pairs", "slack", "lam", "rule", "n_neighbors", "C"}
    assert all(set(params) == keys for params in several.cv_results_["params"])
    rule = several.best_rule_
    assert None not in rule.values() and rule.items() <= several.best_params_.items()


def test_every_candidate_names_its_own_pairs_and_slack(data):
    """A fixed metric has neither; it names the first of each."""
    found = CovMetricCV("log", pairs=["neighbors", "random"], slack=["is", "l2"], lambdas=[1e-1], cv=2, random_state=0)
    chosen = [(params["pairs"], params["slack"], params["lam"]) for params in found.fit(*data).cv_results_["params"]]
    learned = [(pairs, slack, 1e-1) for pairs in ("neighbors", "random") for slack in ("is", "l2")]
    assert sorted(chosen) == sorted([("neighbors", "is", np.inf), *learned])


def test_messages_mention_groups_only_if_there_are_groups():
    X, y = spd(6, 3), np.array([0, 0, 0, 0, 1, 2])
    groups = np.array([0, 1, 2, 3, 0, 1])
    with pytest.warns(UserWarning, match=r"too few examples: their") as caught:
        CovMetricCV("log", cv=2, random_state=0).fit(X, y)
    assert not any("group" in str(one.message) for one in caught)
    with pytest.warns(UserWarning, match=r"too few groups: their"):
        CovMetricCV("log", cv=2, random_state=0).fit(X, y, groups)
    with pytest.raises(ValueError, match="has only one class: pass more examples per class, or") as error:
        CovMetricCV("log").fit(X[2:5], y[2:5])
    assert "group" not in str(error.value)
    with pytest.raises(ValueError, match="has only one class: pass finer groups"):
        CovMetricCV("log").fit(X[:5], y[:5], [0, 0, 0, 0, 1])


@pytest.mark.parametrize("estimator", [CovMetric(), CovMetricClassifier()], ids=repr)
def test_one_example_per_class_warns(estimator):
    X, y = two_classes()
    with pytest.warns(UserWarning, match="every class has only one example: .* pass more examples, or set lam=inf"):
        estimator.fit(X[:2], y[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit(X[:3], y[:3])  # one class has two examples
        CovMetric(lam=np.inf).fit(X[:2], y[:2])  # a fixed metric learns nothing
