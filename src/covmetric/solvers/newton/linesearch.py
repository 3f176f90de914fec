"""The objective along a ray of metrics, which is cheap to evaluate, and the search for its minimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.problem import MetricProblem
from covmetric.solvers.newton.stretch import Stretch

# The search stops if the slope is at most this fraction of the slope at the start.
_FLAT = 0.5
_MAX_TRIES = 60
# A step of this fraction of the limit counts as a step to the limit.
_ALMOST = 0.9


@dataclass(slots=True, eq=False)  # not frozen, because creating a frozen object takes some microseconds longer
class Ray:
    """The objective P(W(t)) for W(t) = C (I + t Delta) C^T, t >= 0.

    The squared distances are linear in t.

    Attributes
    ----------
    problem : MetricProblem
        The problem.
    weights : array of shape (K,)
        The weights of the problem, or a fraction of them.
    s, ds : arrays of shape (K,)
        Squared distances divided by their bounds at t = 0, and their derivatives in t.
    stretch : Stretch
        The matrix I + t Delta.
    regulariser : float
        -log det W + tr W - n at t = 0.
    trace_rate : float
        The derivative of tr W in t.
    """

    problem: MetricProblem
    weights: FloatArray
    s: FloatArray
    ds: FloatArray
    stretch: Stretch
    regulariser: float
    trace_rate: float

    @property
    def limit(self) -> float:
        """The largest t for which no eigenvalue of W shrinks too much."""
        return self.stretch.limit

    def at(self, t: float) -> tuple[float, float]:
        """Return the objective and its derivative at t.

        Parameters
        ----------
        t : float
            A step length below the limit.

        Returns
        -------
        value : float
            The objective.
        slope : float
            Its derivative.
        """
        problem, slack = self.problem, self.problem.slack
        logdet, logdet_slope = self.stretch.logdet(t)
        s = self.s + t * self.ds
        active = problem.terms.active(s)
        s, c = s[active], self.weights[active]
        value = self.regulariser - logdet + t * self.trace_rate + c @ slack.divergence(s)
        slope = self.trace_rate - logdet_slope + (c * self.ds[active]) @ slack.gradient(s)
        return float(value), float(slope)


class ConvexRay(Protocol):
    """The objective along a ray of metrics, however its values are computed."""

    @property
    def stretch(self) -> Stretch:
        """The matrix I + t Delta."""

    @property
    def limit(self) -> float:
        """The largest t for which no eigenvalue of W shrinks too much."""

    def at(self, t: float) -> tuple[float, float]:
        """Return the objective and its derivative at t.

        Parameters
        ----------
        t : float
            A step length below the limit.

        Returns
        -------
        value : float
            The objective.
        slope : float
            Its derivative.
        """


def search(ray: ConvexRay, start: tuple[float, float]) -> tuple[float, float]:
    """Return a step length near the minimum along the ray, and the objective there.

    The objective is convex in t, so the slope changes sign at the minimum. The Newton step t = 1 is tried first.
    If the decrease is smaller than the rounding error of P, only the slopes decide.

    Parameters
    ----------
    ray : ConvexRay
        The objective along the ray.
    start : tuple of float
        The objective and the slope at t = 0.

    Returns
    -------
    t : float
        The step length, or 0 if no step decreases the objective.
    value : float
        The objective at t.
    """
    value0, slope0 = start
    if not slope0 < 0.0:
        return 0.0, value0
    noise = 1e-14 * max(1.0, abs(value0))

    def is_enough(t: float, value: float, slope: float) -> bool:
        return abs(slope) <= -_FLAT * slope0 and value <= value0 + 1e-4 * t * slope0 + noise

    if ray.stretch.is_short:  # without the limit, which takes longer to compute than the objective
        value, slope = ray.at(1.0)
        if is_enough(1.0, value, slope):
            return 1.0, value
    lo, slope_lo = 0.0, slope0
    hi, slope_hi = ray.limit, np.inf
    t = 1.0 if hi > 1.0 else _ALMOST * hi
    for _ in range(_MAX_TRIES):
        value, slope = ray.at(t)
        good = np.isfinite(value) and np.isfinite(slope)
        if good and is_enough(t, value, slope):
            return t, value
        if good and slope < 0.0 and hi == ray.limit and t >= _ALMOST * hi:
            return t, value  # the minimum is beyond the limit
        if not good or slope > 0.0:
            hi, slope_hi = t, slope if good else np.inf
        else:
            lo, slope_lo = t, slope
        if hi == np.inf:
            t *= 4.0
        elif slope_hi < np.inf:
            # The zero of the secant, away from the ends of the bracket.
            fraction = slope_lo / (slope_lo - slope_hi)
            t = lo + min(max(fraction, 0.1), 0.9) * (hi - lo)
        else:
            t = 0.5 * (lo + hi)
    return (lo, ray.at(lo)[0]) if lo > 0.0 else (0.0, value0)
