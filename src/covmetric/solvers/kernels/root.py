"""The root of J, which gives the length of a projection."""

from __future__ import annotations

import math

from covmetric._utils.compiling import jit as _jit
from covmetric.solvers.kernels.blas import dot
from covmetric.solvers.kernels.slack import call

_ROOT_RTOL = 1e-11
_ROOT_MAX_STEPS = 200


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
    f1, squares = trace, dot(d, d, d.size)
    for i in range(d.size - 1):
        squares += 2.0 * e2[i]
    f2 = b * call(xi, t)
    if abs(f1 - f2) <= _ROOT_RTOL * min(f1, f2):
        return 0.0
    upwards = f1 > f2
    far = (call(gradient, trace / b) - t) / ratio
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
            slope += b * ratio * call(xi_prime, t + u * ratio) / (f2 * f2)
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
        f2 = b * call(xi, t + u * ratio)
        if abs(f1 - f2) <= _ROOT_RTOL * min(f1, f2):
            return u
    return lo if lo_error < hi_error else hi
