"""ITML on vectorised matrices."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.peers import VectorITML


def test_problem_has_the_settings_of_the_source(data):
    peer = VectorITML(random_state=0).fit(*data)
    problem = peer.problem_
    assert (problem.n, problem.m) == (10, 1)
    np.testing.assert_array_equal(problem.weights, 1.0)
    near, far = np.quantile(problem.squared_norms, [0.05, 0.95])
    np.testing.assert_allclose(problem.bounds, np.where(problem.similar > 0.0, near, far), rtol=1e-9)
    assert peer.scale_ == 1.0


def test_gamma_is_the_weight_of_each_pair(data):
    np.testing.assert_array_equal(VectorITML(gamma=0.3, random_state=0).fit(*data).problem_.weights, 0.3)


def test_problem_is_solved_to_the_tolerance(data):
    peer = VectorITML(random_state=0, tol=1e-9).fit(*data)
    assert peer.certificate_.solved
    assert peer.history_.gap[-1] <= 1e-9 * max(1.0, peer.certificate_.primal)


def test_raw_half_vectors_keep_the_frobenius_distance(data):
    X, y = data
    embedding = VectorITML("raw", random_state=0).fit(X, y).metric_.embedding
    vectors = embedding.transform(X)[..., 0]
    distances = np.linalg.norm(vectors[0] - vectors[1:], axis=1)
    np.testing.assert_allclose(distances, np.linalg.norm(X[0] - X[1:], axis=(1, 2)), rtol=1e-12)
    np.testing.assert_allclose(embedding.inverse_transform(vectors[..., None]), X, rtol=1e-12)


@pytest.mark.parametrize(
    ("peer", "message"),
    [
        (VectorITML("cosine"), "vectors must be one of 'log', 'raw', got 'cosine'"),
        (VectorITML(gamma=0), "gamma must be a positive number, got 0"),
        (VectorITML(pairs="all"), "pairs must be one of"),
    ],
)
def test_fit_raises_for_invalid_settings(peer, message, data):
    with pytest.raises(ValueError, match=message):
        peer.fit(*data)
