"""The contracts of a pair selection and of bounds, for every entry of PAIRS and BOUNDS."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.constraints import BOUNDS, PAIRS, get_bounds, get_pairs
from tests.constraints.examples import labelled_vectors
from tests.data import quoted

# Also classes with one example, a class without examples, and a single class.
SIZES = [[30, 40, 50], [1, 1, 60], [2, 2], [200, 3], [6, 0, 5], [12], [1, 1, 1]]


@pytest.fixture(params=sorted(PAIRS))
def name(request):
    return request.param


@pytest.fixture(params=sorted(BOUNDS))
def bounds(request):
    return get_bounds(request.param)


def select(name, vectors, codes, seed=0, old=0, **settings):
    return get_pairs(name, **settings).select(vectors, codes, np.random.default_rng(seed), old)


def test_names_are_the_keys_of_the_registries():
    assert all(cls.name == name for name, cls in {**PAIRS, **BOUNDS}.items())


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("old", [0, 3])
def test_pairs_are_distinct_ordered_and_labelled_by_class(name, sizes, old):
    vectors, codes = labelled_vectors(sizes)
    old = min(old, len(codes) - 1)
    chosen = select(name, vectors, codes, old=old)
    assert chosen.pairs.dtype == np.int64 and chosen.pairs.ndim == 2 and chosen.pairs.shape[1] == 2
    assert len(chosen.pairs) > 0
    assert (chosen.pairs[:, 0] >= 0).all() and (chosen.pairs[:, 1] < len(codes)).all()
    assert (chosen.pairs[:, 0] < chosen.pairs[:, 1]).all()  # hence no example is paired with itself
    assert len(np.unique(chosen.pairs, axis=0)) == len(chosen.pairs)
    assert (chosen.pairs[:, 1] >= old).all()
    same = codes[chosen.pairs[:, 0]] == codes[chosen.pairs[:, 1]]
    assert chosen.similar.dtype == np.float64
    np.testing.assert_array_equal(chosen.similar, np.where(same, 1.0, -1.0))


def test_both_kinds_of_pairs_are_selected_for_every_class(name):
    vectors, codes = labelled_vectors([30, 40, 50])
    chosen = select(name, vectors, codes)
    for sign in (1.0, -1.0):
        assert set(codes[chosen.pairs[chosen.similar == sign]].ravel().tolist()) == {0, 1, 2}


def test_the_seed_determines_the_pairs(name):
    vectors, codes = labelled_vectors([60, 60, 60])
    one, two = (select(name, vectors, codes, seed=7) for _ in range(2))
    np.testing.assert_array_equal(one.pairs, two.pairs)


def test_input_is_not_modified(name):
    vectors, codes = labelled_vectors([10, 10])
    before = vectors.copy(), codes.copy()
    vectors.flags.writeable = codes.flags.writeable = False
    select(name, vectors, codes)
    np.testing.assert_array_equal(vectors, before[0])
    np.testing.assert_array_equal(codes, before[1])


@pytest.mark.parametrize("old", [1, 100, 149])
def test_new_examples_are_paired_among_themselves_and_with_old_ones(name, old):
    vectors, codes = labelled_vectors([50, 50, 50])
    chosen = select(name, vectors, codes, old=old)
    assert (chosen.pairs[:, 1] >= old).all()
    assert (chosen.pairs[:, 0] < old).any()
    if old < 149:
        assert (chosen.pairs[:, 0] >= old).any()


def test_without_new_examples_there_are_no_pairs(name):
    vectors, codes = labelled_vectors([5, 5])
    chosen = select(name, vectors, codes, old=10)
    assert chosen.pairs.shape == (0, 2) and chosen.similar.shape == (0,)


def test_budget_limits_the_number_of_pairs(name):
    """A budget counts pairs per class, or neighbours of each kind per example."""
    vectors, codes = labelled_vectors([50, 50, 50])
    counts = [len(select(name, vectors, codes, budget=budget).pairs) for budget in (1, 2, 4)]
    assert counts[0] < counts[1] < counts[2]
    assert all(count <= 2 * budget * len(codes) for count, budget in zip(counts, (1, 2, 4), strict=True))
    default = select(name, vectors, codes, budget=PAIRS[name].default_budget)
    np.testing.assert_array_equal(select(name, vectors, codes).pairs, default.pairs)


def test_a_large_budget_selects_all_pairs(name):
    vectors, codes = labelled_vectors([6, 7])
    assert len(select(name, vectors, codes, budget=10_000).pairs) == 13 * 12 // 2


@pytest.mark.parametrize("budget", [0, 2.5, -1, True, "many"])
def test_invalid_budget_is_refused(name, budget):
    vectors, codes = labelled_vectors([5, 5])
    with pytest.raises(ValueError, match=rf"budget must be None or an integer >= 1, got {budget!r}"):
        PAIRS[name](budget=budget).select(vectors, codes, np.random.default_rng(0))


def test_pairs_objects_are_returned_unchanged(name):
    selection = PAIRS[name]()
    assert get_pairs(selection) is selection
    assert repr(selection).startswith(f"{type(selection).__name__}(budget=None")
    with pytest.raises(ValueError, match=r"settings .budget. require pairs to be a name"):
        get_pairs(selection, budget=3)


# Also a single distance, and many that are zero.
@pytest.mark.parametrize("squared", [np.geomspace(1e-3, 1e3, 50), np.array([2.0]), np.repeat([0.0, 1.0, 4.0], 20)])
def test_bounds_are_positive_ordered_and_independent_of_the_order_of_pairs(bounds, squared):
    before = squared.copy()
    near, far = bounds.limits(squared)
    assert type(near) is float and type(far) is float
    assert 0.0 < near <= far < np.inf
    assert bounds.limits(np.random.default_rng(0).permutation(squared)) == (near, far)
    np.testing.assert_array_equal(squared, before)


def test_bounds_objects_are_returned_unchanged(bounds):
    assert get_bounds(bounds) is bounds
    assert repr(bounds).startswith(f"{type(bounds).__name__}(")


def test_deprecated_alias_warns_at_the_line_of_the_user(bounds):
    with pytest.warns(FutureWarning) as caught:
        bounds.of(np.array([1.0, 2.0, 3.0]))
    assert caught[0].filename == __file__


def test_old_name_of_limits_gives_the_same_bounds(bounds):
    squared = np.array([1.0, 2.0, 3.0])
    with pytest.warns(FutureWarning, match="^Bounds.of is deprecated, use Bounds.limits$"):
        found = bounds.of(squared)
    assert found == bounds.limits(squared)


def test_equal_bounds_are_allowed():
    assert get_bounds((0.5, 0.5)).limits(np.ones(3)) == (0.5, 0.5)


def test_unknown_names_list_the_names():
    with pytest.raises(ValueError, match=f"pairs must be one of {quoted(PAIRS)}"):
        get_pairs("triplets")
    with pytest.raises(ValueError, match=f"bounds must be one of {quoted(BOUNDS)}"):
        get_bounds("tight")
