"""The system by conjugate gradients, without a matrix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from covmetric._utils.half_vectors import HalfVectors
from covmetric._utils.validation import FloatArray
from covmetric.solvers.systems.base import System
from covmetric.solvers.systems.preconditioner import GaussianPreconditioner, Preconditioner
from covmetric.solvers.systems.products import choose_products
from covmetric.solvers.systems.terms import ActiveTerms

# Conjugate gradients stop at this fraction of the norm of the gradient if the squared norm is above the second number.
# Nearer to the optimum, the fraction shrinks with the gradient, so that the convergence is superlinear.
_CG_FRACTION, _CG_NEAR = 0.1, 1e-2
MAX_ITERATIONS = 1000
# A Gaussian preconditioner takes about as long as two iterations, which is more than easy systems need.
_PLAIN_ITERATIONS = 10
# The columns of differences from which the mean square of the B_k is estimated.
_SAMPLE = 256


class IterativeSystem(System):
    """The system solved by conjugate gradients, without a matrix; each iteration is a sum over the pairs.

    The method gives up after `max_iter` iterations, or if rounding errors dominate. In either case, the iterate is a
    descent direction.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    max_iter : int, default=1000
        The limit on the number of iterations.
    accuracy : float or None, default=None
        The norm of the residual at the end, as a fraction of that of the right-hand side. None means that it depends
        on the right-hand side, which is then the gradient of an inexact Newton method.
    preconditioned : bool, default=False
        Whether to use the preconditioner from the first iteration on.
    """

    exact = False

    def __init__(
        self,
        terms: ActiveTerms,
        max_iter: int = MAX_ITERATIONS,
        accuracy: float | None = None,
        preconditioned: bool = False,
    ) -> None:
        super().__init__(terms)
        self._max_iter = max_iter
        self._accuracy = accuracy
        # With fewer pairs than unknowns, the sum over the pairs is singular, and not at all like that of Gaussians.
        self._gaussian = 4 * len(terms.active) > terms.half.size
        self.preconditioned = preconditioned and self._gaussian
        self._products = choose_products(terms)
        self.force = self.weighted_sum(terms.forces)

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        return self._terms.half.pack(self._products.weighted_sum(weights))

    def _image(self, X: FloatArray) -> FloatArray:
        """Return the product of the matrix of the system with X."""
        return X + self._products.hessian(X)

    @functools.cached_property
    def _preconditioner(self) -> GaussianPreconditioner:
        terms = self._terms
        total = float(terms.springs.sum())
        mean = terms.half.unpack(self.weighted_sum(terms.springs / total if total > 0.0 else terms.springs))
        # A sample is enough for the mean of ||B_k||^2 = ||F_k^T W F_k||^2.
        sample = slice(None, None, max(1, terms.problem.m * len(terms.active) // _SAMPLE))
        springs, squares = terms.springs[sample], 0.0
        for part, G in terms.problem.sums.transformed(terms.active[sample], terms.C):
            squares += float(springs[part] @ ((G @ np.swapaxes(G, 1, 2)) ** 2).sum(axis=(1, 2)))
        weight = float(springs.sum())
        return GaussianPreconditioner(mean, total, squares / weight if weight > 0.0 else 0.0)

    def solve(self, r: FloatArray) -> FloatArray:
        solution = conjugate_gradients(
            r,
            self._image,
            self._terms.half,
            max_iter=self._max_iter,
            accuracy=self._accuracy,
            preconditioned=self.preconditioned,
            make_preconditioner=(lambda: self._preconditioner) if self._gaussian else None,
        )
        self.gave_up, self.preconditioned = solution.gave_up, solution.preconditioned
        return solution.x


@dataclass(slots=True, eq=False)
class Solution:
    """The result of conjugate gradients.

    Attributes
    ----------
    x : array of shape (p,)
        The solution, a half vector.
    gave_up : bool
        Whether it is inexact because more accuracy took too long, or because rounding errors dominated.
    preconditioned : bool
        Whether another preconditioner than the first one was needed.
    """

    x: FloatArray
    gave_up: bool
    preconditioned: bool


def conjugate_gradients(
    r: FloatArray,
    image: Callable[[FloatArray], FloatArray],
    half: HalfVectors,
    *,
    max_iter: int = MAX_ITERATIONS,
    accuracy: float | None = None,
    first: Preconditioner | None = None,
    preconditioned: bool = False,
    make_preconditioner: Callable[[], Preconditioner] | None = None,
) -> Solution:
    """Solve a linear system over symmetric matrices.

    Parameters
    ----------
    r : array of shape (p,)
        The right-hand side, a half vector.
    image : callable
        The product of the matrix of the system with a symmetric matrix.
    half : HalfVectors
        The isometry between symmetric n x n matrices and half vectors.
    max_iter : int, default=1000
        The limit on the number of iterations.
    accuracy : float or None, default=None
        The norm of the residual at the end, as a fraction of that of the right-hand side. None means that it depends
        on the right-hand side, which is then the gradient of an inexact Newton method.
    first : Preconditioner or None, default=None
        A preconditioner to begin with.
    preconditioned : bool, default=False
        Whether to use the other preconditioner from the first iteration on, if there is no `first` one.
    make_preconditioner : callable or None, default=None
        Returns another preconditioner; called once, when it is first needed. None means that there is none.

    Returns
    -------
    Solution
    """
    norm2 = float(r @ r)
    # Inexact Newton: far from the optimum, a fixed fraction of the gradient is accurate enough.
    target = norm2 * (_CG_FRACTION**2 if norm2 > _CG_NEAR else norm2**2)
    if accuracy is not None:
        target = norm2 * accuracy**2
    residual = half.unpack(r)
    x = np.zeros_like(residual)
    direction, product = x, 1.0
    preconditioner = first
    if preconditioner is None and preconditioned and make_preconditioner is not None:
        preconditioner = make_preconditioner()
    gave_up = False
    for iteration in range(max_iter):
        if norm2 <= target:
            break
        if iteration == _PLAIN_ITERATIONS and preconditioner is first and make_preconditioner is not None:
            preconditioner, direction = make_preconditioner(), np.zeros_like(x)  # start again from x
        scaled = residual if preconditioner is None else preconditioner.apply(residual)
        new = float(np.vdot(residual, scaled))
        if not new > 0.0:  # the residual has vanished, or rounding errors dominate
            gave_up = True
            break
        direction = scaled + new / product * direction
        product = new
        moved = image(direction)
        curvature = float(np.vdot(direction, moved))
        if not curvature > 0.0:
            gave_up = True
            break
        step = product / curvature
        x += step * direction
        residual = residual - step * moved
        norm2 = float(np.vdot(residual, residual))
    else:
        gave_up = True
    return Solution(half.pack(x), gave_up, preconditioner is not first)
