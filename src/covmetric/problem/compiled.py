"""Compiled sums over pairs, for problems with many of them.

They replace products of BLAS that do not gain from a second thread: OpenBLAS takes a lock in every call, so that
threads wait for each other if the matrices are small or narrow. Each call is one pass over a block, without Python's
global lock. Arrays are float64 (indices int64) and C-contiguous.
"""

from __future__ import annotations

import numpy as np

from covmetric._utils.compiling import jit_sums as _jit_sums

# Rows that are summed up at a time: the error of a sum grows with its number of terms.
SUM_BLOCK = 1024


@_jit_sums
def lower_triangles(rows, pairs, out):
    """Compute the lower triangles, row by row, of F_k F_k^T for the differences F_k of index pairs.

    Parameters
    ----------
    rows : array of shape (l, m, n)
        The examples, each transposed.
    pairs : array of int of shape (K, 2)
        Indices into `rows`.
    out : array of shape (K, n (n + 1) / 2)
        The triangles.
    """
    _, m, n = rows.shape
    F = np.empty((n, m))
    for k in range(len(pairs)):
        first, second = rows[pairs[k, 0]], rows[pairs[k, 1]]
        for a in range(m):
            x, y = first[a], second[a]
            for i in range(n):
                F[i, a] = x[i] - y[i]
        triangle, start = out[k], 0
        for i in range(n):
            f = F[i]
            for j in range(i + 1):
                g, total = F[j], 0.0
                for a in range(m):
                    total += f[a] * g[a]
                triangle[start + j] = total
            start += i + 1


@_jit_sums
def signed_sums(rows, weights, plus, minus):
    """Compute the sums of w_k row_k over the positive weights, and of -w_k row_k over the negative ones.

    Blocks of `SUM_BLOCK` rows are summed up first, and four rows are added at a time to keep a core busy.

    Parameters
    ----------
    rows : array of shape (K, p)
        The rows.
    weights : array of shape (K,)
        The weights w_k, of either sign.
    plus, minus : arrays of shape (p,)
        The sums.
    """
    count, p = rows.shape
    some_plus, some_minus = np.empty(p), np.empty(p)
    zero = np.zeros(p)
    plus[:], minus[:] = 0.0, 0.0
    for start in range(0, count, SUM_BLOCK):
        stop = min(start + SUM_BLOCK, count)
        some_plus[:], some_minus[:] = 0.0, 0.0
        for k in range(start, stop, 4):
            left = stop - k
            a, b = rows[k], rows[k + 1] if left > 1 else zero
            c, d = rows[k + 2] if left > 2 else zero, rows[k + 3] if left > 3 else zero
            v, w = weights[k], weights[k + 1] if left > 1 else 0.0
            x, y = weights[k + 2] if left > 2 else 0.0, weights[k + 3] if left > 3 else 0.0
            v_plus, w_plus, x_plus, y_plus = max(v, 0.0), max(w, 0.0), max(x, 0.0), max(y, 0.0)
            v_minus, w_minus, x_minus, y_minus = v_plus - v, w_plus - w, x_plus - x, y_plus - y
            for q in range(p):
                some_plus[q] += v_plus * a[q] + w_plus * b[q] + x_plus * c[q] + y_plus * d[q]
                some_minus[q] += v_minus * a[q] + w_minus * b[q] + x_minus * c[q] + y_minus * d[q]
        for q in range(p):
            plus[q] += some_plus[q]
            minus[q] += some_minus[q]
