"""scikit-learn compatibility: its estimator checks on vectors, pipelines, clones, routing, and types of input."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from covmetric import (
    CovMetric,
    CovMetricClassifier,
    CovMetricCV,
    RandomPairs,
)
from tests.estimators.cases import CLASSIFIERS, LEARNERS, output


@parametrize_with_checks([*LEARNERS, *CLASSIFIERS, CovMetricClassifier(CovMetricCV(random_state=0))])
def test_scikit_learn_checks_pass_on_vectors(estimator, check):
    """A check raises if it fails."""
    check(estimator)


def test_scikit_learn_array_api_check_passes():
    """The check is skipped unless a variable is set before SciPy is imported."""
    code = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from covmetric import CovMetric, CovMetricClassifier, CovMetricCV\n"
        "for estimator in (CovMetric(), CovMetricCV(), CovMetricClassifier()):\n"
        "    seen = check_estimator(estimator, on_skip=None)\n"
        "    assert {row['status'] for row in seen} == {'passed'}, seen\n"
        "    print(type(estimator).__name__, len(seen))\n"
    )
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "CovMetricClassifier" in done.stdout


def test_scikit_learn_checks_detect_an_estimator_that_breaks_the_rules():
    class Careless(CovMetric):
        def fit(self, X, y):
            self.lam = 2.0
            return super().fit(X, y)

    seen = check_estimator(Careless(), on_fail=None, on_skip=None)
    assert any(row["status"] == "failed" for row in seen)


def test_input_types_give_the_same_result(estimator, data):
    X, y = data
    frozen = X.copy()
    frozen.flags.writeable = False
    before = X.copy()
    expected = output(estimator.fit(frozen, y), frozen)
    np.testing.assert_array_equal(frozen, before)
    for labels in (y.tolist(), pd.Series(y), np.array(["no", "yes"])[y], pd.Series(["b", "c"]).iloc[y], y == 1):
        np.testing.assert_array_equal(output(clone(estimator).fit(X, labels), X), expected)
    np.testing.assert_array_equal(output(clone(estimator).fit(X.tolist(), y), X.tolist()), expected)
    np.testing.assert_array_equal(output(clone(estimator).fit(np.asfortranarray(X), y), X), expected)
    single = output(clone(estimator).fit(X.astype(np.float32), y), X.astype(np.float32))
    assert single.dtype == np.float64
    assert single.shape == expected.shape


def test_methods_raise_not_fitted_error_before_fit(estimator, data):
    for name in ("transform", "predict", "predict_proba", "distance", "pairwise", "pair_distance", "kneighbors"):
        if hasattr(estimator, name):
            with pytest.raises(NotFittedError):
                getattr(estimator, name)(*([data[0]] * (2 if name == "distance" else 1)))


def test_pickle_and_clone_give_the_same_output(estimator, data):
    X, y = data
    fitted = estimator.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(output(again, X), output(fitted, X))
    np.testing.assert_array_equal(output(clone(fitted).fit(X, y), X), output(fitted, X))


def test_estimator_with_progress_bar_can_be_pickled(data):
    fitted = CovMetricClassifier(CovMetric(verbose=1, random_state=0)).fit(*data)
    assert pickle.loads(pickle.dumps(fitted)).partial_fit(*data).score(*data) > 0.5


def test_cov_metric_works_in_pipelines_and_grid_searches(data):
    X, y = data
    pipeline = make_pipeline(CovMetric(random_state=0), LogisticRegression())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.5
    search = GridSearchCV(
        make_pipeline(CovMetric(random_state=0), KNeighborsClassifier(3)),
        {"covmetric__phi": ["log", "sqrt"], "covmetric__pairs": ["random", RandomPairs(20, balance=None)]},
        cv=2,
    )
    assert search.fit(X, y).best_score_ > 0.5


def test_pandas_output_has_feature_names(learner, data):
    X, y = data
    frame = learner.set_params(phi="relog").set_output(transform="pandas").fit(X, y).transform(X)
    assert frame.shape == (40, 16)
    assert frame.columns[0] == f"{type(learner).__name__.lower()}0"
    assert len(learner.get_feature_names_out()) == 16


def test_groups_are_routed_to_the_search(data):
    X, y = data
    groups = np.repeat(np.arange(10), 4)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = CovMetricCV(random_state=0, phi="log").set_fit_request(groups=True)
        pipeline = make_pipeline(inner, KNeighborsClassifier(3))
        scores = cross_val_score(pipeline, X, y, cv=GroupKFold(2), params={"groups": groups})
        whole = CovMetricClassifier(CovMetricCV(random_state=0, phi="log")).set_fit_request(groups=True)
        assert len(cross_val_score(whole, X, y, cv=GroupKFold(2), params={"groups": groups})) == 2
    assert len(scores) == 2
    direct = make_pipeline(CovMetricCV(random_state=0, phi="log"), KNeighborsClassifier(3))
    direct.fit(X, y, covmetriccv__groups=groups)
