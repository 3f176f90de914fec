"""The certified gap against the bound in the paper, at every iterate of the paper's own method."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import Dykstra, make_paper_problem, solve
from tests import naive
from tests.problems import SLACKS


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("lam", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("n", [5, 10, 20])
def test_gap_is_never_above_the_papers_bound(n, lam, slack):
    """Dykstra's iterates are dual feasible here, so that the paper's bound exists at each of them."""
    problem = make_paper_problem(n, 30, lam, 0, slack)
    seen = []
    solver = Dykstra("cyclic", certify_every=1)
    iterates = []
    original = solver.candidate

    def candidate(state):
        iterates.append(state.alpha.copy())
        return original(state)

    solver.candidate = candidate
    solve(problem, solver, tol=0, max_iter=12, callback=seen.append)
    assert len(iterates) == 12
    for alpha, state in zip(iterates, seen[1:], strict=True):
        assert np.isfinite(problem.dual(alpha))
        bound = naive.paper_bound(problem, alpha)
        slop = 1e-9 * max(1.0, abs(bound)) + state.certificate.rounding
        assert state.certificate.gap <= bound + slop
