"""The contributions of pairs to a second-order step, and their derivatives along it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.half_vectors import HalfVectors
from covmetric._utils.tuning import CACHE_BYTES, HALF_GRAM_LOOPS_UP_TO_ROWS
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem import MetricProblem
from covmetric.problem.sums import PairSums, is_multiple_of_identity


@functools.cache
def compiled_kernels() -> Any:
    """Import the compiled kernels once, because even a repeated import statement takes a few microseconds.

    Returns
    -------
    module
    """
    from covmetric.solvers.kernels import newton_sums as kernels

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
    multiple : float or None
        The number w if C = w I, as in the first step of a solve, which then needs no products with C.
    """

    problem: MetricProblem
    C: FloatArray
    active: IntArray
    forces: FloatArray
    springs: FloatArray
    multiple: float | None = field(init=False)

    def __post_init__(self) -> None:
        self.multiple = float(self.C[0, 0]) if is_multiple_of_identity(self.C) else None

    def from_metric(self, E: FloatArray) -> FloatArray:
        """Return C^T E C, a sum over the A_k in the coordinates of C.

        Parameters
        ----------
        E : array of shape (n, n)
            A symmetric matrix.

        Returns
        -------
        array of shape (n, n)
        """
        return self.C.T @ E @ self.C if self.multiple is None else self.multiple**2 * E

    def to_metric(self, Delta: FloatArray) -> FloatArray:
        """Return C Delta C^T, a change of W.

        Parameters
        ----------
        Delta : array of shape (n, n)
            A symmetric matrix in the coordinates of C.

        Returns
        -------
        array of shape (n, n)
        """
        return self.C @ Delta @ self.C.T if self.multiple is None else self.multiple**2 * Delta

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
        kernels = compiled_kernels()
        by_loops = self.problem.n <= HALF_GRAM_LOOPS_UP_TO_ROWS
        half_grams = kernels.half_grams_by_loops if by_loops else kernels.half_grams
        sums, C = self.problem.sums, self.C
        lower = sums.lower_triangles()
        if lower is not None and self.multiple is not None:  # B_k is a multiple of A_k
            size = max(1, CACHE_BYTES // (8 * self.half.size))
            for start in range(0, len(self.active), size):
                part = slice(start, min(start + size, len(self.active)))
                yield part, self.multiple**2 * self.half.scaled(lower[self.active[part]])
            return
        for part, G in sums.roughly_transformed(self.active, C):
            V = np.empty((len(G), self.half.size)) if out is None else out[part]
            half_grams(G, V)
            yield part, V


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
    compiled_kernels().pair_products(rows.reshape(count, -1), (rows @ E).reshape(count, -1), sums.pairs, rates)
    close = sums.close_pairs
    if len(close):
        rates[close] = sums.inner_products(E, close)
    return rates
