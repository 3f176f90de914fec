"""The contract of a selection order, for every entry of ORDERS, and the properties of each order."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from covmetric.orders import ORDERS, get_order
from tests.data import quoted


@pytest.fixture(params=sorted(ORDERS))
def order(request):
    return get_order(request.param)


def epochs(order, count, n_pairs, seed=0):
    """Return successive epochs with one generator, as in a solve."""
    rng = np.random.default_rng(seed)
    return [order.epoch(n_pairs, rng) for _ in range(count)]


def test_name_is_the_key_of_the_registry():
    assert all(cls.name == name for name, cls in ORDERS.items())


@pytest.mark.parametrize("n_pairs", [1, 2, 57])
def test_an_epoch_has_as_many_visits_as_there_are_pairs(order, n_pairs):
    for epoch in epochs(order, 5, n_pairs):
        assert epoch.shape == (n_pairs,)
        assert epoch.dtype == np.int64
        assert epoch.min() >= 0
        assert epoch.max() < n_pairs


def test_every_pair_is_visited_again_and_again(order):
    """In each half of 400 epochs; by chance, a pair is missing with a probability below 1e-80."""
    visited = epochs(order, 400, 20)
    for half in (visited[:200], visited[200:]):
        assert set(np.concatenate(half).tolist()) == set(range(20))


def test_every_epoch_visits_every_pair_if_the_order_says_so(order):
    complete = [np.array_equal(np.sort(epoch), np.arange(20)) for epoch in epochs(order, 200, 20)]
    assert all(complete) or not order.visits_every_pair


def test_the_generator_is_the_only_source_of_randomness(order):
    first, second = epochs(order, 10, 20, seed=3), epochs(type(order)(), 10, 20, seed=3)
    np.testing.assert_array_equal(first, second)
    again = epochs(order, 10, 20, seed=3)  # the object has no memory of the epochs before
    np.testing.assert_array_equal(first, again)


def test_global_random_state_is_left_alone(order):
    before = pickle.dumps(np.random.get_state())  # noqa: NPY002 (the state that must not be used)
    epochs(order, 3, 20)
    assert pickle.dumps(np.random.get_state()) == before  # noqa: NPY002


def test_an_epoch_belongs_to_the_caller(order):
    expected = [epoch.copy() for epoch in epochs(order, 3, 20)]
    rng = np.random.default_rng(0)
    for epoch in expected:
        found = order.epoch(20, rng)
        np.testing.assert_array_equal(found, epoch)
        assert found.flags.writeable
        found[:] = -1


def test_an_object_is_returned_unchanged(order):
    assert get_order(order) is order


def test_cyclic_keeps_the_given_order():
    for epoch in epochs(get_order("cyclic"), 2, 50):
        np.testing.assert_array_equal(epoch, np.arange(50))


@pytest.mark.parametrize("name", ["perm", "rand"])
def test_random_orders_differ_between_epochs(name):
    first, second = epochs(get_order(name), 2, 50)
    assert not np.array_equal(first, second)


def test_rand_draws_uniformly():
    counts = np.bincount(np.concatenate(epochs(get_order("rand"), 500, 20)), minlength=20)
    assert (np.abs(counts - 500) < 5 * np.sqrt(500)).all()


def test_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match=rf"order must be one of {quoted(ORDERS)}, .*got 'random'"):
        get_order("random")
