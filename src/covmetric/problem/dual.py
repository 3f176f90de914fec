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
# Multipliers are not scaled if that would lower the relative gap by less than this fraction of the tolerance.
_NEGLIGIBLE = 0.01
# The error of I + S, in the coordinates of its factor, up to which first-order bounds hold and I + S > 0 is certain.
_SAFE = 0.1


@dataclass(slots=True, eq=False)  # not frozen, because creating a frozen object takes some microseconds longer
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


@dataclass(slots=True, eq=False)
class DualSums:
    """Sums over the pairs that determine the dual value of multipliers.

    Attributes
    ----------
    plus, minus : arrays of shape (n, n)
        The sums of alpha_k A_k over the similar and over the dissimilar pairs, so that S = plus - minus.
    loss : float
        The sum of c_k h(t_k).
    loss_size : float
        The sum of the absolute values of its terms.
    moved : float
        The sum of c_k |t_k| xi(t_k): how far the loss moves for a relative error of t.
    """

    plus: FloatArray
    minus: FloatArray
    loss: float
    loss_size: float
    moved: float


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
        self._coordinates = terms.sums.coordinates
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
        return self._from_sums(multipliers, self.sums(multipliers), tol)

    def sums(self, multipliers: FloatArray) -> DualSums:
        """Return the sums over the pairs that determine the dual value.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha, each within its domain.

        Returns
        -------
        DualSums
        """
        plus, minus = self._sums.signed_grams(self._similar * multipliers)
        return DualSums(plus, minus, *self.loss_sums(multipliers))

    def loss_sums(self, multipliers: FloatArray) -> tuple[float, float, float]:
        """Return the sum of the losses, and what its rounding error depends on.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.

        Returns
        -------
        loss : float
            The sum of the losses.
        loss_size : float
            As in `DualSums`.
        moved : float
            As in `DualSums`.
        """
        t = self.t(multipliers)
        losses = self._weights * self._slack.conjugate(t)
        moved = float((self._weights * np.abs(t) * self._slack.xi(t)).sum())
        return float(losses.sum()), float(np.abs(losses).sum()), moved

    def scaled_sums(self, multipliers: FloatArray, sums: DualSums, theta: float) -> DualSums:
        """Return the sums for the multipliers theta alpha.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.
        sums : DualSums
            Their sums.
        theta : float
            The scale.

        Returns
        -------
        DualSums
        """
        return DualSums(theta * sums.plus, theta * sums.minus, *self.loss_sums(theta * multipliers))

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
        if self._vanishes(clipped):
            return self._origin()
        sums = self.sums(clipped)
        point = self._from_sums(clipped, sums, tol)
        if point is not None and not self._shrinking_helps(point, tol):
            return point
        theta = self._best_scale(sums.plus - sums.minus, clipped)
        while theta > 0.0:
            scaled = self._from_sums(theta * clipped, self.scaled_sums(clipped, sums, theta), tol)
            if scaled is not None:
                best = point if point is not None and point.value >= scaled.value else scaled
                if best.value >= 0.0:
                    return replace(best, unscaled_metric=None if point is None or best is point else point.metric)
            theta = 0.9 * theta if theta > 1e-9 else 0.0
        return replace(self._origin(), unscaled_metric=None if point is None else point.metric)

    def _vanishes(self, multipliers: FloatArray) -> bool:
        """Return whether all multipliers are zero."""
        return not multipliers.any()

    @property
    def _identity(self) -> FloatArray:
        """The identity matrix, shape (n, n)."""
        return self._sums.half.identity

    def _origin(self) -> DualPoint:
        """Return the point at which all multipliers are zero."""
        return DualPoint(self._zeros(), 0.0, self._identity.copy(), 0.0)

    def _zeros(self) -> FloatArray:
        """Return multipliers that are all zero."""
        return np.zeros(len(self._bounds))

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

    def _from_sums(self, multipliers: FloatArray, sums: DualSums, tol: float) -> DualPoint | None:
        """Return the point with these sums, or None if I + S is not certain to be positive definite."""
        plus, minus, loss = sums.plus, sums.minus, sums.loss
        n = len(plus)
        H = plus - minus
        H.flat[:: n + 1] += 1.0
        if not np.isfinite(sums.loss_size):
            return None
        # h(t) moves by xi(t) for an error of t, which is rounded four times.
        loss_error = _UNIT * ((self._loss_length + 72) * sums.loss_size + 12.0 * sums.moved)
        size = np.sqrt(1.0 + plus.diagonal() + minus.diagonal())
        R, failed = lapack.dpotrf(H, lower=False, clean=True)
        if not failed:
            inverse, _ = lapack.dtrtri(R)
            # |E_ij| <= k u size_i size_j for the error E of I + S and of its factor.
            spread = np.abs(inverse).T @ size
            error = (self._gram_length + n + 8) * _UNIT * float(spread @ spread)
            if error < _SAFE:
                point = self._assembled(multipliers, R, inverse, 0.0, loss, error + loss_error)
                if point.rounding <= tolerated(tol) * max(1.0, abs(point.value)):
                    return self._with_coordinates(point, plus + minus)
        accurate = self._accurate(multipliers, size, loss, loss_error)
        return None if accurate is None else self._with_coordinates(accurate, plus + minus)

    @property
    def _gram_length(self) -> int:
        """The number of roundings, at most, that an entry of `plus` or `minus` accumulates."""
        return self._sums.gram_length

    @property
    def _exact_length(self) -> int:
        """By how much the error of the sum in two doubles exceeds that of one block of pairs."""
        return 1

    @property
    def _loss_length(self) -> int:
        """The number of roundings, at most, that the sum of the losses accumulates: np.sum adds 128 terms in a row."""
        return 128

    def _with_coordinates(self, point: DualPoint, gram: FloatArray) -> DualPoint:
        """Add the error of the coordinates to the rounding error, if the problem has been reduced to a span."""
        if self._coordinates is None:
            return point
        error = self._coordinates.dual_error(point.metric, self.squared_deviation(point.multipliers), gram)
        return replace(point, rounding=point.rounding + error)

    def squared_deviation(self, multipliers: FloatArray) -> float:
        """Return the sum of alpha_k ||D_k||^2, with the errors D_k of the coordinates of the differences.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.

        Returns
        -------
        float
        """
        assert self._coordinates is not None
        return float(multipliers @ self._coordinates.deviations(self._sums.pairs) ** 2)

    def _accurate(self, multipliers: FloatArray, size: FloatArray, loss: float, loss_error: float) -> DualPoint | None:
        """Return the point with log det corrected for the residual of an approximate factor of I + S.

        The factor R is that of I + S = Q^T (I - B B^T) Q, with Q^T Q = I + (the similar part of S) by QR, and B the
        dissimilar differences in the metric of the similar part: large numbers are divided out before any subtraction.
        The residual I + S - R^T R is summed in two doubles.
        """
        n = len(size)
        Q = self.similar_factor(multipliers)
        Q *= np.sign(Q.diagonal())[:, None]
        Q_inverse, _ = lapack.dtrtri(Q)
        BB = self.dissimilar_gram(multipliers, Q_inverse)
        inner, failed = lapack.dpotrf(np.eye(n) - BB, lower=False, clean=True)
        if failed:
            return None
        R = inner @ Q
        inverse, failed = lapack.dtrtri(R)
        if failed:
            return None
        E = self.residual(multipliers, R)
        X = inverse.T @ E @ inverse
        if not np.isfinite(X).all():
            return None
        spectrum = np.linalg.eigvalsh(X)
        condition = float(np.sqrt((R**2).sum() * (inverse**2).sum()))
        spread = np.abs(inverse).T @ size
        error = (2 * n + 6) * _UNIT * condition * float(np.abs(spectrum).sum())
        error += self._exact_length * 2.0**-98 * float(spread @ spread)
        if not (spectrum[0] > -0.5 and error < _SAFE):
            return None
        correction = float(np.log1p(spectrum).sum())
        return self._assembled(multipliers, R, inverse, correction, loss, error + loss_error)

    def similar_factor(self, multipliers: FloatArray) -> FloatArray:
        """Return the upper triangular factor of I + (the similar part of S), by QR.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.

        Returns
        -------
        array of shape (n, n)
        """
        return self._sums.triangular_factor(self._similar * multipliers)

    def dissimilar_gram(self, multipliers: FloatArray, transform: FloatArray) -> FloatArray:
        """Return the dissimilar part of -S in other coordinates.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.
        transform : array of shape (n, n)
            The matrix T; T^T F_k replaces F_k.

        Returns
        -------
        array of shape (n, n)
        """
        return self._sums.gram(-self._similar * multipliers, transform=transform)

    def residual(self, multipliers: FloatArray, R: FloatArray) -> FloatArray:
        """Return I + S - R^T R to about twice the working precision.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.
        R : array of shape (n, n)
            An approximate factor of I + S.

        Returns
        -------
        array of shape (n, n)
        """
        return weighted_gram_residual(self._sums.exact_rows(self._similar * multipliers), R)

    def _assembled(
        self, multipliers: FloatArray, R: FloatArray, inverse: FloatArray, correction: float, loss: float, error: float
    ) -> DualPoint:
        """Return the point with log det(I + S) = 2 sum log R_ii + correction; `error` is the error so far."""
        n, logs = len(R), np.log(R.diagonal())
        logdet = 2.0 * float(logs.sum()) + correction
        summands = (n + 4) * 2.0 * float(np.abs(logs).sum()) + 4.0 * (abs(correction) + abs(loss))
        return DualPoint(multipliers, logdet + loss, inverse @ inverse.T, error + _UNIT * summands)

    def _shrinking_helps(self, point: DualPoint, tol: float) -> bool:
        """Return whether g increases noticeably towards the origin, beside rounding errors and the tolerance.

        A Newton step in the scale theta predicts the increase; its derivatives follow from S W = I - W.
        """
        if point.value < 0.0:
            return True  # the origin, with value 0, is better
        loss_slope, loss_curvature = self.loss_derivatives(point.multipliers)
        shrunk = self._identity - point.metric
        slope = float(shrunk.trace()) - loss_slope
        if slope >= 0.0:
            return False
        curvature = float(np.vdot(shrunk, shrunk)) + loss_curvature
        negligible = max(point.rounding, _UNIT * abs(point.value), _NEGLIGIBLE * tol * max(1.0, abs(point.value)))
        return slope * slope > 2.0 * curvature * negligible

    def loss_derivatives(self, multipliers: FloatArray, theta: float = 1.0) -> tuple[float, float]:
        """Return minus the first two derivatives of sum_k c_k h(theta t_k) in theta.

        Parameters
        ----------
        multipliers : array of shape (K,)
            The multipliers alpha.
        theta : float, default=1.0
            The scale.

        Returns
        -------
        slope : float
            The sum of c_k t_k xi(theta t_k).
        curvature : float
            The sum of c_k t_k^2 xi'(theta t_k).
        """
        t = self.t(multipliers)
        forces = self._weights * t
        return float(forces @ self._slack.xi(theta * t)), float((forces * t) @ self._slack.xi_prime(theta * t))

    def _best_scale(self, S: FloatArray, multipliers: FloatArray) -> float:
        """Return the theta in [0, 1] that maximises g(theta alpha), or 0 if the sum overflows."""
        if not (np.isfinite(S).all() and np.isfinite(self.loss_derivatives(multipliers, 0.0)[0])):
            return 0.0
        eigenvalues = np.linalg.eigvalsh(S)
        limit = -1.0 / eigenvalues[0] if eigenvalues[0] < -1.0 else 1.0

        def slope(theta: float) -> float:
            loss = self.loss_derivatives(multipliers, theta)[0]
            return float((eigenvalues / (1.0 + theta * eigenvalues)).sum()) - loss

        upper = min(limit * (1.0 - 1e-12), 1.0)
        if slope(upper) >= 0.0:
            return upper
        if slope(0.0) <= 0.0:
            return 0.0
        return float(brentq(slope, 0.0, upper, xtol=1e-14, rtol=1e-13))
