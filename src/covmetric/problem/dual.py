"""Points of the dual problem: their value, their metric, and the repair that makes any multipliers feasible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, lapack, solve_triangular
from scipy.optimize import brentq

from covmetric._utils.validation import FloatArray
from covmetric.problem.terms import PairTerms

_EPS = float(np.finfo(np.float64).eps)
# A rounding error of log det above this, relative to the dual value, is worth the slower factorisation.
_ACCURATE_BELOW = 1e-11


@dataclass(frozen=True)
class DualPoint:
    """Feasible multipliers alpha, with what follows from them.

    Attributes
    ----------
    multipliers : array, shape (K,)
    value : float
        g(alpha) = log det(I + S) + sum c h(t), a lower bound on the primal optimum.
    metric : array, shape (n, n)
        W(alpha) = (I + S)^-1.
    rounding : float
        An estimate of the rounding error of the value.
    """

    multipliers: FloatArray
    value: float
    metric: FloatArray
    rounding: float


class Dual:
    """The dual of the learning problem over one set of pairs.

    maximise  g(alpha) = log det(I + S) + sum_k c_k h(t_k),  S = sum_k y_k alpha_k A_k,  t_k = y_k alpha_k b_k / c_k
    over      alpha >= 0,  I + S > 0,  t within the slack's domain.
    """

    def __init__(self, terms: PairTerms) -> None:
        self._sums, self._slack = terms.sums, terms.slack
        self._similar, self._bounds, self._weights = terms.similar, terms.bounds, terms.weights
        self._upper = np.where(self._similar > 0.0, self._slack.t_max, -self._slack.t_min) * (
            self._weights / self._bounds
        )

    def t(self, multipliers: FloatArray) -> FloatArray:
        """The argument of the slack's conjugate for each pair."""
        return self._similar * multipliers * self._bounds / self._weights

    def losses(self, multipliers: FloatArray) -> float:
        """sum_k c_k h(t_k)."""
        return float(self._weights @ self._slack.conjugate(self.t(multipliers)))

    def point(self, multipliers: FloatArray) -> DualPoint | None:
        """The point of these multipliers, or None where they are not feasible."""
        if (multipliers < 0.0).any():
            return None
        signed = self._similar * multipliers
        return self._from_grams(multipliers, self.t(multipliers), self._sums.gram(signed), self._sums.gram(-signed))

    def repaired(self, multipliers: FloatArray) -> DualPoint:
        """The best feasible point on the ray through the multipliers, after each was brought into its own domain.

        g is concave along the ray, and 0 at its origin, so there always is one.
        """
        clipped = self.clipped(multipliers)
        if not clipped.any():
            return self._origin()
        t = self.t(clipped)
        signed = self._similar * clipped
        plus, minus = self._sums.gram(signed), self._sums.gram(-signed)
        point = self._from_grams(clipped, t, plus, minus)
        if point is not None and not self._shrinking_helps(point, t):
            return point
        theta = self._best_scale(plus - minus, t)
        while theta > 0.0:
            scaled = self._from_grams(theta * clipped, theta * t, theta * plus, theta * minus)
            if scaled is not None:
                best = point if point is not None and point.value >= scaled.value else scaled
                if best.value >= 0.0:
                    return best
            theta = 0.9 * theta if theta > 1e-9 else 0.0
        return self._origin()

    def _origin(self) -> DualPoint:
        """The point of no multipliers at all."""
        n = self._sums.rows.shape[2]
        return DualPoint(np.zeros(len(self._bounds)), 0.0, np.eye(n), n * _EPS)

    def clipped(self, multipliers: FloatArray) -> FloatArray:
        """The multipliers, each brought to the nearest value that its own domain allows."""
        return np.minimum(np.maximum(multipliers, 0.0), self._upper)

    def _from_grams(
        self, multipliers: FloatArray, t: FloatArray, plus: FloatArray, minus: FloatArray
    ) -> DualPoint | None:
        """The point whose S is plus - minus, or None if I + S is not positive definite."""
        n = len(plus)
        losses = self._weights * self._slack.conjugate(t)
        loss, loss_size = float(losses.sum()), float(np.abs(losses).sum())
        H = plus - minus
        H.flat[:: n + 1] += 1.0
        if not (np.isfinite(loss_size) and np.isfinite(H).all()):
            return None
        R, failed = lapack.dpotrf(H, lower=False, clean=True)
        if failed:
            return None
        size = np.sqrt(1.0 + plus.diagonal() + minus.diagonal())
        inverse, _ = lapack.dtrtri(R)
        metric = inverse @ inverse.T
        # |trace(metric E)| for the entrywise bound |E_ij| <= eps size_i size_j on the error of I + S.
        rounding = _EPS * float(size @ np.abs(metric) @ size)
        logdet = 2.0 * float(np.log(R.diagonal()).sum())
        if rounding > _ACCURATE_BELOW * max(1.0, abs(logdet + loss)):
            accurate = self._accurate(multipliers, size)
            if accurate is None:
                return None
            logdet, metric, rounding = accurate
        rounding += _EPS * (abs(logdet) + loss_size)
        return DualPoint(multipliers, logdet + loss, metric, rounding)

    def _accurate(self, multipliers: FloatArray, size: FloatArray) -> tuple[float, FloatArray, float] | None:
        """log det(I + S), (I + S)^-1 and the rounding error of the first, from triangles instead of sums of squares.

        I + S = Q^T (I - B B^T) Q with Q^T Q = I + (the similar part) by QR, and B the dissimilar differences in the
        metric of the similar part: the large numbers are divided out before anything is subtracted.
        """
        n = len(size)
        signed = self._similar * multipliers
        Q = self._sums.triangle(signed)
        diagonal = np.abs(np.diag(Q))
        if not (np.isfinite(Q).all() and (diagonal > 0.0).all()):
            return None
        Q_inverse = solve_triangular(Q, np.eye(n))
        BB = self._sums.gram(-signed, transform=Q_inverse)
        try:
            inner = cholesky(np.eye(n) - BB, lower=False)
        except np.linalg.LinAlgError:
            return None
        inverse = Q_inverse @ solve_triangular(inner, np.eye(n))
        inner_inverse = np.linalg.inv(inner)
        # Columns of Q, and of B, are known to eps times these sizes; log det takes their errors up by its gradients.
        spread = (np.abs(Q_inverse) * size[:, None]).sum(axis=0)
        B_size = np.sqrt(np.diag(BB))
        rounding = 2.0 * _EPS * float(spread.sum())
        rounding += 2.0 * _EPS * float(B_size @ np.abs(inner_inverse @ inner_inverse.T) @ spread)
        rounding += _EPS * float(((np.abs(inner_inverse).T @ np.sqrt(1.0 + B_size**2)) ** 2).sum())
        logdet = 2.0 * float(np.log(diagonal).sum() + np.log(np.diag(inner)).sum())
        return logdet, inverse @ inverse.T, rounding

    def _shrinking_helps(self, point: DualPoint, t: FloatArray) -> bool:
        """Whether g increases noticeably towards the origin: one Newton step in the scale, S W being I - W."""
        if point.value < 0.0:
            return True  # the origin itself is better
        n = len(point.metric)
        shrunk = np.eye(n) - point.metric
        slope = float(np.trace(shrunk) - (self._weights * t * self._slack.xi(t)).sum())
        curvature = float((shrunk**2).sum() + (self._weights * t**2 * self._slack.xi_prime(t)).sum())
        return slope < 0.0 and slope * slope > 2.0 * curvature * max(point.rounding, _EPS * abs(point.value))

    def _best_scale(self, S: FloatArray, t: FloatArray) -> float:
        """The theta in (0, 1] that maximises g(theta alpha)."""
        eigenvalues = np.linalg.eigvalsh(S)
        limit = -1.0 / eigenvalues[0] if eigenvalues[0] < -1.0 else 1.0

        def slope(theta: float) -> float:
            loss = float((self._weights * t * self._slack.xi(theta * t)).sum())
            return float((eigenvalues / (1.0 + theta * eigenvalues)).sum()) - loss

        upper = min(limit * (1.0 - 1e-12), 1.0)
        if slope(upper) >= 0.0:
            return upper
        if slope(0.0) <= 0.0:
            return 0.0
        return float(brentq(slope, 0.0, upper, xtol=1e-14, rtol=1e-13))
