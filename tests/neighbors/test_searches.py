"""Every search of the registry against the contract of a search, and broken searches, which fail it."""

from __future__ import annotations

from unittest import mock

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric.neighbors import SEARCHES, BruteSearch
from tests.neighbors.contract import (
    KINDS,
    assert_agree,
    assert_finds_neighbors,
    assert_sorts_ties_by_index,
    expected_neighbors,
    make,
    vectors,
)


@pytest.fixture(params=SEARCHES)
def name(request):
    return request.param


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 5])
def test_search_finds_the_nearest_neighbors(name, kind, k):
    assert_finds_neighbors(make(name), kind, k)


@pytest.mark.parametrize("kind", ["duplicates", "grid", "constant"])
def test_search_sorts_ties_by_index(name, kind):
    assert_sorts_ties_by_index(make(name), kind)


@pytest.mark.parametrize("kind", ["random", "clustered", "decaying", "duplicates", "offset", "outlier"])
def test_search_returns_the_same_bits_as_brute_force(name, kind):
    X = vectors(kind, 1200, 64)
    for queries in (X[1000:], None):
        distances, indices = make(name).fit(X[:1000]).nearest(queries, 3)
        expected = BruteSearch().fit(X[:1000]).nearest(queries, 3)
        np.testing.assert_array_equal(distances, expected[0])
        np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize(("count", "q"), [(1, 3), (1, 1), (2, 1), (9, 1), (7, 5)])
def test_search_finds_all_vectors(name, count, q):
    X = vectors("random", count + 4, q)
    search = make(name).fit(X[:count])
    assert_agree(search.nearest(X[count:], count), expected_neighbors(X[:count], X[count:], count))
    if count > 1:
        assert_agree(search.nearest(None, count - 1), expected_neighbors(X[:count], None, count - 1))


def test_search_without_queries_returns_empty_arrays(name):
    distances, indices = make(name).fit(vectors("decaying")).nearest(np.empty((0, 40)), 2)
    assert distances.shape == indices.shape == (0, 2)


@pytest.mark.parametrize("kind", ["decaying", "random"])
def test_result_does_not_depend_on_the_number_of_jobs(name, kind, monkeypatch):
    monkeypatch.setattr("covmetric.neighbors.pruned.BOUND_ENTRIES", 2**16)
    X = vectors(kind, 2000, 80)
    one, two = (make(name, n_jobs=n_jobs).fit(X).nearest(X[:300] + 0.01, 4) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_search_does_not_change_its_input(name):
    X = 1e-12 * vectors("decaying")
    Q = X[:30] + 1e-13
    before = X.copy(), Q.copy()
    X.flags.writeable = Q.flags.writeable = False
    search = make(name).fit(X)
    found = search.nearest(Q, 3)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Q, before[1])
    assert_agree(found, expected_neighbors(X, Q, 3))
    assert_agree(search.nearest(np.asfortranarray(Q), 3), expected_neighbors(X, Q, 3))


def test_search_copies_the_fitted_vectors(name):
    X = vectors("decaying")
    search = make(name).fit(X)
    expected = search.nearest(X[:30] + 0.1, 3)
    queries = X[:30] + 0.1
    X[:] = 0.0
    np.testing.assert_array_equal(search.nearest(queries, 3)[1], expected[1])


def test_queries_beyond_the_range_of_float32_are_searched_in_float64(name):
    X = vectors("decaying", 2000, 64)
    queries = X[:20] + np.array([0.0, 1e14, 1e25, 1e60])[np.arange(20) % 4, None]
    found = make(name).fit(X).nearest(queries, 2)
    np.testing.assert_array_equal(found, BruteSearch().fit(X).nearest(queries, 2))
    with pytest.raises(ValueError, match=r"vectors\[1\] is too far from the fitted vectors"):
        make(name).fit(X).nearest(np.vstack([X[:1], np.full((1, 64), 1e200)]), 2)


@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(1, 4)),
        elements=st.integers(-8, 8).map(float) | st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: round(x, 3)),
    ),
    exponent=st.integers(-40, 40),
    data=st.data(),
)
@pytest.mark.parametrize("name", SEARCHES)
def test_search_of_a_few_vectors_agrees_with_the_literal_answer(name, X, exponent, data):
    X = np.ldexp(X, exponent)
    k = data.draw(st.integers(1, len(X) - 1))
    search = make(name).fit(X)
    assert_agree(search.nearest(X, k), expected_neighbors(X, X, k))
    assert_agree(search.nearest(None, k), expected_neighbors(X, None, k))


@given(
    seed=st.integers(0, 2**16),
    decay=st.floats(0.4, 1.0),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    exponent=st.integers(-60, 60),
    digits=st.sampled_from([0, 1, 15]),
    k=st.integers(1, 6),
)
@pytest.mark.parametrize("name", SEARCHES)
def test_search_of_many_vectors_agrees_with_the_literal_answer(name, seed, decay, offset, exponent, digits, k):
    """The vectors are as many and as long as candidate lists and bounds require; pruning is forced where possible."""
    X = np.round(np.random.default_rng(seed).standard_normal((210, 40)) * decay ** np.arange(40), digits)
    X = np.ldexp(X + offset, exponent)
    with mock.patch("covmetric.neighbors.pruned.PRUNED_BRUTE", 1e9):
        search = make(name).fit(X[:200])
        found = search.nearest(X[200:], k)
    assert_agree(found, expected_neighbors(X[:200], X[200:], k))


@pytest.mark.parametrize("k", [0, -1, 21, 1.5, True, None])
def test_invalid_k_is_refused(name, k):
    with pytest.raises(ValueError, match=r"k must be an integer from 1 to 20, got .*20 vectors are fitted"):
        make(name).fit(vectors("random", 20)).nearest(vectors("random", 5), k)


def test_invalid_k_among_the_fitted_vectors_is_refused(name):
    with pytest.raises(
        ValueError, match=r"from 1 to 19, got 20: 20 vectors are fitted, and no vector is its own neighbour"
    ):
        make(name).fit(vectors("random", 20)).nearest(None, 20)


def test_invalid_vectors_are_refused(name):
    with pytest.raises(ValueError, match=r"vectors must have shape \(l, q\) with l >= 1 and q >= 1, got \(0, 3\)"):
        make(name).fit(np.empty((0, 3)))
    with pytest.raises(ValueError, match=r"vectors\[1, 2\] is nan"):
        make(name).fit([[0.0, 1.0, 2.0], [0.0, 1.0, np.nan]])
    search = make(name).fit(np.eye(3))
    with pytest.raises(ValueError, match=r"vectors must have shape \(l, 3\), like the fitted vectors; got \(4, 2\)"):
        search.nearest(np.zeros((4, 2)), 1)
    with pytest.raises(ValueError, match=r"vectors\[0, 1\] is inf"):
        search.nearest(np.array([[0.0, np.inf, 0.0]]), 1)


def broken_search(change):
    """Return a search that finds the right neighbours and then changes what it returns."""

    class Broken(BruteSearch):
        def nearest(self, vectors, k):
            count = len(self._vectors) - (vectors is None)
            more = super().nearest(vectors, min(k + 2, count))
            return change(*(array.copy() for array in more), k)

    return Broken()


def reverse(distances, indices, k):
    return distances[:, :k][:, ::-1], indices[:, :k][:, ::-1]


def put_nan(distances, indices, k):
    distances[len(distances) // 2, 0] = np.nan
    return distances[:, :k], indices[:, :k]


def lose_the_nearest(distances, indices, k):
    return distances[:, 1 : k + 1], indices[:, 1 : k + 1]


def lose_the_last_of_one_query(distances, indices, k):
    distances[3, k - 1], indices[3, k - 1] = distances[3, k], indices[3, k]
    return distances[:, :k], indices[:, :k]


def square(distances, indices, k):
    return distances[:, :k] ** 2, indices[:, :k]


def repeat_a_neighbor(distances, indices, k):
    indices[:, k - 1] = indices[:, k]
    return distances[:, :k], indices[:, :k]


def round_to_single(distances, indices, k):
    return distances[:, :k].astype(np.float32).astype(np.float64), indices[:, :k]


def return_small_integers(distances, indices, k):
    return distances[:, :k], indices[:, :k].astype(np.int32)


def return_too_many(distances, indices, k):
    return distances[:, : k + 1], indices[:, :k]


@pytest.mark.parametrize(
    "change",
    [
        reverse,
        put_nan,
        lose_the_nearest,
        lose_the_last_of_one_query,
        square,
        repeat_a_neighbor,
        round_to_single,
        return_small_integers,
        return_too_many,
    ],
)
def test_broken_search_fails_the_contract(change):
    assert_finds_neighbors(broken_search(lambda distances, indices, k: (distances[:, :k], indices[:, :k])), "random", 5)
    with pytest.raises(AssertionError):
        assert_finds_neighbors(broken_search(change), "random", 5)


def test_search_that_finds_the_query_itself_fails_the_contract():
    class Broken(BruteSearch):
        def _nearest(self, queries, k, excluded):
            return super()._nearest(queries, k, None)

    with pytest.raises(AssertionError):
        assert_finds_neighbors(Broken(), "random", 5)


def test_search_that_sorts_ties_by_descending_index_fails_the_contract():
    def swap_first_tie(distances, indices, k):
        tied = distances[:, 0] == distances[:, 1]
        indices[tied, 0], indices[tied, 1] = indices[tied, 1], indices[tied, 0]
        return distances[:, :k], indices[:, :k]

    with pytest.raises(AssertionError):
        assert_sorts_ties_by_index(broken_search(swap_first_tie), "duplicates")


def test_search_whose_squared_distances_are_nan_is_refused():
    class Broken(BruteSearch):
        def _nearest(self, queries, k, excluded):
            squared, indices = super()._nearest(queries, k, excluded)
            squared[2] = np.nan
            return squared, indices

    with pytest.raises(ValueError, match=r"vectors\[2\] is too far"):
        assert_finds_neighbors(Broken(), "random", 5)
