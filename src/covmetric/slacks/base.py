"""What a slack divergence is: a convex price for missing a bound, with its conjugate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from covmetric._utils.validation import FloatArray


class Slack(ABC):
    """A divergence d(s) = BD(s, 1) for s >= 0, and the functions that the primal, the dual and the solvers need.

    A pair whose squared distance is s times its bound, on the wrong side of 1, pays c d(s). In the dual, the multiplier
    enters as t = y alpha b / c.

    The methods work on arrays; overflow and division by zero are for the caller to silence. The three ``scalar_``
    functions repeat xi, xi' and d' for one float in plain `math`, for the compiled kernel; a contract test holds the
    two against each other. 1/xi has to be convex for the kernel's root finder to be fast (it is safe in any case).
    """

    name: ClassVar[str]
    #: The repair clips t to [t_min, t_max]: beyond, the conjugate is infinite, or no better than at the end.
    t_min: ClassVar[float]
    t_max: ClassVar[float]

    @abstractmethod
    def divergence(self, s: FloatArray) -> FloatArray:
        """d(s), the price of s >= 0."""

    @abstractmethod
    def gradient(self, s: FloatArray) -> FloatArray:
        """d'(s); at s = 0 a t that attains d(0) in the dual to double precision, if there is one."""

    @abstractmethod
    def curvature(self, s: FloatArray) -> FloatArray:
        """d''(s)."""

    @abstractmethod
    def xi(self, t: FloatArray) -> FloatArray:
        """The slack that belongs to t: the inverse of d'."""

    @abstractmethod
    def xi_prime(self, t: FloatArray) -> FloatArray:
        """The derivative of xi."""

    @abstractmethod
    def conjugate(self, t: FloatArray) -> FloatArray:
        """h(t) = min over s of d(s) - t s, the pair's term in the dual; its derivative is -xi(t).

        Not finite where t is beyond the dual domain.
        """

    @staticmethod
    @abstractmethod
    def scalar_xi(t: float) -> float:
        """xi of one float."""

    @staticmethod
    @abstractmethod
    def scalar_xi_prime(t: float) -> float:
        """xi_prime of one float."""

    @staticmethod
    @abstractmethod
    def scalar_gradient(s: float) -> float:
        """gradient of one float."""
