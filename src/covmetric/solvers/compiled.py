"""The compiled kernels: Dykstra's projection, and sums for Newton's step. `compiled_blocks` has one more.

A sweep projects the current metric onto a list of half-spaces, one after the other. The mathematics keeps the paper's
letters. The BLAS and LAPACK routines of SciPy are called by address: ``add_symbol`` gives the linker a name for each
routine, so that Numba can cache the compiled code (a pointer in a global variable would prevent that).

Arrays are float64 and C-contiguous. A row-major array of shape (m, n) holds F transposed, which BLAS reads as the
column-major matrix F of shape (n, m). The triangle that BLAS calls "L" is the upper triangle of a row-major W.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import get_cython_function_address, intrinsic

from covmetric._utils.compiling import jit as _jit
from covmetric._utils.compiling import jit_sums as _jit_sums
from covmetric._utils.tuning import SMALL_SOLVE, SMALL_TRIDIAGONAL

if TYPE_CHECKING:
    from covmetric.slacks.base import Slack

# Status codes of `sweep`.
DONE, BROKEN = 0, 1

# The characters that BLAS accepts as options, and their positions in the array that holds them.
_OPTIONS = np.frombuffer(b"LRNTU", dtype=np.uint8)
_LOWER, _RIGHT, _NORMAL, _TRANSPOSED, _UPPER = range(5)

_I, _D, _C = (types.CPointer(t) for t in (types.int32, types.float64, types.uint8))
_ROOT_RTOL = 1e-11
_ROOT_MAX_STEPS = 200


def _external(module: str, name: str, *arguments: Any) -> Any:
    """Return a BLAS or LAPACK routine of SciPy as a symbol that compiled code can call."""
    symbol = f"covmetric_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{module}", name))
    return types.ExternalFunction(symbol, types.void(*arguments))


_dsymm = _external("cython_blas", "dsymm", _C, _C, _I, _I, _D, _D, _I, _D, _I, _D, _D, _I)
_dgemm = _external("cython_blas", "dgemm", _C, _C, _I, _I, _I, _D, _D, _I, _D, _I, _D, _D, _I)
_dtrsm = _external("cython_blas", "dtrsm", _C, _C, _C, _C, _I, _I, _D, _D, _I, _D, _I)
_dsyrk = _external("cython_blas", "dsyrk", _C, _C, _I, _I, _D, _D, _I, _D, _D, _I)
_dsytrd = _external("cython_lapack", "dsytrd", _C, _I, _D, _I, _D, _D, _D, _D, _I, _I)
_dpotrf = _external("cython_lapack", "dpotrf", _C, _I, _D, _I, _I)
_dgelqf = _external("cython_lapack", "dgelqf", _I, _I, _D, _I, _D, _D, _I, _I)


@dataclass(frozen=True)
class CompiledSlack:
    """The three scalar functions of a slack that the root finder needs, as machine code.

    The kernel receives their addresses, so one compiled sweep serves every slack. The objects keep the code alive.

    Attributes
    ----------
    xi, xi_prime, gradient : numba.core.ccallback.CFunc
        The compiled functions.
    """

    xi: Any
    xi_prime: Any
    gradient: Any

    @property
    def addresses(self) -> tuple[int, int, int]:
        """The addresses of the functions, as arguments of `sweep` and `find_root`."""
        return self.xi.address, self.xi_prime.address, self.gradient.address


def compile_slack(slack: Slack) -> CompiledSlack:
    """Compile the scalar functions of a slack, or load them from the cache.

    Parameters
    ----------
    slack : Slack
        The slack divergence.

    Returns
    -------
    CompiledSlack
    """
    return CompiledSlack(*map(_cfunc, (slack.scalar_xi, slack.scalar_xi_prime, slack.scalar_gradient)))


@functools.cache
def _cfunc(function: Any) -> Any:
    """Compile a function once per process, because its machine code is never freed."""
    try:
        return numba.cfunc("float64(float64)", cache=True)(function)
    except RuntimeError:
        return numba.cfunc("float64(float64)")(function)


@intrinsic
def _call(typingctx, address, x):
    """Call the float64(float64) function at an address. Passing a function object of Numba would take 10 us."""

    def generate(context, builder, signature, arguments):
        double = ir.DoubleType()
        pointer = builder.inttoptr(arguments[0], ir.FunctionType(double, [double]).as_pointer())
        return builder.call(pointer, [arguments[1]])

    return types.float64(types.int64, types.float64), generate


@_jit
def _dot(x, y, size):
    """Return <x, y> over the first entries, as four sums, because a single sum would wait for each addition."""
    s0 = s1 = s2 = s3 = 0.0
    for block in range(size // 4):
        i = 4 * block
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
    for i in range(size & ~3, size):
        s0 += x[i] * y[i]
    return (s0 + s1) + (s2 + s3)


@_jit
def _sums(d, e2, u):
    """Return tr(T (I + u T)^-1) and minus its derivative for a tridiagonal T; infinite at and beyond the pole.

    T has the diagonal d and the squared off-diagonal e2. The pivots q of I + u T are all positive exactly to the right
    of the pole, and log det(I + u T) = sum log q. Its two derivatives in u follow by differentiating the recurrence.
    """
    q = 1.0 + u * d[0]
    if not q > 0.0:
        return math.inf, math.inf
    inverse = 1.0 / q
    x = d[0] * inverse
    z = 0.0
    total = x
    squares = x * x
    for i in range(1, d.size):
        r = e2[i - 1] * inverse
        w = 2.0 - u * x
        q = 1.0 + u * (d[i] - u * r)
        if not q > 0.0:
            return math.inf, math.inf
        inverse = 1.0 / q
        first = d[i] - u * r * w
        second = -r * (2.0 - u * (4.0 * x - u * (2.0 * x * x - z)))
        x = first * inverse
        z = second * inverse
        total += x
        squares += x * x - z
    return total, squares


@_jit
def _between(lo, hi):
    """Return a float between two floats of the same sign: their geometric mean if they are far apart."""
    a, z = abs(lo), abs(hi)
    if a > z:
        a, z = z, a
    sign = -1.0 if lo < 0.0 else 1.0
    if a == 0.0:
        return sign * z * 1e-3
    if z > 4.0 * a:
        return sign * math.sqrt(a) * math.sqrt(z)
    return lo + 0.5 * (hi - lo)


@_jit
def find_root(d, e2, trace, b, c, t, limit, xi, xi_prime, gradient):
    """Return the root u of J(u) = tr(T (I + u T)^-1) - b xi(t + u b/c), or `limit` if the root lies beyond it.

    J decreases from +inf at the pole, minus the inverse of the largest eigenvalue of T. With f1 the trace and f2 the
    slack term, the iteration is Newton's method on 1/f1 - 1/f2. This function increases, is bounded at the pole and is
    concave for the slacks of the paper, so the iteration converges monotonically from the left. The root lies between 0
    and the end `far`, where f2 equals f1(0) = trace. Every step stays in a bracket; a step that would leave it is
    replaced by a bisection.

    Parameters
    ----------
    d, e2 : arrays of shape (m,) and (m - 1,) or longer
        The diagonal and the squared off-diagonal of T.
    trace : float
        tr T.
    b, c : float
        The bound and the weight of the pair.
    t : float
        The argument of xi at u = 0.
    limit : float
        The u at which the multiplier is zero and the slack is 1; u = 0 is never beyond it.
    xi, xi_prime, gradient : int
        Addresses of the slack's compiled scalar functions.

    Returns
    -------
    float
    """
    ratio = b / c
    f1, squares = trace, _dot(d, d, d.size)
    for i in range(d.size - 1):
        squares += 2.0 * e2[i]
    f2 = b * _call(xi, t)
    if abs(f1 - f2) <= _ROOT_RTOL * min(f1, f2):
        return 0.0
    upwards = f1 > f2
    far = (_call(gradient, trace / b) - t) / ratio
    tiny = 2.3e-16 * max(abs(t), 1.0) / ratio
    if upwards:
        lo, hi = 0.0, max(far, 0.0) + tiny
        if 0.0 < limit < hi:
            if _sums(d, e2, limit)[0] >= b:
                return limit
            hi = limit
    else:
        lo, hi = max(min(far, 0.0) - tiny, -d.size / trace * (1.0 + 1e-15)), 0.0
        if 0.0 > limit > lo:
            if _sums(d, e2, limit)[0] <= b:
                return limit
            lo = limit
    u = 0.0
    lo_error = hi_error = math.inf
    for step in range(_ROOT_MAX_STEPS):
        # 1/inf = 0 at either pole is the right limit.
        g = 1.0 / f1 - 1.0 / f2
        slope = squares / (f1 * f1) if f1 < math.inf else 1.0
        if f2 < math.inf:
            slope += b * ratio * _call(xi_prime, t + u * ratio) / (f2 * f2)
        error = abs(g) if f1 < math.inf else math.inf
        if g > 0.0:
            hi, hi_error = u, error
        else:
            lo, lo_error = u, error
        new = u - g / slope
        if not (lo < new < hi) or (step > 8 and step % 2 == 0):
            new = _between(lo, hi)
            if not (lo < new < hi):
                break  # neighbouring floats
        u = new
        f1, squares = _sums(d, e2, u)
        f2 = b * _call(xi, t + u * ratio)
        if abs(f1 - f2) <= _ROOT_RTOL * min(f1, f2):
            return u
    return lo if lo_error < hi_error else hi


@_jit
def _tridiagonal_loops(T, d, e2, v, w):
    """Reduce T, which is overwritten, to its diagonal and squared off-diagonal by Householder's method.

    The reduction works on leading blocks, from the last row up, because loops that start at zero vectorise well.
    """
    m = T.shape[0]
    for k in range(m - 1, 1, -1):
        for i in range(k - 1):
            v[i] = T[k, i]
        last = T[k, k - 1]
        rest = _dot(v, v, k - 1)
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
        half = 0.5 * scale * _dot(v, w, k)
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
    _dsytrd(
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
    lower, right = options[_LOWER:], options[_RIGHT:]
    normal, transposed = options[_NORMAL:], options[_TRANSPOSED:]
    _dpotrf(lower.ctypes, ints.ctypes, M.ctypes, ints.ctypes, ints[2:].ctypes)
    if ints[2] != 0:
        return False
    reals[0] = 1.0
    _dtrsm(
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
    _dgelqf(
        ints.ctypes, ints[1:].ctypes, F.ctypes, ints.ctypes, tau.ctypes,
        work.ctypes, ints[2:].ctypes, ints[3:].ctypes,
    )  # fmt: skip
    for a in range(n):
        for p in range(a):
            F[a, p] = 0.0


@_jit
def _product(W, F, G, ints, reals, options):
    """Set G = W F, from the triangle of W that is kept up to date. Return <F, G>."""
    m, n = G.shape
    ints[0], ints[1] = n, m
    reals[0], reals[1] = 1.0, 0.0
    _dsymm(
        options.ctypes, options.ctypes, ints.ctypes, ints[1:].ctypes, reals.ctypes, W.ctypes, ints.ctypes,
        F.ctypes, ints.ctypes, reals[1:].ctypes, G.ctypes, ints.ctypes,
    )  # fmt: skip
    return _dot(F.ravel(), G.ravel(), m * n)


@_jit
def _gram(F, G, M, ints, reals, options):
    """Set M = F^T G."""
    m, n = G.shape
    ints[0], ints[1] = n, m
    reals[0], reals[1] = 1.0, 0.0
    normal, transposed = options[_NORMAL:], options[_TRANSPOSED:]
    _dgemm(
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
    normal = options[_NORMAL:]
    _dsyrk(
        options.ctypes, normal.ctypes, ints.ctypes, ints[1:].ctypes, reals.ctypes, G.ctypes, ints.ctypes,
        reals[1:].ctypes, W.ctypes, ints.ctypes,
    )  # fmt: skip
    return True


@_jit
def sweep(W, alpha, rows, pairs, y, b, c, order, xi, xi_prime, gradient, counts):
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
    ints, reals, options = np.empty(4, np.int32), np.empty(2), _OPTIONS.copy()
    status = DONE
    for k in order:
        _difference(rows, pairs[k, 0], pairs[k, 1], F)
        if width > n:
            _reduce_wide(F, tau, work, ints)
        trace = _product(W, F, G, ints, reals, options)
        if not trace > 0.0:
            if _dot(F.ravel(), F.ravel(), F.size) != 0.0:  # W is no longer positive definite
                status = BROKEN
                break
            # F = 0: the distance is zero for every W, and a dissimilar pair has its full loss.
            if y[k] < 0.0:
                alpha[k] = -_call(gradient, 0.0) * c[k] / b[k]
            counts[1] += 1
            continue
        if alpha[k] == 0.0 and y[k] * (trace - b[k]) <= 0.0:
            counts[1] += 1
            continue
        _gram(F, G, M, ints, reals, options)
        for a in range(m):
            for q in range(m):
                T[a, q] = M[a, q]
        if m <= SMALL_TRIDIAGONAL:
            _tridiagonal_loops(T, d, e2, v, w)
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
    ints, reals, options = np.array([n, m], np.int32), np.array([1.0, 0.0]), _OPTIONS.copy()
    root = math.sqrt(2.0)
    for k in range(q):
        # The upper triangle in the terms of BLAS is the lower triangle of a row-major B.
        _dsyrk(
            options[_UPPER:].ctypes, options[_NORMAL:].ctypes, ints.ctypes, ints[1:].ctypes, reals.ctypes,
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
