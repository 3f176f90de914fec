"""The interior-point method in 60-digit arithmetic, for problems that double precision cannot decide.

It follows covmetric.solvers.interior, without its shortcuts: one direction with a fixed centring, and one step length.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

from covmetric import MetricProblem

DIGITS = 60
GRADIENT = {"is": lambda s: 1 - 1 / s, "l2": lambda s: s - 1, "re": lambda s: s.ln()}
CURVATURE = {"is": lambda s: 1 / s**2, "l2": lambda s: s * 0 + 1, "re": lambda s: 1 / s}


def exact(array) -> np.ndarray:
    """Return an array of Decimals with the same values."""
    return np.frompyfunc(lambda x: Decimal(float(x)), 1, 1)(np.asarray(array, dtype=float))


def root(x):
    return np.frompyfunc(lambda value: value.sqrt(), 1, 1)(x)


def cholesky(matrix: np.ndarray) -> np.ndarray | None:
    """Return the lower Cholesky factor, or None if the matrix is not positive definite."""
    n, L = len(matrix), exact(np.zeros(matrix.shape))
    for j in range(n):
        pivot = matrix[j, j] - (L[j, :j] ** 2).sum()
        if not pivot > 0:
            return None
        L[j, j] = pivot.sqrt()
        for i in range(j + 1, n):
            L[i, j] = (matrix[i, j] - (L[i, :j] * L[j, :j]).sum()) / L[j, j]
    return L


def solve_lower(L: np.ndarray, right: np.ndarray) -> np.ndarray:
    x = right.copy()
    for i in range(len(L)):
        x[i] = (x[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def solve_upper(L: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of L^T x = right."""
    x = right.copy()
    for i in range(len(L))[::-1]:
        x[i] = (x[i] - L[i + 1 :, i] @ x[i + 1 :]) / L[i, i]
    return x


def optimal_metric(problem: MetricProblem, gap: float = 1e-10, max_steps: int = 400) -> tuple[np.ndarray, Decimal]:
    """Return the optimal W of a small problem, as an array of Decimals, and the last theta."""
    with localcontext() as context:
        context.prec = DIGITS
        return _solve(problem, Decimal(gap), max_steps)


def _solve(problem: MetricProblem, gap: Decimal, max_steps: int) -> tuple[np.ndarray, Decimal]:
    i, j = problem.pairs.T
    F = exact(problem.sums.rows)[i] - exact(problem.sums.rows)[j]
    bounds, c, y = exact(problem.bounds), exact(problem.weights), exact(problem.similar)
    keep = [k for k in range(len(F)) if (F[k] ** 2).sum() > 0]
    F, bounds, c, y = F[keep], bounds[keep], c[keep], y[keep]
    A = np.array([f.T @ f for f in F], dtype=object) / bounds[:, None, None]
    n, K = problem.n, len(keep)
    gradient, curvature = (np.frompyfunc(table[problem.slack.name], 1, 1) for table in (GRADIENT, CURVATURE))
    identity = exact(np.eye(n))

    def dual_matrix(tau):
        return identity + (A * (y * tau)[:, None, None]).sum(axis=0)

    def inverse(L):
        return solve_upper(L, solve_lower(L, identity))

    theta = 2 * max(Decimal(1), max(c))
    scale = theta * max(1, Decimal(K) / n)
    tau = np.where(y > 0, c / 2, Decimal(0))
    s = scale * (A * inverse(cholesky(dual_matrix(tau)))).sum(axis=(1, 2))
    wanted, fraction = np.where(y > 0, Decimal(0), 2 * theta / s), Decimal(1)
    while cholesky(dual_matrix(tau + 2 * fraction * wanted)) is None:
        fraction /= 2
    tau = tau + fraction * wanted
    W = scale * inverse(cholesky(dual_matrix(tau)))
    s = (A * W).sum(axis=(1, 2))
    high = s + np.maximum(s, theta / np.where(y > 0, tau, Decimal(1)))
    xi = np.where(y > 0, high, np.minimum(s / 2, theta / (c + tau)))
    v, u = y * (xi - s), theta / xi
    for _ in range(max_steps):
        theta = (tau * v).sum() / K
        if theta * K < gap and (xi * u).sum() < gap:
            break
        M = dual_matrix(tau)
        # The direction of W with the primal scaling N = W: X = W^-1 dW.
        C = cholesky(W)
        B = np.array([C.T @ a @ C for a in A], dtype=object)
        target = theta / 4
        compliance = 1 / (c * curvature(xi) + u / xi)
        q = v + tau * compliance
        push = compliance * (target / xi - u - (c * gradient(xi) - u - y * tau))
        r = target - tau * v - tau * y * push
        Z = max(Decimal(1), target) * identity - C.T @ M @ C
        h = tau / q
        z = (B * Z).sum(axis=(1, 2))
        flat = B.reshape(K, -1)
        gram = flat @ flat.T
        roots = root(h)
        factor = cholesky(exact(np.eye(K)) + gram * roots[:, None] * roots)
        w = y * r / q
        solution = solve_upper(factor, solve_lower(factor, roots * (z - gram @ w)))
        forces = w + roots * solution
        X = Z - (B * forces[:, None, None]).sum(axis=0)
        ds = z - gram @ forces
        dtau = (r + tau * y * ds) / q
        dxi = push + compliance * y * dtau
        dv, du = y * (dxi - ds), target / xi - u - u * dxi / xi
        step = Decimal(1)
        for value, change in ((tau, dtau), (v, dv), (xi, dxi), (u, du)):
            step = min([step, *(Decimal("0.9") * -a / b for a, b in zip(value, change, strict=True) if b < 0)])
        while (
            cholesky(identity + step / Decimal("0.9") * X) is None or cholesky(dual_matrix(tau + step * dtau)) is None
        ):
            step *= Decimal("0.7")
        W = W + step * (C @ X @ C.T)
        s = (A * W).sum(axis=(1, 2))
        tau, xi, u = tau + step * dtau, xi + step * dxi, u + step * du
        v = y * (xi - s)
    return W, theta


def condition(W: np.ndarray) -> float:
    """Return the ratio of the largest to the smallest eigenvalue, by power iterations with W and its inverse."""
    with localcontext() as context:
        context.prec = DIGITS
        L = cholesky(W)
        x = z = exact(np.random.default_rng(0).standard_normal(len(W)))
        for _ in range(200):
            x = W @ (x / root((x**2).sum()))
            z = solve_upper(L, solve_lower(L, z / root((z**2).sum())))
        return float(root((x**2).sum()) * root((z**2).sum()))
