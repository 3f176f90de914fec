"""Means and standard errors."""

from __future__ import annotations

import pytest

from covmetric.experiments.estimates import mean_and_standard_error


def test_standard_error_is_that_of_the_mean():
    estimate = mean_and_standard_error([1.0, 2.0, 3.0, 6.0])
    assert estimate.mean == 3.0
    assert estimate.standard_error == pytest.approx((14.0 / 3.0 / 4.0) ** 0.5)
    assert estimate.count == 4
    assert estimate.text() == "3.0 ± 1.1" and estimate.text(3) == "3.000 ± 1.080"


def test_one_value_has_no_standard_error():
    estimate = mean_and_standard_error([5.0])
    assert (estimate.mean, estimate.standard_error, estimate.count) == (5.0, None, 1)
    assert estimate.text() == "5.0"


def test_no_values_raise():
    with pytest.raises(ValueError, match="values is empty"):
        mean_and_standard_error([])
