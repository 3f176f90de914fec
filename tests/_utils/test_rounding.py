"""Printed bounds stay bounds."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from covmetric._utils.rounding import describe_factors, rounded_down, rounded_up


@given(st.floats(allow_nan=False), st.integers(1, 12))
def test_rounding_keeps_the_side(value, digits):
    assert rounded_down(value, digits) <= value <= rounded_up(value, digits)


@given(st.floats(1e-300, 1e300), st.integers(1, 12))
@example(1e100, 2)
def test_rounding_needs_no_more_digits(value, digits):
    for rounded in (rounded_down(value, digits), rounded_up(value, digits)):
        if math.isfinite(rounded):
            assert float(f"{rounded:.{digits - 1}e}") == rounded
            # In exact arithmetic; the decimal number is then rounded to a double.
            change = abs(Fraction(rounded) - Fraction(value))
            assert change <= Fraction(10) ** (1 - digits) * Fraction(value) + Fraction(math.ulp(rounded))


@given(st.floats(1e-14, 5.0))
def test_factors_are_rounded_outwards(distance):
    lo, hi = max(1.0 - distance, 0.0), 1.0 + distance
    below, above = (float(text) for text in re.findall(r"\d+\.\d+", describe_factors(lo, hi)))
    assert below <= lo
    assert hi <= above
