"""The dual problem: the value and the metric of multipliers, and the repair that makes any multipliers feasible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, lapack, solve_triangular
from scipy.optimize import brentq

from covmetric._utils.validation import FloatArray
from covmetric.problem.terms import PairTerms

_EPS = float(np.finfo(np.float64).eps)
# If the rounding error of log det, relative to the dual value, is above this limit, the slower factorisation is used.
# The default tolerance is 1e-6, and users may request 1e-10.
_ACCURATE_BELOW = 1e-11


@dataclass(frozen=True)
class DualPoint:
    """Dual feasible multipliers, with their value and their metric.

    Attributes
    ----------
    multipliers : array of shape (K,)
        The multipliers alpha.
    value : float
        g(alpha) = log det(I + S) + sum c h(t), a lower bound on the primal optimum.
    metric : array of shape (n, n)
        W(alpha) = (I + S)^-1.
    rounding : float
        An estimate of the rounding error of the value.
    """

    multipliers: FloatArray
    value: float
    metric: FloatArray
    rounding: float


class Dual:
    """The dual of the learning problem.

    maximise  g(alpha) = log det(I + S) + sum_k c_k h(t_k),  S = sum_k y_k alpha_k A_k,  t_k = y_k alpha_k b_k / c_k
    over      alpha >= 0,  I + S > 0,  t within the slack's domain.

    Parameters
    ----------
    terms : PairTerms
        The pairs.
    """

    def __init__(self, terms: PairTerms) -> None:
        self._sums, self._slack = terms.sums, terms.slack
        self._similar, self._bounds, self._weights = terms.similar, terms.bounds, terms.weights
        self._upper = np.where(self._similar > 0.0, self._slack.t_max, -self._slack.t_min) * (
            self._weights / self._bounds
        )

    def t(self, multipliers: FloatArray) -> FloatArray:
        """Return t_k = y_k alpha_k b_k / c_k, the argument of the slack's conjugate, for each pair.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.

        Returns
        -------
        array of shape (K,)
        """
        return self._similar * multipliers * self._bounds / self._weights

    def losses(self, multipliers: FloatArray) -> float:
        """Return sum_k c_k h(t_k).

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.

        Returns
        -------
        float
        """
        return float(self._weights @ self._slack.conjugate(self.t(multipliers)))

    def point(self, multipliers: FloatArray) -> DualPoint | None:
        """Return the dual point of the multipliers.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.

        Returns
        -------
        DualPoint or None
            None if the multipliers are not dual feasible.
        """
        if (multipliers < 0.0).any():
            return None
        signed = self._similar * multipliers
        return self._from_grams(multipliers, self.t(multipliers), self._sums.gram(signed), self._sums.gram(-signed))

    def repaired(self, multipliers: FloatArray) -> DualPoint:
        """Clip each multiplier to its domain, and return the best feasible point on the ray through the result.

        The dual objective is concave along the ray and 0 at its origin, so such a point exists.

        Parameters
        ----------
        multipliers : array of shape (K,)
            Any finite numbers.

        Returns
        -------
        DualPoint
            The best point. Its value is at least 0.
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
        """Return the point at which all multipliers are zero."""
        n = self._sums.rows.shape[2]
        return DualPoint(np.zeros(len(self._bounds)), 0.0, np.eye(n), n * _EPS)

    def clipped(self, multipliers: FloatArray) -> FloatArray:
        """Return the multipliers, each clipped to its domain.

        Parameters
        ----------
        multipliers : array of shape (K,)
            Any numbers.

        Returns
        -------
        array of shape (K,)
            A copy.
        """
        return np.minimum(np.maximum(multipliers, 0.0), self._upper)

    def _from_grams(
        self, multipliers: FloatArray, t: FloatArray, plus: FloatArray, minus: FloatArray
    ) -> DualPoint | None:
        """Return the point with S = plus - minus, or None if I + S is not positive definite."""
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
        # This bounds |trace(metric E)| if the error E of I + S has |E_ij| <= eps size_i size_j.
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
        """Return log det(I + S), (I + S)^-1 and the rounding error of log det, from a QR factorisation.

        I + S = Q^T (I - B B^T) Q, with Q^T Q = I + (the similar part of S) by QR, and B the dissimilar differences in
        the metric of the similar part. Large numbers are divided out before any subtraction.
        """
        n = len(size)
        signed = self._similar * multipliers
        Q = self._sums.triangular_factor(signed)
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
        # The columns of Q and of B have errors of eps times these sizes, which log det propagates by its gradients.
        spread = (np.abs(Q_inverse) * size[:, None]).sum(axis=0)
        B_size = np.sqrt(np.diag(BB))
        rounding = 2.0 * _EPS * float(spread.sum())
        rounding += 2.0 * _EPS * float(B_size @ np.abs(inner_inverse @ inner_inverse.T) @ spread)
        rounding += _EPS * float(((np.abs(inner_inverse).T @ np.sqrt(1.0 + B_size**2)) ** 2).sum())
        logdet = 2.0 * float(np.log(diagonal).sum() + np.log(np.diag(inner)).sum())
        return logdet, inverse @ inverse.T, rounding

    def _shrinking_helps(self, point: DualPoint, t: FloatArray) -> bool:
        """Return whether g increases noticeably towards the origin.

        A Newton step in the scale theta predicts the increase; its derivatives follow from S W = I - W.
        """
        if point.value < 0.0:
            return True  # the origin, with value 0, is better
        n = len(point.metric)
        shrunk = np.eye(n) - point.metric
        slope = float(np.trace(shrunk) - (self._weights * t * self._slack.xi(t)).sum())
        curvature = float((shrunk**2).sum() + (self._weights * t**2 * self._slack.xi_prime(t)).sum())
        return slope < 0.0 and slope * slope > 2.0 * curvature * max(point.rounding, _EPS * abs(point.value))

    def _best_scale(self, S: FloatArray, t: FloatArray) -> float:
        """Return the theta in [0, 1] that maximises g(theta alpha)."""
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
