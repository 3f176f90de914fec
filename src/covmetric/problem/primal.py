"""The primal problem: the objective of a metric, given its stored entries, and the rounding error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.validation import FloatArray
from covmetric.problem.sums import is_multiple_of_identity
from covmetric.problem.terms import PairTerms

_EPS = float(np.finfo(np.float64).eps)
# If the error of the objective, relative to its value, is above this limit, the rounding of the factor is corrected.
# The default tolerance is 1e-6, and users may request 1e-10.
_ACCURATE_BELOW = 1e-11
# Four slices hold 70 bits or more of each row of a factor, enough for twice the working precision.
_SLICES = 4


@dataclass(frozen=True)
class PrimalPoint:
    """A positive definite metric, with its objective and its squared distances.

    Attributes
    ----------
    metric : array of shape (n, n)
        The metric W.
    value : float
        P(W), with the best slack for each pair.
    ratios : array of shape (K,)
        Squared distances divided by their bounds, s_k = <A_k, W> / b_k.
    rounding : float
        An estimate of the rounding error of the value.
    """

    metric: FloatArray
    value: float
    ratios: FloatArray
    rounding: float


class Primal:
    """The reduced primal P(W) = -log det W + tr W - n + sum over the active pairs of c_k d(s_k).

    Parameters
    ----------
    terms : PairTerms
        The pairs.

    Attributes
    ----------
    squared_norms : array of shape (K,)
        The squared distances at W = I.
    """

    def __init__(self, terms: PairTerms) -> None:
        self._terms, self._sums, self._slack = terms, terms.sums, terms.slack
        self._similar, self._bounds, self._weights = terms.similar, terms.bounds, terms.weights
        with np.errstate(over="ignore"):
            self.squared_norms = terms.sums.squared_norms()

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

    def point(self, W: FloatArray) -> PrimalPoint | None:
        """Return the primal point of a symmetric matrix.

        Parameters
        ----------
        W : array of shape (n, n)
            An exactly symmetric matrix.

        Returns
        -------
        PrimalPoint or None
            None if W is not positive definite.
        """
        factor, failed = lapack.dpotrf(W, lower=True, clean=True)
        if failed:
            return None
        logdet = 2.0 * float(np.log(factor.diagonal()).sum())
        if not np.isfinite(logdet):  # W is not finite, which LAPACK does not report
            return None
        if is_multiple_of_identity(W):
            s = W[0, 0] * self.squared_norms / self._bounds
        else:
            s = self._sums.inner_products(W) / self._bounds
        # L L^T = W + E for the computed factor L, with |E_ij| <= eps w_i w_j.
        w = np.sqrt(W.diagonal())
        inverse, _ = lapack.dtrtri(factor, lower=True)
        shift = _EPS * float(W.trace()) * self.squared_norms / self._bounds
        spread = np.abs(inverse) @ w
        point, error = self._assembled(W, logdet, s, shift, _EPS * float(spread @ spread))
        if error > _ACCURATE_BELOW * max(1.0, abs(point.value)):
            return self._accurate(W, factor, inverse, logdet)
        return point

    def _accurate(self, W: FloatArray, factor: FloatArray, inverse: FloatArray, logdet: float) -> PrimalPoint | None:
        """Return the point of an ill-conditioned W, with P corrected for the residual E = W - L L^T."""
        E = residual(W, factor)
        X = inverse @ E @ inverse.T
        spectrum = np.linalg.eigvalsh(X)
        if not (np.isfinite(spectrum).all() and spectrum[0] > -0.5):
            return None
        logdet += float(np.log1p(spectrum).sum())
        s = np.maximum((self._sums.squared_distances(factor) + self._sums.inner_products(E)) / self._bounds, 0.0)
        trace = float(np.trace(W))
        # The remaining errors are the rounding of the entries of L^T F, of F^T E F, and of X.
        norms = self.squared_norms / self._bounds
        noise = _EPS * np.sqrt(trace * norms)
        shift = 2.0 * noise * np.sqrt(s) + noise**2
        condition = float(np.sqrt((factor**2).sum() * (inverse**2).sum()))
        return self._assembled(W, logdet, s, shift, _EPS * condition * float(np.abs(spectrum).sum()))[0]

    def _assembled(
        self, W: FloatArray, logdet: float, s: FloatArray, shift: FloatArray, error: float
    ) -> tuple[PrimalPoint, float]:
        """Return the point with these values, and its error without the rounding of the last summation.

        `error` is the error of log det. `shift` is the error of s, which the losses propagate to second order.
        """
        active = self._terms.active(s)
        s_a, shift, c = s[active], shift[active], self._weights[active]
        pull = np.abs(self._slack.gradient(s_a))
        loss = c @ self._slack.divergence(s_a)
        bend = self._slack.curvature(s_a) * shift**2
        error += float(c @ np.where(shift > 0.0, pull * shift + bend, 0.0))
        n, trace = len(W), float(W.trace())
        rounding = error + _EPS * float(abs(logdet) + trace + n + loss + (c * pull) @ s_a)
        return PrimalPoint(W, float(trace - logdet - n + loss), s, rounding), error


def residual(W: FloatArray, factor: FloatArray) -> FloatArray:
    """Return W - L L^T to twice the working precision.

    The rows of L are cut into slices that have few enough bits for the product of two slices to be exact. The exact
    products are summed together with the rounding error of each addition.

    Parameters
    ----------
    W : array of shape (n, n)
        A symmetric matrix.
    factor : array of shape (n, n)
        The factor L.

    Returns
    -------
    array of shape (n, n)

    References
    ----------
    Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using fast routines of matrix
    multiplication and its applications", Numerical Algorithms 59, 2012.
    """
    n = len(W)
    bits = (53 - int(np.ceil(np.log2(n + 1)))) // 2
    slices = []
    rest = factor.copy()
    for _ in range(_SLICES):
        largest = np.abs(rest).max(axis=1, keepdims=True)
        anchor = np.ldexp(1.0, np.frexp(largest)[1] + 53 - bits)
        head = (rest + anchor) - anchor
        slices.append(head)
        rest = rest - head
    total, error = W.copy(), np.zeros_like(W)
    for i, a in enumerate(slices):
        for b in slices[: _SLICES - i]:
            product = -(a @ b.T)
            new = total + product
            back = new - total
            error += (total - (new - back)) + (product - back)
            total = new
    return total + error
