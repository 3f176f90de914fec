"""Numbers with few digits that stay valid bounds."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context


def rounded_up(value: float, digits: int) -> float:
    """Return the smallest number with few significant digits that is not below a value.

    Parameters
    ----------
    value : float
        The value, for example an upper bound.
    digits : int
        The number of significant digits.

    Returns
    -------
    float
        The rounded value.

    Examples
    --------
    >>> rounded_up(1.0386e-08, 2)
    1.1e-08
    """
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(value))


def rounded_down(value: float, digits: int) -> float:
    """Return the largest number with few significant digits that is not above a value.

    Parameters
    ----------
    value : float
        The value, for example a lower bound.
    digits : int
        The number of significant digits.

    Returns
    -------
    float
        The rounded value.

    Examples
    --------
    >>> rounded_down(19.401259495, 6)
    19.4012
    """
    return float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal_from_float(value))


def describe_factors(lo: float, hi: float) -> str:
    """Return an interval around 1 as text, rounded outwards to two significant digits of its distance from 1.

    Parameters
    ----------
    lo, hi : float
        The ends of the interval.

    Returns
    -------
    str
        The text 'between lo and hi'.

    Examples
    --------
    >>> describe_factors(0.99985588, 1.00014413)
    'between 0.99985 and 1.00015'
    """
    if math.isinf(hi):
        return "between 0 and infinity"
    digits = 2 if hi > 1.1 else 1 - math.floor(math.log10(max(hi - 1.0, 1e-15)))
    unit = 10.0**-digits
    below, above = max(math.floor(lo / unit) * unit, 0.0), math.ceil(hi / unit) * unit
    return f"between {below:.{digits}f} and {above:.{digits}f}"
