"""Sums over pairs for Newton's step, and the linear system over the pairs."""

from __future__ import annotations

import math

import numpy as np

from covmetric._utils.compiling import jit as _jit
from covmetric._utils.compiling import jit_sums as _jit_sums
from covmetric.solvers.kernels.blas import NORMAL, OPTIONS, TRANSPOSED, UPPER, dot, dpotrf, dpotrs, dsyrk


@_jit
def half_grams(G, out):
    """Compute the half vectors of G_k^T G_k.

    These are the lower triangles by rows, with off-diagonal entries times sqrt(2), so that <B, C> = <half B, half C>.

    Parameters
    ----------
    G : array of shape (q, m, n)
        The matrices G_k.
    out : array of shape (q, n (n + 1) / 2)
        The half vectors.
    """
    q, m, n = G.shape
    B = np.empty((n, n))
    ints, reals, options = np.array([n, m], np.int32), np.array([1.0, 0.0]), OPTIONS.copy()
    root = math.sqrt(2.0)
    for k in range(q):
        # The upper triangle in the terms of BLAS is the lower triangle of a row-major B.
        dsyrk(
            options[UPPER:].ctypes, options[NORMAL:].ctypes, ints.ctypes, ints[1:].ctypes, reals.ctypes,
            G[k].ctypes, ints.ctypes, reals[1:].ctypes, B.ctypes, ints.ctypes,
        )  # fmt: skip
        start = 0
        for i in range(n):
            row = out[k, start : start + i + 1]
            for j in range(i):
                row[j] = root * B[i, j]
            row[i] = B[i, i]
            start += i + 1


@_jit_sums
def half_grams_by_loops(G, out):
    """Compute the same as `half_grams`, without BLAS, whose calls take longer than the sums if G_k is small.

    Parameters
    ----------
    G : array of shape (q, m, n)
        The matrices G_k.
    out : array of shape (q, n (n + 1) / 2)
        The half vectors.
    """
    q, m, n = G.shape
    columns = np.empty((n, m))
    root = math.sqrt(2.0)
    for k in range(q):
        for a in range(m):
            row = G[k, a]
            for i in range(n):
                columns[i, a] = row[i]
        target, start = out[k], 0
        for i in range(n):
            x = columns[i]
            for j in range(i + 1):
                y, total = columns[j], 0.0
                for a in range(m):
                    total += x[a] * y[a]
                target[start + j] = root * total if j < i else total
            start += i + 1


@_jit
def solve_pair_system(V, roots, r, x):
    """Solve (I + V^T D^2 V) x = r with D = diag(roots), by x = r - V^T D (I + D V V^T D)^-1 D V r.

    This saves about ten calls from Python, which take most of the time of a small system.

    Parameters
    ----------
    V : array of shape (a, p)
        The half vectors of the pairs, a >= 1, C-contiguous.
    roots : array of shape (a,)
        The square roots of their weights.
    r : array of shape (p,)
        The right-hand side.
    x : array of shape (p,)
        The solution.

    Returns
    -------
    bool
        Whether the matrix is positive definite in floating point arithmetic.
    """
    a, p = V.shape
    M, z = np.empty((a, a)), np.empty(a)
    ints, reals, options = np.array([a, p, 1, 0], np.int32), np.array([1.0, 0.0]), OPTIONS.copy()
    upper = options[UPPER:].ctypes
    # The upper triangle in the terms of BLAS is the lower triangle of a row-major M.
    dsyrk(
        upper, options[TRANSPOSED:].ctypes, ints.ctypes, ints[1:].ctypes, reals.ctypes, V.ctypes, ints[1:].ctypes,
        reals[1:].ctypes, M.ctypes, ints.ctypes,
    )  # fmt: skip
    for i in range(a):
        row = M[i]
        for j in range(i + 1):
            row[j] *= roots[i] * roots[j]
        row[i] += 1.0
        z[i] = roots[i] * dot(V[i], r, p)
    dpotrf(upper, ints.ctypes, M.ctypes, ints.ctypes, ints[3:].ctypes)
    # Not every LAPACK reports a NaN, but a NaN reaches the last pivot.
    if ints[3] != 0 or not M[a - 1, a - 1] > 0.0:
        return False
    dpotrs(upper, ints.ctypes, ints[2:].ctypes, M.ctypes, ints.ctypes, z.ctypes, ints.ctypes, ints[3:].ctypes)
    x[:] = r
    for i in range(a):
        row, factor = V[i], roots[i] * z[i]
        for j in range(p):
            x[j] -= factor * row[j]
    return True


@_jit_sums
def pair_products(rows, images, pairs, out):
    """Compute <rows_i - rows_j, images_i - images_j> of index pairs (i, j).

    Parameters
    ----------
    rows, images : arrays of shape (l, q)
        The vectors.
    pairs : array of int of shape (K, 2)
        Indices into both.
    out : array of shape (K,)
        The inner products.
    """
    q = rows.shape[1]
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        total = 0.0
        a, b, u, v = rows[i], rows[j], images[i], images[j]
        for p in range(q):
            total += (a[p] - b[p]) * (u[p] - v[p])
        out[k] = total


@_jit_sums
def laplacian_product(rows, pairs, weights, out):
    """Compute L @ rows with the Laplacian L of a weighted graph, whose edges are index pairs (i, j).

    With R for the rows, R^T L R is the sum of w_k (R_i - R_j) (R_i - R_j)^T.

    Parameters
    ----------
    rows : array of shape (l, q)
        The vectors.
    pairs : array of int of shape (K, 2)
        Indices of rows.
    weights : array of shape (K,)
        The weights w_k, of either sign.
    out : array of shape (l, q)
        The product.
    """
    out[:] = 0.0
    q = rows.shape[1]
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        weight = weights[k]
        a, b, u, v = rows[i], rows[j], out[i], out[j]
        for p in range(q):
            change = weight * (a[p] - b[p])
            u[p] += change
            v[p] -= change


@_jit_sums
def squared_products(grams, pairs, scales, out):
    """Compute (d_j d_k (F_j^T F_k))^2 for differences F_k = g_i - g_j of vectors, from the vectors' inner products.

    Parameters
    ----------
    grams : array of shape (l, l)
        The inner products of the vectors g.
    pairs : array of int of shape (a, 2)
        Indices of vectors.
    scales : array of shape (a,)
        The numbers d_k.
    out : array of shape (a, a)
        The lower triangle is written here.
    """
    count, a = len(grams), len(pairs)
    first, second, row = np.empty(a, np.int64), np.empty(a, np.int64), np.empty(count)
    for k in range(a):
        first[k], second[k] = pairs[k, 0], pairs[k, 1]
    for k in range(a):
        x, y, scale, target = grams[first[k]], grams[second[k]], scales[k], out[k]
        for i in range(count):
            row[i] = scale * (x[i] - y[i])
        for h in range(k + 1):
            product = scales[h] * (row[first[h]] - row[second[h]])
            target[h] = product * product


@_jit_sums
def stretch(rows, vector, weights, out):
    """Compute the sum of w_k <row_k, vector> row_k in one pass, four rows at a time to keep a core busy.

    Parameters
    ----------
    rows : array of shape (K, p)
        The rows.
    vector : array of shape (p,)
        The vector.
    weights : array of shape (K,)
        The weights w_k.
    out : array of shape (p,)
        The sum.
    """
    count, p = rows.shape
    out[:] = 0.0
    whole = count - count % 4
    for k in range(0, whole, 4):
        a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        along_a = along_b = along_c = along_d = 0.0
        for q in range(p):
            along_a += a[q] * vector[q]
            along_b += b[q] * vector[q]
            along_c += c[q] * vector[q]
            along_d += d[q] * vector[q]
        along_a *= weights[k]
        along_b *= weights[k + 1]
        along_c *= weights[k + 2]
        along_d *= weights[k + 3]
        for q in range(p):
            out[q] += along_a * a[q] + along_b * b[q] + along_c * c[q] + along_d * d[q]
    for k in range(whole, count):
        a = rows[k]
        along_a = 0.0
        for q in range(p):
            along_a += a[q] * vector[q]
        along_a *= weights[k]
        for q in range(p):
            out[q] += along_a * a[q]
