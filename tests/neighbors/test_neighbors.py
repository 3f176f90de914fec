from __future__ import annotations

import sys
from unittest import mock

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric._utils.distances import nearest_columns
from covmetric.neighbors import SEARCHES, BruteSearch, PrunedSearch, Search, get_search
from tests import naive


def make(name: str, **settings) -> Search:
    if name == "faiss":
        pytest.importorskip("faiss", reason='faiss is an extra: pip install "covmetric[faiss]"')
    return SEARCHES[name](**settings)


@pytest.fixture(params=SEARCHES)
def name(request):
    return request.param


def vectors(kind: str, count: int = 300, q: int = 40, seed: int = 0):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((count, q))
    decay = 0.8 ** np.arange(q)
    return {
        "random": lambda: noise,
        "clustered": lambda: rng.standard_normal((12, q))[np.arange(count) % 12] + 1e-6 * noise,
        "decaying": lambda: noise * decay,
        "duplicates": lambda: np.round(noise[np.arange(count) // 4] * decay, 1),
        "grid": lambda: rng.integers(0, 3, (count, q)).astype(float) * (decay > 0.4),
        "constant": lambda: np.full((count, q), 0.1),
        "tiny": lambda: 1e-12 * noise * decay,
        "huge": lambda: 1e12 * noise * decay,
        "extreme": lambda: 1e-200 * noise * decay,
        "offset": lambda: 1e6 + noise * decay,
        "outlier": lambda: np.vstack([noise[1:] * decay, np.full((1, q), 1e9)]),
    }[kind]()


KINDS = (
    "random", "clustered", "decaying", "duplicates", "grid", "constant", "tiny", "huge", "extreme", "offset", "outlier",
)  # fmt: skip


def twin(references, queries, k):
    """The literal answer, with one neighbour more where there is one; squares neither over- nor underflow."""
    unit = 1e-200 if 0.0 < np.ptp(references) < 1e-100 else 1.0
    k = min(k + 1, len(references) - (queries is None))
    distances, indices = naive.nearest(references / unit, None if queries is None else queries / unit, k)
    return unit * distances, indices


def assert_agree(found, expected) -> None:
    distances, indices = found
    k = distances.shape[1]
    np.testing.assert_allclose(distances, expected[0][:, :k], rtol=1e-9, atol=0.0)
    # Sums in another order may turn those that nearly tie, and swap the last for the one more of the twin.
    tied = np.diff(expected[0], axis=1, append=np.inf) <= 1e-12 * expected[0]
    clear = ~(tied | np.roll(tied, 1, axis=1))[:, :k]
    np.testing.assert_array_equal(indices[clear], expected[1][:, :k][clear])
    assert all(len(set(row)) == len(row) for row in indices.tolist())
    assert distances.dtype == np.float64
    assert indices.dtype == np.int64


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 5])
def test_as_the_literal_twin(name, kind, k):
    X = vectors(kind)
    references, queries = X[:260], X[260:]
    search = make(name).fit(references)
    assert_agree(search.nearest(queries, k), twin(references, queries, k))
    assert_agree(search.nearest(None, k), twin(references, None, k))


@pytest.mark.parametrize("kind", ["duplicates", "grid", "constant"])
def test_ties_go_to_the_smaller_index(name, kind):
    X = vectors(kind)
    found = make(name).fit(X).nearest(X[:20], 7)
    np.testing.assert_array_equal(found[1], naive.nearest(X, X[:20], 7)[1])


@pytest.mark.parametrize("kind", ["random", "clustered", "decaying", "duplicates", "offset", "outlier"])
def test_every_search_returns_the_same_bits(name, kind):
    X = vectors(kind, 1200, 64)
    for queries in (X[1000:], None):
        distances, indices = make(name).fit(X[:1000]).nearest(queries, 3)
        expected = BruteSearch().fit(X[:1000]).nearest(queries, 3)
        np.testing.assert_array_equal(distances, expected[0])
        np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize(("count", "q"), [(1, 3), (1, 1), (2, 1), (9, 1), (7, 5)])
def test_all_of_them(name, count, q):
    X = vectors("random", count + 4, q)
    search = make(name).fit(X[:count])
    assert_agree(search.nearest(X[count:], count), twin(X[:count], X[count:], count))
    if count > 1:
        assert_agree(search.nearest(None, count - 1), twin(X[:count], None, count - 1))


def test_no_queries(name):
    distances, indices = make(name).fit(vectors("decaying")).nearest(np.empty((0, 40)), 2)
    assert distances.shape == indices.shape == (0, 2)


@pytest.mark.parametrize("kind", ["decaying", "random"])
def test_the_number_of_jobs_changes_no_bit(name, kind, monkeypatch):
    monkeypatch.setattr("covmetric.neighbors.pruned.BOUND_ENTRIES", 2**16)
    X = vectors(kind, 2000, 80)
    one, two = (make(name, n_jobs=n_jobs).fit(X).nearest(X[:300] + 0.01, 4) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_what_is_given_is_not_changed(name):
    X = 1e-12 * vectors("decaying")
    Q = X[:30] + 1e-13
    before = X.copy(), Q.copy()
    X.flags.writeable = Q.flags.writeable = False
    search = make(name).fit(X)
    found = search.nearest(Q, 3)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Q, before[1])
    assert_agree(found, twin(X, Q, 3))
    assert_agree(search.nearest(np.asfortranarray(Q), 3), twin(X, Q, 3))


def test_the_fitted_vectors_are_a_copy(name):
    X = vectors("decaying")
    search = make(name).fit(X)
    expected = search.nearest(X[:30] + 0.1, 3)
    queries = X[:30] + 0.1
    X[:] = 0.0
    np.testing.assert_array_equal(search.nearest(queries, 3)[1], expected[1])


def test_far_queries(name):
    """Beyond the range of float32, the searches in float32 leave it to those in float64."""
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
def test_property(name, X, exponent, data):
    X = np.ldexp(X, exponent)
    k = data.draw(st.integers(1, len(X) - 1))
    search = make(name).fit(X)
    assert_agree(search.nearest(X, k), twin(X, X, k))
    assert_agree(search.nearest(None, k), twin(X, None, k))


@given(
    seed=st.integers(0, 2**16),
    decay=st.floats(0.4, 1.0),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    exponent=st.integers(-60, 60),
    digits=st.sampled_from([0, 1, 15]),
    k=st.integers(1, 6),
)
@pytest.mark.parametrize("name", SEARCHES)
def test_property_of_many(name, seed, decay, offset, exponent, digits, k):
    """As many and as long as lists and bounds take, with pruning wherever it is possible at all."""
    X = np.round(np.random.default_rng(seed).standard_normal((210, 40)) * decay ** np.arange(40), digits)
    X = np.ldexp(X + offset, exponent)
    with mock.patch("covmetric.neighbors.pruned.PRUNED_BRUTE", 1e9):
        search = make(name).fit(X[:200])
        found = search.nearest(X[200:], k)
    assert_agree(found, twin(X[:200], X[200:], k))


class TestPruning:
    def test_few_distances_where_the_spectrum_decays(self):
        X = vectors("decaying", 3000, 100)
        search = PrunedSearch().fit(X[:2500])
        assert_agree(search.nearest(X[2500:2550], 3), twin(X[:2500], X[2500:2550], 3))
        assert search.n_directions_ > 0
        assert search.n_exact_ < 0.005 * 50 * 2500

    def test_brute_force_where_it_does_not(self):
        X = vectors("random", 2500, 100)
        search = PrunedSearch().fit(X[:2000])
        assert_agree(search.nearest(X[2000:2020], 3), twin(X[:2000], X[2000:2020], 3))
        assert search.n_directions_ == 0
        assert search.n_exact_ == 20 * 2000

    def test_brute_force_for_queries_of_another_kind(self, monkeypatch):
        """The fitted vectors lie in few dimensions, the queries far outside: the bounds rule out next to nothing."""
        monkeypatch.setattr("covmetric.neighbors.pruned.BOUND_ENTRIES", 2**15)
        X = vectors("decaying", 2000, 100)
        away = 50.0 * vectors("random", 40, 100, seed=1) * (np.arange(100) >= 60)
        search = PrunedSearch().fit(X)
        assert search.n_directions_ > 0
        for queries in (away, np.vstack([X[:40], away, X[40:60]]) + 1e-3):
            assert_agree(search.nearest(queries, 3), twin(X, queries, 3))
            assert 40 * 2000 <= search.n_exact_ < len(queries) * 2000 + (len(queries) == 40)

    @pytest.mark.parametrize("kind", ["decaying", "random", "clustered", "constant"])
    @pytest.mark.parametrize("r", [8, 16])
    def test_the_bounds_hold(self, kind, r, monkeypatch):
        """No computed bound exceeds what the true distance allows for, however the directions were chosen."""
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
        assert_agree(search.nearest(X[300:], 3), twin(X[:300], X[300:], 3))


class TestGetSearch:
    @pytest.mark.parametrize(
        ("shape", "kind"),
        [(None, "brute"), ((1000, 484), "brute"), ((100_000, 25), "brute"), ((20_000, 400), "pruned")],
    )
    def test_auto(self, shape, kind):
        assert type(get_search("auto", shape=shape)) is SEARCHES[kind]

    def test_names_and_objects(self, name):
        assert type(get_search(name)) is SEARCHES[name]
        assert SEARCHES[name].name == name
        assert get_search(name, n_jobs=2).n_jobs == 2
        mine = BruteSearch()
        assert get_search(mine) is mine

    @pytest.mark.parametrize("wrong", ["kd_tree", None, 3])
    def test_wrong_names(self, wrong):
        with pytest.raises(ValueError, match="algorithm must be one of 'auto', 'brute', 'pruned', 'faiss'"):
            get_search(wrong)


@pytest.mark.parametrize("k", [0, -1, 21, 1.5, True, None])
def test_wrong_k(name, k):
    with pytest.raises(ValueError, match=r"k must be an integer from 1 to 20, got .*20 vectors are fitted"):
        make(name).fit(vectors("random", 20)).nearest(vectors("random", 5), k)


def test_wrong_k_among_the_others(name):
    with pytest.raises(ValueError, match=r"from 1 to 19, got 20: 20 vectors are fitted, each of which is no neighbour"):
        make(name).fit(vectors("random", 20)).nearest(None, 20)


def test_wrong_vectors(name):
    with pytest.raises(ValueError, match=r"vectors must have shape \(l, q\) with l >= 1 and q >= 1, got \(0, 3\)"):
        make(name).fit(np.empty((0, 3)))
    with pytest.raises(ValueError, match=r"vectors\[1, 2\] is nan"):
        make(name).fit([[0.0, 1.0, 2.0], [0.0, 1.0, np.nan]])
    search = make(name).fit(np.eye(3))
    with pytest.raises(ValueError, match=r"vectors must have shape \(l, 3\), as those that were fitted; got \(4, 2\)"):
        search.nearest(np.zeros((4, 2)), 1)
    with pytest.raises(ValueError, match=r"vectors\[0, 1\] is inf"):
        search.nearest(np.array([[0.0, np.inf, 0.0]]), 1)


def test_faiss_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r'pip install "covmetric\[faiss\]"'):
        SEARCHES["faiss"]().fit(np.eye(3))


@given(
    rows=st.integers(1, 6), count=st.integers(1, 700), k=st.integers(1, 9), seed=st.integers(0, 1000),
    values=st.sampled_from([2, 50, 10**6]), masked=st.sampled_from([0.0, 0.5, 0.99, 1.0]),
)  # fmt: skip
def test_nearest_columns_are_those_of_a_stable_sort(rows, count, k, seed, values, masked):
    """With ties, and with columns that are out of the question."""
    rng = np.random.default_rng(seed)
    squared = rng.integers(0, values, (rows, count)).astype(float)
    squared[rng.random((rows, count)) < masked] = np.inf
    expected = np.argsort(squared, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(nearest_columns(squared, k), expected)


@pytest.mark.parametrize("count", [10, 700])
def test_nearest_columns_where_some_distances_are_not_known(count):
    squared = np.random.default_rng(0).random((3, count))
    squared[1] = np.nan
    squared[2, ::2] = np.nan
    expected = np.argsort(np.where(np.isnan(squared), np.inf, squared), axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(nearest_columns(squared, 3), expected)
