"""The certified gap against the bound in the paper, at every iterate of the paper's own method."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from covmetric import Dykstra, make_paper_problem, paper_bound, solve
from covmetric.problem import MetricProblem
from tests.problems import ORDERS, SLACKS

# The paper's nine settings. The repair of the multipliers matters most in the first epochs.
SETTINGS = list(product((10, 50, 100), (1e-2, 1e-3, 1e-4)))
EPOCHS = {10: 100, 50: 40, 100: 15}


class RecordedDykstra(Dykstra):
    """Dykstra's algorithm that remembers its multipliers before their repair."""

    def __init__(self, order):
        super().__init__(order, certify_every=1)
        self.iterates = []

    def candidate(self, state):
        self.iterates.append(state.alpha.copy())
        return super().candidate(state)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize(("n", "lam"), SETTINGS)
def test_gap_is_never_above_the_papers_bound(n, lam, slack, order):
    """Dykstra's iterates are dual feasible here, so that the paper's bound exists at each of them."""
    problem = make_paper_problem(n, 50, lam, 0, slack)
    solver, states = RecordedDykstra(order), []
    solve(problem, solver, tol=0, max_iter=EPOCHS[n], random_state=0, callback=states.append)
    assert len(solver.iterates) == EPOCHS[n]
    for alpha, state in zip(solver.iterates, states[1:], strict=True):
        bound = paper_bound(problem, alpha)
        assert state.certificate.gap <= bound.gap + state.certificate.rounding + rounding(problem, bound, alpha)


def rounding(problem: MetricProblem, bound, alpha) -> float:
    """Return a bound on the rounding error of the paper's bound: that of the certificate at the same W and alpha."""
    return problem.certify(bound.W, alpha, tol=0.0).rounding + 2.0**-50 * abs(bound.objective)


def test_repair_matters_in_these_settings():
    """The comparison above is not trivial: at some iterates the repair scales the multipliers."""
    scaled = 0
    for n, lam in SETTINGS[:3]:
        problem = make_paper_problem(n, 50, lam, 0)
        solver, states = RecordedDykstra("cyclic"), []
        solve(problem, solver, tol=0, max_iter=10, random_state=0, callback=states.append)
        scaled += sum(not np.array_equal(a, s.multipliers) for a, s in zip(solver.iterates, states[1:], strict=True))
    assert scaled > 0
