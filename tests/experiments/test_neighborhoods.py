"""Neighbours of test examples, for classifiers with and without a metric."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.classification import MDM
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from covmetric import CovMetric
from covmetric.experiments.neighborhoods import Neighborhood, find_neighborhoods, make_neighbor_table
from tests.data import two_classes

TRAIN, TEST = np.arange(0, 16), np.arange(16, 24)


def neighborhoods(classifier):
    X, y = two_classes()
    codes = np.unique(y, return_inverse=True)[1]
    classifier.fit(X[TRAIN], codes[TRAIN])
    return X, find_neighborhoods(classifier, X, codes, TRAIN, TEST, classifier.predict(X[TEST]), 4)


def test_a_pipeline_that_begins_with_a_metric_has_its_neighbours():
    learner = CovMetric("log", lam=np.inf)
    X, found = neighborhoods(make_pipeline(learner, SVC()))
    assert len(found) == 4
    for one in found:
        distances = learner.metric_.distance(X[one.example][None], X[TRAIN])
        order = np.argsort(distances, kind="stable")[: len(one.nearest)]
        assert [index for index, _ in one.nearest] == TRAIN[order].tolist()
        np.testing.assert_allclose([distance for _, distance in one.nearest], distances[order], rtol=1e-9)


@pytest.mark.parametrize(
    "classifier",
    [MDM(), make_pipeline(FunctionTransformer(lambda X: X.reshape(len(X), -1)), KNeighborsClassifier(1))],
    ids=["classifier", "pipeline"],
)
def test_without_a_metric_there_are_no_neighbours(classifier):
    assert neighborhoods(classifier)[1] == ()


def test_two_metrics_without_common_examples_have_no_table():
    one, other = Neighborhood(0, 1, ((2, 0.5),)), Neighborhood(1, 1, ((2, 0.5),))
    names, codes = ["a", "b", "c"], np.array([1, 1, 0])
    assert make_neighbor_table(("log", [one]), ("covmetric-3nn", [other]), names, codes) is None
    assert make_neighbor_table(("log", [one]), ("covmetric-3nn", ()), names, codes) is None
    table = make_neighbor_table(("log", [one, other]), ("covmetric-3nn", [other]), names, codes)
    assert (table.before, table.after) == ((other,), (other,))
    assert table.names == {"1": "b", "2": "c"}
