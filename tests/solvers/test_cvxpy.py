"""Our solver against CVXPY with Clarabel, on random problems of every kind."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from covmetric import Dykstra, Status, solve
from tests.judge import solve_with_cvxpy
from tests.problems import ORDERS, random_problem

N_PROBLEMS = 63


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_same_optimum(seed):
    problem = random_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Clarabel, where it stops a little short of 1e-12
        W, value, status = solve_with_cvxpy(problem)
    assert status.startswith("optimal")
    order = ORDERS[(seed // 9) % 3]
    dykstra = solve(problem, Dykstra(order), tol=1e-9, max_iter=100_000, random_state=seed)
    newton = solve(problem, "newton", tol=1e-9)
    for ours in (dykstra, newton):
        assert ours.status is Status.SOLVED
        P = ours.certificate.primal
        assert pytest.approx(value, abs=1e-6 * max(1.0, abs(value))) == P
        assert np.linalg.norm(ours.W - W) <= 1e-4 * np.linalg.norm(W)
        assert problem.primal(W) + 1e-9 * max(1.0, P) >= P
    assert newton.certificate.primal == pytest.approx(dykstra.certificate.primal, abs=1e-8 * max(1.0, P))


def test_the_random_problems_cover_what_they_should():
    problems = [random_problem(seed) for seed in range(N_PROBLEMS)]
    kinds = {(p.slack.name, ORDERS[(seed // 9) % 3]) for seed, p in enumerate(problems)}
    assert len(kinds) == 9
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
