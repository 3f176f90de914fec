"""Dykstra's projection: a sweep projects the current metric onto a list of half-spaces, one after the other."""

from __future__ import annotations

import math

import numpy as np

from covmetric._utils.compiling import jit as _jit
from covmetric._utils.tuning import SMALL_SOLVE, SMALL_TRIDIAGONAL
from covmetric.solvers.kernels.blas import (
    LOWER,
    NORMAL,
    OPTIONS,
    RIGHT,
    TRANSPOSED,
    dgelqf,
    dgemm,
    dot,
    dpotrf,
    dsymm,
    dsyrk,
    dsytrd,
    dtrsm,
)
from covmetric.solvers.kernels.root import find_root
from covmetric.solvers.kernels.slack import call

# Status codes of `sweep`.
DONE, BROKEN = 0, 1


@_jit
def tridiagonal_loops(T, d, e2, v, w):
    """Reduce T, which is overwritten, to its diagonal and squared off-diagonal by Householder's method.

    The reduction works on leading blocks, from the last row up, because loops that start at zero vectorise well.

    Parameters
    ----------
    T : array of shape (m, m)
        The symmetric matrix.
    d, e2 : arrays of shape (m,)
        The diagonal and the squared off-diagonal, without the last entry.
    v, w : arrays of shape (m,)
        Workspace.
    """
    m = T.shape[0]
    for k in range(m - 1, 1, -1):
        for i in range(k - 1):
            v[i] = T[k, i]
        last = T[k, k - 1]
        rest = dot(v, v, k - 1)
        d[k] = T[k, k]
        e2[k - 1] = last * last + rest
        if rest == 0.0:
            continue
        norm = math.sqrt(e2[k - 1])
        v[k - 1] = last + norm if last > 0.0 else last - norm
        scale = 2.0 / (v[k - 1] * v[k - 1] + rest)
        for i in range(k):
            w[i] = 0.0
        for j in range(k):
            f = v[j]
            for i in range(k):
                w[i] += f * T[j, i]
        half = 0.5 * scale * dot(v, w, k)
        for i in range(k):
            w[i] = scale * (w[i] - half * v[i])
        for j in range(k):
            f, g = v[j], w[j]
            for i in range(k):
                T[j, i] -= f * w[i] + g * v[i]
    d[0] = T[0, 0]
    if m > 1:
        d[1] = T[1, 1]
        e2[0] = T[1, 0] * T[1, 0]


@_jit
def _tridiagonal_lapack(T, d, e2, tau, work, ints, options):
    """Reduce T to its diagonal and squared off-diagonal by LAPACK."""
    ints[0], ints[1] = T.shape[0], work.size
    dsytrd(
        options.ctypes, ints.ctypes, T.ctypes, ints.ctypes, d.ctypes, e2.ctypes, tau.ctypes,
        work.ctypes, ints[1:].ctypes, ints[2:].ctypes,
    )  # fmt: skip
    for i in range(T.shape[0] - 1):
        e2[i] *= e2[i]


@_jit
def _solve_loops(M, G):
    """Set G <- R^-T G with M = R^T R, R lower. Return False if M is not positive definite.

    LAPACK uses the factorisation M = R R^T instead. Here, the loops run from the last row up, so that they start at
    zero. Both factors give the same G^T M^-1 G.
    """
    m, n = G.shape
    for k in range(m - 1, -1, -1):
        if not M[k, k] > 0.0:
            return False
        f = 1.0 / math.sqrt(M[k, k])
        for i in range(k + 1):
            M[k, i] *= f
        for j in range(k):
            f = M[k, j]
            for i in range(j + 1):
                M[j, i] -= f * M[k, i]
    for a in range(m - 1, -1, -1):
        for r in range(a + 1, m):
            f = M[r, a]
            for p in range(n):
                G[a, p] -= f * G[r, p]
        f = 1.0 / M[a, a]
        for p in range(n):
            G[a, p] *= f
    return True


@_jit
def _solve_lapack(M, G, ints, reals, options):
    """Set G <- R^-1 G with M = R R^T. Return False if M is not positive definite."""
    ints[0], ints[1] = M.shape[0], G.shape[1]
    lower, right = options[LOWER:], options[RIGHT:]
    normal, transposed = options[NORMAL:], options[TRANSPOSED:]
    dpotrf(lower.ctypes, ints.ctypes, M.ctypes, ints.ctypes, ints[2:].ctypes)
    if ints[2] != 0:
        return False
    reals[0] = 1.0
    dtrsm(
        right.ctypes, lower.ctypes, transposed.ctypes, normal.ctypes, ints[1:].ctypes, ints.ctypes,
        reals.ctypes, M.ctypes, ints.ctypes, G.ctypes, ints[1:].ctypes,
    )  # fmt: skip
    return True


@_jit
def _difference(rows, i, j, F):
    """Set F = rows[i] - rows[j]."""
    for a in range(rows.shape[1]):
        for p in range(rows.shape[2]):
            F[a, p] = rows[i, a, p] - rows[j, a, p]


@_jit
def _reduce_wide(F, tau, work, ints):
    """Overwrite the head of F, with m > n, by the n x n factor L of F = L Q, because only F F^T = L L^T matters."""
    m, n = F.shape
    ints[0], ints[1], ints[2] = n, m, work.size
    dgelqf(
        ints.ctypes, ints[1:].ctypes, F.ctypes, ints.ctypes, tau.ctypes,
        work.ctypes, ints[2:].ctypes, ints[3:].ctypes,
    )  # fmt: skip
    for a in range(n):
        for p in range(a):
            F[a, p] = 0.0


@_jit
def product(W, F, G, ints, reals, options):
    """Set G = W F, from the triangle of W that is kept up to date.

    Parameters
    ----------
    W : array of shape (n, n)
        The metric.
    F, G : arrays of shape (m, n)
        The columns of a difference, and the product; each transposed.
    ints, reals, options : arrays
        Workspace for the arguments of BLAS.

    Returns
    -------
    float
        <F, G>.
    """
    m, n = G.shape
    ints[0], ints[1] = n, m
    reals[0], reals[1] = 1.0, 0.0
    dsymm(
        options.ctypes, options.ctypes, ints.ctypes, ints[1:].ctypes, reals.ctypes, W.ctypes, ints.ctypes,
        F.ctypes, ints.ctypes, reals[1:].ctypes, G.ctypes, ints.ctypes,
    )  # fmt: skip
    return dot(F.ravel(), G.ravel(), m * n)


@_jit
def gram(F, G, M, ints, reals, options):
    """Set M = F^T G.

    Parameters
    ----------
    F, G : arrays of shape (m, n)
        The two factors, each transposed.
    M : array of shape (m, m)
        The product.
    ints, reals, options : arrays
        Workspace for the arguments of BLAS.
    """
    m, n = G.shape
    ints[0], ints[1] = n, m
    reals[0], reals[1] = 1.0, 0.0
    normal, transposed = options[NORMAL:], options[TRANSPOSED:]
    dgemm(
        transposed.ctypes, normal.ctypes, ints[1:].ctypes, ints[1:].ctypes, ints.ctypes, reals.ctypes, F.ctypes,
        ints.ctypes, G.ctypes, ints.ctypes, reals[1:].ctypes, M.ctypes, ints[1:].ctypes,
    )  # fmt: skip


@_jit
def _update(W, G, M, u, ints, reals, options):
    """Set W <- W - u G (I + u M)^-1 G^T; M and G are overwritten.

    Return False, and leave W unchanged, if I + u M is not positive definite.
    """
    m, n = G.shape
    for a in range(m):
        for q in range(m):
            M[a, q] *= u
        M[a, a] += 1.0
    if not (_solve_loops(M, G) if m <= SMALL_SOLVE else _solve_lapack(M, G, ints, reals, options)):
        return False
    ints[0], ints[1] = n, m
    reals[0], reals[1] = -u, 1.0
    normal = options[NORMAL:]
    dsyrk(
        options.ctypes, normal.ctypes, ints.ctypes, ints[1:].ctypes, reals.ctypes, G.ctypes, ints.ctypes,
        reals[1:].ctypes, W.ctypes, ints.ctypes,
    )  # fmt: skip
    return True


@_jit
def sweep(W, alpha, rows, pairs, y, b, c, order, xi, xi_prime, gradient, counts, visited):
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

    Returns
    -------
    int
        DONE; or BROKEN if a distance is not a number >= 0, or if I + u M is not positive definite in floating point.
        W and alpha then have their values from before the pair that failed.
    """
    n, width = W.shape[0], rows.shape[1]
    m = min(n, width)
    F, G = np.empty((width, n)), np.empty((m, n))
    M, T = np.empty((m, m)), np.empty((m, m))
    d, e2, v, w = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    tau, work = np.empty(n), np.empty(32 * n)
    ints, reals, options = np.empty(4, np.int32), np.empty(2), OPTIONS.copy()
    status = DONE
    for k in order:
        _difference(rows, pairs[k, 0], pairs[k, 1], F)
        if width > n:
            _reduce_wide(F, tau, work, ints)
        trace = product(W, F, G, ints, reals, options)
        visited[0, k], visited[1, k] = trace / b[k], y[k] * alpha[k] * b[k] / c[k]
        if not trace > 0.0:
            if dot(F.ravel(), F.ravel(), F.size) != 0.0:  # W is no longer positive definite
                status = BROKEN
                break
            # F = 0: the distance is zero for every W, and a dissimilar pair has its full loss.
            if y[k] < 0.0:
                alpha[k] = -call(gradient, 0.0) * c[k] / b[k]
            counts[1] += 1
            continue
        if alpha[k] == 0.0 and y[k] * (trace - b[k]) <= 0.0:
            counts[1] += 1
            continue
        gram(F, G, M, ints, reals, options)
        for a in range(m):
            for q in range(m):
                T[a, q] = M[a, q]
        if m <= SMALL_TRIDIAGONAL:
            tridiagonal_loops(T, d, e2, v, w)
        else:
            _tridiagonal_lapack(T, d, e2, tau, work, ints, options)
        limit = -y[k] * alpha[k]
        u = find_root(d, e2, trace, b[k], c[k], -limit * b[k] / c[k], limit, xi, xi_prime, gradient)
        if u == 0.0:
            counts[1] += 1
            continue
        if not _update(W, G, M, u, ints, reals, options):
            status = BROKEN
            break
        alpha[k] = 0.0 if u == limit else max(alpha[k] + y[k] * u, 0.0)
        counts[0] += 1
    for p in range(n):
        for q in range(p):
            W[p, q] = W[q, p]
    return status
