"""CVXPY, an independent reference for small problems."""

from __future__ import annotations

import cvxpy as cp

from tests import naive

# sum_k c_k d(xi_k) as CVXPY expressions.
LOSSES = {
    "is": lambda c, xi: c @ (xi - cp.log(xi) - 1),
    "l2": lambda c, xi: c @ cp.square(xi - 1) / 2,
    "re": lambda c, xi: c @ cp.kl_div(xi, 1),
}


def model(problem):
    """Return the problem as the paper states it, and its variable W."""
    A, y, b, c, slack = naive.data(problem)
    n, K = problem.n, problem.n_pairs
    W = cp.Variable((n, n), PSD=True)
    xi = cp.Variable(K)
    flat = A.reshape(K, -1) / b[:, None]
    constraints = [cp.multiply(y, flat @ cp.vec(W, order="C")) <= cp.multiply(y, xi), xi >= 0]
    objective = -cp.log_det(W) + cp.trace(W) - n + LOSSES[slack.name](c, xi)
    return cp.Problem(cp.Minimize(objective), constraints), W


def solve_with_cvxpy(problem):
    """Return the optimal W by Clarabel at its tightest accuracy, the optimum and Clarabel's status."""
    stated, W = model(problem)
    stated.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return (W.value + W.value.T) / 2, stated.value, stated.status


def gap_by_weak_duality(problem, result):
    """Return P(W) - g(alpha) by the literal formulas, for a slack that CVXPY has no expression for."""
    return naive.primal(problem, result.W) - naive.dual(problem, result.multipliers)
