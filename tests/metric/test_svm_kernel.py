"""Kernels in the learned metric, in the support vector machines of scikit-learn and pyRiemann."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.metric.svm_kernel import KERNELS
from tests.data import spd


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")  # within pyRiemann 0.12
@pytest.mark.parametrize("kind", KERNELS)
def test_kernel_is_positive_semi_definite_and_serves_both_svcs(metric, kind):
    from pyriemann import classification
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    X, y = spd(40, 4, seed=7), np.arange(40) % 2
    X[y == 1] *= 3.0
    kernel = metric.as_kernel(kind, gamma=0.1)
    K = kernel(X)
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * np.abs(K).max()
    expected = np.exp(-0.1 * metric.pairwise(X, squared=True))
    if kind == "linear":
        T = metric.transform(X)
        expected = 0.1 * T @ T.T
    np.testing.assert_allclose(K, expected, rtol=1e-9, atol=1e-12)
    ours = SVC(kernel=kernel).fit(X[:30], y[:30])
    precomputed = SVC(kernel="precomputed").fit(kernel(X[:30]), y[:30])
    np.testing.assert_array_equal(ours.predict(X[30:]), precomputed.predict(kernel(X[30:], X[:30])))
    theirs = classification.SVC(kernel_fct=kernel).fit(X[:30], y[:30])
    np.testing.assert_array_equal(theirs.predict(X[30:]), ours.predict(X[30:]))
    assert GridSearchCV(SVC(kernel=kernel), {"C": [0.1, 10.0]}, cv=2).fit(X, y).best_score_ > 0.7


def test_invalid_parameters_are_refused(metric):
    with pytest.raises(ValueError, match="kind must be one of 'gaussian', 'linear', got 'rbf'"):
        metric.as_kernel("rbf")
    with pytest.raises(ValueError, match="gamma must be a positive number, got 0"):
        metric.as_kernel(gamma=0)
    with pytest.raises(ValueError, match=r"kind must be one of 'gaussian', 'linear', got \['linear'\]"):
        metric.as_kernel(["linear"])


@pytest.mark.parametrize("gamma", [-1.0, np.nan, np.inf, True, "scale", None])
def test_gamma_that_is_not_a_positive_number_is_refused_in_use(metric, gamma):
    """The parameters of a clone are set without a check; the call checks them."""
    kernel = metric.as_kernel().set_params(gamma=gamma)
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        kernel(spd(3, 4))


@pytest.mark.parametrize("kind", KERNELS)
def test_kernel_of_two_sets_has_their_shape(metric, kind):
    X, Y = spd(5, 4, seed=2), spd(3, 4, seed=3)
    kernel = metric.as_kernel(kind, gamma=0.5)
    K = kernel(X, Y)
    assert K.shape == (5, 3) and np.isfinite(K).all()
    np.testing.assert_allclose(K, kernel(Y, X).T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(K, kernel(np.concatenate([X, Y]))[:5, 5:], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(kernel(X, X), kernel(X))


def test_gamma_is_tuned_by_its_name(metric):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    X, y = spd(40, 4, seed=7), np.arange(40) % 2
    X[y == 1] *= 3.0
    search = GridSearchCV(SVC(kernel=metric.as_kernel()), {"kernel__gamma": [1e-3, 1.0]}, cv=2).fit(X, y)
    assert search.best_params_["kernel__gamma"] in (1e-3, 1.0)
