"""The certificate that comes with every learned metric: a proof of how close to optimal it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from covmetric._utils.rounding import describe_factors, rounded_up


@dataclass(frozen=True)
class Certificate:
    """An upper bound on the distance of a metric from the optimum, computed from the data by weak duality.

    Attributes
    ----------
    primal : float
        The objective P(W) of the metric, with the best slack for each pair.
    dual : float
        The dual objective of the repaired multipliers: a lower bound on the optimum P*.
    gap : float
        primal - dual. Up to rounding, P(W) - P* lies between 0 and the gap.
    relative_gap : float
        gap / max(1, |primal|).
    max_violation : float
        The largest violation y_k (s_k - xi_k) >= 0 of a constraint, where s_k is the squared distance divided by its
        bound, and xi_k is the slack that belongs to the multiplier. It is 0 at the optimum.
    tol : float
        The requested tolerance on the relative gap.
    rounding : float
        A first-order bound on the rounding error of the gap, in the units of the gap.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve
    >>> certificate = solve(make_paper_problem(n=5, K=20, seed=0), tol=1e-6).certificate
    >>> certificate.solved, certificate.relative_gap <= 1e-6
    (True, True)
    >>> lo, hi = certificate.distance_factor
    >>> 0.99 < lo <= 1.0 <= hi < 1.01
    True
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    max_violation: float
    tol: float
    rounding: float

    @classmethod
    def from_values(
        cls, primal: float, dual: float, *, max_violation: float, tol: float, rounding: float
    ) -> Certificate:
        """Create a certificate from a primal and a dual value.

        Parameters
        ----------
        primal : float
            The objective P(W).
        dual : float
            The dual objective.
        max_violation : float
            The largest violation of a constraint.
        tol : float
            The tolerance on the relative gap.
        rounding : float
            A first-order bound on the rounding error of the gap.

        Returns
        -------
        Certificate
        """
        gap = primal - dual
        relative_gap = math.inf if gap == math.inf else gap / max(1.0, abs(primal))
        return cls(primal, dual, gap, relative_gap, max_violation, tol, rounding)

    @property
    def bound(self) -> float:
        """The proven upper bound on P(W) - P*: the gap plus its rounding error, or infinity if either is NaN."""
        bound = max(self.gap, 0.0) + self.rounding
        return math.inf if math.isnan(bound) else bound

    @property
    def trusted(self) -> bool:
        """Whether the rounding error is within the tolerance, and the gap is not below minus the rounding error.

        Weak duality makes the exact gap non-negative. A computed gap below minus its rounding error would mean that the
        error was underestimated.
        """
        return 0.0 <= self.rounding <= self.tol * max(1.0, abs(self.primal)) and self.gap >= -self.rounding

    @property
    def solved(self) -> bool:
        """Whether P(W) - P* is proven to be within the tolerance, including rounding errors."""
        # An infinite objective has an infinite scale, which would make an infinite gap relatively small.
        return self.trusted and math.isfinite(self.bound) and self.bound <= self.tol * max(1.0, abs(self.primal))

    @property
    def distance_factor(self) -> tuple[float, float]:
        """Factors (lo, hi) with lo D* <= D <= hi D* for every learned squared distance D and its optimal value D*.

        P(W) - P* is at least sum(mu - log mu - 1) over the eigenvalues mu of W*^-1 W. Each eigenvalue therefore lies
        between the two roots of mu - log mu - 1 = bound.
        """
        return divergence_roots(self.bound)

    def __str__(self) -> str:
        lo, hi = self.distance_factor
        verdict = "within" if self.solved else "NOT proven within"
        relative = self.bound if math.isinf(self.bound) else self.bound / max(1.0, abs(self.primal))
        return (
            f"objective {self.primal:.10g}, at most {rounded_up(self.bound, 2):.1e} above the optimum "
            f"(relative {rounded_up(relative, 2):.1e}, {verdict} the tolerance {self.tol:.1e}); "
            f"every squared distance is {describe_factors(lo, hi)} times that of the optimal metric"
        )


def divergence_roots(gap: float) -> tuple[float, float]:
    """Return the two roots mu <= 1 <= mu' of mu - log mu - 1 = gap, about 1 -+ sqrt(2 gap) for a small gap.

    Parameters
    ----------
    gap : float
        The right-hand side. A gap of zero or less has the double root 1.

    Returns
    -------
    lo : float
        The root <= 1.
    hi : float
        The root >= 1.

    Raises
    ------
    ValueError
        If the gap is NaN.

    Examples
    --------
    >>> from covmetric.problem import divergence_roots
    >>> lo, hi = divergence_roots(0.5)
    >>> print(round(lo, 4), round(hi, 4))
    0.3017 2.3577
    """
    if math.isnan(gap):
        raise ValueError("gap is NaN")
    if gap <= 0.0:
        return 1.0, 1.0
    if math.isinf(gap):
        return 0.0, math.inf
    # With mu = exp(-v) the equation is v + exp(-v) - 1 = gap, convex in v, with one root on each side of 0.
    radius = math.sqrt(2.0 * gap)
    if radius < 1e-5:  # the next term of the series is below 1e-15
        return 1.0 - radius + gap / 1.5, 1.0 + radius + gap / 1.5
    lo = math.exp(-_solve(gap, start=radius + gap))
    hi = math.exp(-_solve(gap, start=-min(radius, math.log1p(gap + radius) + 1.0)))
    return lo, hi


def _solve(gap: float, start: float) -> float:
    """Find a root of the convex function v + expm1(-v) - gap by Newton's method, from a start beyond the root."""
    v = start
    for _ in range(100):
        step = (v + math.expm1(-v) - gap) / -math.expm1(-v)
        v -= step
        if abs(step) <= 1e-15 * abs(v):
            break
    return v
