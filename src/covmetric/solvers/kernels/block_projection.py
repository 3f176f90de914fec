"""Dykstra's projection over blocks of pairs, for examples with few columns.

A projection with a single column reads and writes all of W for a few operations per entry, so that the memory limits
it. Here the pairs are visited in the same order, but W is read and written once per block. Within a block, only the
matrix F^T W F of the columns F of all its pairs is kept up to date, which is much smaller. The result is that of
`projection.sweep`, up to rounding.
"""

from __future__ import annotations

import math

import numpy as np

from covmetric._utils.compiling import jit as _jit
from covmetric.solvers.kernels.blas import LOWER, NORMAL, OPTIONS, RIGHT, TRANSPOSED, UPPER, dot, dsyrk, dtrsm
from covmetric.solvers.kernels.projection import BROKEN, DONE, gram, product, tridiagonal_loops
from covmetric.solvers.kernels.root import find_root
from covmetric.solvers.kernels.slack import call


@_jit
def _load(rows, pairs, order, F):
    """Write the differences of the pairs into F, the last pair first; return the number of columns."""
    m, n = rows.shape[1], rows.shape[2]
    count = m * len(order)
    for position in range(len(order)):
        k = order[position]
        i, j = pairs[k, 0], pairs[k, 1]
        for a in range(m):
            row = count - m * (position + 1) + a
            for p in range(n):
                F[row, p] = rows[i, a, p] - rows[j, a, p]
    return count


@_jit
def _own_block(M, first, T):
    """Copy the part of M that belongs to one pair, whose lower triangle is up to date; return its trace."""
    trace = 0.0
    for a in range(T.shape[0]):
        for q in range(a + 1):
            T[a, q] = T[q, a] = M[first + a, first + q]
        trace += T[a, a]
    return trace


@_jit
def _is_definite(T, u):
    """Return whether I + u T, which overwrites T, is positive definite."""
    m = T.shape[0]
    for a in range(m):
        for q in range(m):
            T[a, q] *= u
        T[a, a] += 1.0
    for k in range(m - 1, -1, -1):
        if not T[k, k] > 0.0:
            return False
        for j in range(k):
            f = T[k, j] / T[k, k]
            for i in range(j + 1):
                T[j, i] -= f * T[k, i]
    return True


@_jit
def _eliminate(M, first, m, u, scales):
    """Add u f f^T to W^-1 for the columns f of a pair, one after the other, and update the rows of M before them.

    The row of each column is divided by 1 + u f^T W f and multiplied by u; `scales` gets the same number.
    """
    for k in range(first + m - 1, first - 1, -1):
        beta = u / (1.0 + u * M[k, k])
        scales[k] = beta
        row = M[k]
        for j in range(k):
            f = beta * row[j]
            other = M[j]
            for i in range(j + 1):
                other[i] -= f * row[i]
        for j in range(k):
            row[j] *= beta


@_jit
def _apply(W, G, M, scales, Z, ints, reals, options):
    """Set W <- W - sum_k beta_k w_k w_k^T with the numbers beta in `scales`; G is overwritten.

    The w_k are the rows of L^-T G, with the unit lower triangular L whose rows are in M.
    """
    count, n = G.shape
    lower, upper, normal = options[LOWER:], options[UPPER:], options[NORMAL:]
    ints[0], ints[1], ints[2] = n, count, M.shape[1]
    reals[0] = 1.0
    # BLAS reads the row-major lower triangle of M as an upper one. The letter "U" also means a unit diagonal.
    dtrsm(
        options[RIGHT:].ctypes, upper.ctypes, options[TRANSPOSED:].ctypes, upper.ctypes, ints.ctypes,
        ints[1:].ctypes, reals.ctypes, M.ctypes, ints[2:].ctypes, G.ctypes, ints.ctypes,
    )  # fmt: skip
    for sign in (1.0, -1.0):
        used = 0
        for k in range(count):
            if sign * scales[k] > 0.0:
                f = math.sqrt(sign * scales[k])
                for p in range(n):
                    Z[used, p] = f * G[k, p]
                used += 1
        if used:
            ints[1] = used
            reals[0], reals[1] = -sign, 1.0
            dsyrk(
                lower.ctypes, normal.ctypes, ints.ctypes, ints[1:].ctypes, reals.ctypes, Z.ctypes, ints.ctypes,
                reals[1:].ctypes, W.ctypes, ints.ctypes,
            )  # fmt: skip


@_jit
def sweep_blocks(W, alpha, rows, pairs, y, b, c, order, xi, xi_prime, gradient, counts, visited, size):
    """Project W onto the half-spaces `order`, one after the other, and update W and alpha in place.

    Parameters
    ----------
    W : array of shape (n, n)
        The metric, (I + sum_k y_k alpha_k A_k)^-1.
    alpha : array of shape (K,)
        The multipliers, >= 0.
    rows : array of shape (l, m, n)
        The embedded examples, each transposed.
    pairs : array of int of shape (K, 2)
        Indices into `rows`.
    y, b, c : arrays of shape (K,)
        Signs, bounds and weights of the pairs.
    order : array of int
        Indices into `pairs`.
    xi, xi_prime, gradient : int
        Addresses of the slack's compiled scalar functions.
    counts : array of int of shape (2,)
        The numbers of pairs that changed W, and of pairs that did not, are added to these.
    visited : array of shape (2, K)
        The ratios s_k and the dual variables t_k of the visited pairs, from before their projections, are written here.
    size : int
        The number of pairs of a block.

    Returns
    -------
    int
        DONE; or BROKEN if a distance is not a number >= 0, or if W would not be positive definite in floating point.
        W and alpha then have their values from before the pair that failed.
    """
    n, m = W.shape[0], rows.shape[1]
    largest = m * min(size, len(order))
    F, G, Z = np.empty((largest, n)), np.empty((largest, n)), np.empty((largest, n))
    products, T = np.empty(largest * largest), np.empty((m, m))
    scales, d, e2, v, w = np.empty(largest), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    ints, reals, options = np.empty(4, np.int32), np.empty(2), OPTIONS.copy()
    status = DONE
    for start in range(0, len(order), size):
        block = order[start : start + size]
        count = _load(rows, pairs, block, F)
        M = products[: count * count].reshape(count, count)
        product(W, F[:count], G[:count], ints, reals, options)
        gram(F[:count], G[:count], M, ints, reals, options)
        for k in range(count):
            scales[k] = 0.0
        moved = False
        for position in range(len(block)):
            k = block[position]
            first = count - m * (position + 1)
            u = 0.0
            trace = _own_block(M, first, T)
            visited[0, k], visited[1, k] = trace / b[k], y[k] * alpha[k] * b[k] / c[k]
            if not trace > 0.0:
                own = F[first : first + m].ravel()
                if dot(own, own, own.size) != 0.0:  # W is no longer positive definite
                    status = BROKEN
                    break
                # F = 0: the distance is zero for every W, and a dissimilar pair has its full loss.
                if y[k] < 0.0:
                    alpha[k] = -call(gradient, 0.0) * c[k] / b[k]
            elif alpha[k] != 0.0 or y[k] * (trace - b[k]) > 0.0:
                tridiagonal_loops(T, d, e2, v, w)
                limit = -y[k] * alpha[k]
                u = find_root(d, e2, trace, b[k], c[k], -limit * b[k] / c[k], limit, xi, xi_prime, gradient)
                _own_block(M, first, T)
                if not _is_definite(T, u):
                    status = BROKEN
                    break
            if u == 0.0:
                for a in range(first, first + m):
                    for j in range(a):
                        M[a, j] = 0.0
                counts[1] += 1
                continue
            _eliminate(M, first, m, u, scales)
            alpha[k] = 0.0 if u == limit else max(alpha[k] + y[k] * u, 0.0)
            counts[0] += 1
            moved = True
        if moved:  # after a breakdown, the columns that were not visited have a scale of zero
            _apply(W, G[:count], M, scales, Z, ints, reals, options)
        if status != DONE:
            break
    for p in range(n):
        for q in range(p):
            W[p, q] = W[q, p]
    return status
