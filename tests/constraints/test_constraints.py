"""Scale, bounds and weights of selected pairs."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.constraints import (
    AbsoluteBounds,
    LabelledPairs,
    NeighborPairs,
    QuantileBounds,
    RandomPairs,
    bounded,
    check_scale,
    constrain,
    squared_distances,
)
from tests import naive
from tests.constraints.examples import labelled_vectors


def one_dimensional(values):
    """Return embedded examples of shape (l, 1, 1)."""
    return np.array(values, dtype=float)[:, None, None]


def all_pairs(count):
    """Return all pairs of examples of one class."""
    return LabelledPairs.from_codes(np.stack(np.triu_indices(count, 1), axis=1), np.zeros(count, dtype=int))


def test_bounds_scale_and_weights_of_random_pairs():
    vectors, codes = labelled_vectors([40, 40])
    embedded = 1e-6 * vectors[:, :, None]
    rng = np.random.default_rng(0)
    found = constrain(embedded, codes, RandomPairs(budget=50), AbsoluteBounds(), "median", rng)
    squared = np.array([naive.squared_distance(np.eye(3), embedded[i], embedded[j]) for i, j in found.pairs])
    assert found.scale == pytest.approx(np.median(squared))
    assert found.limits == (0.05, 0.95)
    np.testing.assert_array_equal(found.bounds, np.where(found.similar > 0, 0.05, 0.95))
    np.testing.assert_allclose(found.weights, 1.0 / len(found.pairs))
    near, far = np.quantile(squared / found.scale, [0.05, 0.95])
    quantiles = constrain(embedded, codes, RandomPairs(50), QuantileBounds(), "median", np.random.default_rng(0))
    assert quantiles.limits == pytest.approx((near, far))


@pytest.mark.parametrize(("scale", "expected"), [(None, 1.0), (3, 3.0), ("median", 4.0)])
def test_scale_is_the_median_or_a_number(scale, expected):
    pairs = LabelledPairs(np.array([[0, 1], [0, 2], [0, 3]]), np.array([1.0, 1.0, -1.0]))
    found = bounded(one_dimensional([0.0, 1.0, 2.0, 5.0]), pairs, QuantileBounds(0.0, 1.0), scale)
    assert found.scale == expected
    assert found.limits == (1.0 / expected, 25.0 / expected)


def test_scale_is_the_median_of_the_positive_distances_if_the_median_is_zero():
    """Ten equal examples make 45 of the 78 distances zero."""
    found = bounded(one_dimensional([0.0] * 10 + [1.0, 5.0, 11.0]), all_pairs(13), QuantileBounds(0.0, 1.0), "median")
    positive = np.repeat([1.0, 16.0, 25.0, 36.0, 100.0, 121.0], [10, 1, 10, 1, 1, 10])
    assert np.median(positive) == 25.0
    assert found.scale == 25.0
    assert found.limits == (1.0 / 25.0, 121.0 / 25.0)
    assert len(found.pairs) == 78


def test_scale_is_the_median_of_all_distances_if_that_is_positive():
    found = bounded(one_dimensional([0.0, 0.0, 1.0, 3.0]), all_pairs(4), AbsoluteBounds(), "median")
    assert found.scale == np.median([0.0, 1.0, 9.0, 1.0, 9.0, 4.0]) == 2.5


@pytest.mark.parametrize("scale", [0, -1.0, np.nan, np.inf, True, "mean"])
def test_invalid_scale_is_refused(scale):
    message = rf"scale must be 'median', None or a positive number, got {scale!r}"
    with pytest.raises(ValueError, match=message):
        check_scale(scale)
    with pytest.raises(ValueError, match=message):
        bounded(one_dimensional([0.0, 1.0]), all_pairs(2), AbsoluteBounds(), scale)


def test_squared_distances_equal_the_definition():
    embedded = np.random.default_rng(0).standard_normal((6, 3, 2))
    pairs = np.array([[0, 1], [5, 2], [3, 3]])
    expected = [naive.squared_distance(np.eye(3), embedded[i], embedded[j]) for i, j in pairs]
    np.testing.assert_allclose(squared_distances(embedded, pairs), expected, rtol=1e-14)


def test_dissimilar_pairs_of_equal_examples_are_left_out():
    pairs = LabelledPairs.from_codes(np.array([[0, 1], [0, 2], [1, 3]]), np.array([0, 1, 0, 0]))
    message = r"1 of 3 pairs were left out, because .* for example X\[0\] and X\[1\]"
    with pytest.warns(UserWarning, match=message):
        found = bounded(
            one_dimensional([0.0, 0.0, 1.0, 2.0]), pairs, AbsoluteBounds(), "median", np.array([5.0, 1.0, 3.0])
        )
    np.testing.assert_array_equal(found.pairs, [[0, 2], [1, 3]])
    np.testing.assert_array_equal(found.similar, [1.0, -1.0])
    np.testing.assert_array_equal(found.weights, [0.25, 0.75])


def test_warning_names_the_pair_as_the_caller_specifies():
    pairs = LabelledPairs(np.array([[0, 2], [0, 1], [1, 2]]), np.array([1.0, -1.0, 1.0]))
    with pytest.warns(UserWarning, match=r"for example pairs\[1\], of 0 and 1$"):
        bounded(one_dimensional([0.0, 0.0, 1.0]), pairs, AbsoluteBounds(), None, origin="pairs[{k}], of {i} and {j}")


def test_similar_pairs_of_equal_examples_are_kept():
    found = bounded(one_dimensional([0.0, 0.0, 1.0]), all_pairs(3), AbsoluteBounds(), "median")
    assert len(found.pairs) == 3


def test_pairs_of_equal_examples_only_are_refused():
    codes = np.array([0, 0, 1, 1])
    with pytest.warns(UserWarning, match="left out"), pytest.raises(ValueError, match="no pair of distinct examples"):
        constrain(np.ones((4, 2, 1)), codes, RandomPairs(), AbsoluteBounds(), "median", np.random.default_rng(0))


def test_no_pairs_are_refused():
    none = LabelledPairs(np.empty((0, 2), dtype=np.int64), np.empty(0))
    with pytest.raises(ValueError, match="no pairs were found to learn from: every class has one example"):
        bounded(one_dimensional([0.0, 1.0]), none, AbsoluteBounds(), "median")


@pytest.mark.parametrize("size", [1e200, 1e-160])
def test_overflow_and_underflow_are_refused(size):
    embedded, codes = one_dimensional([0.0, size, 2 * size, 3 * size]), np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"^squared distances of the embedded examples overflow or vanish: rescale X$"):
        constrain(embedded, codes, RandomPairs(), AbsoluteBounds(), "median", np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"^squared distances of the embedded examples overflow or vanish: rescale X$"):
        bounded(embedded, all_pairs(4), AbsoluteBounds(), "median")


def test_overflow_under_the_metric_is_refused():
    embedded, codes = one_dimensional([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 1, 1])
    mapped, rng = 1e200 * embedded, np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"^squared distances of the embedded examples overflow or vanish: rescale X$"):
        constrain(embedded, codes, NeighborPairs(1), AbsoluteBounds(), "median", rng, mapped)
