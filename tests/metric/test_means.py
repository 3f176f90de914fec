"""Means of examples in a learned metric."""

from __future__ import annotations

import numpy as np
import pytest

from tests.data import spd


def test_mean_has_the_smallest_sum_of_squared_distances(metric):
    X = spd(12, 4)
    M = metric.mean(X)
    total = metric.distance(X, M, squared=True).sum()
    for seed in range(5):
        other = M + 1e-3 * spd(1, 4, seed=seed)[0]
        assert metric.distance(X, other, squared=True).sum() > total
    twice = metric.mean(np.concatenate([X, X[:1]]))
    np.testing.assert_allclose(metric.mean(X, sample_weight=[2.0, *[1.0] * 11]), twice, rtol=1e-9)


@pytest.mark.parametrize("weights", [np.ones(3), np.zeros(12)])
def test_invalid_weights_of_a_mean_are_refused(metric, weights):
    with pytest.raises(ValueError, match="sample_weight must have 12 entries >= 0, not all of them 0"):
        metric.mean(spd(12, 4), sample_weight=weights)


def test_class_means_are_the_means_of_the_classes(metric):
    X, y = spd(12, 4), np.array(["b", "a", "a"] * 4)
    classes, means = metric.class_means(X, y)
    assert classes.tolist() == ["a", "b"]
    np.testing.assert_array_equal(means[1], metric.mean(X[y == "b"]))
    with pytest.raises(ValueError, match=r"y must have one entry per example, shape \(12,\); got \(3,\)"):
        metric.class_means(X, y[:3])


@pytest.mark.parametrize("X", [np.empty((0, 4, 4)), np.eye(4)], ids=["no examples", "one example without its axis"])
def test_a_mean_needs_examples(metric, X):
    with pytest.raises(ValueError, match=r"X must"):
        metric.mean(X)
