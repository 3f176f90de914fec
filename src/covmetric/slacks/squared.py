"""The squared loss "l2"."""

from __future__ import annotations

import math

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.slacks.base import Slack


class Squared(Slack):
    """The squared loss d(s) = (s - 1)^2 / 2, for s >= 0.

    The cost of a dissimilar pair at distance zero is c/2.

    Examples
    --------
    >>> import numpy as np
    >>> Squared().divergence(np.array([0.5, 1.0, 2.0]))
    array([0.125, 0.   , 0.5  ])
    """

    name = "l2"
    title = "squared difference"
    t_min = -1.0
    t_max = math.inf

    def divergence(self, s: FloatArray) -> FloatArray:
        return 0.5 * (s - 1.0) ** 2

    def gradient(self, s: FloatArray) -> FloatArray:
        return s - 1.0

    def curvature(self, s: FloatArray) -> FloatArray:
        return np.ones_like(s)

    def xi(self, t: FloatArray) -> FloatArray:
        return np.maximum(1.0 + t, 0.0)

    def xi_prime(self, t: FloatArray) -> FloatArray:
        return np.where(t > -1.0, 1.0, 0.0)

    def conjugate(self, t: FloatArray) -> FloatArray:
        return np.where(t > -1.0, -t - 0.5 * t * t, 0.5)

    @staticmethod
    def scalar_xi(t: float) -> float:
        return max(1.0 + t, 0.0)

    @staticmethod
    def scalar_xi_prime(t: float) -> float:
        return 1.0 if t > -1.0 else 0.0

    @staticmethod
    def scalar_gradient(s: float) -> float:
        return s - 1.0
