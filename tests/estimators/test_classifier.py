"""CovMetricClassifier: decision rules, neighbours and incremental learning."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, MetricProblem, NeighborPairs, Status, solve
from covmetric.learning.rules import RULES
from covmetric.neighbors import SEARCHES, BruteSearch
from tests import naive
from tests.data import classes_of_matrices, quoted


def test_predictions_are_the_labels_of_the_user():
    X, y = classes_of_matrices()
    names = np.array(["rest", "move"])[y]
    predicted = CovMetricClassifier(random_state=0).fit(X, pd.Series(names)).predict(X)
    assert set(predicted) == {"rest", "move"}


def test_classifier_predicts_as_a_pipeline_does():
    X, y = classes_of_matrices(80)
    whole = CovMetricClassifier(CovMetric(random_state=0), n_neighbors=5).fit(X[:60], y[:60])
    parts = make_pipeline(CovMetric(random_state=0), KNeighborsClassifier(5)).fit(X[:60], y[:60])
    np.testing.assert_array_equal(whole.predict(X[60:]), parts.predict(X[60:]))
    np.testing.assert_allclose(whole.predict_proba(X[60:]), parts.predict_proba(X[60:]))


def test_kneighbors_returns_distances_and_indices(data):
    X, y = data
    classifier = CovMetricClassifier(random_state=0).fit(X, y)
    distances, indices = classifier.kneighbors(X[:5], 2)
    np.testing.assert_array_equal(indices[:, 0], np.arange(5))
    np.testing.assert_allclose(
        distances[:, 1], classifier.metric_.distance(X[:5], X[indices[:, 1]]), rtol=1e-6, atol=1e-9
    )
    others = classifier.kneighbors(n_neighbors=1, return_distance=False)
    assert (others[:, 0] != np.arange(40)).all()
    means = CovMetricClassifier(rule="mean", random_state=0).fit(X, y)
    np.testing.assert_array_equal(means.kneighbors(X[:5], 2)[1], indices)
    with pytest.raises(ValueError, match="n_neighbors must be an integer >= 1, got 0"):
        classifier.kneighbors(X, 0)
    with pytest.raises(ValueError, match=f"rule must be one of 'auto', {quoted(RULES)}, got 'tree'"):
        CovMetricClassifier(rule="tree").fit(X, y)


@pytest.mark.parametrize("pairs", ["neighbors", "random"])
def test_partial_fit_reaches_the_optimum_of_all_pairs(pairs):
    """The metric after new examples is the optimum of the problem with the old and the new pairs."""
    X, y = classes_of_matrices(120)
    learner = CovMetric("log", pairs=pairs, random_state=0, tol=1e-9)
    classifier = CovMetricClassifier(learner).partial_fit(X[:110], y[:110])
    before = classifier.learner_.result_
    old = len(before.multipliers)
    classifier.partial_fit(X[110:], y[110:])
    fitted = classifier._fitted
    new = fitted.constraints.pairs[old:]
    assert len(new)
    assert (new.max(axis=1) >= 110).all()
    problem = fitted.problem(fitted.constraints, 1e-2)
    assert isinstance(problem, MetricProblem)
    cold = solve(problem, tol=1e-9)
    warm = classifier.learner_.result_
    assert warm.status is Status.SOLVED
    np.testing.assert_allclose(warm.W, cold.W, rtol=1e-3, atol=1e-5)
    assert warm.n_iter <= cold.n_iter
    assert classifier.kneighbors(X[115:116], 1)[1] == 115


def test_partial_fit_chooses_pairs_under_the_learned_metric_if_rounds_are_repeated():
    """The new pairs are those that `extend` chooses, and differ from the neighbours under W = I."""
    X, y = classes_of_matrices(60)
    chosen = {}
    for rounds in (1, 2):
        learner = CovMetric("log", pairs=NeighborPairs(2, rounds=rounds), random_state=0)
        classifier = CovMetricClassifier(learner).partial_fit(X[:50], y[:50])
        fitted = classifier._fitted
        classifier.partial_fit(X[50:], y[50:])
        metric = fitted.result.W if rounds == 2 else np.eye(4)
        vectors = (np.linalg.cholesky(metric).T @ classifier._fitted.examples).reshape(60, -1)
        pairs = naive.neighbor_pairs(vectors, classifier._fitted.codes, 2)
        chosen[rounds] = {tuple(pair) for pair in classifier._fitted.constraints.pairs[len(fitted.constraints.pairs) :]}
        assert chosen[rounds] <= {tuple(pair) for pair in pairs[pairs[:, 1] >= 50]}
    assert chosen[1] != chosen[2]


@pytest.mark.parametrize("lam", [1e-2, np.inf])
@pytest.mark.parametrize("late", ["a", "b", "c"])
def test_partial_fit_accepts_a_class_that_is_missing_at_first(late, lam):
    """The labels are right whichever class is missing from the first batch."""
    X, y = classes_of_matrices(120)
    names = np.array(["a", "b", "c"])[(y + (np.arange(120) % 3 == 0)).astype(int)]
    X = X * np.select([names == "a", names == "b"], [1.0, 8.0], 64.0)[:, None, None]
    first = names != late
    classifier = CovMetricClassifier(CovMetric("log", lam=lam, random_state=0), n_neighbors=1)
    classifier.partial_fit(X[first], names[first], classes=["a", "b", "c"])
    assert classifier.score(X[first], names[first]) == 1.0
    classifier.partial_fit(X[~first], names[~first])
    assert classifier.score(X, names) == 1.0
    np.testing.assert_array_equal(classifier.learner_.classes_, ["a", "b", "c"])
    fitted = classifier._fitted
    if fitted.constraints is not None:
        order = np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])
        i, j = fitted.constraints.pairs.T
        expected = np.where(names[order[i]] == names[order[j]], 1.0, -1.0)
        np.testing.assert_array_equal(fitted.constraints.similar, expected)


def test_partial_fit_accepts_single_examples():
    X, y = classes_of_matrices(40)
    classifier = CovMetricClassifier(random_state=0).partial_fit(X[:30:2], y[:30:2], classes=[0, 1])
    for k in range(30, 40):
        classifier.partial_fit(X[k : k + 1], y[k : k + 1])
    assert classifier.kneighbors(X[39:40], 1)[1] == 24
    with pytest.warns(UserWarning, match="left out, because they are dissimilar but their examples are equal"):
        classifier.partial_fit(X[39:40], 1 - y[39:40])


def test_partial_fit_raises_for_unexpected_classes_and_sizes():
    X, y = classes_of_matrices(60)
    classifier = CovMetricClassifier(random_state=0)
    with pytest.raises(ValueError, match=r"y has the class .*1.*, which is not among the classes \[0, 2\]"):
        classifier.partial_fit(X, y, classes=[0, 2])
    classifier.partial_fit(X[:40], y[:40], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="which is not among the classes"):
        classifier.partial_fit(X[40:], y[40:] + 2)
    with pytest.raises(ValueError, match="is expecting 4 features"):
        classifier.partial_fit(X[:, :3, :3], y)
    frame = pd.DataFrame(X[:, 0], columns=list("abcd"))
    named = CovMetricClassifier(random_state=0).fit(frame, y).partial_fit(frame, y)
    np.testing.assert_array_equal(named.feature_names_in_, list("abcd"))
    assert named.learner_.transform(frame).shape == (60, 4)  # without a warning about names


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_invalid_learner_raises_value_error(data, method):
    with pytest.raises(ValueError, match="learner must be a CovMetric, a CovMetricCV or None, got LogisticRegression"):
        getattr(CovMetricClassifier(LogisticRegression()), method)(*data)


@pytest.mark.parametrize("rule", RULES)
def test_searches_give_the_same_result(data, rule):
    X, y = data
    results = {}
    for algorithm in SEARCHES:
        if algorithm == "faiss":
            pytest.importorskip("faiss")
        classifier = CovMetricClassifier(random_state=0, rule=rule, algorithm=algorithm).fit(X[:30], y[:30])
        results[algorithm] = (classifier.predict_proba(X), *classifier.kneighbors(X, 4), *classifier.kneighbors())
    for result in results.values():
        for actual, expected in zip(result, results["brute"], strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_unknown_search_and_too_many_neighbours_raise_value_error(data):
    with pytest.raises(ValueError, match=f"algorithm must be one of 'auto', {quoted(SEARCHES)}.*got 'kd_tree'"):
        CovMetricClassifier(algorithm="kd_tree").fit(*data)
    with pytest.raises(ValueError, match="n_neighbors is 41, but there are only 40 training examples"):
        CovMetricClassifier(random_state=0).fit(*data).kneighbors(data[0], 41)


def test_search_object_can_be_shared_by_classifiers(data):
    X, y = data
    search = BruteSearch()
    first = CovMetricClassifier(CovMetric("log", random_state=0), algorithm=search).fit(X, y)
    before = first.kneighbors(X)[1]
    CovMetricClassifier(CovMetric("log", random_state=0), algorithm=search).fit(X[::-1], y[::-1])
    np.testing.assert_array_equal(first.kneighbors(X)[1], before)
    assert vars(search) == {"n_jobs": None}


def test_number_of_neighbours_can_change_after_fit(data):
    X, y = data
    classifier = CovMetricClassifier(random_state=0, n_neighbors=1).fit(X, y)
    expected = CovMetricClassifier(random_state=0, n_neighbors=7).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(classifier.set_params(n_neighbors=7).predict_proba(X), expected)
    with pytest.raises(ValueError, match="n_neighbors must be an integer >= 1, got 0"):
        classifier.set_params(n_neighbors=0).predict(X)


def test_a_call_that_fails_leaves_the_classifier_as_it_was():
    X, y = classes_of_matrices(44)
    groups = np.repeat(["a", "b"], 22)
    search = CovMetricCV("id", lambdas=[1e-1], rule=["mean", "neighbors"], random_state=0)
    classifier = CovMetricClassifier(search, rule="auto")
    names = [f"trial {i}" for i in range(40)]
    classifier.fit(X[:40], y[:40], groups=groups[:40], names=names)
    accuracy, probabilities = classifier.out_of_fold_accuracy_, classifier.predict_proba(X)
    bad = X[40:].copy()
    bad[1, 0, 0] = np.nan
    for examples in (bad, 1e160 * X[40:]):  # the second one fails in the solve
        with pytest.raises(ValueError, match=r"nan|overflow|scale"):
            classifier.partial_fit(examples, y[40:], groups=groups[40:], names=list("abcd"))
    with pytest.raises(ValueError, match="reg must be"):
        classifier.set_params(learner__reg=-1.0).fit(X, y, groups=groups, names=[f"new {i}" for i in range(44)])
    assert classifier.out_of_fold_accuracy_ == accuracy
    assert classifier.references_.names.tolist() == names
    np.testing.assert_array_equal(classifier.predict_proba(X), probabilities)
    classifier.partial_fit(X[40:], y[40:], groups=groups[40:])
    assert len(classifier.references_.labels) == len(classifier.references_.names) == 44


WRONG = [{"rule": "logistic", "C": -1.0}, {"algorithm": "magic"}, {"n_neighbors": 0}, {"rule": "magic"}, {}]


@pytest.mark.parametrize(
    ("again", "wrong"),
    [
        *product(["fit", "partial_fit"], WRONG),
        ("fit", {"rule": "mean", "mean_strength": -1.0}),  # partial_fit keeps the strength of the first call
    ],
    ids=str,
)
def test_no_attribute_changes_if_the_rule_fails(again, wrong, monkeypatch):
    """The rule is fitted last; {} stands for Ctrl-C in its fit."""
    X, y = classes_of_matrices(50)
    classifier = CovMetricClassifier(CovMetric("log", random_state=0)).fit(X[:40], y[:40])
    held = [(one, dict(vars(one))) for one in (classifier, classifier.learner_)]
    right = classifier.get_params(deep=False)

    def interrupted(self, *args):
        raise KeyboardInterrupt

    classifier.set_params(**wrong)
    other_classes = np.array(list("abcde"))[np.arange(50) % 5]
    examples = (X[:, :3, :3], other_classes) if again == "fit" else (X[40:], y[40:])
    with monkeypatch.context() as patch:
        if not wrong:
            patch.setattr(type(classifier._rule), "fit", interrupted)
        with pytest.raises((ValueError, KeyboardInterrupt)):
            getattr(classifier, again)(*examples)
    classifier.set_params(**right)
    for one, attributes in held:
        assert set(vars(one)) == set(attributes)
        assert all(vars(one)[name] is value for name, value in attributes.items() if name.endswith("_"))
    classifier.partial_fit(X[40:], y[40:])
    assert len(classifier.references_.labels) == 50
    assert classifier.predict(X).shape == (50,)


def test_a_first_fit_that_fails_leaves_no_fitted_classifier():
    X, y = classes_of_matrices(40)
    classifier = CovMetricClassifier(CovMetric("log"), rule="logistic", C=-1.0)
    for call in (classifier.fit, classifier.partial_fit):
        with pytest.raises(ValueError, match="C must be"):
            call(X, y)
        with pytest.raises(NotFittedError):
            classifier.predict(X)
    classifier.set_params(C=1.0).partial_fit(X, y)
    assert len(classifier.references_.labels) == 40


def test_references_are_stored_once():
    X, y = classes_of_matrices(50)
    for prior, shared in (("identity", True), ("covariance", False)):
        classifier = CovMetricClassifier(CovMetric("log", prior=prior, shrinkage=0.5)).fit(X[:40], y[:40])
        classifier.partial_fit(X[40:], y[40:])
        assert (classifier._embedded is classifier._fitted.examples) == shared
        embedded = classifier.metric_.embedding.transform(X)
        np.testing.assert_allclose(classifier._embedded, embedded, rtol=1e-12, atol=1e-12)
