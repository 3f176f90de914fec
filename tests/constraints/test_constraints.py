"""Pairs, bounds and scale from labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric.constraints import (
    BOUNDS,
    PAIRS,
    AbsoluteBounds,
    LabelledPairs,
    NeighborPairs,
    QuantileBounds,
    RandomPairs,
    bounded,
    constrain,
    get_bounds,
    get_pairs,
)
from covmetric.constraints.random import _pairs_of_ranks
from tests import naive


def examples(sizes, q=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return rng.standard_normal((len(codes), q)) + codes[:, None], rng.permutation(codes)


@pytest.fixture(params=sorted(PAIRS))
def selection(request):
    return get_pairs(request.param)


@pytest.mark.parametrize("sizes", [[30, 40, 50], [1, 1, 60], [2, 2], [200, 3]])
def test_each_pair_once_none_with_itself_and_labelled_by_class(selection, sizes):
    vectors, codes = examples(sizes)
    chosen = selection.select(vectors, codes, np.random.default_rng(0))
    assert chosen.pairs.dtype == np.int64
    assert (chosen.pairs[:, 0] < chosen.pairs[:, 1]).all()
    assert len(np.unique(chosen.pairs, axis=0)) == len(chosen.pairs)
    same = codes[chosen.pairs[:, 0]] == codes[chosen.pairs[:, 1]]
    np.testing.assert_array_equal(chosen.similar, np.where(same, 1.0, -1.0))


def test_the_seed_decides(selection):
    vectors, codes = examples([60, 60, 60])
    one, two = (selection.select(vectors, codes, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one.pairs, two.pairs)


def test_only_pairs_with_a_new_example(selection):
    vectors, codes = examples([50, 50, 50])
    chosen = selection.select(vectors, codes, np.random.default_rng(0), 140)
    assert len(chosen.pairs)
    assert (chosen.pairs.max(axis=1) >= 140).all()


def test_random_pairs_are_balanced_and_shared_by_the_classes():
    vectors, codes = examples([100, 100, 100, 100])
    chosen = RandomPairs(budget=60).select(vectors, codes, np.random.default_rng(0))
    near = chosen.similar > 0
    assert near.sum() == 120
    assert (~near).sum() == 120
    np.testing.assert_array_equal(np.bincount(codes[chosen.pairs[near, 0]]), 30)
    chosen = RandomPairs(budget=60, balance=0.25).select(vectors, codes, np.random.default_rng(0))
    assert (chosen.similar > 0).sum() == 60


def test_the_budget_is_kept_where_there_are_enough_pairs():
    vectors, codes = examples([16, 16])
    for balance, similar in ((0.0, 0), (0.5, 100), (0.25, 50)):
        chosen = RandomPairs(budget=100, balance=balance).select(vectors, codes, np.random.default_rng(0))
        assert ((chosen.similar > 0).sum(), (chosen.similar < 0).sum()) == (similar, 200 - similar)
    vectors, codes = examples([10, 10])
    assert (RandomPairs(balance=1.0).select(vectors, codes, np.random.default_rng(0)).similar > 0).all()


def test_new_examples_are_not_drawn_more_often_among_themselves():
    codes, selection = np.zeros(120, dtype=int), RandomPairs(budget=200, balance=None)
    shares = []
    for seed in range(200):
        pairs = selection.select(np.empty((120, 0)), codes, np.random.default_rng(seed), 80).pairs
        shares.append((pairs.min(axis=1) >= 80).mean())
    assert np.mean(shares) == pytest.approx(780 / (780 + 3200), abs=0.01)


def test_uniform_pairs_have_few_similar_ones():
    vectors, codes = examples([20] * 50)
    chosen = RandomPairs(balance=None).select(vectors, codes, np.random.default_rng(0))
    assert len(chosen.pairs) == 5000
    expected = 50 * 190 / (1000 * 999 / 2)
    assert (chosen.similar > 0).mean() == pytest.approx(expected, abs=0.01)


def test_all_pairs_where_they_are_few():
    vectors, codes = examples([6, 6])
    for balance in (0.5, None):
        chosen = RandomPairs(balance=balance).select(vectors, codes, np.random.default_rng(0))
        assert len(chosen.pairs) == 66


@given(st.integers(0, 2**52))
def test_ranks_of_pairs_of_ranks_pairs(rank):
    ((i, j),) = _pairs_of_ranks(np.array([rank], dtype=np.int64)).tolist()
    assert 0 <= i < j
    assert j * (j - 1) // 2 + i == rank


@pytest.mark.parametrize("k", [1, 3, 200])
def test_neighbors_are_those_of_the_literal_twin(k):
    vectors, codes = examples([15, 20, 1])
    chosen = NeighborPairs(k).select(vectors, codes, np.random.default_rng(0))
    np.testing.assert_array_equal(chosen.pairs, naive.neighbor_pairs(vectors, codes, k))


def test_neighbors_by_blocks(monkeypatch):
    from covmetric._utils import distances as _distances

    vectors, codes = examples([30, 40])
    whole = NeighborPairs(4).select(vectors, codes, np.random.default_rng(0))
    monkeypatch.setattr(_distances, "DISTANCE_BLOCK_BYTES", 8 * 70 * 9)
    np.testing.assert_array_equal(NeighborPairs(4).select(vectors, codes, np.random.default_rng(0)).pairs, whole.pairs)


def test_neighbors_under_a_metric():
    """The factor of a metric changes who is near."""
    rng = np.random.default_rng(0)
    embedded, codes = rng.standard_normal((40, 2, 1)), rng.integers(2, size=40)
    L = np.diag([1.0, 1e-6])
    seen = constrain(embedded, codes, NeighborPairs(2), AbsoluteBounds(), "median", rng, L)
    expected = naive.neighbor_pairs(embedded[:, :1, 0], codes, 2)
    np.testing.assert_array_equal(seen.pairs, expected)


def test_bounds_scale_and_weights():
    vectors, codes = examples([40, 40])
    embedded = 1e-6 * vectors[:, :, None]
    rng = np.random.default_rng(0)
    found = constrain(embedded, codes, RandomPairs(budget=50), AbsoluteBounds(), "median", rng)
    squared = np.array([naive.squared_distance(np.eye(3), embedded[i], embedded[j]) for i, j in found.pairs])
    assert found.scale == pytest.approx(np.median(squared))
    np.testing.assert_array_equal(found.bounds, np.where(found.similar > 0, 0.05, 0.95))
    np.testing.assert_allclose(found.weights, 1.0 / len(found.pairs))
    near, far = np.quantile(squared / found.scale, [0.05, 0.95])
    quantiles = constrain(embedded, codes, RandomPairs(50), QuantileBounds(), "median", np.random.default_rng(0))
    assert quantiles.limits == pytest.approx((near, far))
    assert constrain(embedded, codes, RandomPairs(50), QuantileBounds(), None, rng).scale == 1.0
    assert constrain(embedded, codes, RandomPairs(50), QuantileBounds(), 3, rng).scale == 3.0


def test_dissimilar_pairs_of_equal_examples_are_left_out():
    embedded = np.array([0.0, 0.0, 1.0, 2.0])[:, None, None]
    chosen = LabelledPairs.from_codes(np.array([[0, 1], [0, 2], [1, 3]]), np.array([0, 1, 0, 0]))
    with pytest.warns(UserWarning, match=r"1 of 3 pairs were left out: .* for example X\[0\] and X\[1\]"):
        found = bounded(embedded, chosen, AbsoluteBounds(), "median", np.array([5.0, 1.0, 3.0]))
    np.testing.assert_array_equal(found.pairs, [[0, 2], [1, 3]])
    np.testing.assert_array_equal(found.weights, [0.25, 0.75])


def test_equal_examples_do_not_spoil_scale_and_bounds():
    embedded = np.repeat([0.0, 1.0], [10, 2])[:, None, None]
    chosen = LabelledPairs.from_codes(np.stack(np.triu_indices(12, 1), axis=1), np.zeros(12, dtype=int))
    found = bounded(embedded, chosen, QuantileBounds(), "median")
    assert found.scale == 1.0
    assert found.limits == (1.0, 1.0)


def test_nothing_to_learn_from():
    codes = np.array([0, 0, 1, 1])
    with pytest.warns(UserWarning, match="left out"), pytest.raises(ValueError, match="no pair of distinct examples"):
        constrain(np.ones((4, 2, 1)), codes, RandomPairs(), AbsoluteBounds(), "median", np.random.default_rng(0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: get_pairs("triplets"), "pairs must be one of 'random', 'neighbors'"),
        (lambda: get_pairs(RandomPairs(), budget=3), "settings .budget. require pairs to be a name"),
        (lambda: get_bounds("tight"), "bounds must be one of 'absolute', 'quantile'"),
        (lambda: get_bounds((1, 2, 3)), r"bounds must be two numbers \(near, far\), got \(1, 2, 3\)"),
        (lambda: get_bounds((0.0, 1.0)).limits(np.ones(3)), "near must be a positive number, got 0.0"),
        (lambda: QuantileBounds(0.1, 2).limits(np.ones(3)), "quantile far must be a number from 0 to 1, got 2"),
    ],
)
def test_bad_names_and_values(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (RandomPairs(0), "budget must be None or an integer >= 1, got 0"),
        (NeighborPairs(2.5), "budget must be None or an integer >= 1, got 2.5"),
        (NeighborPairs(2, rounds=0), "rounds must be an integer >= 1, got 0"),
        (RandomPairs(balance=1.5), "balance must be None or a number from 0 to 1, got 1.5"),
    ],
)
def test_bad_settings(selection, message):
    vectors, codes = examples([5, 5])
    with pytest.raises(ValueError, match=message):
        selection.select(vectors, codes, np.random.default_rng(0))


def test_names_are_those_of_the_registry():
    assert all(kind.name == name for name, kind in {**PAIRS, **BOUNDS}.items())
    assert get_bounds([0.1, 2.0]).limits(np.ones(1)) == (0.1, 2.0)
    assert repr(RandomPairs()) == "RandomPairs(budget=None, balance=0.5)"
