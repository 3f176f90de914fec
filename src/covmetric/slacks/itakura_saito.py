"""The Itakura-Saito divergence "is", the loss of ITML and LEML."""

from __future__ import annotations

import math

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.slacks.base import Slack


class ItakuraSaito(Slack):
    """The Itakura-Saito divergence d(s) = s - log s - 1.

    The cost of a dissimilar pair at distance zero is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> ItakuraSaito().divergence(np.array([0.5, 1.0, 2.0])).round(3)
    array([0.193, 0.   , 0.307])
    """

    name = "is"
    title = "Itakura-Saito divergence"
    t_min = -math.inf
    t_max = 1.0 - 2.0**-48  # t = alpha b / c has a few rounding errors, and h has its pole at 1

    def divergence(self, s: FloatArray) -> FloatArray:
        return (s - 1.0) - np.log(s)

    def gradient(self, s: FloatArray) -> FloatArray:
        return (s - 1.0) / s

    def curvature(self, s: FloatArray) -> FloatArray:
        return 1.0 / (s * s)

    def xi(self, t: FloatArray) -> FloatArray:
        return 1.0 / (1.0 - t)

    def xi_prime(self, t: FloatArray) -> FloatArray:
        return 1.0 / (1.0 - t) ** 2

    def conjugate(self, t: FloatArray) -> FloatArray:
        return np.log1p(-t)

    @staticmethod
    def scalar_xi(t: float) -> float:
        rest = 1.0 - t
        return 1.0 / rest if rest > 0.0 else math.inf

    @staticmethod
    def scalar_xi_prime(t: float) -> float:
        rest = 1.0 - t
        return 1.0 / (rest * rest) if rest > 0.0 else math.inf

    @staticmethod
    def scalar_gradient(s: float) -> float:
        return 1.0 - 1.0 / s if s > 0.0 else -math.inf
