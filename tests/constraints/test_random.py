"""Random pairs: balance, budget, and uniformity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric.constraints import RandomPairs
from covmetric.constraints.random import _pairs_of_ranks
from tests.constraints.examples import labelled_vectors


def select(selection, codes, seed=0, old=0):
    return selection.select(np.empty((len(codes), 0)), codes, np.random.default_rng(seed), old)


def test_pairs_are_balanced_between_kinds_and_classes():
    _, codes = labelled_vectors([100, 100, 100, 100])
    chosen = select(RandomPairs(budget=60), codes)
    similar = chosen.similar > 0
    assert similar.sum() == 120
    assert (~similar).sum() == 120
    np.testing.assert_array_equal(np.bincount(codes[chosen.pairs[similar, 0]]), 30)
    chosen = select(RandomPairs(budget=60, balance=0.25), codes)
    assert (chosen.similar > 0).sum() == 60


def test_budget_is_used_up_if_there_are_enough_pairs():
    _, codes = labelled_vectors([16, 16])
    for balance, similar in ((0.0, 0), (0.5, 100), (0.25, 50)):
        chosen = select(RandomPairs(budget=100, balance=balance), codes)
        assert ((chosen.similar > 0).sum(), (chosen.similar < 0).sum()) == (similar, 200 - similar)
    _, codes = labelled_vectors([10, 10])
    assert (select(RandomPairs(balance=1.0), codes).similar > 0).all()


@pytest.mark.parametrize("balance", [0.5, None])
def test_all_pairs_are_selected_if_they_are_few(balance):
    _, codes = labelled_vectors([6, 6])
    assert len(select(RandomPairs(balance=balance), codes).pairs) == 66


def test_new_examples_get_a_proportional_budget():
    """Half of the examples are new, so that they get half of the budget of each class."""
    codes = np.tile([0, 1], 50)
    chosen = select(RandomPairs(budget=20), codes, old=50)
    assert ((chosen.similar > 0).sum(), (chosen.similar < 0).sum()) == (10, 10)
    assert len(select(RandomPairs(budget=20, balance=None), codes, old=50).pairs) == 20


def test_pairs_of_new_examples_are_uniform():
    codes, selection = np.zeros(120, dtype=int), RandomPairs(budget=200, balance=None)
    fractions = []
    for seed in range(200):
        pairs = select(selection, codes, seed, old=80).pairs
        fractions.append((pairs.min(axis=1) >= 80).mean())
    assert np.mean(fractions) == pytest.approx(780 / (780 + 3200), abs=0.01)


def test_uniform_pairs_of_many_classes_are_mostly_dissimilar():
    _, codes = labelled_vectors([20] * 50)
    chosen = select(RandomPairs(balance=None), codes)
    assert len(chosen.pairs) == 5000
    expected = 50 * 190 / (1000 * 999 / 2)
    assert (chosen.similar > 0).mean() == pytest.approx(expected, abs=0.01)


def test_another_seed_draws_other_pairs():
    _, codes = labelled_vectors([60, 60])
    assert not np.array_equal(select(RandomPairs(20), codes, 0).pairs, select(RandomPairs(20), codes, 1).pairs)


@given(st.one_of(st.integers(0, 2**60), st.integers(2, 2**30).map(lambda j: j * (j - 1) // 2 - 1)))
def test_ranks_number_the_unordered_pairs(rank):
    ((i, j),) = _pairs_of_ranks(np.array([rank], dtype=np.int64)).tolist()
    assert 0 <= i < j
    assert j * (j - 1) // 2 + i == rank


@pytest.mark.parametrize("balance", [1.5, -0.1, "half", np.nan])
def test_invalid_balance_is_refused(balance):
    with pytest.raises(ValueError, match=rf"balance must be None or a number from 0 to 1, got {balance!r}"):
        select(RandomPairs(balance=balance), np.array([0, 0, 1, 1]))


def test_repr_shows_the_settings():
    assert repr(RandomPairs()) == "RandomPairs(budget=None, groups='across', balance=0.5)"
