"""A toy slack: the squared deviation, without the factor 1/2 of "l2"."""

from __future__ import annotations

import math

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.slacks.base import Slack


class Doubled(Slack):
    """d(s) = (s - 1)^2 on s >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> Doubled().divergence(np.array([1.0, 3.0]))
    array([0., 4.])
    """

    name = "toy"
    title = "squared difference without the factor 1/2"
    t_min = -2.0
    t_max = math.inf

    def divergence(self, s: FloatArray) -> FloatArray:
        return (s - 1.0) ** 2

    def gradient(self, s: FloatArray) -> FloatArray:
        return 2.0 * (s - 1.0)

    def curvature(self, s: FloatArray) -> FloatArray:
        return np.full_like(s, 2.0)

    def xi(self, t: FloatArray) -> FloatArray:
        return np.maximum(1.0 + 0.5 * t, 0.0)

    def xi_prime(self, t: FloatArray) -> FloatArray:
        return np.where(t > -2.0, 0.5, 0.0)

    def conjugate(self, t: FloatArray) -> FloatArray:
        return np.where(t > -2.0, -t - 0.25 * t * t, 1.0)

    @staticmethod
    def scalar_xi(t: float) -> float:
        return max(1.0 + 0.5 * t, 0.0)

    @staticmethod
    def scalar_xi_prime(t: float) -> float:
        return 0.5 if t > -2.0 else 0.0

    @staticmethod
    def scalar_gradient(s: float) -> float:
        return 2.0 * (s - 1.0)
