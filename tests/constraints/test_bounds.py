"""Absolute bounds and quantiles."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.constraints import AbsoluteBounds, QuantileBounds, get_bounds


@pytest.mark.parametrize("numbers", [(0.1, 2.0), [0.1, 2.0], np.array([0.1, 2.0])])
def test_two_numbers_are_absolute_bounds(numbers):
    assert isinstance(get_bounds(numbers), AbsoluteBounds)
    assert get_bounds(numbers).limits(np.ones(1)) == (0.1, 2.0)


def test_defaults_match_the_paper():
    assert AbsoluteBounds().limits(np.array([1.0, 100.0])) == (0.05, 0.95)
    assert repr(AbsoluteBounds()) == "AbsoluteBounds(near=0.05, far=0.95)"


def test_quantiles_ignore_distances_of_zero():
    squared = np.concatenate([np.zeros(50), np.arange(1.0, 102.0)])
    assert QuantileBounds().limits(squared) == pytest.approx((6.0, 96.0))
    assert QuantileBounds(0.0, 1.0).limits(squared) == (1.0, 101.0)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((0.0, 1.0), "bounds: near must be a positive number, got 0.0"),
        ((0.5, np.inf), "bounds: far must be a positive number, got inf"),
        ((2.0, 1.0), "bounds: near must not be larger than far, got 2 and 1"),
        (QuantileBounds(0.1, 2), "bounds: the quantile far must be a number from 0 to 1, got 2"),
        (QuantileBounds(-0.1, 1.0), "bounds: the quantile near must be a number from 0 to 1, got -0.1"),
        (QuantileBounds(0.9, 0.1), "bounds: near must not be larger than far, got 0.9 and 0.1"),
    ],
)
def test_invalid_limits_are_refused(bounds, message):
    with pytest.raises(ValueError, match=message):
        get_bounds(bounds).limits(np.ones(3))


def test_three_numbers_are_refused():
    with pytest.raises(ValueError, match=r"bounds must be two numbers \(near, far\), got \(1, 2, 3\)"):
        get_bounds((1, 2, 3))
