"""The gap in exact rational arithmetic, with logarithms to 60 digits.

The losses of a slack without formulas here are computed in double precision, from tests/naive.py.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from tests import naive

DIGITS = 60
DIVERGENCE = {
    "is": lambda s: s - s.ln() - 1,
    "l2": lambda s: (s - 1) ** 2 / 2,
    "re": lambda s: s * s.ln() - s + 1 if s > 0 else Decimal(1),
}
CONJUGATE = {
    "is": lambda t: (1 - t).ln(),
    "l2": lambda t: -t - t**2 / 2 if t > -1 else Decimal("0.5"),
    "re": lambda t: 1 - t.exp(),
}


def divergence(slack):
    """Return d as a function of a Decimal."""
    return DIVERGENCE.get(slack.name) or (lambda s: Decimal(naive.divergence(slack)(float(s))))


def conjugate(slack):
    """Return h as a function of a Decimal."""
    return CONJUGATE.get(slack.name) or (lambda t: Decimal(naive.conjugate(slack)(float(t))))


def exact(array):
    """Return the entries of a matrix as fractions."""
    return [[x if isinstance(x, Fraction) else Fraction(float(x)) for x in row] for row in array]


def exact_metric(result):
    """Return the entries of W = I + Q (V - I) Q^T for the stored entries of Q and V, or of W itself."""
    V = exact(result.core)
    if result.basis is None:
        return V
    Q, r = exact(result.basis), range(len(V))
    half = [[sum(q[a] * (V[a][b] - (a == b)) for a in r) for b in r] for q in Q]
    return [[Fraction(int(i == j)) + sum(h[b] * Q[j][b] for b in r) for j in range(len(Q))] for i, h in enumerate(half)]


def decimal(fraction):
    """Return a fraction as a Decimal, with the digits of the context."""
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)


def logdet(matrix):
    """Return log det of a positive definite matrix, by Gaussian elimination."""
    matrix, total = [row[:] for row in matrix], Decimal(0)
    for k in range(len(matrix)):
        pivot = matrix[k][k]
        assert pivot > 0, "not positive definite"
        total += decimal(pivot).ln()
        for i in range(k + 1, len(matrix)):
            factor = matrix[i][k] / pivot
            matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[k], strict=True)]
    return total


def exact_primal(problem, W):
    """Return P(W) for the stored entries of W."""
    return float(_in_context(_values, problem, W, [0.0] * problem.n_pairs)[0])


def exact_dual(problem, multipliers):
    """Return g(alpha) for the stored multipliers."""
    identity = [[float(i == j) for j in range(problem.n)] for i in range(problem.n)]
    return float(_in_context(_values, problem, identity, multipliers)[1])


def exact_gap(problem, result):
    """Return P(W) - g(alpha) for the stored entries of W and alpha."""
    return exact_gap_at(problem, result.W, result.multipliers)


def exact_gap_at(problem, W, multipliers):
    """Return P(W) - g(alpha) for floats or fractions W."""
    primal, dual = _in_context(_values, problem, W, multipliers)
    return float(_in_context(lambda: primal - dual))


def _in_context(function, *arguments):
    with localcontext() as context:
        context.prec = DIGITS
        return function(*arguments)


def _values(problem, W, multipliers):
    """Return P(W) and g(alpha) as decimals."""
    n, d, h = problem.n, divergence(problem.slack), conjugate(problem.slack)
    W = exact(W)
    primal = -logdet(W) + decimal(sum(W[i][i] for i in range(n))) - n
    dual, H = Decimal(0), [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    X = [exact(x) for x in problem.embedded]
    for k, (i, j) in enumerate(problem.pairs):
        F = [[a - b for a, b in zip(r, s, strict=True)] for r, s in zip(X[i], X[j], strict=True)]
        A = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in F] for r in F]
        y = int(problem.similar[k])
        b, c, alpha = (Fraction(float(v[k])) for v in (problem.bounds, problem.weights, multipliers))
        s = decimal(sum(A[p][q] * W[p][q] for p in range(n) for q in range(n)) / b)
        if y * (s - 1) > 0:
            primal += decimal(c) * d(s)
        dual += decimal(c) * h(decimal(y * alpha * b / c))
        for p in range(n):
            for q in range(n):
                H[p][q] += y * alpha * A[p][q]
    return primal, dual + logdet(H)
