"""The start of Newton's method: the best multiple of the identity, with a fraction of the weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from covmetric._utils.tuning import THIN_RATIO
from covmetric._utils.validation import FloatArray
from covmetric.problem import MetricProblem

# The stiffness per dimension up to which the full weights are used from the beginning, if examples have as many columns
# as rows. The curvature along a pair with fewer columns is larger than that along the identity, by a factor of n/m. If
# they are thin, the second number counts, because steps that reach the boundary of the cone take longer to recover.
_MAX_STIFFNESS, _MAX_STIFFNESS_THIN = 100.0, 25.0
# The steps of Newton's method from the identity: a multiple of powers of the objective per row, and of n
# (python -m benchmarks.cells).
_STEPS, _OBJECTIVE_EXPONENT, _ROWS_EXPONENT = 2.7, 0.22, 0.2
_SMALL_OBJECTIVE = 0.05
# If it begins with a fraction of the weights, each point of the path takes this many, and more for each row of W.
_STEPS_PER_POINT, _STEPS_PER_POINT_AND_ROW = 3.5, 1.0 / 30.0
# The factor by which the fraction of the weights grows at first, and the fraction from which on the full weights are
# used, because one more point on the path would take longer.
GROWTH, NEARLY_ALL = 10.0, 0.5
# The accuracy of w, for the start w I, and the limit on the number of steps.
_ACCURACY, _MAX_STEPS = 1e-2, 100


def best_multiple(problem: MetricProblem, weight_fraction: float) -> tuple[FloatArray, FloatArray]:
    """Return the multiple of the identity that minimises P, to a few percent.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    weight_fraction : float
        The fraction of the weights that is used.

    Returns
    -------
    factor : array of shape (n, n)
        sqrt(w) I, for the metric w I.
    ratios : array of shape (K,)
        Squared distances divided by their bounds, in this metric.
    """
    slack, identity = problem.slack, problem.sums.half.identity
    s, weights = problem.squared_norms / problem.bounds, weight_fraction * problem.weights
    positive = s > 0.0

    def sums_at(w: float) -> tuple[float, float, float, float]:
        scaled = w * s
        active = (problem.terms.active(scaled) & positive).nonzero()[0]
        c, scaled = weights[active], scaled[active]
        pull, spring = slack.gradient(scaled) * scaled, slack.curvature(scaled) * scaled**2
        return float(c.sum()), float(c @ scaled), float(c @ pull), float(c @ spring)

    w = multiple_near_minimum(problem.n, sums_at)
    return (identity.copy(), s) if w == 1.0 else (np.sqrt(w) * identity, w * s)


def multiple_near_minimum(n: int, sums_at: Callable[[float], tuple[float, float, float, float]]) -> float:
    """Return the w that minimises P(w I), to a few percent, by Newton's method within a bracket.

    The start is the minimiser for slack 'is' if the active pairs are those of the identity. It is usually good.

    Parameters
    ----------
    n : int
        The number of rows of the metric.
    sums_at : callable
        Returns the sums of c, c s, c d'(s) s and c d''(s) s^2 over the pairs that are active in the metric w I.

    Returns
    -------
    float
        Exactly 1 if the identity is the minimiser.
    """
    weight, ratio, pull, _ = sums_at(1.0)
    if pull == 0.0:
        return 1.0
    w, low, high, factor = (n + weight) / (n + ratio), 0.0, np.inf, 2.0
    for _ in range(_MAX_STEPS):
        _, _, pull, spring = sums_at(w)
        slope = n * (w - 1.0) + pull
        # The second derivative in w is at least n / w^2, because the losses are convex.
        if abs(slope) <= _ACCURACY * n:
            return w
        low, high = (low, w) if slope > 0.0 else (w, high)
        step = slope / (n + spring)
        last, w = w, w * (1.0 - step)
        if not low < w < high:  # the active pairs change on the way
            if low > 0.0 and high < np.inf:
                w = float(np.sqrt(low) * np.sqrt(high))
            else:
                w = last / factor if slope > 0.0 else last * factor
                factor = min(factor * factor, 1e30)
        elif abs(step) <= _ACCURACY:
            return w
        if high <= (1.0 + _ACCURACY) * low:
            return w
    return w


def stiffness(problem: MetricProblem, ratios: FloatArray) -> float:
    """Return the curvature of the losses along multiples of a metric, per dimension. That of log det is 1.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    ratios : array of shape (K,)
        Squared distances divided by their bounds, in the metric.

    Returns
    -------
    float
        The sum of c_k d''(s_k) s_k^2 over the active pairs, divided by n.
    """
    active = (problem.terms.active(ratios) & (ratios > 0.0)).nonzero()[0]
    s = ratios[active]
    return float(problem.weights[active] @ (problem.slack.curvature(s) * s**2)) / problem.n


def objective_per_row(problem: MetricProblem, factor: FloatArray, ratios: FloatArray) -> float:
    """Return P(w I) / n.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    factor : array of shape (n, n)
        sqrt(w) I.
    ratios : array of shape (K,)
        Squared distances divided by their bounds, in the metric w I.

    Returns
    -------
    float
    """
    w, active = float(factor[0, 0]) ** 2, problem.terms.active(ratios)
    losses = float(problem.weights[active] @ problem.slack.divergence(ratios[active]))
    return w - float(np.log(w)) - 1.0 + losses / problem.n


def steps_from_identity(problem: MetricProblem) -> float:
    """Return the number of steps that Newton's method is expected to take from the identity.

    It grows with the objective per row at the start, because each of the first steps lowers the objective by about a
    constant. If the path begins with a fraction of the weights, it is proportional to the number of its points. Half of
    the predictions are within a factor of 1.4.

    Parameters
    ----------
    problem : MetricProblem
        The problem.

    Returns
    -------
    float
    """
    n, (factor, ratios) = problem.n, best_multiple(problem, 1.0)
    fraction = first_weight_fraction(problem, ratios)
    if fraction < 1.0:
        return path_length(fraction) * (_STEPS_PER_POINT + _STEPS_PER_POINT_AND_ROW * n)
    objective = max(objective_per_row(problem, factor, ratios), _SMALL_OBJECTIVE)
    return _STEPS * float(objective**_OBJECTIVE_EXPONENT * n**_ROWS_EXPONENT)


def first_weight_fraction(problem: MetricProblem, ratios: FloatArray) -> float:
    """Return the fraction of the weights to begin with.

    If the losses have far more curvature than log det, full steps reach the boundary of the cone, where progress is
    slow. With a fraction of the weights the first steps stay inside. The fraction grows once the iterate is centred.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    ratios : array of shape (K,)
        Squared distances divided by their bounds, at the start.

    Returns
    -------
    float
        In (0, 1].
    """
    return fraction_for(stiffness(problem, ratios), problem.n, problem.m)


def fraction_for(stiff: float, n: int, m: int) -> float:
    """Return the fraction of the weights to begin with, given the curvature of the losses.

    Parameters
    ----------
    stiff : float
        The curvature of the losses along multiples of the metric, per dimension, as in `stiffness`.
    n, m : int
        The numbers of rows and columns of an embedded example.

    Returns
    -------
    float
        In (0, 1].
    """
    limit = (_MAX_STIFFNESS_THIN if THIN_RATIO * m <= n else _MAX_STIFFNESS) * min(1.0, m / n)
    return min(1.0, limit / stiff) if stiff > 0.0 else 1.0


def path_length(fraction: float) -> int:
    """Return the number of points of the path that begins with a fraction of the weights, if it never retreats.

    Parameters
    ----------
    fraction : float
        In (0, 1].

    Returns
    -------
    int
    """
    return 1 if fraction >= 1.0 else 1 + max(1, math.ceil(math.log(NEARLY_ALL / fraction) / math.log(GROWTH)))
