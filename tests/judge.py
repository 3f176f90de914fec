"""CVXPY, the outside judge of small problems."""

from __future__ import annotations

import cvxpy as cp

from tests import naive


def model(problem):
    """The problem as the paper states it, and its variable W."""
    A, y, b, c, slack = naive.data(problem)
    n, K = problem.n, problem.n_pairs
    W = cp.Variable((n, n), PSD=True)
    xi = cp.Variable(K)
    loss = {
        "is": lambda: c @ (xi - cp.log(xi) - 1),
        "l2": lambda: c @ cp.square(xi - 1) / 2,
        "re": lambda: c @ cp.kl_div(xi, 1),
    }[slack]()
    flat = A.reshape(K, -1) / b[:, None]
    constraints = [cp.multiply(y, flat @ cp.vec(W, order="C")) <= cp.multiply(y, xi), xi >= 0]
    return cp.Problem(cp.Minimize(-cp.log_det(W) + cp.trace(W) - n + loss), constraints), W


def solve_with_cvxpy(problem):
    """The optimal W by Clarabel, at the tightest accuracy it has."""
    stated, W = model(problem)
    stated.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return (W.value + W.value.T) / 2, stated.value, stated.status
