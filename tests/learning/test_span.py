"""Learning problems that are solved within the span of their examples, for any prior."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from covmetric import CovMetric, LearnedMetric, get_embedding
from covmetric.constraints import NeighborPairs, constrain
from covmetric.learning.fit import FittedProblem, fit_path
from covmetric.learning.incremental import extend
from covmetric.learning.restore import restore_fitted
from covmetric.problem import span as span_module
from tests.data import fitted_problem
from tests.learning.problems import settings

N = 70


def wide_classes(count=16, seed=0):
    """Return two classes of vectors with more entries than there are examples."""
    rng = np.random.default_rng(seed)
    codes = np.arange(count) % 2
    X = rng.standard_normal((count, N))
    X[:, 0] += 6.0 * codes
    return X, codes


def prior(kind):
    if kind != "matrix":
        return kind
    A = np.random.default_rng(3).standard_normal((N, 2 * N))
    return A @ A.T / N + 0.1 * np.eye(N)


PRIORS = ["identity", "covariance", "within", "gmml", "matrix"]


def fit(kind, selection=None, lam=1e-2):
    X, codes = wide_classes()
    chosen = settings(prior=prior(kind), tol=1e-9, selection=selection or NeighborPairs(3))
    start = FittedProblem.at_prior(chosen, X[:, :, None], codes)
    return fit_path(start, [lam], np.random.default_rng(0))[0]


@pytest.fixture
def whole(monkeypatch):
    """A function that calls another one without reductions."""

    def call(function, *args, **kwargs):
        with monkeypatch.context() as patch:
            patch.setattr(span_module, "SPAN_ROWS", 10**9)
            return function(*args, **kwargs)

    return call


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("kind", PRIORS)
def test_learned_matrix_is_that_of_the_whole_problem(kind, rounds, whole):
    selection = NeighborPairs(3, rounds=rounds)
    within, dense = fit(kind, selection), whole(fit, kind, selection)
    assert within.result.basis.shape == (N, 15)
    assert dense.result.basis is None
    np.testing.assert_array_equal(within.constraints.pairs, dense.constraints.pairs)
    size = np.abs(dense.metric()).max()
    np.testing.assert_allclose(within.metric(), dense.metric(), atol=1e-4 * size)
    phi = get_embedding("vector").fit(wide_classes()[0])
    metric = within.learned_metric(phi)
    assert metric.basis is not None
    np.testing.assert_allclose(metric.W, within.metric(), rtol=1e-10, atol=1e-12 * size)
    assert dense.learned_metric(phi).basis is None


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("kind", PRIORS)
def test_extended_problem_is_that_of_the_whole_problem(kind, rounds, whole):
    selection = NeighborPairs(3, rounds=rounds)
    X, codes = wide_classes(6, seed=1)
    within = extend(fit(kind, selection), X[:, :, None], codes, 0)
    dense = whole(extend, whole(fit, kind, selection), X[:, :, None], codes, 0)
    assert within.result.basis.shape == (N, 21)
    np.testing.assert_array_equal(within.constraints.pairs, dense.constraints.pairs)
    np.testing.assert_allclose(within.metric(), dense.metric(), atol=1e-4 * np.abs(dense.metric()).max())


def saved_parts(kind="covariance"):
    """Return the arguments of `restore_fitted` for a learner whose problem was reduced."""
    X, y = wide_classes()
    learner = CovMetric(prior=prior(kind), budget=3, random_state=0)
    fitted, embedded = fitted_problem(learner, X, y)
    assert learner.metric_.basis is not None
    return {
        "metric": learner.metric_,
        "result": learner.result_,
        "scale": learner.scale_,
        "embedded": embedded,
        "codes": fitted.codes,
        "settings": dataclasses.replace(fitted.settings, prior="identity"),
        "root": fitted.root,
        "lam": fitted.lam,
        "constraints": fitted.constraints,
    }


@pytest.mark.parametrize("kind", PRIORS)
def test_restored_problem_keeps_the_span(kind):
    parts = saved_parts(kind)
    restored = restore_fitted(**parts)
    np.testing.assert_array_equal(restored.result.basis, parts["result"].basis)
    # A file holds the basis in row order.
    parts["result"] = dataclasses.replace(parts["result"], basis=np.ascontiguousarray(parts["result"].basis))
    assert restore_fitted(**pickle.loads(pickle.dumps(parts))).result.certificate == parts["result"].certificate


def reshaped(metric, **changes):
    """Return a metric with some parts replaced."""
    names = ("embedding", "basis", "core", "scale", "prior_root")
    return LearnedMetric.from_span(**{name: getattr(metric, name) for name in names} | changes)


def turned(basis, angle=0.1):
    """Return a basis of another span."""
    other = np.linalg.qr(np.hstack([basis, np.ones((len(basis), 1))]))[0][:, -1]
    turned_basis = basis.copy()
    turned_basis[:, 0] = np.cos(angle) * basis[:, 0] + np.sin(angle) * other
    return turned_basis


def test_metric_with_a_prior_does_not_belong_to_a_problem_without_one():
    parts = saved_parts("identity")
    other = reshaped(parts["metric"], prior_root=np.eye(N))
    with pytest.raises(ValueError, match="its metric does not belong"):
        restore_fitted(**{**parts, "metric": other})


def test_later_rounds_select_pairs_in_the_learned_metric():
    first, second = fit("matrix"), fit("matrix", NeighborPairs(3, rounds=2))
    factor = np.linalg.cholesky(first.result.W)
    rules = (first.settings.bounds, first.settings.scale, np.random.default_rng(0))
    expected = constrain(first.examples, first.codes, NeighborPairs(3), *rules, mapped=factor.T @ first.examples)
    np.testing.assert_array_equal(second.constraints.pairs, expected.pairs)
    assert not np.array_equal(second.constraints.pairs, first.constraints.pairs)


def test_added_pairs_are_selected_in_the_learned_metric():
    X, codes = wide_classes(6, seed=1)
    fitted = fit("matrix", NeighborPairs(3, rounds=2))
    extended = extend(fitted, X[:, :, None], codes, 0)
    mapped = np.linalg.cholesky(fitted.result.W).T @ extended.examples
    expected = NeighborPairs(3).select(mapped[:, :, 0], extended.codes, np.random.default_rng(0), len(fitted.codes))
    np.testing.assert_array_equal(extended.constraints.pairs[len(fitted.constraints.pairs) :], expected.pairs)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("metric", lambda p: reshaped(p["metric"], core=1.01 * p["metric"].core), "its metric does not belong"),
        ("metric", lambda p: reshaped(p["metric"], basis=-p["metric"].basis), "its metric does not belong"),
        ("metric", lambda p: reshaped(p["metric"], scale=1.01 * p["scale"]), "its metric does not belong"),
        ("metric", lambda p: reshaped(p["metric"], prior_root=None), "its metric does not belong"),
        ("metric", lambda p: reshaped(p["metric"], prior_root=1.01 * p["root"]), "its metric does not belong"),
        ("metric", lambda p: LearnedMetric(p["metric"].embedding, 1.01 * p["metric"].W), "its metric does not belong"),
        ("result", lambda p: dataclasses.replace(p["result"], basis=turned(p["result"].basis)), "its basis is not"),
        ("result", lambda p: dataclasses.replace(p["result"], basis=2.0 * p["result"].basis), "its basis is not"),
        ("result", lambda p: dataclasses.replace(p["result"], core=1.01 * p["result"].core), "its gap is"),
        ("result", lambda p: dataclasses.replace(p["result"], multipliers=0.9 * p["result"].multipliers), "its gap is"),
    ],
)
def test_changed_parts_are_refused(name, change, message):
    parts = saved_parts()
    with pytest.raises(ValueError, match=message):
        restore_fitted(**{**parts, name: change(parts)})
