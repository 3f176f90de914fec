"""A toy solver: Newton's method that asks for a certificate after every step."""

from __future__ import annotations

from covmetric._utils.validation import FloatArray
from covmetric.problem import MetricProblem
from covmetric.solvers.newton.solver import Newton, NewtonState


class Impatient(Newton):
    """Newton's method with a certificate after every step.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve
    >>> solve(make_paper_problem(n=4, K=6, lam=1e-2, seed=0), Impatient()).status.name
    'SOLVED'
    """

    name = "toy"

    def due(self, problem: MetricProblem, state: NewtonState, tol: float) -> bool:
        return state.steps_since_certificate >= 1

    def candidate(self, state: NewtonState) -> tuple[FloatArray, FloatArray | None]:
        return state.C @ state.C.T, state.multipliers
