"""Scorers in the form of scikit-learn's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covmetric import CovMetric, CovMetricClassifier
from covmetric.datasets import make_spd_classes
from covmetric.model_selection import (
    SCORERS,
    ClassKFold,
    few_shot_accuracy,
    get_scorer,
    mean_average_precision,
    recall_at_1,
    verification_auc,
    verification_eer,
)


@pytest.fixture(scope="module")
def data():
    return make_spd_classes(n_classes=6, n_per_class=8, n=3)


EXPECTED = {
    "mean_average_precision": mean_average_precision,
    "recall_at_1": recall_at_1,
    "one_shot_accuracy": lambda X, y: few_shot_accuracy(X, y, n_shots=1),
    "five_shot_accuracy": lambda X, y: few_shot_accuracy(X, y, n_shots=5),
    "verification_auc": verification_auc,
    "neg_verification_eer": lambda X, y: -verification_eer(X, y),
}


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_score_the_vectors_of_a_transformer(name, data):
    metric = CovMetric("log", lam=1.0).fit(data.X, data.y)
    scorer = get_scorer(name)
    expected = EXPECTED[name](metric.transform(data.X), data.y)
    assert scorer(metric, data.X, data.y) == expected
    assert scorer(metric.metric_, data.X, data.y) == expected
    assert pickle.loads(pickle.dumps(scorer))(metric, data.X, data.y) == expected

    class OnlyDistances:
        def pairwise(self, X):
            return metric.pairwise(X)

    assert scorer(OnlyDistances(), data.X, data.y) == pytest.approx(expected, abs=1e-12)


def test_groups_reach_the_score(data):
    metric, groups = CovMetric("log", lam=np.inf).fit(data.X, data.y), np.arange(len(data.y)) // 2
    value = get_scorer("recall_at_1")(metric, data.X, data.y, groups)
    assert value == recall_at_1(metric.transform(data.X), data.y, groups=groups)
    assert value != get_scorer("recall_at_1")(metric, data.X, data.y)


def test_scorers_in_scikit_learn(data):
    scorer, cv = get_scorer("mean_average_precision"), ClassKFold(3)
    pipeline = make_pipeline(CovMetric("log"), StandardScaler())
    scores = cross_val_score(pipeline, data.X, data.y, scoring=scorer, cv=cv, error_score="raise")
    for score, (train, test) in zip(scores, cv.split(data.X, data.y), strict=True):
        fitted = make_pipeline(CovMetric("log"), StandardScaler()).fit(data.X[train], data.y[train])
        assert score == scorer(fitted, data.X[test], data.y[test])
    search = GridSearchCV(CovMetric("log"), {"lam": [1e-2, np.inf]}, scoring=scorer, cv=cv, error_score="raise")
    search.fit(data.X, data.y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    several = cross_validate(CovMetric("log"), data.X, data.y, scoring=SCORERS, cv=cv, error_score="raise")
    assert {name.removeprefix("test_") for name in several} >= set(SCORERS)
    assert (several["test_neg_verification_eer"] < 0).any()


def test_errors(data):
    classifier = make_pipeline(CovMetric("log"), KNeighborsClassifier()).fit(data.X, data.y)
    with pytest.raises(ValueError, match="Pipeline has no method transform or pairwise, so that it has no distances"):
        get_scorer("recall_at_1")(classifier, data.X, data.y)
    with pytest.raises(
        ValueError, match=r"CovMetricClassifier has no .*; pass its metric learner, the attribute learner_"
    ):
        get_scorer("recall_at_1")(CovMetricClassifier(CovMetric("log")).fit(data.X, data.y), data.X, data.y)
    with pytest.raises(ValueError, match=r"scoring must be one of 'mean_average_precision', .* got 'accuracy'"):
        get_scorer("accuracy")
    with pytest.raises(ValueError, match=r"scoring must be one of .* got 3"):
        get_scorer(3)
