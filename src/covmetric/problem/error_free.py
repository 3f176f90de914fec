"""Sums of products of matrices to about twice the working precision, by error-free transformations.

A matrix is cut into slices of so few bits that the product of two slices is computed without any rounding error. The
exact products are added up in two doubles.

References
----------
Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using fast routines of matrix
multiplication and its applications", Numerical Algorithms 59, 2012.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from covmetric._utils.validation import FloatArray

# Slices of each matrix. With the rest, which is multiplied in working precision, three slices of 20 bits or more hold
# every product to 2^-100 of the largest one.
_SLICES = 3
# Rows that are multiplied at a time: more rows would leave fewer bits for a slice.
_ROWS = 2**12


class DoubleSum:
    """A sum of matrices, held in two doubles.

    Parameters
    ----------
    start : array of shape (n, n)
        The first term.

    Attributes
    ----------
    high, low : arrays of shape (n, n)
        Their sum is the sum of all terms, up to about 2^-104 of the largest partial sum.
    """

    def __init__(self, start: FloatArray) -> None:
        self.high = start.copy()
        self.low = np.zeros_like(start)

    def add(self, term: FloatArray) -> None:
        """Add a matrix without losing the rounding error of the addition (Knuth's two-sum).

        Parameters
        ----------
        term : array of shape (n, n)
            The matrix.
        """
        total = self.high + term
        back = total - self.high
        self.low += (self.high - (total - back)) + (term - back)
        self.high = total

    def value(self) -> FloatArray:
        """Return the sum, rounded once.

        Returns
        -------
        array of shape (n, n)
        """
        return self.high + self.low

    def add_product(self, A: FloatArray, B: FloatArray, sign: float = 1.0) -> None:
        """Add sign A^T B to about twice the working precision.

        Parameters
        ----------
        A, B : arrays of shape (q, n)
            The factors.
        sign : float, default=1.0
            1 or -1.
        """
        for start in range(0, len(A), _ROWS):
            a, b = A[start : start + _ROWS], B[start : start + _ROWS]
            a_slices, a_rest = _sliced(a)
            b_slices, b_rest = _sliced(b)
            for i in a_slices:
                for j in b_slices:
                    self.add(sign * (i.T @ j))
            self.add(sign * (a_rest.T @ b))
            self.add(sign * ((a - a_rest).T @ b_rest))


def _sliced(A: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Return slices of few bits, relative to the largest entry of each column, and the rest."""
    bits = (53 - int(np.ceil(np.log2(len(A) + 1)))) // 2
    slices, rest = [], A
    for _ in range(_SLICES):
        largest = np.abs(rest).max(axis=0, initial=0.0)
        anchor = np.ldexp(1.0, np.frexp(largest)[1] + 53 - bits)
        head = (rest + anchor) - anchor
        slices.append(head)
        rest = rest - head
    return slices, rest


def exact_difference(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a - b as the sum of two arrays, without rounding error.

    Parameters
    ----------
    a, b : arrays
        Of the same shape.

    Returns
    -------
    high : array
        The rounded difference.
    low : array
        Its rounding error.
    """
    high = a - b
    back = high - a
    return high, (a - (high - back)) - (b + back)


def exact_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a b, entry by entry, as the sum of two arrays, without rounding error unless it over- or underflows.

    Parameters
    ----------
    a, b : arrays
        Of shapes that can be broadcast against each other.

    Returns
    -------
    high : array
        The rounded product.
    low : array
        Its rounding error, by Dekker's algorithm.
    """
    high = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split numbers into two parts of at most 26 bits each (Veltkamp's algorithm)."""
    # Powers of two keep the splitting from overflowing.
    exponent = np.frexp(a)[1]
    scaled = np.ldexp(a, -exponent)
    large = 134217729.0 * scaled  # 2^27 + 1
    head = large - (large - scaled)
    return np.ldexp(head, exponent), np.ldexp(scaled - head, exponent)


def residual(W: FloatArray, factor: FloatArray) -> FloatArray:
    """Return W - L L^T to about twice the working precision.

    Parameters
    ----------
    W : array of shape (n, n)
        A symmetric matrix.
    factor : array of shape (n, n)
        The factor L.

    Returns
    -------
    array of shape (n, n)
    """
    total = DoubleSum(W)
    total.add_product(factor.T, factor.T, sign=-1.0)
    return total.value()


def weighted_gram(rows: Iterator[tuple[FloatArray, FloatArray, FloatArray]], total: DoubleSum) -> None:
    """Add sum_k v_k f_k f_k^T to a sum, to about twice the working precision.

    Parameters
    ----------
    rows : iterator of (weights, high, low)
        Chunks of weights v, shape (q,), and of the rows f = high + low, each of shape (q, n).
    total : DoubleSum
        The sum that is added to.
    """
    for weights, high, low in rows:
        weighted, error = exact_product(weights[:, None], high)
        total.add_product(high, weighted)
        total.add(high.T @ error)
        total.add(low.T @ weighted)
        total.add(high.T @ (weights[:, None] * low))


def factor_residual(total: DoubleSum, factor: FloatArray) -> FloatArray:
    """Return M - R^T R to about twice the working precision.

    Parameters
    ----------
    total : DoubleSum
        The symmetric matrix M, which is overwritten.
    factor : array of shape (n, n)
        The factor R.

    Returns
    -------
    array of shape (n, n)
        An exactly symmetric matrix.
    """
    total.add_product(factor, factor, sign=-1.0)
    value = total.value()
    return 0.5 * (value + value.T)


def weighted_gram_residual(rows: Iterator[tuple[FloatArray, FloatArray, FloatArray]], factor: FloatArray) -> FloatArray:
    """Return I + sum_k v_k f_k f_k^T - R^T R to about twice the working precision.

    Parameters
    ----------
    rows : iterator of (weights, high, low)
        Chunks of weights v, shape (q,), and of the rows f = high + low, each of shape (q, n).
    factor : array of shape (n, n)
        The factor R.

    Returns
    -------
    array of shape (n, n)
    """
    total = DoubleSum(np.eye(len(factor)))
    weighted_gram(rows, total)
    return factor_residual(total, factor)


def tolerated(tol: float) -> float:
    """Return the rounding error, relative to the objective, up to which working precision is enough.

    Parameters
    ----------
    tol : float
        The tolerance on the relative gap; 0 if there is none.

    Returns
    -------
    float
    """
    return 0.1 * tol if tol > 0.0 else 1e-11
