"""The dual problem: the value and the metric of multipliers, and the repair that makes any multipliers feasible."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import brentq

from covmetric._utils.validation import FloatArray
from covmetric.problem.error_free import tolerated, weighted_gram_residual
from covmetric.problem.terms import PairTerms

# The unit roundoff: a computed operation is off by at most this, relative to its result.
_UNIT = 2.0**-53
# The error of I + S, in the coordinates of its factor, up to which first-order bounds hold and I + S > 0 is certain.
_SAFE = 0.1


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
        A first-order bound on the rounding error of the value, >= 0.
    unscaled_metric : array of shape (n, n) or None
        The metric of the multipliers before the repair scaled them, if it did and they were feasible.
    """

    multipliers: FloatArray
    value: float
    metric: FloatArray
    rounding: float
    unscaled_metric: FloatArray | None = None


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

    def point(self, multipliers: FloatArray, tol: float = 0.0) -> DualPoint | None:
        """Return the dual point of the multipliers.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.
        tol : float, default=0.0
            The tolerance on the relative gap. If the rounding error is small beside it, a quicker evaluation is enough.

        Returns
        -------
        DualPoint or None
            None if the multipliers are not dual feasible.
        """
        if (multipliers < 0.0).any():
            return None
        signed = self._similar * multipliers
        plus, minus = self._sums.signed_grams(signed)
        return self._from_grams(multipliers, self.t(multipliers), plus, minus, tol)

    def repaired(self, multipliers: FloatArray, tol: float = 0.0) -> DualPoint:
        """Clip each multiplier to its own domain, and return the best feasible point on the ray through the result.

        The dual objective is concave along the ray and 0 at its origin, so such a point exists.

        Parameters
        ----------
        multipliers : array of shape (K,)
            Any finite numbers.
        tol : float, default=0.0
            The tolerance on the relative gap. If the rounding error is small beside it, a quicker evaluation is enough.

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
        plus, minus = self._sums.signed_grams(signed)
        point = self._from_grams(clipped, t, plus, minus, tol)
        if point is not None and not self._shrinking_helps(point, t):
            return point
        theta = self._best_scale(plus - minus, t)
        while theta > 0.0:
            scaled = self._from_grams(theta * clipped, theta * t, theta * plus, theta * minus, tol)
            if scaled is not None:
                best = point if point is not None and point.value >= scaled.value else scaled
                if best.value >= 0.0:
                    return replace(best, unscaled_metric=None if point is None or best is point else point.metric)
            theta = 0.9 * theta if theta > 1e-9 else 0.0
        return replace(self._origin(), unscaled_metric=None if point is None else point.metric)

    def _origin(self) -> DualPoint:
        """Return the point at which all multipliers are zero."""
        n = self._sums.rows.shape[2]
        return DualPoint(np.zeros(len(self._bounds)), 0.0, np.eye(n), 0.0)

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
        self, multipliers: FloatArray, t: FloatArray, plus: FloatArray, minus: FloatArray, tol: float
    ) -> DualPoint | None:
        """Return the point with S = plus - minus, or None if I + S is not certain to be positive definite."""
        n = len(plus)
        losses = self._weights * self._slack.conjugate(t)
        loss, loss_size = float(losses.sum()), float(np.abs(losses).sum())
        H = plus - minus
        H.flat[:: n + 1] += 1.0
        if not np.isfinite(loss_size):
            return None
        # h(t) moves by xi(t) for an error of t, which is rounded four times.
        moved = float((self._weights * np.abs(t) * self._slack.xi(t)).sum())
        loss_error = _UNIT * ((128 + 72) * loss_size + 12.0 * moved)
        size = np.sqrt(1.0 + plus.diagonal() + minus.diagonal())
        R, failed = lapack.dpotrf(H, lower=False, clean=True)
        if not failed:
            inverse, _ = lapack.dtrtri(R)
            # |E_ij| <= k u size_i size_j for the error E of I + S and of its factor.
            spread = np.abs(inverse).T @ size
            error = (self._sums.gram_length + n + 8) * _UNIT * float(spread @ spread)
            if error < _SAFE:
                point = self._assembled(multipliers, R, inverse, 0.0, loss, error + loss_error)
                if point.rounding <= tolerated(tol) * max(1.0, abs(point.value)):
                    return self._with_coordinates(point, plus + minus)
        accurate = self._accurate(multipliers, size, loss, loss_error)
        return None if accurate is None else self._with_coordinates(accurate, plus + minus)

    def _with_coordinates(self, point: DualPoint, gram: FloatArray) -> DualPoint:
        """Add the error of the coordinates to the rounding error, if the problem has been reduced to a span."""
        coordinates = self._sums.coordinates
        if coordinates is None:
            return point
        error = coordinates.dual_error(point.metric, point.multipliers, gram, self._sums.pairs)
        return replace(point, rounding=point.rounding + error)

    def _accurate(self, multipliers: FloatArray, size: FloatArray, loss: float, loss_error: float) -> DualPoint | None:
        """Return the point with log det corrected for the residual of an approximate factor of I + S.

        The factor R is that of I + S = Q^T (I - B B^T) Q, with Q^T Q = I + (the similar part of S) by QR, and B the
        dissimilar differences in the metric of the similar part: large numbers are divided out before any subtraction.
        The residual I + S - R^T R is summed in two doubles.
        """
        n = len(size)
        signed = self._similar * multipliers
        Q = self._sums.triangular_factor(signed)
        Q *= np.sign(Q.diagonal())[:, None]
        Q_inverse, _ = lapack.dtrtri(Q)
        BB = self._sums.gram(-signed, transform=Q_inverse)
        inner, failed = lapack.dpotrf(np.eye(n) - BB, lower=False, clean=True)
        if failed:
            return None
        R = inner @ Q
        inverse, failed = lapack.dtrtri(R)
        if failed:
            return None
        E = weighted_gram_residual(self._sums.exact_rows(signed), R)
        X = inverse.T @ E @ inverse
        if not np.isfinite(X).all():
            return None
        spectrum = np.linalg.eigvalsh(X)
        condition = float(np.sqrt((R**2).sum() * (inverse**2).sum()))
        spread = np.abs(inverse).T @ size
        error = (2 * n + 6) * _UNIT * condition * float(np.abs(spectrum).sum())
        error += 2.0**-98 * float(spread @ spread)
        if not (spectrum[0] > -0.5 and error < _SAFE):
            return None
        correction = float(np.log1p(spectrum).sum())
        return self._assembled(multipliers, R, inverse, correction, loss, error + loss_error)

    def _assembled(
        self, multipliers: FloatArray, R: FloatArray, inverse: FloatArray, correction: float, loss: float, error: float
    ) -> DualPoint:
        """Return the point with log det(I + S) = 2 sum log R_ii + correction; `error` is the error so far."""
        n, logs = len(R), np.log(R.diagonal())
        logdet = 2.0 * float(logs.sum()) + correction
        summands = (n + 4) * 2.0 * float(np.abs(logs).sum()) + 4.0 * (abs(correction) + abs(loss))
        return DualPoint(multipliers, logdet + loss, inverse @ inverse.T, error + _UNIT * summands)

    def _shrinking_helps(self, point: DualPoint, t: FloatArray) -> bool:
        """Return whether g increases noticeably towards the origin.

        A Newton step in the scale theta predicts the increase; its derivatives follow from S W = I - W.
        """
        if point.value < 0.0:
            return True  # the origin, with value 0, is better
        shrunk = self._sums.half.identity - point.metric
        forces = self._weights * t
        slope = float(shrunk.trace() - forces @ self._slack.xi(t))
        curvature = float(np.vdot(shrunk, shrunk) + (forces * t) @ self._slack.xi_prime(t))
        return slope < 0.0 and slope * slope > 2.0 * curvature * max(point.rounding, _UNIT * abs(point.value))

    def _best_scale(self, S: FloatArray, t: FloatArray) -> float:
        """Return the theta in [0, 1] that maximises g(theta alpha), or 0 if the sum overflows."""
        if not (np.isfinite(S).all() and np.isfinite(t).all()):
            return 0.0
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
