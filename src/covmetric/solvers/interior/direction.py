"""Directions of the interior-point method: Newton's equations in the coordinates in which W and M are equal."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.solvers.base import StepFailed
from covmetric.solvers.interior.point import InteriorPoint, ScaledPairs
from covmetric.solvers.systems import ActiveTerms, System, choose_system

# The relative residual of conjugate gradients. With larger ones, the products of the variables become unequal.
_CG_ACCURACY = 1e-5


@dataclass(slots=True, eq=False)
class Direction:
    """The derivatives of all variables along a step.

    Attributes
    ----------
    X, Y : arrays of shape (n, n)
        The directions of W and M in the scaled coordinates: dW = G X G^T, dM = G^-T Y G^-1.
    tau, v, xi, u : arrays of shape (a,)
        The directions of the other variables.
    """

    X: FloatArray
    Y: FloatArray
    tau: FloatArray
    v: FloatArray
    xi: FloatArray
    u: FloatArray

    def blended(self, other: Direction, fraction: float) -> Direction:
        """Return the direction between this one (0) and another one (1).

        Parameters
        ----------
        other : Direction
            The other direction.
        fraction : float
            From 0 to 1.

        Returns
        -------
        Direction
        """
        names = [field.name for field in fields(self)]
        return Direction(*((1.0 - fraction) * getattr(self, name) + fraction * getattr(other, name) for name in names))


@dataclass(slots=True, eq=False)
class Correction:
    """The second-order terms of the complementarity conditions along a first direction.

    Attributes
    ----------
    WM : array of shape (n, n)
        The symmetric part of X Y.
    tau_v, xi_u : arrays of shape (a,)
        The products of the directions of tau and v, and of xi and u.
    """

    WM: FloatArray
    tau_v: FloatArray
    xi_u: FloatArray


class Linearisation:
    """Newton's equations at a point, with the scaling of Nesterov and Todd.

    G is chosen such that G^-1 W G^-T = G^T M G = diag(d). With B_k = G^T A_k G the equations reduce to the system
    (I + sum_k h_k B_k B_k^T) X = r, which is that of Newton's method with other weights.

    Parameters
    ----------
    pairs : ScaledPairs
        The pairs.
    point : InteriorPoint
        The point.
    memory : float
        The bytes that the matrix of the system may take.
    iterative : bool, default=True
        Whether conjugate gradients may be chosen although a matrix fits into the memory.
    """

    def __init__(self, pairs: ScaledPairs, point: InteriorPoint, memory: float, iterative: bool = True) -> None:
        self.pairs, self.point = pairs, point
        try:
            U, self.d, _ = np.linalg.svd(point.L.T @ point.R)
        except np.linalg.LinAlgError as error:
            raise StepFailed from error
        if not self.d[-1] > 0.0:
            raise StepFailed
        self.G = point.L @ U / np.sqrt(self.d)
        slack, c = pairs.problem.slack, pairs.weights
        # d(xi) = compliance * (y d(tau) + ...), from c d'(xi) - u = y tau and xi u = theta.
        self.compliance = 1.0 / (c * slack.curvature(point.xi) + point.u / point.xi)
        self.q = point.v + point.tau * self.compliance
        self.stationarity = c * slack.gradient(point.xi) - point.u - pairs.similar * point.tau
        self.infeasibility = point.v - pairs.similar * (point.xi - point.s)
        springs = point.tau / self.q / pairs.bounds**2
        if not np.isfinite(springs).all():
            raise StepFailed
        terms = ActiveTerms(pairs.problem, self.G, pairs.index, np.zeros(len(springs)), springs)
        self.system: System = choose_system(terms, memory, iterative, _CG_ACCURACY, preconditioned=True)

    def direction(self, theta: float, correction: Correction | None = None) -> Direction:
        """Return the direction towards the point of the central path with this theta.

        Parameters
        ----------
        theta : float
            The target of tau v and xi u. The target of W M is I, or theta I if theta > 1.
        correction : Correction or None, default=None
            Second-order terms.

        Returns
        -------
        Direction

        Raises
        ------
        StepFailed
            If the equations cannot be solved in floating point arithmetic.
        """
        p, y, b, half = self.point, self.pairs.similar, self.pairs.bounds, self.pairs.problem.sums.half
        tau_v = xi_u = np.full(len(y), theta)
        WM = np.diag(max(1.0, theta) - self.d**2)
        if correction is not None:
            tau_v, xi_u, WM = theta - correction.tau_v, theta - correction.xi_u, WM - correction.WM
        push = self.compliance * (xi_u / p.xi - p.u - self.stationarity)
        r = tau_v - p.tau * p.v - p.tau * (y * push - self.infeasibility)
        Z = 2.0 * WM / (self.d[:, None] + self.d)
        x, rates = self.system.solve_affine(half.pack(Z), y * r / self.q / b)
        X, ds = half.unpack(x), rates / b
        tau = (r + p.tau * y * ds) / self.q
        xi = push + self.compliance * y * tau
        direction = Direction(
            X=X,
            Y=Z - X if self.system.exact else half.unpack(self.system.weighted_sum(y * tau / b)),
            tau=tau,
            v=y * (xi - ds) - self.infeasibility,
            xi=xi,
            u=xi_u / p.xi - p.u - p.u * xi / p.xi,
        )
        if not all(np.isfinite(getattr(direction, field.name)).all() for field in fields(direction)):
            raise StepFailed
        return direction

    def correction(self, direction: Direction) -> Correction:
        """Return the second-order terms along a direction.

        Parameters
        ----------
        direction : Direction
            The direction of the predictor.

        Returns
        -------
        Correction
        """
        product = direction.X @ direction.Y
        return Correction(0.5 * (product + product.T), direction.tau * direction.v, direction.xi * direction.u)

    def longest_step(self, direction: Direction) -> float:
        """Return the length of the step along a direction at which it leaves a cone.

        Parameters
        ----------
        direction : Direction
            The direction.

        Returns
        -------
        float
            Infinity if it leaves none.
        """
        p, roots = self.point, 1.0 / np.sqrt(self.d)
        limits = [
            _longest(p.tau, direction.tau),
            _longest(p.v, direction.v),
            _longest(p.xi, direction.xi),
            _longest(p.u, direction.u),
        ]
        for matrix in (direction.X, direction.Y):
            try:
                smallest = float(np.linalg.eigvalsh(roots[:, None] * matrix * roots)[0])
            except np.linalg.LinAlgError as error:
                raise StepFailed from error
            limits.append(np.inf if smallest >= 0.0 else -1.0 / smallest)
        return min(limits)


def _longest(values: FloatArray, changes: FloatArray) -> float:
    """Return the largest t for which values + t changes is not negative."""
    shrinking = changes < 0.0
    return float(np.min(-values[shrinking] / changes[shrinking], initial=np.inf))
