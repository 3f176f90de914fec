"""The learned metric against the definition of the distance."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, LearnedMetric, get_embedding
from tests import naive
from tests.data import hermitian, spd


def test_distances_agree_with_the_definition(metric):
    X, Y = spd(5, 4, seed=2), spd(3, 4, seed=3)
    E, G = metric.embedding.transform(X), metric.embedding.transform(Y)
    expected = np.array([[naive.squared_distance(metric.W, e, g) for g in G] for e in E])
    np.testing.assert_allclose(metric.pairwise(X, Y, squared=True), expected, rtol=1e-9)
    np.testing.assert_allclose(metric.pairwise(X, Y), np.sqrt(expected), rtol=1e-9)
    np.testing.assert_allclose(metric.distance(X[:3], Y, squared=True), np.diag(expected), rtol=1e-9)
    np.testing.assert_allclose(metric.distance(X, Y[0]), np.sqrt(expected[:, 0]), rtol=1e-9)
    assert metric.distance(X[0], Y[0]) == pytest.approx(np.sqrt(expected[0, 0]), rel=1e-9)


def test_euclidean_distances_of_the_transform_are_the_distances(metric):
    X = spd(6, 4, seed=2)
    T = metric.transform(X)
    assert T.shape == (6, np.prod(metric.embedding.shape_out_))
    gaps = np.linalg.norm(T[:, None] - T[None], axis=2)
    np.testing.assert_allclose(gaps, metric.pairwise(X), rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(metric.transform(X, n_jobs=2), T)


def test_distance_is_symmetric_and_satisfies_the_triangle_inequality(metric):
    X = spd(8, 4, seed=5)
    D = metric.pairwise(X)
    np.testing.assert_allclose(D, D.T, atol=1e-10)
    assert (D[:, :, None] <= D[:, None, :] + D[None, :, :].transpose(0, 2, 1) + 1e-9).all()


def test_pairwise_is_accurate_far_from_the_origin():
    phi = get_embedding("vector").fit(np.zeros((1, 2)))
    metric = LearnedMetric(phi, np.eye(2))
    X = np.array([[1e8, 0.0], [1e8 + 1.0, 0.0], [1e8 + 3.0, 4.0]])
    np.testing.assert_allclose(metric.pairwise(X), [[0, 1, 5], [1, 0, np.sqrt(20)], [5, np.sqrt(20), 0]], rtol=1e-12)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.diag([1.0, -1.0]), "W must be positive semi-definite; its smallest eigenvalue is -1"),
        ([[1.0, 2.0], [0.0, 1.0]], "W is not symmetric"),
        ([[np.nan, 0.0], [0.0, 1.0]], r"W\[0, 0\] is nan"),
        (np.eye(3), r"W must have shape \(2, 2\), as the embedding has 2 rows; got \(3, 3\)"),
    ],
)
def test_invalid_matrices_are_refused(W, message):
    with pytest.raises(ValueError, match=message):
        LearnedMetric(get_embedding("id").fit(np.eye(2)), W)


def test_singular_matrix_gives_a_pseudometric():
    metric = LearnedMetric(get_embedding("vector").fit(np.zeros((1, 2))), np.diag([1.0, 0.0]))
    assert metric.distance([0.0, 0.0], [0.0, 5.0]) == 0.0
    assert "W of shape (2, 2)" in repr(metric)


def test_distance_of_near_duplicates_is_accurate(metric):
    X = spd(4, 4, seed=2)
    Y = X * (1.0 + 1e-9)
    np.testing.assert_allclose(np.diag(metric.pairwise(X, Y)), metric.distance(X, Y), rtol=1e-5, atol=1e-14)
    np.testing.assert_array_equal(np.diag(metric.pairwise(X)), 0.0)


def test_pairwise_does_not_depend_on_blocks_and_threads(metric, monkeypatch):
    X, Y = spd(30, 4, seed=2), spd(20, 4, seed=3)
    whole = metric.pairwise(X, Y)
    monkeypatch.setattr("covmetric._utils.distances.DISTANCE_BLOCK_BYTES", 8 * 20 * 7)
    np.testing.assert_allclose(metric.pairwise(X, Y), whole, rtol=1e-10)
    np.testing.assert_array_equal(metric.pairwise(X, Y, n_jobs=2), metric.pairwise(X, Y))
    assert metric.pairwise(X, Y[:0]).shape == (30, 0)


def test_metric_serves_the_classifiers_of_pyriemann(metric):
    from pyriemann.classification import MDM, KNearestNeighbor
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score

    X, y = spd(60, 4, seed=7), np.arange(60) % 3
    X *= (1.0 + y)[:, None, None]
    T = metric.transform(X)
    mdm = MDM(metric=metric.as_pyriemann()).fit(X[:40], y[:40])
    means = np.stack([T[:40][y[:40] == c].mean(axis=0) for c in range(3)])
    expected = ((T[40:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(mdm.predict(X[40:]), expected)
    np.testing.assert_allclose(mdm.covmeans_, metric.class_means(X[:40], y[:40])[1], rtol=1e-9)
    neighbours = KNearestNeighbor(3, metric=metric.as_pyriemann()).fit(X[:40], y[:40])
    nearest = np.argsort(metric.pairwise(X[40:], X[:40]), axis=1)[:, :3]
    votes = np.stack([(y[:40][nearest] == c).sum(axis=1) for c in range(3)], axis=1)
    np.testing.assert_array_equal(neighbours.predict(X[40:]), votes.argmax(axis=1))
    assert cross_val_score(clone(mdm), X, y, cv=3).mean() > 0.5


def test_log_euclidean_metric_agrees_with_pyriemann():
    from pyriemann.classification import MDM
    from pyriemann.geometry.mean import mean_logeuclid

    for X in (spd(30, 4), hermitian(30, 4)):
        y = np.arange(30) % 2
        phi = get_embedding("log").fit(X)
        metric = LearnedMetric(phi, np.eye(phi.shape_out_[0]))
        np.testing.assert_allclose(metric.mean(X), mean_logeuclid(X), rtol=1e-9, atol=1e-12)
        ours = MDM(metric=metric.as_pyriemann()).fit(X, y)
        np.testing.assert_array_equal(ours.predict(X), MDM(metric="logeuclid").fit(X, y).predict(X))


def test_distance_of_near_duplicates_beside_an_outlier_is_accurate():
    metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.eye(2))
    X = np.stack([np.diag([1.0, 2.0]), np.diag([1.0 + 1e-6, 2.0]), 1e10 * np.eye(2)])
    np.testing.assert_allclose(metric.pairwise(X)[0, 1], metric.distance(X[0], X[1]), rtol=1e-12)


def test_overflow_is_refused():
    X, y = spd(20, 3), np.arange(20) % 2
    metric = LearnedMetric(get_embedding("id").fit(X), np.eye(3))
    for call in (
        lambda: metric.pairwise(X * 1e155),
        lambda: metric.distance(X[0] * 1e200, X[1]),
        lambda: metric.importance(X * 1e200),
        lambda: metric.explain(X[0] * 1e200, X[1]),
    ):
        with pytest.raises(ValueError, match="overflow: rescale"):
            call()
    huge = metric.mean(X, sample_weight=np.full(20, 1e308))
    np.testing.assert_allclose(huge, X.mean(axis=0), rtol=1e-12)
    model = CovMetricClassifier(CovMetric("id", random_state=0), rule="mean").fit(X, y)
    with pytest.raises(ValueError, match=r"X\[1\] is too far from the class means"):
        model.predict_proba(np.stack([X[0], X[1] * 1e200]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X: m.class_means(X, [None, "a"] * 6), "y mixes classes that cannot be sorted"),
        (lambda m, X: m.class_means(X, [np.nan] * 12), "y has NaN entries, which are not classes"),
        (lambda m, X: m.class_means(X[:0], []), "y must have one entry per example"),
        (lambda m, X: m.mean(X, [-1.0, *[1.0] * 11]), r"sample_weight\[0\] is -1.0: every entry must be >= 0"),
        (lambda m, X: m.distance(X[:3], X[:2]), r"their axes are \(3,\) and \(2,\); .* use pairwise"),
        (lambda m, X: m.pairwise(X, n_jobs=0), "n_jobs must be None or an integer other than 0, got 0"),
        (
            lambda *_: LearnedMetric("log", np.eye(4)),
            "embedding must be a fitted Embedding, see get_embedding; got 'log'",
        ),
    ],
)
def test_invalid_arguments_are_refused(metric, call, message):
    with pytest.raises(ValueError, match=message):
        call(metric, spd(12, 4))
