"""Means, standard errors and paired differences."""

from __future__ import annotations

import pytest

from covmetric.experiments.estimates import Estimate, best_key, mean_and_standard_error, paired_difference, verdict


def test_standard_error_is_that_of_the_mean():
    estimate = mean_and_standard_error([1.0, 2.0, 3.0, 6.0])
    assert estimate.mean == 3.0
    assert estimate.standard_error == pytest.approx((14.0 / 3.0 / 4.0) ** 0.5)
    assert estimate.count == 4
    assert estimate.text() == "3.0 ± 1.1" and estimate.text(3) == "3.000 ± 1.080"
    assert estimate.text(sign=True) == "+3.0 ± 1.1"


def test_one_value_has_no_standard_error():
    estimate = mean_and_standard_error([5.0])
    assert (estimate.mean, estimate.standard_error, estimate.count) == (5.0, None, 1)
    assert estimate.text() == "5.0"


def test_no_values_raise():
    with pytest.raises(ValueError, match="values is empty"):
        mean_and_standard_error([])


def test_paired_difference_uses_the_differences_within_each_split():
    # The values vary by 20 between the splits, and the differences, +1, +2 and +3, by 2 only.
    difference = paired_difference({0: 71.0, 1: 82.0, 2: 93.0}, {2: 90.0, 0: 70.0, 1: 80.0})
    assert difference.mean == pytest.approx(2.0)
    assert difference.standard_error == pytest.approx(1.0 / 3.0**0.5)
    assert difference.count == 3
    assert difference.text(sign=True) == "+2.0 ± 0.6"


def test_paired_difference_of_other_splits_raises():
    with pytest.raises(ValueError, match="values and baseline must have the same splits: only one of them has 1"):
        paired_difference({0: 1.0, 1: 2.0}, {0: 1.0, 2: 2.0})


@pytest.mark.parametrize(
    ("mean", "error", "expected"),
    [
        (1.01, 0.5, "better"),
        (1.0, 0.5, "no difference"),
        (-1.0, 0.5, "no difference"),
        (-1.01, 0.5, "worse"),
        (0.0, 0.0, "no difference"),
        (0.1, 0.0, "better"),
        (5.0, None, "no difference"),
    ],
)
def test_verdict_needs_two_standard_errors(mean, error, expected):
    assert verdict(Estimate(mean, error, 5)) == expected


def test_best_key_has_the_highest_mean():
    assert best_key({"a": {0: 1.0, 1: 1.0}, "b": {0: 3.0, 1: 0.0}, "c": {0: 2.0, 1: 1.0}}) == "b"
