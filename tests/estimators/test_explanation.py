"""`CovMetricClassifier.explain`: what decided, and what separates the example from the class that came second."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from covmetric import CovMetric, CovMetricClassifier
from tests.data import hermitian, spd, two_classes


def three_classes(make=spd):
    X = make(45, 3)
    y = np.arange(45) % 3
    X[np.arange(45), y, y] *= 3.0
    return X, np.array(["left", "right", "up"])[y]


def fitted(rule="neighbors", make=spd, **settings):
    X, y = three_classes(make)
    names = [f"trial {i}" for i in range(45)]
    return CovMetricClassifier(CovMetric("log", random_state=0), rule=rule, **settings).fit(X, y, names=names), X, y


def check_class_and_probabilities(explanation, clf, example):
    """The class and the probabilities are those of predict and predict_proba."""
    assert explanation.label == clf.predict(example[None])[0]
    expected = dict(zip(clf.classes_, clf.predict_proba(example[None])[0], strict=True))
    assert explanation.probabilities == expected
    values = list(explanation.probabilities.values())
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("make", [spd, hermitian])
def test_references_that_voted_decide(make):
    clf, X, y = fitted(make=make, n_neighbors=4)
    for example in 1.1 * make(6, 3, seed=5):
        explanation = clf.explain(example)
        check_class_and_probabilities(explanation, clf, example)
        assert explanation.decided_by == "references" and explanation.rule == {"rule": "neighbors", "n_neighbors": 4}
        distances = clf.metric_.pairwise(example[None], X)[0]
        nearest = np.argsort(distances)[:4]
        assert [one.index for one in explanation.neighbors] == nearest.tolist()
        assert [one.name for one in explanation.neighbors] == [f"trial {i}" for i in nearest]
        assert [one.label for one in explanation.neighbors] == y[nearest].tolist()
        np.testing.assert_allclose([one.distance for one in explanation.neighbors], distances[nearest], rtol=1e-8)
        others = [i for i in np.argsort(distances) if y[i] == explanation.runner_up]
        assert explanation.opposite.index == others[0] and explanation.opposite.label == explanation.runner_up
        expected = clf.metric_.explain(example, X[others[0]])
        np.testing.assert_allclose(explanation.separation.by_channel, expected.by_channel, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(explanation.separation.distance, distances[others[0]], rtol=1e-8)


def test_runner_up_without_votes_is_the_nearest_class():
    clf, X, y = fitted(n_neighbors=1)
    explanation = clf.explain(X[0])
    assert explanation.neighbors[0].index == 0 and explanation.probabilities[explanation.runner_up] == 0.0
    distances = clf.metric_.pairwise(X[:1], X)[0]
    assert explanation.runner_up == y[min(np.flatnonzero(y != y[0]), key=lambda i: distances[i])]


@pytest.mark.parametrize("rule", ["mean", "logistic", "svm"])
def test_other_rules_are_explained_by_class_means(rule):
    clf, X, y = fitted(rule)
    explanation = clf.explain(X[3], n_neighbors=2)
    check_class_and_probabilities(explanation, clf, X[3])
    assert explanation.decided_by == ("class means" if rule == "mean" else "decision boundaries")
    assert explanation.opposite is None and len(explanation.neighbors) == 2
    classes, means = clf.metric_.class_means(X, y)
    expected = {c: clf.metric_.distance(X[3], mean) for c, mean in zip(classes, means, strict=True)}
    assert list(explanation.mean_distances) == sorted(expected, key=expected.get)
    for c, distance in explanation.mean_distances.items():
        np.testing.assert_allclose(distance, expected[c], rtol=1e-8)
    np.testing.assert_allclose(explanation.separation.distance, expected[explanation.runner_up], rtol=1e-8)
    assert explanation.runner_up == list(explanation.probabilities)[1]


@pytest.mark.parametrize("rule", ["neighbors", "mean", "auto"])
def test_explanation_prints_and_converts_to_json(rule):
    X, y = three_classes()
    clf = CovMetricClassifier(rule=rule, random_state=0).fit(X, y)
    explanation = clf.explain(1.1 * X[:1], channel_names=["Fz", "Cz", "Pz"])
    text = str(explanation)
    assert text.startswith(f"class {explanation.label} with probability")
    assert "nearest references" in text and "nearest class means" in text and "example 0" in text
    assert "what separates the example from the" in text and "channel  share of D" in text
    back = json.loads(json.dumps(explanation.to_dict()))
    assert back["label"] == explanation.label and back["neighbors"][0]["name"] is None
    assert sum(one["probability"] for one in back["probabilities"]) == pytest.approx(1.0)
    assert {one["name"] for one in back["separation"]["channels"]} == {"Fz", "Cz", "Pz"}
    assert sum(one["share"] for one in back["separation"]["patterns"]) == pytest.approx(1.0)


def test_labels_of_any_type_convert_to_json():
    for labels in [(0, 1), (True, False), (1.0, 2.0)]:
        X, y = two_classes(labels=labels)
        explanation = CovMetricClassifier(random_state=0).fit(X, y).explain(X[0])
        assert json.loads(json.dumps(explanation.to_dict()))["label"] == y[0]


def test_vectors_have_the_names_of_their_columns():
    X, y = two_classes()
    frame = pd.DataFrame(X[:, 0], columns=["Fz", "Cz", "Pz"])
    clf = CovMetricClassifier(random_state=0).fit(frame, y)
    assert clf.explain(frame.iloc[:1]).separation.names == ["Fz", "Cz", "Pz"]


def test_class_without_references_is_not_the_runner_up():
    X, y = two_classes(labels=("b", "c"))
    for rule in ("neighbors", "mean"):
        clf = CovMetricClassifier(rule=rule, random_state=0).partial_fit(X, y, classes=["a", "b", "c", "d"])
        explanation = clf.explain(X[0])
        assert {explanation.label, explanation.runner_up} == {"b", "c"}
        assert set(explanation.mean_distances) == {"b", "c"}


def test_more_voters_than_references():
    X, y = two_classes()
    clf = CovMetricClassifier(random_state=0, n_neighbors=99).fit(X, y)
    assert len(clf.explain(X[0]).neighbors) == 40


def test_several_examples_are_refused():
    clf, X, _ = fitted()
    with pytest.raises(ValueError, match="X must be one example, but it has 2; explain them one by one"):
        clf.explain(X[:2])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        clf.explain(X[0, 0])
