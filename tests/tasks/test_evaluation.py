"""Predictions and how they agree with labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from covmetric import CovMetric, CovMetricClassifier
from covmetric.datasets import make_spd_classes
from covmetric.tasks import Evaluation, ModelView, Prediction, evaluate, wilson_interval


def prediction(name, predicted):
    return Prediction(name, predicted, 0.5, {predicted: 0.5})


@pytest.fixture(scope="module")
def evaluation():
    """Predictions for four classes, of which one is never predicted and one never true."""
    rng = np.random.default_rng(0)
    labels = rng.choice(["a", "b", "c"], 60).tolist()
    predicted = rng.choice(["a", "b", "d"], 60).tolist()
    return Evaluation([prediction(str(i), one) for i, one in enumerate(predicted)], labels, ["a", "b", "c", "d"])


def test_statistics_agree_with_scikit_learn(evaluation):
    predicted = [one.predicted for one in evaluation.predictions]
    arguments = evaluation.labels, predicted
    np.testing.assert_array_equal(evaluation.confusion, confusion_matrix(*arguments, labels=evaluation.classes))
    recall = recall_score(*arguments, labels=evaluation.classes, average=None, zero_division=np.nan)
    precision = precision_score(*arguments, labels=evaluation.classes, average=None, zero_division=np.nan)
    rows = evaluation.per_class()
    np.testing.assert_allclose([np.nan if row["recall"] is None else row["recall"] for row in rows], recall)
    np.testing.assert_allclose([np.nan if row["precision"] is None else row["precision"] for row in rows], precision)
    assert evaluation.accuracy == np.mean(np.array(evaluation.labels) == predicted)
    assert len(evaluation.errors) == sum(a != b for a, b in zip(*arguments, strict=True))


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (5, 5), (8, 10), (1, 1000)])
def test_interval_agrees_with_scipy(successes, trials):
    expected = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(wilson_interval(successes, trials), expected, atol=1e-5)


def test_unknown_classes_count_as_errors():
    data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    view = ModelView(CovMetricClassifier(CovMetric(lam=np.inf)).fit(data.X, data.y))
    found = evaluate(view, range(3), data.X[:3], [0, 7, 7])
    assert found.classes == ["0", "1", "7"] and found.accuracy <= 1 / 3 and found.confusion[2].sum() == 2
    assert found.as_dict()["predictions"][1]["label"] == "7"
