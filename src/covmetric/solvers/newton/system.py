"""The linear system of a Newton step, (I + sum_k h_k vec(B_k) vec(B_k)^T) x = r, in the cheapest of three ways."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from covmetric._utils.half_vectors import HalfVectors
from covmetric._utils.tuning import (
    CACHE_BYTES,
    CG_OVERHEAD,
    CG_TYPICAL_ITERATIONS,
    PAIR_OVERHEAD,
    SYSTEM_BLOCK_BYTES,
    VECTOR_PRODUCT_CACHED,
    VECTOR_PRODUCT_UNCACHED,
)
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem import MetricProblem
from covmetric.problem.sums import PairSums, is_multiple_of_identity
from covmetric.solvers.base import StepFailed

# Conjugate gradients stop at this fraction of the gradient where its square is above the second number; nearer to the
# optimum, at a fraction that shrinks with the gradient.
_CG_FRACTION, _CG_NEAR = 0.05, 1e-2
_CG_MAX_ITERATIONS = 1000


@functools.cache
def _kernels() -> Any:
    """The compiled kernels: Numba takes a second to import, and an import within a step a few microseconds."""
    from covmetric.solvers import compiled as kernels

    return kernels


@dataclass(slots=True, eq=False)
class ActiveTerms:
    """What the active pairs contribute to the gradient and the Hessian at W = C C^T.

    Attributes
    ----------
    active : array of int, shape (a,)
    forces, springs : array, shape (a,)
        c d'(s) / b and c d''(s) / b^2 of the active pairs.
    """

    problem: MetricProblem
    C: FloatArray
    active: IntArray
    forces: FloatArray
    springs: FloatArray

    @property
    def half(self) -> HalfVectors:
        """Symmetric n x n matrices as vectors."""
        return self.problem.sums.half

    def all_half_vectors(self) -> FloatArray:
        """The half vectors of all B_k = C^T A_k C, shape (a, p)."""
        out = np.empty((len(self.active), self.half.size))
        for part, V in self.half_vectors(out):
            if V.base is not out:
                out[part] = V
        return out

    def half_vectors(self, out: FloatArray | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Chunks of the active pairs, as slices, with the half vectors of their B_k; parts of `out` where possible."""
        half_grams = _kernels().half_grams
        sums, C = self.problem.sums, self.C
        lower = sums.lower()
        if lower is not None and is_multiple_of_identity(C):
            # The first step: B_k is a multiple of A_k.
            size = max(1, CACHE_BYTES // (8 * self.half.size))
            for start in range(0, len(self.active), size):
                part = slice(start, min(start + size, len(self.active)))
                yield part, C[0, 0] ** 2 * self.half.scaled(lower[self.active[part]])
            return
        for part, G in sums.roughly_transformed(self.active, C):
            V = np.empty((len(G), self.half.size)) if out is None else out[part]
            half_grams(G, V)
            yield part, V


class System(ABC):
    """The system of one step. `force` is sum_k forces_k vec(B_k), gathered on the way."""

    force: FloatArray
    gave_up = False

    @abstractmethod
    def solve(self, r: FloatArray) -> FloatArray:
        """x with (I + sum_k h_k vec(B_k) vec(B_k)^T) x = r."""

    def rates(self, x: FloatArray) -> FloatArray | None:
        """<B_k, X> of the active pairs, if the system can tell for nothing."""
        return None


class DenseSystem(System):
    """The p x p matrix, summed up by chunks of pairs."""

    def __init__(self, terms: ActiveTerms) -> None:
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
        # The matrix is written once per block, so a block has many rows; one triangle is enough.
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

    def solve(self, r: FloatArray) -> FloatArray:
        _, x, failed = lapack.dposv(self._matrix, r)
        if failed:
            raise StepFailed
        return np.asarray(x)


class PairSystem(System):
    """The (active pairs) x (active pairs) matrix of Woodbury's identity."""

    def __init__(self, terms: ActiveTerms) -> None:
        self._V = terms.all_half_vectors()
        self.force = terms.forces @ self._V
        self._roots = np.sqrt(terms.springs)

    def rates(self, x: FloatArray) -> FloatArray:
        return np.asarray(self._V @ x)

    def solve(self, r: FloatArray) -> FloatArray:
        V = self._V
        if len(V) == 0:
            return r.copy()
        matrix = V @ V.T
        matrix *= self._roots * self._roots[:, None]
        matrix.flat[:: len(V) + 1] += 1.0
        _, x, failed = lapack.dposv(matrix.T, self._roots * (V @ r), overwrite_a=True, overwrite_b=True)
        if failed:
            raise StepFailed
        return np.asarray(r - (x * self._roots) @ V)


class IterativeSystem(System):
    """Conjugate gradients: no matrix at all, and a sum over the pairs per iteration, with the A_k as they are.

    They give up after `limit` iterations, or where rounding errors take over; what they have by then is a direction of
    descent.
    """

    def __init__(self, terms: ActiveTerms, limit: int = _CG_MAX_ITERATIONS) -> None:
        self._terms, self._limit = terms, limit
        self._springs = self._spread(terms.springs)
        total = terms.problem.sums.weighted(self._spread(terms.forces))
        self.force = terms.half.pack(terms.C.T @ total @ terms.C)

    def _spread(self, values: FloatArray) -> FloatArray:
        """Values of the active pairs, with zeros for the others."""
        spread = np.zeros(self._terms.problem.n_pairs)
        spread[self._terms.active] = values
        return spread

    def _stretched(self, E: FloatArray) -> FloatArray:
        """The sum of h_k <A_k, E> A_k over the active pairs."""
        terms, half = self._terms, self._terms.half
        lower = terms.problem.sums.lower()
        if lower is None:
            return terms.problem.sums.stretched(E, terms.springs, terms.active)
        out = np.empty(half.size)
        _kernels().stretch(lower, half.doubled(E), self._springs, out)
        return half.from_lower(out)

    def solve(self, r: FloatArray) -> FloatArray:
        C, half = self._terms.C, self._terms.half
        residual = direction = half.unpack(r)
        x = np.zeros_like(residual)
        norm2 = float(r @ r)
        # Inexact Newton: far from the optimum a fixed fraction of the gradient is good enough.
        target = norm2 * (_CG_FRACTION**2 if norm2 > _CG_NEAR else norm2**2)
        for _ in range(self._limit):
            if norm2 <= target:
                break
            image = direction + C.T @ self._stretched(C @ direction @ C.T) @ C
            curvature = float(np.vdot(direction, image))
            if not curvature > 0.0:
                self.gave_up = True
                break
            step = norm2 / curvature
            x += step * direction
            residual = residual - step * image
            new = float(np.vdot(residual, residual))
            direction = residual + new / norm2 * direction
            norm2 = new
        else:
            self.gave_up = True
        return half.pack(x)


def rates_along(sums: PairSums, E: FloatArray) -> FloatArray:
    """<A_k, E> of all pairs, for a symmetric E, as accurate as a step needs.

    With many pairs on few examples, E Phi is computed once per example instead of once per pair. What is lost is a
    digit or two where the examples are far from their mean; the certificate uses `PairSums.quadratic`.
    """
    count = len(sums.rows)
    if len(sums.pairs) < 2 * count or sums.lower() is not None:
        return sums.quadratic(E)
    rows = sums.centred().reshape(-1, len(E))
    rates = np.empty(len(sums.pairs))
    _kernels().pair_products(rows.reshape(count, -1), (rows @ E).reshape(count, -1), sums.pairs, rates)
    return rates


def choose_system(terms: ActiveTerms, memory: float, iterative: bool = True) -> System:
    """The system with the least work among those that fit the memory.

    Work is counted in operations at the speed of a product of matrices. Without `iterative`, conjugate gradients are
    for problems that nothing else fits.
    """
    problem, p, a = terms.problem, terms.half.size, len(terms.active)
    n, m, K = problem.n, problem.m, problem.n_pairs
    transform = (6.0 * n * n * m + PAIR_OVERHEAD) * a
    direct: dict[type[DenseSystem | PairSystem], float] = {}
    if 8.0 * p * p <= memory:
        direct[DenseSystem] = a * p * p + p**3 + transform
    if 8.0 * a * (p + a) <= memory:
        direct[PairSystem] = a * a * p + a**3 + transform
    # Products with a vector are slower, and slower still beyond the cache.
    anew = 8.0 * n * n * m * a
    kept = (VECTOR_PRODUCT_CACHED if 8.0 * K * p <= CACHE_BYTES else VECTOR_PRODUCT_UNCACHED) * K * p
    keep = m > 1 and 8.0 * K * p <= memory and kept < anew
    iteration = CG_OVERHEAD + (kept if keep else anew) + 12.0 * n**3
    if direct:
        cheapest = min(direct, key=lambda kind: direct[kind])
        limit = direct[cheapest] / iteration
        if not iterative or limit < CG_TYPICAL_ITERATIONS:
            return cheapest(terms)
    if keep:
        problem.sums.lower(memory)
    return IterativeSystem(terms, int(limit) if direct else _CG_MAX_ITERATIONS)
