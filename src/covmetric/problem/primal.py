"""The primal problem: the objective of a metric, given its stored entries, and the rounding error."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem.error_free import residual, tolerated
from covmetric.problem.sums import is_multiple_of_identity
from covmetric.problem.terms import PairTerms

# The unit roundoff: a computed operation is off by at most this, relative to its result.
_UNIT = 2.0**-53
# The error of a perturbed Cholesky factor, in its own coordinates, up to which first-order bounds hold.
_SAFE = 0.1
# Relative errors of s up to which the loss is expanded to second order instead of evaluated at both ends.
_SMALL_SHIFT = 1e-3


@dataclass(slots=True, eq=False)  # not frozen, because creating a frozen object takes some microseconds longer
class PrimalPoint:
    """A positive definite metric, with its objective and its squared distances.

    Attributes
    ----------
    metric : array of shape (n, n)
        The metric W.
    value : float
        P(W), with the best slack for each pair.
    ratios : array of shape (K,) or None
        Squared distances divided by their bounds, s_k = <A_k, W> / b_k; None if they are not kept.
    rounding : float
        A first-order bound on the rounding error of the value, >= 0; infinite if a loss cannot be bounded.
    """

    metric: FloatArray
    value: float
    ratios: Any
    rounding: float


@dataclass(slots=True, eq=False)
class LossSum:
    """The sum of the losses of the pairs in a metric.

    Attributes
    ----------
    value : float
        The sum.
    error : float
        A first-order bound on its rounding error, >= 0; infinite if a loss cannot be bounded.
    ratios : array of shape (K,) or None
        Squared distances divided by their bounds; None if they are not kept.
    """

    value: float
    error: float
    ratios: Any


class Primal:
    """The reduced primal P(W) = -log det W + tr W - n + sum over the active pairs of c_k d(s_k).

    Parameters
    ----------
    terms : PairTerms
        The pairs.
    """

    def __init__(self, terms: PairTerms) -> None:
        self._terms, self._sums, self._slack = terms, terms.sums, terms.slack
        self._similar, self._bounds, self._weights = terms.similar, terms.bounds, terms.weights
        self._coordinates = terms.sums.coordinates

    @functools.cached_property
    def squared_norms(self) -> FloatArray:
        """The squared distances at W = I, shape (K,)."""
        with np.errstate(over="ignore"):
            return self._sums.squared_norms()

    def multipliers(self, ratios: FloatArray) -> FloatArray:
        """Return y (c/b) d'(s) on the active pairs, which are the optimal multipliers at the optimal W.

        Parameters
        ----------
        ratios : array of shape (K,)
            Squared distances divided by their bounds, s_k.

        Returns
        -------
        array of shape (K,)
        """
        active = self._terms.active(ratios)
        multipliers = np.zeros(len(ratios))
        gradient = self._slack.gradient(ratios[active])
        multipliers[active] = self._similar[active] * self._weights[active] / self._bounds[active] * gradient
        # The gradient is infinite where a squared distance has underflowed to zero.
        return np.where(np.isfinite(multipliers), multipliers, 0.0)

    def point(self, W: FloatArray, tol: float = 0.0) -> PrimalPoint | None:
        """Return the primal point of a symmetric matrix.

        docs/theory/rounding.md derives the bound on the rounding error.

        Parameters
        ----------
        W : array of shape (n, n)
            An exactly symmetric matrix.
        tol : float, default=0.0
            The tolerance on the relative gap. If the rounding error is small beside it, a quicker evaluation is enough.

        Returns
        -------
        PrimalPoint or None
            None if W is not positive definite, or too close to singular to tell.
        """
        if is_multiple_of_identity(W) and W[0, 0] == 1.0:  # as at the start of a solve; the factor is exact
            factor, inverse, error = W, W, 0.0
        else:
            factor, failed = lapack.dpotrf(W, lower=True, clean=True)
            if failed:
                return None
            inverse, _ = lapack.dtrtri(factor, lower=True)
            # L L^T = W + E for the computed factor L, with |E_ij| <= (n + 1) u w_i w_j (Higham 2002, theorem 10.5).
            spread = np.abs(inverse) @ np.sqrt(W.diagonal())
            error = (len(W) + 1) * _UNIT * float(spread @ spread)
        if error < _SAFE:
            point = self._assembled(W, factor, inverse, 0.0, self.quick_losses(W), error)
            if point.rounding <= tolerated(tol) * max(1.0, abs(point.value)):
                return point
        return self._accurate(W, factor, inverse)

    def quick_losses(self, W: FloatArray) -> LossSum:
        """Return the sum of the losses, from the inner products <A_k, W>.

        Parameters
        ----------
        W : array of shape (n, n)
            An exactly symmetric, positive definite matrix.

        Returns
        -------
        LossSum
        """
        if is_multiple_of_identity(W):
            s, length = W[0, 0] * self.squared_norms / self._bounds, self._sums.norm_length
            shift = (length + 4) * _UNIT * s
        else:
            s, length = self._sums.inner_products(W) / self._bounds, self._sums.inner_product_length
            shift = (length + 4) * _UNIT * float(W.trace()) * self.squared_norms / self._bounds
        return self._loss_sum(s, self._with_coordinates(W, s, shift))

    def accurate_losses(self, W: FloatArray, factor: FloatArray, E: FloatArray) -> LossSum:
        """Return the sum of the losses, from the distances in the metric L L^T and from the residual of the factor.

        Parameters
        ----------
        W : array of shape (n, n)
            An exactly symmetric, positive definite matrix.
        factor : array of shape (n, n)
            Its computed Cholesky factor L.
        E : array of shape (n, n)
            The residual W - L L^T.

        Returns
        -------
        LossSum
        """
        n, trace = len(W), float(W.trace())
        s = np.maximum((self._sums.squared_distances(factor) + self._sums.inner_products(E)) / self._bounds, 0.0)
        # What is left is the rounding of L^T F, of the sum of its squares, and of <A, E>.
        norms = trace * self.squared_norms / self._bounds
        noise = (n + 3) * _UNIT * np.sqrt(norms)
        shift = (self._sums.norm_length + 4) * _UNIT * s + 2.0 * noise * np.sqrt(s) + noise**2
        shift += (self._sums.inner_product_length + 4) * (n + 1) * _UNIT**2 * norms
        return self._loss_sum(s, self._with_coordinates(W, s, shift))

    def _accurate(self, W: FloatArray, factor: FloatArray, inverse: FloatArray) -> PrimalPoint | None:
        """Return the point with P corrected for the residual E = W - L L^T of the Cholesky factor."""
        n = len(W)
        E = residual(W, factor)
        X = inverse @ E @ inverse.T
        if not np.isfinite(X).all():
            return None
        spectrum = np.linalg.eigvalsh(X)
        condition = float(np.sqrt((factor**2).sum() * (inverse**2).sum()))
        error = (2 * n + 6) * _UNIT * condition * float(np.abs(spectrum).sum())
        if not (spectrum[0] > -0.5 and error < _SAFE):
            return None
        losses = self.accurate_losses(W, factor, E)
        return self._assembled(W, factor, inverse, float(np.log1p(spectrum).sum()), losses, error)

    def _with_coordinates(self, W: FloatArray, s: FloatArray, shift: FloatArray) -> FloatArray:
        """Add the error of the coordinates, if the problem has been reduced to a span, to a bound on the error of s."""
        if self._coordinates is None:
            return shift
        return shift + self._coordinates.ratio_shift(W, s, self._bounds, self.squared_norms, self._sums.pairs)

    def _assembled(
        self,
        W: FloatArray,
        factor: FloatArray,
        inverse: FloatArray,
        correction: float,
        losses: LossSum,
        error: float,
    ) -> PrimalPoint:
        """Return the point with these values; `error` bounds the error of log det L L^T."""
        if self._coordinates is not None:
            error += self._coordinates.primal_error(W, inverse)
        n, trace, logs = len(W), float(W.trace()), np.log(factor.diagonal())
        logdet = 2.0 * float(logs.sum()) + correction
        value = trace - logdet - n + losses.value
        summands = (n + 4) * (2.0 * float(np.abs(logs).sum()) + trace + n) + 4.0 * (abs(correction) + losses.value)
        return PrimalPoint(W, value, losses.ratios, error + losses.error + _UNIT * summands)

    def _loss_sum(self, s: FloatArray, shift: FloatArray) -> LossSum:
        """Return the sum of the losses; `shift` bounds the error of s."""
        excess = self._similar * (s - 1.0)
        possible = (excess > -shift).nonzero()[0]
        return LossSum(*self._losses(possible, excess[possible], s[possible], shift[possible]), s)

    def _losses(self, pairs: IntArray, excess: FloatArray, s: FloatArray, shift: FloatArray) -> tuple[float, float]:
        """Return the sum of the losses of pairs that may be active, and a bound on its error.

        `excess` is y (s - 1), and `shift` bounds the error of s.
        """
        if len(pairs) == 0:
            return 0.0, 0.0
        # Far from underflow, so that d'' shift^2 is a number.
        if (excess > shift).all() and (shift < _SMALL_SHIFT * s).all() and s.min() > 1e-100:
            losses, deviation, size = self._clear_losses(s, shift)
        else:
            losses, deviation, size = self._unclear_losses(self._similar[pairs], s, shift)
        weights = self._weights[pairs]
        error = weights * (deviation + 8.0 * _UNIT * size)
        total = float((weights * losses).sum())
        # np.sum adds blocks of 128 numbers in pairs.
        return total, float(error.sum()) + (128 + 64) * _UNIT * total

    def _clear_losses(self, s: FloatArray, shift: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the losses of pairs that are active for every ratio within the shift, their deviation and their size.

        The evaluation of d has a few roundings of terms no larger than its size, d(s) + |d'(s)| s.
        """
        losses, gradient = self._slack.divergence(s), np.abs(self._slack.gradient(s))
        return losses, shift * (gradient + self._slack.curvature(s) * shift), losses + gradient * s

    def _unclear_losses(
        self, similar: FloatArray, s: FloatArray, shift: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the losses, deviations and sizes of any pairs. A convex loss deviates most at an end."""

        def loss_at(ratios: FloatArray) -> FloatArray:
            return np.where(similar * (ratios - 1.0) > 0.0, self._slack.divergence(ratios), 0.0)

        losses = loss_at(s)
        upwards, downwards = loss_at(s + shift) - losses, loss_at(np.maximum(s - shift, 0.0)) - losses
        # An infinite loss may deviate by anything; the difference of two of them is not a number.
        deviation = np.where(np.isinf(losses), np.inf, np.maximum(np.abs(upwards), np.abs(downwards)))
        finite = (losses > 0.0) & np.isfinite(losses)
        return losses, deviation, losses + np.where(finite, np.abs(self._slack.gradient(s)) * s, 0.0)
