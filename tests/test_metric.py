"""The learned metric against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import LearnedMetric, get_embedding
from covmetric.embeddings import EMBEDDINGS
from tests import naive
from tests.test_embeddings import spd

MATRIX_PHIS = [name for name in EMBEDDINGS if name != "vector"]


@pytest.fixture(params=MATRIX_PHIS)
def metric(request):
    X = spd(12, 4)
    phi = get_embedding(request.param).fit(X)
    n = phi.shape_out_[0]
    A = np.random.default_rng(1).standard_normal((n, n))
    return LearnedMetric(phi, A @ A.T + 0.1 * np.eye(n))


def test_distances_are_those_of_the_definition(metric):
    X, Y = spd(5, 4, seed=2), spd(3, 4, seed=3)
    E, G = metric.embedding.transform(X), metric.embedding.transform(Y)
    expected = np.array([[naive.squared_distance(metric.W, e, g) for g in G] for e in E])
    np.testing.assert_allclose(metric.pairwise(X, Y, squared=True), expected, rtol=1e-9)
    np.testing.assert_allclose(metric.pairwise(X, Y), np.sqrt(expected), rtol=1e-9)
    np.testing.assert_allclose(metric.distance(X[:3], Y, squared=True), np.diag(expected), rtol=1e-9)
    np.testing.assert_allclose(metric.distance(X, Y[0]), np.sqrt(expected[:, 0]), rtol=1e-9)
    assert metric.distance(X[0], Y[0]) == pytest.approx(np.sqrt(expected[0, 0]), rel=1e-9)


def test_the_transform_is_euclidean(metric):
    X = spd(6, 4, seed=2)
    T = metric.transform(X)
    assert T.shape == (6, np.prod(metric.embedding.shape_out_))
    gaps = np.linalg.norm(T[:, None] - T[None], axis=2)
    np.testing.assert_allclose(gaps, metric.pairwise(X), rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(metric.transform(X, n_jobs=2), T)


def test_it_is_a_metric(metric):
    X = spd(8, 4, seed=5)
    D = metric.pairwise(X)
    np.testing.assert_allclose(D, D.T, atol=1e-10)
    assert (D[:, :, None] <= D[:, None, :] + D[None, :, :].transpose(0, 2, 1) + 1e-9).all()


def test_pairwise_keeps_its_digits_far_from_the_origin():
    phi = get_embedding("vector").fit(np.zeros((1, 2)))
    metric = LearnedMetric(phi, np.eye(2))
    X = np.array([[1e8, 0.0], [1e8 + 1.0, 0.0], [1e8 + 3.0, 4.0]])
    np.testing.assert_allclose(metric.pairwise(X), [[0, 1, 5], [1, 0, np.sqrt(20)], [5, np.sqrt(20), 0]], rtol=1e-12)


def test_several_threads_give_the_same_bits_and_the_right_index():
    X = spd(300, 5)
    for name in MATRIX_PHIS:
        phi = get_embedding(name)
        one = phi.fit_transform(X)
        np.testing.assert_array_equal(phi.fit_transform(X, n_jobs=2), one)
        np.testing.assert_array_equal(phi.transform(X, n_jobs=2), one)
    X[200] = np.outer(X[200, 0], X[200, 0])
    with pytest.raises(ValueError, match=r"X\[200\] is not positive definite"):
        get_embedding("log").fit(spd(3, 5)).transform(X, n_jobs=2)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.diag([1.0, -1.0]), "W must be positive semi-definite; its smallest eigenvalue is -1"),
        ([[1.0, 2.0], [0.0, 1.0]], "W is not symmetric"),
        ([[np.nan, 0.0], [0.0, 1.0]], r"W\[0, 0\] is nan"),
        (np.eye(3), r"W must have shape \(2, 2\), that of the embedding; got \(3, 3\)"),
    ],
)
def test_bad_matrices(W, message):
    with pytest.raises(ValueError, match=message):
        LearnedMetric(get_embedding("id").fit(np.eye(2)), W)


def test_a_singular_matrix_gives_a_pseudometric():
    metric = LearnedMetric(get_embedding("vector").fit(np.zeros((1, 2))), np.diag([1.0, 0.0]))
    assert metric.distance([0.0, 0.0], [0.0, 5.0]) == 0.0
    assert "W of shape (2, 2)" in repr(metric)


def test_threads_do_not_disturb_each_other():
    """Single and double precision at once, on one fitted embedding: its object is not changed by transform."""
    from concurrent.futures import ThreadPoolExecutor

    phi = get_embedding("log").fit(spd(3, 2))
    before = dict(vars(phi))
    sharp = np.diag([1e-8, 1.0])[None]
    with ThreadPoolExecutor(2) as pool:
        coarse = pool.submit(lambda: [phi.transform(spd(2, 2).astype(np.float32)) for _ in range(200)])
        for _ in range(200):
            phi.transform(sharp)
        coarse.result()
    assert vars(phi) == before
