"""The linear system of a Newton step, (I + sum_k h_k vec(B_k) vec(B_k)^T) x = r, in the cheapest of three ways."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from covmetric._validation import FloatArray, IntArray
from covmetric.half_vectors import HalfVectors
from covmetric.problem import MetricProblem
from covmetric.solvers.base import StepFailed
from covmetric.sums import PairSums, is_multiple_of_identity

_CG_MAX_STEPS = 1000
_BLOCK_BYTES = 2**26
_CG_USUAL_STEPS = 30


@functools.cache
def _kernels() -> Any:
    """The compiled kernels: Numba takes a second to import, and an import within a step a few microseconds."""
    from covmetric.solvers import _kernels as kernels

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
    half: HalfVectors

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
        outer = sums.outer()
        if outer is not None and is_multiple_of_identity(C):
            # The first step: B_k is a multiple of A_k.
            n = self.half.n
            yield slice(0, len(self.active)), C[0, 0] ** 2 * self.half.pack(outer[self.active].reshape(-1, n, n))
            return
        for part, G in sums.roughly_transformed(self.active, C):
            V = np.empty((len(G), self.half.size)) if out is None else out[part]
            half_grams(G, V)
            yield part, V


class System(ABC):
    """The system of one step. `force` is sum_k forces_k vec(B_k), gathered on the way."""

    force: FloatArray

    @abstractmethod
    def solve(self, r: FloatArray) -> FloatArray:
        """x with (I + sum_k h_k vec(B_k) vec(B_k)^T) x = r."""

    def rates(self, x: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """<B_k, X> of the active pairs, if the system can tell for nothing."""
        return None


class DenseSystem(System):
    """The p x p matrix, summed up by chunks of pairs."""

    def __init__(self, terms: ActiveTerms) -> None:
        size = terms.half.size
        self.force = np.zeros(size)
        self._matrix = np.eye(size, order="F")
        roots = np.sqrt(terms.springs)
        if 8 * len(terms.active) * size <= _BLOCK_BYTES:
            V = terms.all_half_vectors()
            self.force = terms.forces @ V
            V *= roots[:, None]
            self._add(V)
            return
        # The matrix is written once per block, so a block has many rows; one triangle is enough.
        block = np.empty((min(len(terms.active), max(1, _BLOCK_BYTES // (8 * size))), size))
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
    """Conjugate gradients: no matrix at all, two passes over the active pairs per iteration."""

    def __init__(self, terms: ActiveTerms) -> None:
        self._terms = terms
        weights = np.zeros(terms.problem.n_pairs)
        weights[terms.active] = terms.forces
        sums, C = terms.problem.sums, terms.C
        self.force = terms.half.pack(sums.gram(weights, transform=C) - sums.gram(-weights, transform=C))

    def _apply(self, x: FloatArray) -> FloatArray:
        terms, half = self._terms, self._terms.half
        X, n = half.unpack(x), half.n
        total = np.zeros((n, n))
        for part, G in terms.problem.sums.transformed(terms.active, terms.C):
            flat = G.reshape(-1, n)
            pulls = terms.springs[part] * np.einsum("kan,kan->k", (flat @ X).reshape(G.shape), G)
            total += (G * pulls[:, None, None]).reshape(-1, n).T @ flat
        return x + half.pack(total)

    def solve(self, r: FloatArray) -> FloatArray:
        x, residual = np.zeros_like(r), r.copy()
        direction, norm2 = residual.copy(), float(r @ r)
        # Inexact Newton: a share of the gradient that shrinks with it keeps the convergence superlinear.
        target = norm2 * min(1e-2, norm2) ** 2
        for _ in range(_CG_MAX_STEPS):
            if norm2 <= target:
                break
            image = self._apply(direction)
            step = norm2 / float(direction @ image)
            x += step * direction
            residual -= step * image
            new = float(residual @ residual)
            direction = residual + new / norm2 * direction
            norm2 = new
        return x


def rates_along(sums: PairSums, E: FloatArray) -> FloatArray:
    """<A_k, E> of all pairs, for a symmetric E, as accurate as a step needs.

    With many pairs on few examples, E Phi is computed once per example instead of once per pair. What is lost is a
    digit or two where the examples are far from their mean; the certificate uses `PairSums.quadratic`.
    """
    count = len(sums.rows)
    if len(sums.pairs) < 2 * count or sums.outer() is not None:
        return sums.quadratic(E)
    rows = sums.centred().reshape(-1, len(E))
    rates = np.empty(len(sums.pairs))
    _kernels().pair_products(rows.reshape(count, -1), (rows @ E).reshape(count, -1), sums.pairs, rates)
    return rates


def choose_system(terms: ActiveTerms, memory: float) -> System:
    """The system with the least arithmetic among those that fit the memory."""
    p, a, problem = terms.half.size, len(terms.active), terms.problem
    # Conjugate gradients run at half the speed of the others (thin products) and need about so many iterations.
    costs: dict[type[IterativeSystem | DenseSystem | PairSystem], float] = {}
    costs[IterativeSystem] = 2.0 * _CG_USUAL_STEPS * 4.0 * problem.n**2 * problem.m * a
    if 8.0 * p * p <= memory:
        costs[DenseSystem] = a * p * p + p**3 / 3.0
    if 8.0 * a * (p + a) <= memory:
        costs[PairSystem] = a * a * p + a**3 / 3.0
    return min(costs, key=lambda kind: costs[kind])(terms)
