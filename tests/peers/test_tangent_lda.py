"""Shrunk LDA in the tangent space."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.tangentspace import TangentSpace
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from covmetric.peers import TangentLDA


@pytest.mark.parametrize("metric", ["riemann", "logeuclid"])
@pytest.mark.parametrize("shrinkage", ["auto", 0.5])
def test_probabilities_equal_the_pipeline_of_pyriemann_and_scikit_learn(metric, shrinkage, data):
    X, y = data
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)
    expected = make_pipeline(TangentSpace(metric=metric), lda).fit(X[::2], y[::2]).predict_proba(X[1::2])
    found = TangentLDA(metric, shrinkage=shrinkage).fit(X[::2], y[::2]).predict_proba(X[1::2])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_reg_is_added_to_each_matrix(data):
    X, y = data
    added = X + 0.1 * np.trace(X, axis1=1, axis2=2)[:, None, None] / 4 * np.eye(4)
    expected = TangentLDA().fit(added, y).predict_proba(added)
    np.testing.assert_allclose(TangentLDA(reg=0.1).fit(X, y).predict_proba(X), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "cosine"}, "metric must be one of 'riemann', 'logeuclid', got 'cosine'"),
        ({"shrinkage": 2.0}, "shrinkage"),
        ({"reg": -1.0}, "reg must be a number >= 0"),
    ],
)
def test_fit_raises_for_invalid_settings(settings, message, data):
    with pytest.raises(ValueError, match=message):
        TangentLDA(**settings).fit(*data)
