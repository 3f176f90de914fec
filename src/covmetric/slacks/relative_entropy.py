"""The relative entropy "re"."""

from __future__ import annotations

import math

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.slacks.base import Slack

# exp(-40) is below half the spacing of the doubles near 1: for t <= -40, h(t) = 1 - exp(t) is 1 in double precision.
_T_AT_ZERO = -40.0
# exp overflows beyond 709.
_LARGEST_EXPONENT = 700.0
# No optimum has multipliers near this bound, so clipping t there does not change the result.
_T_MAX = 300.0


class RelativeEntropy(Slack):
    """The relative entropy d(s) = s log s - s + 1.

    The cost of a dissimilar pair at distance zero is c.

    Examples
    --------
    >>> import numpy as np
    >>> RelativeEntropy().divergence(np.array([0.0, 1.0, 2.0])).round(3)
    array([1.   , 0.   , 0.386])
    """

    name = "re"
    title = "relative entropy"
    t_min = -math.inf
    t_max = _T_MAX

    def divergence(self, s: FloatArray) -> FloatArray:
        return s * np.log(np.where(s > 0.0, s, 1.0)) - (s - 1.0)

    def gradient(self, s: FloatArray) -> FloatArray:
        positive = s > 0.0
        return np.where(positive, np.log(np.where(positive, s, 1.0)), _T_AT_ZERO)

    def curvature(self, s: FloatArray) -> FloatArray:
        return 1.0 / s

    def xi(self, t: FloatArray) -> FloatArray:
        return np.exp(np.minimum(t, _LARGEST_EXPONENT))

    def xi_prime(self, t: FloatArray) -> FloatArray:
        return np.exp(np.minimum(t, _LARGEST_EXPONENT))

    def conjugate(self, t: FloatArray) -> FloatArray:
        return -np.expm1(np.minimum(t, _LARGEST_EXPONENT))

    @staticmethod
    def scalar_xi(t: float) -> float:
        return math.exp(min(t, _LARGEST_EXPONENT))

    @staticmethod
    def scalar_xi_prime(t: float) -> float:
        return math.exp(min(t, _LARGEST_EXPONENT))

    @staticmethod
    def scalar_gradient(s: float) -> float:
        return math.log(s) if s > 0.0 else _T_AT_ZERO
