"""Dykstra first, Newton last, and an interior-point method where they would be slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, is_number
from covmetric.orders import Order
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed, StepStalled
from covmetric.solvers.dykstra import Dykstra
from covmetric.solvers.interior import Interior
from covmetric.solvers.newton import Newton

# Newton's model holds from this relative gap on: it then takes two to six steps to 1e-6.
_NEWTON_GAP = 0.2
# Dykstra or Newton is slow if more than this many iterations would be needed at the present rate.
_PATIENCE = 12.0
# While the relative gap is above _NEWTON_GAP, Newton's steps are certified every this many steps, to measure the rate.
_CERTIFY_NEWTON_EVERY = 4


@dataclass
class HybridState:
    """The method of the moment, with its state, and the last certificate.

    Attributes
    ----------
    solver : Solver
        The method.
    state : Any
        Its state.
    rng : numpy.random.Generator
        The source of random numbers.
    n_iter : int
        The number of iterations so far.
    projections : int
        The number of projections of earlier phases.
    last : CertifiedPoint
        The last certified point.
    last_iter : int
        The number of iterations at the last certificate.
    fraction : float
        The fraction of the weights that Newton's method used at the last certificate.
    fell_back : bool
        Whether the interior-point method has failed, so that Dykstra continues to the end.
    """

    solver: Solver[Any]
    state: Any
    rng: np.random.Generator
    n_iter: int
    projections: int
    last: CertifiedPoint
    last_iter: int = 0
    fraction: float = 0.0
    fell_back: bool = False


class Hybrid(Solver[HybridState]):
    """Dykstra's algorithm until Newton's model holds, then Newton's method, and an interior-point method if either crawls.

    An iteration is an epoch or a step. The certified gap decides: Newton's method takes over as soon as the relative
    gap is below 0.2. If the gap shrinks so slowly that Dykstra would need many more epochs to get there, or Newton
    many more steps to finish, the interior-point method solves the problem. Its number of steps hardly depends on the
    scale of the data, but its steps are more expensive.

    Parameters
    ----------
    first : {'dykstra', 'newton', 'interior'}, default='dykstra'
        The method of the first phase. Dykstra pays if examples have few columns. If m = n, a Newton step costs about as
        much as an epoch, and Newton's method may as well start.
    order : {'cyclic', 'perm', 'rand'} or Order, default='perm'
        The order of Dykstra's visits.
    memory : float, default=2**30
        The number of bytes that the matrix of a step may take.

    Examples
    --------
    >>> from covmetric import Hybrid, make_paper_problem, solve
    >>> result = solve(make_paper_problem(n=10, K=50, lam=1e-3, seed=0), Hybrid(), tol=1e-9, random_state=0)
    >>> result.status.name, list(dict.fromkeys(result.history.phase.tolist()))
    ('SOLVED', ['dykstra', 'newton'])
    """

    name = "hybrid"
    default_max_iter = 2000

    def __init__(self, first: str = "dykstra", order: str | Order = "perm", memory: float = 2**30) -> None:
        self.first = first
        self.order = order
        self.memory = memory

    def _solver(self, phase: str) -> Solver[Any]:
        """Return the method of a phase."""
        if phase == Dykstra.name:
            return Dykstra(self.order)
        return Newton(self.memory) if phase == Newton.name else Interior(self.memory)

    def start(self, problem: MetricProblem, point: CertifiedPoint, rng: np.random.Generator) -> HybridState:
        phases = (Dykstra.name, Newton.name, Interior.name)
        if self.first not in phases:
            raise ValueError(f"first must be one of {', '.join(map(repr, phases))}, got {self.first!r}")
        if not (is_number(self.memory) and self.memory > 0):
            raise ValueError(f"memory must be a positive number of bytes, got {self.memory!r}")
        warm = bool(point.multipliers.any()) and point.certificate.relative_gap <= _NEWTON_GAP
        solver = self._solver(Newton.name if warm else self.first)
        return HybridState(solver, solver.start(problem, point, rng), rng, 0, 0, point)

    def step(self, problem: MetricProblem, state: HybridState) -> None:
        try:
            state.solver.step(problem, state.state)
        except (StepFailed, StepStalled):
            if state.fell_back:
                raise
            self._switch(problem, state, state.last, self._next_phase(state))
        state.n_iter += 1

    @staticmethod
    def _next_phase(state: HybridState) -> str:
        """Return the phase after a failure: the interior-point method or, if that has failed, Dykstra."""
        if state.solver.name != Interior.name:
            return Interior.name
        state.fell_back = True
        return Dykstra.name

    def _switch(self, problem: MetricProblem, state: HybridState, point: CertifiedPoint, phase: str) -> None:
        """Continue with another method from a certified point."""
        state.projections += state.solver.projections(state.state)
        state.solver = self._solver(phase)
        try:
            state.state = state.solver.start(problem, point, state.rng)
        except StepFailed:  # no starting point of the interior-point method
            state.fell_back = True
            state.solver = self._solver(Dykstra.name)
            state.state = state.solver.start(problem, point, state.rng)
        state.fraction = 0.0

    def due(self, problem: MetricProblem, state: HybridState, tol: float) -> bool:
        if state.solver.due(problem, state.state, tol):
            return True
        far = state.last.certificate.relative_gap > _NEWTON_GAP
        waited = state.n_iter - state.last_iter
        return far and (state.solver.name == Dykstra.name or waited >= _CERTIFY_NEWTON_EVERY)

    def candidate(self, state: HybridState) -> tuple[FloatArray | None, FloatArray | None]:
        return state.solver.candidate(state.state)

    def resume(self, problem: MetricProblem, state: HybridState, point: CertifiedPoint) -> None:
        before, iterations = state.last, state.n_iter - state.last_iter
        state.last, state.last_iter = point, state.n_iter
        phase = state.solver.name
        if state.fell_back or phase == Interior.name:
            state.solver.resume(problem, state.state, point)
        elif phase == Dykstra.name and point.certificate.relative_gap <= _NEWTON_GAP:
            self._switch(problem, state, point, Newton.name)
        elif self._crawls(state, before, point, iterations):
            self._switch(problem, state, point, Interior.name)
        else:
            state.solver.resume(problem, state.state, point)

    @staticmethod
    def _crawls(state: HybridState, before: CertifiedPoint, point: CertifiedPoint, iterations: int) -> bool:
        """Return whether the method needs many more iterations if it goes on as it did since the last certificate."""
        gap, old = point.certificate.gap, before.certificate.gap
        if state.solver.name == Dykstra.name:
            # The number of epochs until Newton's model holds, if the gap shrinks by the same factor in each.
            if state.last_iter == iterations:  # the first epoch starts from nothing
                return False
            ratio = point.certificate.relative_gap / before.certificate.relative_gap
            if not ratio < 1.0:
                return True
            return iterations * np.log(point.certificate.relative_gap / _NEWTON_GAP) > -_PATIENCE * np.log(ratio)
        newton = state.state
        fraction, state.fraction = state.fraction, newton.weight_fraction
        if newton.weight_fraction < 1.0 or fraction < 1.0:
            return newton.weight_fraction <= fraction
        # The number of steps until the gap is closed, if the objective falls by the same amount in each.
        decrease = max(before.certificate.primal - point.certificate.primal, old - gap)
        return point.certificate.relative_gap > _NEWTON_GAP and iterations * gap > _PATIENCE * decrease

    def projections(self, state: HybridState) -> int:
        return state.projections + state.solver.projections(state.state)

    def phase(self, state: HybridState) -> str:
        return state.solver.name
