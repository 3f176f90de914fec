"""The base class of slack divergences: convex costs of violating a bound, with their conjugates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from covmetric._utils.validation import FloatArray


class Slack(ABC):
    """A divergence d(s) = BD(s, 1) for s >= 0, with the functions that the primal, the dual and the solvers need.

    A pair whose squared distance is s times its bound, on the wrong side of s = 1, costs c d(s). In the dual, the
    multiplier alpha of a pair enters as t = y alpha b / c.

    The methods work on arrays. The caller silences warnings about overflow and division by zero. The three ``scalar_``
    functions compute xi, xi' and d' for a single float with the `math` module, so that Numba can compile them into the
    kernel. The kernel's root finder is safe for every slack, and fast if 1/xi is convex.

    A new slack is one file with a subclass and one line in `covmetric.slacks.SLACKS`.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.slacks import get_slack
    >>> slack = get_slack("is")
    >>> slack.xi(slack.gradient(np.array([0.5, 2.0])))
    array([0.5, 2. ])
    """

    #: The name of the slack in `SLACKS`.
    name: ClassVar[str]
    #: The name of the divergence in words, for tables of settings.
    title: ClassVar[str]
    #: The interval to which dual points are clipped. Beyond its ends the conjugate is infinite, or no better than at
    #: the end, to double precision.
    t_min: ClassVar[float]
    t_max: ClassVar[float]

    @abstractmethod
    def divergence(self, s: FloatArray) -> FloatArray:
        """Return the cost d(s).

        Parameters
        ----------
        s : array
            Squared distances divided by their bounds, >= 0.

        Returns
        -------
        array
            The costs, of the same shape as `s`. They are zero only at s = 1.
        """

    @abstractmethod
    def gradient(self, s: FloatArray) -> FloatArray:
        """Return the derivative d'(s).

        Parameters
        ----------
        s : array
            Squared distances divided by their bounds, >= 0.

        Returns
        -------
        array
            The derivatives. Where d(0) is finite, the value at s = 0 is a finite t with h(t) = d(0) in double
            precision, even if d' tends to minus infinity.
        """

    @abstractmethod
    def curvature(self, s: FloatArray) -> FloatArray:
        """Return the second derivative d''(s).

        Parameters
        ----------
        s : array
            Squared distances divided by their bounds, > 0.

        Returns
        -------
        array
            The second derivatives, >= 0.
        """

    @abstractmethod
    def xi(self, t: FloatArray) -> FloatArray:
        """Return the slack variable xi(t), the inverse function of d'.

        Parameters
        ----------
        t : array
            Dual variables, from `t_min` to `t_max`.

        Returns
        -------
        array
            The slack variables, >= 0.
        """

    @abstractmethod
    def xi_prime(self, t: FloatArray) -> FloatArray:
        """Return the derivative of xi.

        Parameters
        ----------
        t : array
            Dual variables, from `t_min` to `t_max`.

        Returns
        -------
        array
            The derivatives, >= 0.
        """

    @abstractmethod
    def conjugate(self, t: FloatArray) -> FloatArray:
        """Return h(t) = min over s >= 0 of d(s) - t s, the term of a pair in the dual. Its derivative is -xi(t).

        Parameters
        ----------
        t : array
            Dual variables.

        Returns
        -------
        array
            The minima. They are not finite where `t` lies outside of the dual domain.
        """

    @staticmethod
    @abstractmethod
    def scalar_xi(t: float) -> float:
        """Return xi of a single number.

        Parameters
        ----------
        t : float
            Any number.

        Returns
        -------
        float
            The slack variable, or infinity if `t` lies above the dual domain.
        """

    @staticmethod
    @abstractmethod
    def scalar_xi_prime(t: float) -> float:
        """Return the derivative of xi at a single number.

        Parameters
        ----------
        t : float
            Any number.

        Returns
        -------
        float
            The derivative, or infinity if `t` lies above the dual domain.
        """

    @staticmethod
    @abstractmethod
    def scalar_gradient(s: float) -> float:
        """Return d' of a single number.

        Parameters
        ----------
        s : float
            A number >= 0.

        Returns
        -------
        float
            The derivative, or minus infinity at s = 0 if d(0) is infinite.
        """
