"""The linear system of a second-order step, (I + sum_k h_k vec(B_k) vec(B_k)^T) x = r, and four ways to solve it."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import blas, lapack

from covmetric._utils.half_vectors import HalfVectors
from covmetric._utils.tuning import (
    CACHE_BYTES,
    CG_OVERHEAD,
    CG_TYPICAL_ITERATIONS,
    PAIR_OVERHEAD,
    SYSTEM_BLOCK_BYTES,
    THIN_OVERHEAD,
    VECTOR_PRODUCT_CACHED,
    VECTOR_PRODUCT_UNCACHED,
)
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem import MetricProblem
from covmetric.problem.sums import PairSums, is_multiple_of_identity
from covmetric.solvers.base import StepFailed
from covmetric.solvers.preconditioner import GaussianPreconditioner

# Conjugate gradients stop at this fraction of the norm of the gradient if the squared norm is above the second number.
# Nearer to the optimum, the fraction shrinks with the gradient, so that the convergence is superlinear.
_CG_FRACTION, _CG_NEAR = 0.05, 1e-2
_CG_MAX_ITERATIONS = 1000
# The preconditioner takes about as long as two iterations, which is more than easy systems need.
_PLAIN_ITERATIONS = 10
# The pairs from which the mean square of the B_k is estimated.
_SAMPLE = 256


@functools.cache
def _kernels() -> Any:
    """Import the compiled kernels once, because even a repeated import statement takes a few microseconds."""
    from covmetric.solvers import compiled as kernels

    return kernels


@dataclass(slots=True, eq=False)
class ActiveTerms:
    """The contributions of the active pairs to the gradient and the Hessian at W = C C^T.

    Attributes
    ----------
    problem : MetricProblem
        The problem.
    C : array of shape (n, n)
        The factor of W.
    active : array of int of shape (a,)
        The active pairs.
    forces : array of shape (a,)
        c d'(s) / b of the active pairs, the coefficients of the gradient.
    springs : array of shape (a,)
        h = c d''(s) / b^2 of the active pairs, the coefficients of the Hessian.
    """

    problem: MetricProblem
    C: FloatArray
    active: IntArray
    forces: FloatArray
    springs: FloatArray

    @property
    def half(self) -> HalfVectors:
        """The isometry between symmetric n x n matrices and vectors of length p = n(n+1)/2."""
        return self.problem.sums.half

    def over_all_pairs(self, values: FloatArray) -> FloatArray:
        """Return values of the active pairs as an array over all pairs, with zeros for the others.

        Parameters
        ----------
        values : array of shape (a,)
            The values.

        Returns
        -------
        array of shape (K,)
        """
        result = np.zeros(self.problem.n_pairs)
        result[self.active] = values
        return result

    def all_half_vectors(self) -> FloatArray:
        """Return the half vectors of B_k = C^T A_k C of all active pairs.

        Returns
        -------
        array of shape (a, p)
        """
        out = np.empty((len(self.active), self.half.size))
        for part, V in self.half_vectors(out):
            if V.base is not out:
                out[part] = V
        return out

    def half_vectors(self, out: FloatArray | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over chunks of the active pairs and the half vectors of their B_k.

        Parameters
        ----------
        out : array of shape (a, p) or None, default=None
            An array for the half vectors, which is used if that saves a copy.

        Yields
        ------
        part : slice
            A part of the active pairs.
        vectors : array of shape (q, p)
            Their half vectors: a part of `out`, or a new array.
        """
        half_grams = _kernels().half_grams
        sums, C = self.problem.sums, self.C
        lower = sums.lower_triangles()
        if lower is not None and is_multiple_of_identity(C):
            # In the first step, B_k is a multiple of A_k.
            size = max(1, CACHE_BYTES // (8 * self.half.size))
            for start in range(0, len(self.active), size):
                part = slice(start, min(start + size, len(self.active)))
                yield part, C[0, 0] ** 2 * self.half.scaled(lower[self.active[part]])
            return
        for part, G in sums.roughly_transformed(self.active, C):
            V = np.empty((len(G), self.half.size)) if out is None else out[part]
            half_grams(G, V)
            yield part, V


def _cholesky(matrix: FloatArray) -> FloatArray:
    """Return the upper Cholesky factor of a matrix in column-major order, which is overwritten."""
    factor, failed = lapack.dpotrf(matrix, overwrite_a=True)
    if failed:
        raise StepFailed
    return np.asarray(factor)


class System(ABC):
    """The linear system of one step.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.

    Attributes
    ----------
    force : array of shape (p,)
        The sum of forces_k vec(B_k), a by-product of the system.
    gave_up : bool
        Whether the system was solved inexactly because an exact solution took too long.
    hard : bool
        Whether conjugate gradients needed a preconditioner. The system of the next step then needs it, too.
    exact : bool
        Whether the system is solved up to rounding errors.
    keeps_pairs : bool
        Whether the system keeps the B_k, so that `rates` takes no pass over the differences.
    """

    force: FloatArray
    gave_up = False
    hard = False
    exact: ClassVar[bool] = True
    keeps_pairs: ClassVar[bool] = False

    def __init__(self, terms: ActiveTerms) -> None:
        self._terms = terms

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        """Return the sum of w_k vec(B_k) over the active pairs.

        Parameters
        ----------
        weights : array of shape (a,)
            The weights w_k, of either sign.

        Returns
        -------
        array of shape (p,)
        """
        terms = self._terms
        total = terms.problem.sums.weighted_sum(terms.over_all_pairs(weights))
        return terms.half.pack(terms.C.T @ total @ terms.C)

    def rates(self, x: FloatArray) -> FloatArray:
        """Return <B_k, X> of the active pairs.

        Parameters
        ----------
        x : array of shape (p,)
            The half vector of X.

        Returns
        -------
        array of shape (a,)
        """
        terms = self._terms
        dW = terms.C @ terms.half.unpack(x) @ terms.C.T
        return rates_along(terms.problem.sums, dW)[terms.active]

    @abstractmethod
    def solve(self, r: FloatArray) -> FloatArray:
        """Return the solution x of (I + sum_k h_k vec(B_k) vec(B_k)^T) x = r.

        Parameters
        ----------
        r : array of shape (p,)
            The right-hand side.

        Returns
        -------
        array of shape (p,)

        Raises
        ------
        StepFailed
            If the matrix is not positive definite in floating point arithmetic.
        """

    def solve_affine(self, z: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the solution x for r = z - sum_k w_k vec(B_k), and <B_k, X> of the active pairs.

        The matrix is factorised once, however often this is called.

        Parameters
        ----------
        z : array of shape (p,)
            The part of the right-hand side that does not depend on the pairs.
        weights : array of shape (a,)
            The weights w_k.

        Returns
        -------
        x : array of shape (p,)
            The solution.
        rates : array of shape (a,)
            The inner products.

        Raises
        ------
        StepFailed
            If the matrix is not positive definite in floating point arithmetic.
        """
        x = self.solve(z - self.weighted_sum(weights))
        return x, self.rates(x)


class DenseSystem(System):
    """The system with its p x p matrix, which is summed up by chunks of pairs.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    def __init__(self, terms: ActiveTerms) -> None:
        super().__init__(terms)
        size = terms.half.size
        self.force = np.zeros(size)
        self._matrix = np.eye(size, order="F")
        roots = np.sqrt(terms.springs)
        if 8 * len(terms.active) * size <= SYSTEM_BLOCK_BYTES:
            V = terms.all_half_vectors()
            self.force = terms.forces @ V
            V *= roots[:, None]
            self._add(V)
            return
        # The matrix is read and written once per block, so large blocks are efficient. Only one triangle is computed.
        block = np.empty((min(len(terms.active), max(1, SYSTEM_BLOCK_BYTES // (8 * size))), size))
        filled = 0
        for part, V in terms.half_vectors():
            self.force += terms.forces[part] @ V
            V *= roots[part, None]
            while len(V):
                rows = V[: len(block) - filled]
                block[filled : filled + len(rows)] = rows
                filled += len(rows)
                V = V[len(rows) :]
                if filled == len(block):
                    self._add(block)
                    filled = 0
        self._add(block[:filled])

    def _add(self, block: FloatArray) -> None:
        if len(block):
            self._matrix = blas.dsyrk(1.0, block.T, beta=1.0, c=self._matrix, overwrite_c=True)

    @functools.cached_property
    def _factor(self) -> FloatArray:
        return _cholesky(self._matrix)

    def solve(self, r: FloatArray) -> FloatArray:
        return np.asarray(lapack.dpotrs(self._factor, r)[0])


class PairSystem(System):
    """The system with the (active pairs) x (active pairs) matrix of Woodbury's identity.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    keeps_pairs = True

    def __init__(self, terms: ActiveTerms) -> None:
        super().__init__(terms)
        self._roots = np.sqrt(terms.springs)
        self._keep_pairs()
        self.force = self.weighted_sum(terms.forces)

    def _keep_pairs(self) -> None:
        """Compute what represents the B_k."""
        self._V = self._terms.all_half_vectors()

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ self._V)

    def rates(self, x: FloatArray) -> FloatArray:
        return np.asarray(self._V @ x)

    def _inner_products(self) -> FloatArray:
        """Return <B_j, B_k> of all active pairs, as a new array."""
        return np.asarray(self._V @ self._V.T)

    def _factored(self, inner_products: FloatArray) -> FloatArray:
        """Return the factor of I + diag(roots) <B_j, B_k> diag(roots); the argument is overwritten."""
        inner_products *= self._roots * self._roots[:, None]
        inner_products.flat[:: len(self._roots) + 1] += 1.0
        return _cholesky(inner_products.T)

    def solve(self, r: FloatArray) -> FloatArray:
        if len(self._roots) == 0:
            return r.copy()
        factor = self._factored(self._inner_products())
        x = lapack.dpotrs(factor, self._roots * self.rates(r), overwrite_b=True)[0]
        return np.asarray(r - self.weighted_sum(x * self._roots))

    @functools.cached_property
    def _products_and_factor(self) -> tuple[FloatArray, FloatArray]:
        products = self._inner_products()
        return products, self._factored(products.copy())

    def solve_affine(self, z: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        if len(self._roots) == 0:
            return z.copy(), np.empty(0)
        products, factor = self._products_and_factor
        rates = self.rates(z)
        x = lapack.dpotrs(factor, self._roots * (rates - products @ weights), overwrite_b=True)[0]
        forces = weights + self._roots * x
        return z - self.weighted_sum(forces), rates - products @ forces


class ThinSystem(PairSystem):
    """The same matrix from <B_j, B_k> = ||F_j^T W F_k||^2, without half vectors.

    If m = 1, the matrix is the entrywise square of F W F^T, which takes n/2 times fewer operations.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    """

    def _keep_pairs(self) -> None:
        terms = self._terms
        self._G = np.empty((len(terms.active), terms.problem.m, terms.problem.n))
        for part, G in terms.problem.sums.roughly_transformed(terms.active, terms.C):
            self._G[part] = G

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        rows = self._G.reshape(-1, self._G.shape[2])
        repeated = np.repeat(weights, self._G.shape[1])
        return self._terms.half.pack((rows * repeated[:, None]).T @ rows)

    def rates(self, x: FloatArray) -> FloatArray:
        rows = self._G.reshape(-1, self._G.shape[2])
        image = (rows @ self._terms.half.unpack(x)).reshape(self._G.shape)
        return np.asarray(np.einsum("kan,kan->k", image, self._G))

    def _inner_products(self) -> FloatArray:
        count, m, _ = self._G.shape
        total = np.zeros((count, count))
        for i in range(m):
            for j in range(m):
                product = self._G[:, i] @ self._G[:, j].T
                product *= product
                total += product
        return total


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
    hard : bool, default=False
        Whether to use the preconditioner from the first iteration on.
    """

    exact = False

    def __init__(
        self, terms: ActiveTerms, max_iter: int = _CG_MAX_ITERATIONS, accuracy: float | None = None, hard: bool = False
    ) -> None:
        super().__init__(terms)
        self._max_iter = max_iter
        self._accuracy = accuracy
        # With fewer pairs than unknowns, the sum over the pairs is singular, and not at all like that of Gaussians.
        self._gaussian = len(terms.active) > terms.half.size
        self.hard = hard and self._gaussian
        self._springs = terms.over_all_pairs(terms.springs)
        self.force = self.weighted_sum(terms.forces)

    def _hessian_product(self, E: FloatArray) -> FloatArray:
        """Return the sum of h_k <A_k, E> A_k over the active pairs."""
        terms, half = self._terms, self._terms.half
        lower = terms.problem.sums.lower_triangles()
        if lower is None:
            return terms.problem.sums.hessian_product(E, terms.springs, terms.active)
        out = np.empty(half.size)
        _kernels().stretch(lower, half.doubled(E), self._springs, out)
        return half.from_lower(out)

    @functools.cached_property
    def _preconditioner(self) -> GaussianPreconditioner:
        terms = self._terms
        total = float(terms.springs.sum())
        mean = terms.half.unpack(self.weighted_sum(terms.springs / total if total > 0.0 else terms.springs))
        # A sample is enough for the mean of ||B_k||^2.
        sample = slice(None, None, max(1, len(terms.active) // _SAMPLE))
        some = ActiveTerms(terms.problem, terms.C, terms.active[sample], terms.forces[sample], terms.springs[sample])
        squares = sum(float(some.springs[part] @ np.einsum("kp,kp->k", V, V)) for part, V in some.half_vectors())
        weight = float(some.springs.sum())
        return GaussianPreconditioner(mean, total, squares / weight if weight > 0.0 else 0.0)

    def solve(self, r: FloatArray) -> FloatArray:
        C, half = self._terms.C, self._terms.half
        norm2 = float(r @ r)
        # Inexact Newton: far from the optimum, a fixed fraction of the gradient is accurate enough.
        target = norm2 * (_CG_FRACTION**2 if norm2 > _CG_NEAR else norm2**2)
        if self._accuracy is not None:
            target = norm2 * self._accuracy**2
        residual = half.unpack(r)
        x = np.zeros_like(residual)
        direction, product = x, 1.0
        for iteration in range(self._max_iter):
            if norm2 <= target:
                break
            if iteration == _PLAIN_ITERATIONS and self._gaussian and not self.hard:
                self.hard, direction = True, np.zeros_like(x)  # start again from x, with the preconditioner
            scaled = self._preconditioner.apply(residual) if self.hard else residual
            new = float(np.vdot(residual, scaled))
            direction = scaled + new / product * direction
            product = new
            image = direction + C.T @ self._hessian_product(C @ direction @ C.T) @ C
            curvature = float(np.vdot(direction, image))
            if not curvature > 0.0:
                self.gave_up = True
                break
            step = product / curvature
            x += step * direction
            residual = residual - step * image
            norm2 = float(np.vdot(residual, residual))
        else:
            self.gave_up = True
        return half.pack(x)


def rates_along(sums: PairSums, E: FloatArray) -> FloatArray:
    """Return <A_k, E> of all pairs, accurate enough for a step.

    If there are many pairs on few examples, E Phi is computed once per example instead of once per pair. The result
    loses a few digits if the examples are far from their mean; the certificate uses `PairSums.inner_products`. So does
    this function for pairs of examples that are nearly equal.

    Parameters
    ----------
    sums : PairSums
        The pairs.
    E : array of shape (n, n)
        A symmetric matrix.

    Returns
    -------
    array of shape (K,)
    """
    count = len(sums.rows)
    if len(sums.pairs) < 2 * count or sums.lower_triangles() is not None:
        return sums.inner_products(E)
    rows = sums.centred_rows().reshape(-1, len(E))
    rates = np.empty(len(sums.pairs))
    _kernels().pair_products(rows.reshape(count, -1), (rows @ E).reshape(count, -1), sums.pairs, rates)
    close = sums.close_pairs
    if len(close):
        rates[close] = sums.inner_products(E, close)
    return rates


def choose_system(
    terms: ActiveTerms, memory: float, iterative: bool = True, accuracy: float | None = None, hard: bool = False
) -> System:
    """Return the system that takes the least work among the systems that fit into memory.

    Work is counted in operations at the speed of a matrix product.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    memory : float
        The bytes that the matrix of the system may take.
    iterative : bool, default=True
        Whether conjugate gradients may be chosen although a matrix fits into the memory.
    accuracy : float or None, default=None
        The accuracy of conjugate gradients; see `IterativeSystem`.
    hard : bool, default=False
        The attribute `hard` of the system of the previous step.

    Returns
    -------
    System
    """
    problem, p, a = terms.problem, terms.half.size, len(terms.active)
    n, m, K = problem.n, problem.m, problem.n_pairs
    transform = (6.0 * n * n * m + PAIR_OVERHEAD) * a
    direct: dict[type[DenseSystem | PairSystem | ThinSystem], float] = {}
    if 8.0 * p * p <= memory:
        direct[DenseSystem] = a * p * p + p**3 + transform
    if 8.0 * a * (p + 2 * a) <= memory:
        direct[PairSystem] = a * a * p + a**3 + transform
    if 8.0 * a * (m * n + 2 * a) <= memory:
        direct[ThinSystem] = a * a * m * m * (n + THIN_OVERHEAD) + a**3 + transform
    # Products with a vector run slower than matrix products, and still slower beyond the cache.
    with_differences = 8.0 * n * n * m * a
    with_triangles = (VECTOR_PRODUCT_CACHED if 8.0 * K * p <= CACHE_BYTES else VECTOR_PRODUCT_UNCACHED) * K * p
    keep_triangles = m > 1 and 8.0 * K * p <= memory and with_triangles < with_differences
    iteration = CG_OVERHEAD + (with_triangles if keep_triangles else with_differences) + 12.0 * n**3
    if direct:
        cheapest = min(direct, key=lambda kind: direct[kind])
        max_iter = direct[cheapest] / iteration
        if not iterative or max_iter < CG_TYPICAL_ITERATIONS:
            return cheapest(terms)
    if keep_triangles:
        problem.sums.lower_triangles(memory)
    return IterativeSystem(terms, int(max_iter) if direct else _CG_MAX_ITERATIONS, accuracy, hard)
