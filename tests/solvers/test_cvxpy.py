"""Our solvers against CVXPY with Clarabel, on random problems of every kind."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

from covmetric import Dykstra, Status, solve
from tests.judge import LOSSES, gap_by_weak_duality, solve_with_cvxpy
from tests.problems import ORDERS, SLACKS, SOLVERS, problem_seeds, random_problem, slack_of_seed

N_PROBLEMS = 63
SEEDS = problem_seeds(N_PROBLEMS)


def order_of_seed(seed):
    return ORDERS[(seed // 9) % len(ORDERS)]


@functools.cache
def optimum_of_cvxpy(seed):
    """Return W and the optimum by Clarabel, or None if CVXPY has no expression for the loss."""
    if slack_of_seed(seed) not in LOSSES:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Clarabel may stop a little short of 1e-12
        W, value, status = solve_with_cvxpy(random_problem(seed))
    assert status.startswith("optimal")
    return W, value


@pytest.mark.parametrize("seed", SEEDS)
def test_every_solver_finds_the_optimum(seed):
    """The judges are CVXPY, weak duality by the literal formulas, and the other solvers."""
    problem, judged = random_problem(seed), optimum_of_cvxpy(seed)
    best = solve(problem, "newton", tol=1e-9)
    for name in SOLVERS:
        solver = Dykstra(order_of_seed(seed)) if name == "dykstra" else name
        ours = solve(problem, solver, tol=1e-9, max_iter=100_000, random_state=seed)
        assert ours.status is Status.SOLVED, name
        P = ours.certificate.primal
        scale = max(1.0, abs(P))
        assert -1e-9 * scale <= gap_by_weak_duality(problem, ours) <= 2e-9 * scale
        assert best.certificate.primal == pytest.approx(P, abs=1e-8 * scale)
        assert np.linalg.norm(ours.W - best.W) <= 1e-3 * np.linalg.norm(best.W)
        if judged is not None:
            W, value = judged
            assert pytest.approx(value, abs=1e-6 * max(1.0, abs(value))) == P
            assert np.linalg.norm(ours.W - W) <= 1e-4 * np.linalg.norm(W)
            assert problem.primal(W) + 1e-9 * max(1.0, P) >= P


def test_the_random_problems_cover_all_cases():
    kinds = {(slack_of_seed(seed), order_of_seed(seed)) for seed in SEEDS}
    assert {slack for slack, _ in kinds} == set(SLACKS)
    assert {order for _, order in kinds} == set(ORDERS)
    problems = [random_problem(seed) for seed in range(N_PROBLEMS)]
    if len(ORDERS) == 3:
        assert len({(p.slack.name, order_of_seed(seed)) for seed, p in enumerate(problems)}) == 9
    assert {p.n for p in problems} == set(range(2, 13))
    assert {1, 2} <= {p.m for p in problems}
    assert sum(p.m == p.n for p in problems) >= 20
    assert min(p.n_pairs for p in problems) == 1
    assert max(p.n_pairs for p in problems) == 60
    lam = [1.0 / (p.weights[0] * p.n_pairs) for p in problems]
    assert min(lam) < 2e-4
    assert max(lam) > 5e-2
    ranks = [np.linalg.matrix_rank(np.concatenate(list(p.embedded), axis=1)) for p in problems]
    assert sum(rank < p.n for rank, p in zip(ranks, problems, strict=True)) >= 5
    assert any((p.squared_norms == 0.0).any() for p in problems)
    assert any(len(np.unique(p.pairs, axis=0)) < p.n_pairs for p in problems)
