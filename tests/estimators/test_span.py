"""Estimators on more features than examples, which learn within the span of the examples."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, CovMetricPairs, load_model
from covmetric.problem import span as span_module
from tests.model_file.forging import with_array

N = 70


def wide_classes(count=20, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b"])[np.arange(count) % 2]
    X = rng.standard_normal((count, N))
    X[y == "b", 0] += 6.0
    return X, y


ESTIMATORS = {
    "CovMetric": lambda: CovMetric(random_state=0),
    "CovMetric covariance": lambda: CovMetric(prior="covariance", random_state=0),
    "CovMetricCV": lambda: CovMetricCV(lambdas=[1e-3], cv=2, random_state=0),
    "CovMetricClassifier": lambda: CovMetricClassifier(random_state=0),
    "CovMetricClassifier mean": lambda: CovMetricClassifier(CovMetric(prior="covariance", random_state=0), rule="mean"),
}


@pytest.fixture
def whole(monkeypatch):
    """A function that calls another one without reductions."""

    def call(function, *args):
        with monkeypatch.context() as patch:
            patch.setattr(span_module, "SPAN_ROWS", 10**9)
            return function(*args)

    return call


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.pairwise(X)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_answers_are_those_of_the_whole_problem(name, whole):
    X, y = wide_classes()
    within, dense = ESTIMATORS[name]().fit(X, y), whole(ESTIMATORS[name]().fit, X, y)
    if name != "CovMetricCV" or within.best_params_["lam"] != np.inf:
        assert within.metric_.basis is not None
    assert dense.metric_.basis is None
    T = wide_classes(10, seed=1)[0]
    np.testing.assert_allclose(answers(within, T), answers(dense, T), rtol=1e-2, atol=1e-6)
    np.testing.assert_allclose(within.metric_.W, dense.metric_.W, atol=2e-3 * np.abs(dense.metric_.W).max())


def test_fitted_attributes_are_dense():
    X, y = wide_classes()
    learner = CovMetric(random_state=0).fit(X, y)
    assert learner.W_.shape == learner.components_.shape == (N, N)
    np.testing.assert_allclose(learner.components_ @ learner.components_, learner.W_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(learner.transform(X), X @ learner.components_.T, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(learner.W_, learner.result_.W / learner.scale_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_saved_estimators_give_the_same_bits(name, tmp_path):
    X, y = wide_classes()
    model = ESTIMATORS[name]().fit(X, y)
    model.save(tmp_path / "model.npz")
    T = wide_classes(10, seed=1)[0]
    for again in (load_model(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(answers(again, T), answers(model, T))
    load_model(tmp_path / "model.npz").save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


def test_pairs_are_learned_within_their_span(whole, tmp_path):
    X, _ = wide_classes()
    pairs = np.stack([X[:10], X[10:]], axis=1)
    similar = np.where(np.arange(10) % 2, 1, -1)
    within, dense = CovMetricPairs().fit(pairs, similar), whole(CovMetricPairs().fit, pairs, similar)
    assert within.metric_.basis.shape == (N, 10)
    np.testing.assert_allclose(within.pair_distance(pairs), dense.pair_distance(pairs), rtol=1e-3)
    assert within.get_mahalanobis_matrix().shape == (N, N)
    within.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").pair_distance(pairs), within.pair_distance(pairs))


@pytest.mark.parametrize("name", ["CovMetricClassifier", "CovMetricClassifier mean"])
def test_more_examples_extend_the_span(name, whole, tmp_path):
    X, y = wide_classes()
    T, t = wide_classes(8, seed=1)
    within = ESTIMATORS[name]().fit(X, y).partial_fit(T, t)
    dense = whole(lambda: clone(within).fit(X, y).partial_fit(T, t))
    assert within.metric_.basis.shape == (N, 27)
    np.testing.assert_allclose(answers(within, T), answers(dense, T), rtol=1e-2, atol=1e-6)
    within.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    more = wide_classes(4, seed=2)
    np.testing.assert_array_equal(
        answers(loaded.partial_fit(*more), T), answers(within.partial_fit(*more), T)
    )  # the saved model goes on where it stopped


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("learner_.result_.basis", lambda Q: Q[:, ::-1].copy(), "its (gap|primal) is|does not belong"),
        ("learner_.result_.basis", lambda Q: 2.0 * Q, "its basis is not orthonormal"),
        ("learner_.result_.basis", lambda Q: Q[:-1].copy(), "its basis is not orthonormal"),
        ("learner_.metric_.basis", lambda Q: -Q, "its metric does not belong to its result"),
        ("learner_.result_.core", lambda V: V[:-1, :-1].copy(), "does not fit its basis"),
        ("learner_.result_.core", lambda V: 1.01 * V, "its (gap|primal) is"),
    ],
)
def test_forged_files_are_refused(name, change, message, tmp_path):
    model = CovMetricClassifier(random_state=0).fit(*wide_classes())
    model.save(tmp_path / "model.npz")
    content = (tmp_path / "model.npz").read_bytes()
    with np.load(tmp_path / "model.npz") as arrays:
        forged = change(arrays[name])
    (tmp_path / "model.npz").write_bytes(with_array(content, name, forged))
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "model.npz")


def test_result_of_another_span_is_refused(tmp_path):
    learner = CovMetric(random_state=0).fit(*wide_classes())
    learner.save(tmp_path / "model.npz")
    result, content = learner.result_, (tmp_path / "model.npz").read_bytes()
    for name, part in (("basis", result.basis[:, 1:]), ("core", result.core[1:, 1:])):
        content = with_array(content, f"result_.{name}", np.ascontiguousarray(part))
    (tmp_path / "model.npz").write_bytes(content)
    with pytest.raises(ValueError, match="result_ does not belong to metric_"):
        load_model(tmp_path / "model.npz")
