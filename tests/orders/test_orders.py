"""The contract of a selection order."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.orders import ORDERS, get_order


@pytest.mark.parametrize("name", sorted(ORDERS))
def test_an_epoch_is_as_many_pairs_as_there_are(name):
    order = get_order(name)
    for K in (1, 2, 57):
        epoch = order.epoch(K, np.random.default_rng(0))
        assert epoch.shape == (K,)
        assert epoch.dtype == np.int64
        assert epoch.min() >= 0
        assert epoch.max() < K


@pytest.mark.parametrize("name", sorted(ORDERS))
def test_a_seed_fixes_the_order(name):
    epochs = [get_order(name).epoch(20, np.random.default_rng(3)) for _ in range(2)]
    np.testing.assert_array_equal(*epochs)


def test_cyclic_and_perm_visit_every_pair_once_and_rand_does_not():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(get_order("cyclic").epoch(50, rng), np.arange(50))
    first, second = (get_order("perm").epoch(50, rng) for _ in range(2))
    np.testing.assert_array_equal(np.sort(first), np.arange(50))
    assert not np.array_equal(first, second)
    assert len(np.unique(get_order("rand").epoch(50, rng))) < 50


def test_unknown_name():
    with pytest.raises(ValueError, match=r"order must be one of 'cyclic', 'perm', 'rand'.*got 'random'"):
        get_order("random")
