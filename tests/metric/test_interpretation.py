"""Patterns, importance and explanations against the definition of the distance."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import LearnedMetric, get_embedding
from tests.data import MATRIX_PHIS, hermitian, spd


def metric_for(name, X, seed=1):
    phi = get_embedding(name).fit(X)
    A = np.random.default_rng(seed).standard_normal((phi.shape_out_[0],) * 2)
    W = A @ A.T
    if phi.complex_ and name != "veclog":  # the real form of a Hermitian matrix
        n = len(W) // 2
        P, Q = W[:n, :n] + W[n:, n:], W[n:, :n] - W[:n, n:]
        W = np.block([[P, -Q], [Q, P]])
    return LearnedMetric(phi, W)


@pytest.fixture(params=[(name, make) for name in MATRIX_PHIS for make in (spd, hermitian)])
def case(request):
    name, make = request.param
    X = make(10, 4)
    return metric_for(name, X), X


def test_patterns_are_the_eigenvectors_of_W(case):
    metric, _ = case
    found = metric.patterns()
    k = len(found)
    assert (np.diff(found.values) <= 0).all() and found.shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.vectors @ found.vectors.conj().T, np.eye(k), atol=1e-12)
    rebuilt = (found.vectors.T * found.values) @ found.vectors.conj()
    if np.iscomplexobj(rebuilt):
        rebuilt = np.block([[rebuilt.real, -rebuilt.imag], [rebuilt.imag, rebuilt.real]])
    np.testing.assert_allclose(rebuilt, metric.W, atol=1e-12 * np.abs(metric.W).max())
    # A component of one direction, seen through its own filter, has size 1.
    np.testing.assert_allclose((found.filters.conj() * found.patterns).sum(axis=1), 1.0, rtol=1e-10)
    largest = np.take_along_axis(found.patterns, np.abs(found.patterns).argmax(axis=1)[:, None], axis=1)
    np.testing.assert_allclose(largest, np.abs(largest), rtol=1e-12)
    assert str(found).count("\n") == 1 + min(k - 1, 5)


def test_an_explanation_sums_up_to_the_squared_distance(case):
    metric, X = case
    told = metric.explain(X[0], X[1], names=["Fz", "C3", "C4", "Pz"])
    D = metric.distance(X[0], X[1], squared=True)
    assert told.squared_distance == pytest.approx(D, rel=1e-9) and told.distance == pytest.approx(np.sqrt(D))
    assert (told.by_pattern >= 0).all()
    assert told.by_pattern.sum() == pytest.approx(D, rel=1e-9)
    assert told.by_channel.shape == (4,) and told.by_channel.sum() == pytest.approx(D, rel=1e-9)
    assert "Fz" in str(told)


def test_the_shares_of_channels_are_the_mean_over_all_pairs(case):
    metric, X = case
    pairs = [(i, j) for i in range(len(X)) for j in range(i)]
    parts = np.sum([metric.explain(X[i], X[j]).by_channel for i, j in pairs], axis=0)
    np.testing.assert_allclose(metric.importance(X), parts / parts.sum(), rtol=1e-9)
    alone = metric.importance()
    assert alone.shape == (4,) and (alone >= 0).all() and alone.sum() == pytest.approx(1.0)


def test_a_metric_that_looks_at_one_channel():
    X = spd(5, 3)
    metric = LearnedMetric(get_embedding("id").fit(X), np.diag([0.0, 2.0, 0.0]))
    np.testing.assert_allclose(metric.importance(), [0, 1, 0])
    np.testing.assert_allclose(metric.importance(X), [0, 1, 0], atol=1e-15)
    found = metric.patterns(["a", "b", "c"])
    np.testing.assert_allclose(np.abs(found.vectors[0]), [0, 1, 0])
    assert "100.0%  +1.00 b" in str(found)
    told = metric.explain(X[0], X[1])
    np.testing.assert_allclose(told.by_pattern[1:], 0.0)


def test_patterns_of_a_recentred_log_are_those_of_the_channels():
    """A filter takes its own component out of the channels, and nothing else."""
    X = spd(20, 4)
    metric = metric_for("relog", X)
    found = metric.patterns()
    np.testing.assert_allclose(found.filters @ found.patterns.T, np.eye(4), atol=1e-10)
    M = np.linalg.inv(metric.embedding.whitener_ @ metric.embedding.whitener_)
    np.testing.assert_allclose(found.patterns, found.filters @ M, rtol=1e-8, atol=1e-10)  # Haufe et al. 2014


def test_names_of_entries_and_bad_names():
    metric = metric_for("veclog", spd(5, 2))
    assert metric.patterns(["l", "r"]).names == ["l:l", "l:r", "r:r"]
    assert metric_for("veclog", hermitian(5, 2)).patterns().names == ["x0:x0", "x0:x1", "x1:x1", "x0:x1 imag"]
    with pytest.raises(ValueError, match="names must have one entry per channel, 2; got 3"):
        metric.patterns(["a", "b", "c"])
    with pytest.raises(ValueError, match=r"must be one example each; got shapes \(5, 2, 2\)"):
        metric.explain(spd(5, 2), spd(1, 2)[0])
    with pytest.raises(ValueError, match="at least two examples"):
        metric.importance(spd(1, 2))


def test_a_zero_metric_and_vectors():
    phi = get_embedding("vector").fit(np.ones((2, 3)))
    metric = LearnedMetric(phi, np.zeros((3, 3)))
    np.testing.assert_array_equal(metric.importance(), 0.0)
    assert metric.explain([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]).squared_distance == 0.0
    metric = LearnedMetric(phi, np.diag([1.0, 4.0, 0.0]))
    np.testing.assert_allclose(metric.explain([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]).by_channel, [1.0, 4.0, 0.0])
