"""Dykstra first, Newton last, and an interior-point method where they would be slow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.tuning import step_seconds, sweep_seconds
from covmetric._utils.validation import FloatArray, is_number
from covmetric.orders import Order
from covmetric.problem import Certificate, CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed, StepStalled
from covmetric.solvers.dykstra import Dykstra
from covmetric.solvers.interior import Interior
from covmetric.solvers.newton import Newton

# Newton's model holds from this relative gap on: it then takes two to ten steps to 1e-6.
_NEWTON_GAP = 0.2
# The number of steps of the interior-point method on a problem on which the other methods crawl.
_INTERIOR_STEPS = 18.0
# Newton crawls if more than this many steps would be needed at the present rate.
_NEWTON_PATIENCE = 12.0
# The epochs after which the rate of Dykstra is judged: the gap need not shrink in every epoch.
_FIRST_EPOCHS = 2
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
    epochs : int
        The number of epochs of this phase after its first certificate.
    first_gap : float
        The relative gap at the first certificate of this phase.
    failed : set of str
        The methods that crawled or failed.
    """

    solver: Solver[Any]
    state: Any
    rng: np.random.Generator
    n_iter: int
    projections: int
    last: CertifiedPoint
    last_iter: int = 0
    epochs: int = -1
    first_gap: float = np.inf
    failed: set[str] = field(default_factory=set)


class Hybrid(Solver[HybridState]):
    """Dykstra's algorithm until Newton's model holds, then Newton's method; an interior-point method if either crawls.

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
    default_seed = 0

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
            self._give_up(problem, state, state.last)
        state.n_iter += 1

    def _give_up(self, problem: MetricProblem, state: HybridState, point: CertifiedPoint) -> None:
        """Continue with the next method that has not failed yet, from a certified point."""
        state.failed.add(state.solver.name)
        for phase in _succession(problem):
            if phase not in state.failed:
                try:
                    self._switch(problem, state, point, phase)
                    return
                except StepFailed:  # no starting point
                    state.failed.add(phase)
        raise StepFailed

    def _switch(self, problem: MetricProblem, state: HybridState, point: CertifiedPoint, phase: str) -> None:
        """Continue with another method from a certified point."""
        solver = self._solver(phase)
        if solver.name == Newton.name and not point.certificate.relative_gap <= _NEWTON_GAP:
            point = problem.certified_arrays(
                problem.sums.half.identity, np.zeros(problem.n_pairs), point.certificate.tol
            )
        started = solver.start(problem, point, state.rng)
        state.projections += state.solver.projections(state.state)
        state.solver, state.state = solver, started
        state.epochs, state.first_gap = -1, np.inf

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
        near = point.certificate.relative_gap <= _NEWTON_GAP
        if phase == Dykstra.name and near and Newton.name not in state.failed:
            self._switch(problem, state, point, Newton.name)
        elif self._crawls(problem, state, before, iterations):
            self._give_up(problem, state, point)
        else:
            state.solver.resume(problem, state.state, point)

    @staticmethod
    def _crawls(problem: MetricProblem, state: HybridState, before: CertifiedPoint, iterations: int) -> bool:
        """Return whether another method is expected to be faster, at the rate since the last certificate."""
        if state.solver.name == Interior.name or len(state.failed) == len(_succession(problem)) - 1:
            return False
        if state.solver.name == Dykstra.name:
            return _dykstra_crawls(problem, state, iterations)
        return _newton_crawls(state, before.certificate, iterations)

    def projections(self, state: HybridState) -> int:
        return state.projections + state.solver.projections(state.state)

    def phase(self, state: HybridState) -> str:
        return state.solver.name


def _succession(problem: MetricProblem) -> tuple[str, ...]:
    """Return the methods in the order in which they are tried when one of them crawls.

    A step of the interior-point method solves for all pairs, two or three times. That is much more work than a Newton
    step if there are more pairs than unknowns, so that it pays to try Newton's method first.
    """
    if problem.n_pairs > problem.sums.half.size:
        return Newton.name, Interior.name, Dykstra.name
    return Interior.name, Newton.name, Dykstra.name


def _dykstra_crawls(problem: MetricProblem, state: HybridState, iterations: int) -> bool:
    """Return whether the epochs until Newton's model holds take longer than the interior-point method."""
    gap = state.last.certificate.relative_gap
    if state.epochs < 0:
        state.epochs, state.first_gap = 0, gap
        return False
    state.epochs += iterations
    if state.epochs < _FIRST_EPOCHS:
        return False
    rate = float(np.log(state.first_gap / gap)) / state.epochs
    epochs = (
        _INTERIOR_STEPS
        * step_seconds(problem.n, problem.m, problem.n_pairs)
        / sweep_seconds(problem.n, problem.m, problem.n_pairs, 0)
    )
    return bool(not np.log(gap / _NEWTON_GAP) < max(_INTERIOR_STEPS, epochs) * rate)


def _newton_crawls(state: HybridState, before: Certificate, iterations: int) -> bool:
    """Return whether Newton's method is stuck near the boundary of the cone, or needs many more steps."""
    if state.state.retreats > 0:
        return True
    now = state.last.certificate
    if state.state.weight_fraction < 1.0 or now.relative_gap <= _NEWTON_GAP:
        return False
    # The number of steps until the gap is closed, if it shrinks by the same amount in each.
    decrease = max(before.primal - now.primal, before.gap - now.gap)
    return iterations * now.gap > _NEWTON_PATIENCE * decrease
