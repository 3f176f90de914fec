"""GMML on the vectors of the tangent space."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.geometry.geodesic import geodesic_riemann
from pyriemann.tangentspace import TangentSpace
from sklearn.covariance import ledoit_wolf_shrinkage

from covmetric import RandomPairs
from covmetric.peers import GMML


def literal_distances(X, y, t, shrinkage, metric, budget):
    """Return the squared distances of GMML on pyRiemann's vectors, in the order of pyRiemann."""
    vectors = TangentSpace(metric=metric).fit_transform(X)
    chosen = RandomPairs(budget).select(vectors, y, np.random.default_rng(0))
    centred = vectors - np.stack([vectors[y == label].mean(axis=0) for label in y])
    g = ledoit_wolf_shrinkage(centred, assume_centered=True) if shrinkage == "auto" else shrinkage
    scatters = []
    for sign in (1.0, -1.0):
        F = np.array([vectors[i] - vectors[j] for i, j in chosen.pairs[chosen.similar == sign]])
        scatter = F.T @ F / len(F)
        scatters.append((1.0 - g) * scatter + g * np.trace(scatter) / len(scatter) * np.eye(len(scatter)))
    W = geodesic_riemann(np.linalg.inv(scatters[0]), scatters[1], t)
    differences = vectors[:, None] - vectors
    return np.einsum("ijp,pq,ijq->ij", differences, W, differences)


@pytest.mark.parametrize("metric", ["riemann", "logeuclid"])
@pytest.mark.parametrize(("t", "shrinkage"), [(0.5, "auto"), (0.25, 0.1), (1.0, 0.3)])
def test_distances_equal_the_literal_version(t, shrinkage, metric, data):
    X, y = data
    peer = GMML(t, shrinkage=shrinkage, metric=metric, budget=20, random_state=0).fit(X, y)
    expected = literal_distances(X, y, t, shrinkage, metric, 20)
    np.testing.assert_allclose(peer.pairwise(X, squared=True), expected, rtol=1e-7, atol=1e-9 * expected.max())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"t": -0.1}, "^t must be a number from 0 to 1, got -0.1"),
        ({"shrinkage": 2.0}, "shrinkage must be 'auto' or a number from 0 to 1, got 2.0"),
        ({"metric": "cosine"}, "metric must be one of 'riemann', 'logeuclid', got 'cosine'"),
        ({"pairs": "triplets"}, "pairs must be one of"),
    ],
)
def test_fit_raises_for_invalid_settings(settings, message, data):
    with pytest.raises(ValueError, match=message):
        GMML(**settings).fit(*data)


def test_full_shrinkage_is_the_tangent_space_up_to_a_factor(data):
    X, y = data
    D = GMML(shrinkage=1.0, random_state=0).fit(X, y).pairwise(X)
    vectors = TangentSpace().fit_transform(X)
    expected = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    others = ~np.eye(42, dtype=bool)
    ratios = D[others] / expected[others]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)


def test_memory_keeps_the_tangent_vectors_and_does_not_change_the_metric(tmp_path, data, monkeypatch):
    X, y = data
    expected = GMML(0.3, random_state=0).fit(X, y).W_
    GMML(0.5, random_state=0, memory=str(tmp_path)).fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr("covmetric.peers.gmml.TangentVectors", None)  # the vectors must come from the folder
        kept = GMML(0.3, random_state=0, memory=str(tmp_path)).fit(X, y)
    np.testing.assert_array_equal(kept.W_, expected)
    other = GMML(0.3, metric="logeuclid", random_state=0, memory=str(tmp_path)).fit(X, y)
    np.testing.assert_array_equal(other.W_, GMML(0.3, metric="logeuclid", random_state=0).fit(X, y).W_)
