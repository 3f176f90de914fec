"""Affine-invariant distances: lower bounds, and distances beyond the digits of a double."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from covmetric.datasets import make_spd_classes
from covmetric.peers import FIXED_DISTANCES
from covmetric.peers.distances import invariant

INVARIANT = [name for name, cls in FIXED_DISTANCES.items() if issubclass(cls, invariant.InvariantDistance)]


@pytest.mark.parametrize("name", INVARIANT)
def test_distances_do_not_change_under_congruences(name):
    X = make_spd_classes(n_per_class=6, n=4).X
    A = np.random.default_rng(0).standard_normal((4, 4)) + 2.0 * np.eye(4)
    expected = FIXED_DISTANCES[name]().fit(X).pairwise(X)
    found = FIXED_DISTANCES[name]().fit(A @ X @ A.T).pairwise(A @ X @ A.T)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", INVARIANT)
@pytest.mark.parametrize("n", [1, 3, 8])
def test_lower_bound_is_at_most_the_distance(name, n):
    """For matrices at distances from nearly zero to very large."""
    rng = np.random.default_rng(0)
    S = rng.standard_normal((200, n, n)) * np.logspace(-4, 0, 200)[:, None, None] / np.sqrt(n)
    w, V = np.linalg.eigh(S + np.swapaxes(S, 1, 2))
    X = (V * np.exp(w)[:, None, :]) @ np.swapaxes(V, 1, 2)
    logs = ((V * w[:, None, :]) @ np.swapaxes(V, 1, 2)).reshape(200, -1)
    search = FIXED_DISTANCES[name]().fit(X)
    exact = search.pairwise(X)
    assert (search._lower_bound(cdist(logs, logs), n) <= exact * (1 + 1e-6) + 1e-6).all()


@pytest.mark.parametrize("name", INVARIANT)
def test_blocks_of_queries_do_not_change_the_result(name, monkeypatch):
    X = make_spd_classes(n_per_class=10, n=3).X
    expected = FIXED_DISTANCES[name]().fit(X).nearest(None, 4)
    monkeypatch.setattr(invariant, "INVARIANT_BOUNDS", 3 * len(X))
    monkeypatch.setattr(invariant, "INVARIANT_ENTRIES", 9 * 7)
    found = FIXED_DISTANCES[name]().fit(X).nearest(None, 4)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)


@pytest.mark.parametrize("name", INVARIANT)
def test_threads_fill_the_same_distances(name, monkeypatch):
    X = make_spd_classes(n_per_class=10, n=3).X
    expected = FIXED_DISTANCES[name]().fit(X).pairwise(X)
    monkeypatch.setattr(invariant, "INVARIANT_ENTRIES", 9 * 7)
    np.testing.assert_allclose(FIXED_DISTANCES[name](n_jobs=2).fit(X).pairwise(X), expected, rtol=1e-12)


@pytest.mark.parametrize("name", INVARIANT)
def test_search_is_exact_if_the_bounds_decide(name, monkeypatch):
    """With few candidates from the start, nearly all matrices are ruled in or out by their bounds."""
    monkeypatch.setattr(invariant, "INVARIANT_CANDIDATES", 0)
    X = make_spd_classes(n_per_class=80, n=3, samples=20).X
    search = FIXED_DISTANCES[name]().fit(X[::2])
    indices = search.nearest(X[1::2], 2)[1]
    np.testing.assert_array_equal(indices, np.argsort(search.pairwise(X[1::2]), axis=1, kind="stable")[:, :2])


def test_riemannian_distance_is_accurate_for_distant_matrices():
    """The eigenvalues of X1^-1 X2 span more than the digits of a double."""
    X = np.stack([np.diag([1e-9, 1.0, 1e3]), np.diag([1e3, 1.0, 1e-9]), np.eye(3)])
    found = FIXED_DISTANCES["riemann"]().fit(X).pairwise(X)
    assert found[0, 1] == pytest.approx(np.sqrt(2.0) * np.log(1e12), rel=1e-7)


def test_small_eigenvalues_are_computed_from_singular_values():
    """Eigenvalues of M M^T that span twenty orders of magnitude, for a dense M."""
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((5, 5)))[0] for _ in range(2))
    singular = np.logspace(-5, 5, 5)
    one = invariant._Factors(np.zeros((1, 25)), np.zeros((1, 5)), ((U * singular) @ V.T)[None], np.eye(5)[None])
    other = invariant._Factors(np.zeros((1, 25)), np.zeros((1, 5)), np.eye(5)[None], np.eye(5)[None])
    found = FIXED_DISTANCES["riemann"]()._pair_distances(one, np.array([0]), other, np.array([0]))
    np.testing.assert_allclose(found, np.linalg.norm(2.0 * np.log(singular)), rtol=1e-6)
