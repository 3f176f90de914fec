"""The bounds of the pruned search, and when it falls back to brute force."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.neighbors import BruteSearch, PrunedSearch
from tests.neighbors.contract import assert_agree, expected_neighbors, vectors


def test_few_distances_are_computed_if_the_spectrum_decays():
    X = vectors("decaying", 3000, 100)
    search = PrunedSearch().fit(X[:2500])
    assert_agree(search.nearest(X[2500:2550], 3), expected_neighbors(X[:2500], X[2500:2550], 3))
    assert search.n_directions_ > 0
    assert search.n_exact_ < 0.005 * 50 * 2500


def test_brute_force_is_used_if_the_spectrum_does_not_decay():
    X = vectors("random", 2500, 100)
    search = PrunedSearch().fit(X[:2000])
    assert_agree(search.nearest(X[2000:2020], 3), expected_neighbors(X[:2000], X[2000:2020], 3))
    assert search.n_directions_ == 0
    assert search.n_exact_ == 20 * 2000


def test_brute_force_is_used_for_queries_far_from_the_fitted_vectors(monkeypatch):
    """The fitted vectors lie in few dimensions and the queries outside of them: the bounds discard almost nothing."""
    monkeypatch.setattr("covmetric.neighbors.pruned.BOUND_ENTRIES", 2**15)
    X = vectors("decaying", 2000, 100)
    away = 50.0 * vectors("random", 40, 100, seed=1) * (np.arange(100) >= 60)
    search = PrunedSearch().fit(X)
    assert search.n_directions_ > 0
    for queries in (away, np.vstack([X[:40], away, X[40:60]]) + 1e-3):
        assert_agree(search.nearest(queries, 3), expected_neighbors(X, queries, 3))
        assert 40 * 2000 <= search.n_exact_ < len(queries) * 2000 + (len(queries) == 40)


@pytest.mark.parametrize("kind", ["decaying", "random", "clustered", "constant"])
@pytest.mark.parametrize("r", [8, 16])
def test_bounds_do_not_exceed_their_limits(kind, r, monkeypatch):
    """The limit for the true distance holds for each computed bound, whatever the directions are."""
    X = vectors(kind, 400, 64)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((64, r)))[0]
    monkeypatch.setattr(PrunedSearch, "_directions", lambda _: basis)
    monkeypatch.setattr("covmetric.neighbors.pruned.PRUNED_BRUTE", 1e9)
    search = PrunedSearch().fit(X[:300])
    z, norms = search._compress(search._scaled(X[300:]))
    z = z.astype(np.float32)
    bounds = np.hstack([-2.0 * z, np.ones((100, 1), dtype=np.float32)]) @ search._references.T
    offsets = np.einsum("ir,ir->i", z, z, dtype=np.float64)
    for i in range(100):
        d = np.sqrt(((search._scaled(X[300 + i]) - search._vectors) ** 2).sum(axis=1))
        allowed = search._limits(np.full(300, norms[i]), d, np.full(300, offsets[i]))
        assert (bounds[i] <= allowed).all()
    assert_agree(search.nearest(X[300:], 3), expected_neighbors(X[:300], X[300:], 3))


@pytest.mark.parametrize("distance", [1e11, 1e14, 1e25, 1e60])
def test_queries_beyond_the_range_of_float32_are_not_pruned(distance, monkeypatch):
    """Bounds in float32 would overflow and discard neighbours; below the limit they discard nothing wrongly."""
    X = vectors("decaying", 2000, 100)
    search = PrunedSearch().fit(X)
    assert search.n_directions_ > 0
    monkeypatch.setattr("covmetric.neighbors.pruned.PRUNED_BRUTE", 1e9)  # pruning is never given up for its cost
    queries = X[:8] + distance * np.eye(100)[:8]
    found = search.nearest(queries, 3)
    np.testing.assert_array_equal(found, BruteSearch().fit(X).nearest(queries, 3))


def test_limits_allow_for_both_rounding_errors():
    """A vector within d has a bound of at most (d + residual error)^2 + product error, less the norm of the query."""
    search = PrunedSearch()
    norms, d, offsets = np.array([1.0, 2.0]), np.array([2.0, 1.0]), np.array([0.0, 8.0])
    reach = 2.0 * norms + d  # 4 and 5
    search._residual_error, search._product_error = 0.0, 0.0
    np.testing.assert_array_equal(search._limits(norms, d, offsets), d**2 - offsets)
    search._residual_error = 0.25
    np.testing.assert_array_equal(search._limits(norms, d, offsets), (d + 0.25 * reach) ** 2 - offsets)
    search._product_error = 0.5
    expected = (d + 0.25 * reach) ** 2 + 0.5 * reach**2 - offsets
    np.testing.assert_array_equal(search._limits(norms, d, offsets), expected)
