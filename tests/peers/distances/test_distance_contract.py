"""What every distance in FIXED_DISTANCES must do: a new entry is tested without further work."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.geometry import distance as pyriemann_distance

from covmetric.datasets import make_spd_classes
from covmetric.peers import FIXED_DISTANCES, FixedDistance

#: pyRiemann's function for each distance. Add one for a new distance.
REFERENCES = {
    "riemann": pyriemann_distance.distance_riemann,
    "stein": pyriemann_distance.distance_logdet,
    "jdiv": pyriemann_distance.distance_kullback_sym,
    "euclid": pyriemann_distance.distance_euclid,
    "logeuclid": pyriemann_distance.distance_logeuclid,
    "power": lambda A, B: pyriemann_distance.distance_poweuclid(A, B, 0.5),
    "cholesky": pyriemann_distance.distance_chol,
}


@pytest.fixture(scope="module", params=[(4, 30), (9, 40)], ids=["n=4", "n=9"])
def matrices(request):
    n, samples = request.param
    made = make_spd_classes(n_per_class=30, n=n, samples=samples, separation=2.0)
    return made.X[::2], made.X[1::2]


@pytest.fixture(params=FIXED_DISTANCES)
def name(request):
    return request.param


def test_registered_class_has_the_name_of_its_entry(name):
    assert issubclass(FIXED_DISTANCES[name], FixedDistance)
    assert FIXED_DISTANCES[name].name == name


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_pairwise_equals_pyriemann(name, n_jobs, matrices):
    assert name in REFERENCES, f"add a reference for {name!r} to REFERENCES"
    stored, queries = matrices
    found = FIXED_DISTANCES[name](n_jobs=n_jobs).fit(stored).pairwise(queries)
    expected = [[REFERENCES[name](x, z) for z in stored] for x in queries]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_pairwise_is_finite_symmetric_and_zero_for_equal_matrices(name, matrices):
    stored, queries = matrices
    own = FIXED_DISTANCES[name]().fit(stored).pairwise(stored)
    assert np.isfinite(own).all()
    assert own.shape == (len(stored), len(stored))
    np.testing.assert_allclose(own, own.T, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(np.diag(own), 0.0, atol=1e-6)
    assert (own[~np.eye(len(own), dtype=bool)] > 1e-3).all()
    forward = FIXED_DISTANCES[name]().fit(stored).pairwise(queries)
    backward = FIXED_DISTANCES[name]().fit(queries).pairwise(stored)
    np.testing.assert_allclose(forward, backward.T, rtol=1e-9)


def test_pairwise_adds_reg_to_each_matrix(name, matrices):
    """`reg` is a fraction of the mean eigenvalue."""
    stored, queries = (X[:10] for X in matrices)
    n = stored.shape[1]

    def add(X):
        return X + 0.2 * np.trace(X, axis1=1, axis2=2)[:, None, None] / n * np.eye(n)

    found = FIXED_DISTANCES[name](reg=0.2).fit(stored).pairwise(queries)
    np.testing.assert_allclose(found, FIXED_DISTANCES[name]().fit(add(stored)).pairwise(add(queries)), rtol=1e-9)


@pytest.mark.parametrize("k", [1, 3, 44])
def test_nearest_agrees_with_pairwise(name, k, matrices):
    stored, queries = matrices
    search = FIXED_DISTANCES[name]().fit(stored)
    D = search.pairwise(queries)
    distances, indices = search.nearest(queries, k)
    np.testing.assert_array_equal(indices, np.argsort(D, axis=1, kind="stable")[:, :k])
    np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), rtol=1e-9)


@pytest.mark.parametrize("k", [1, 44])
def test_nearest_without_queries_excludes_the_matrix_itself(name, k, matrices):
    stored, _ = matrices
    search = FIXED_DISTANCES[name]().fit(stored)
    D = search.pairwise(stored)
    np.fill_diagonal(D, np.inf)
    distances, indices = search.nearest(None, k)
    np.testing.assert_array_equal(indices, np.argsort(D, axis=1, kind="stable")[:, :k])
    np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), rtol=1e-9)
