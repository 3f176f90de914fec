"""Dykstra first, Newton last, and an interior-point method where they would be slow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.tuning import certificate_seconds, interior_seconds, newton_seconds, sweep_seconds
from covmetric._utils.validation import FloatArray, is_number
from covmetric.orders import Order, get_order
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed, StepStalled
from covmetric.solvers.dykstra import Dykstra
from covmetric.solvers.interior import Interior
from covmetric.solvers.newton import Newton
from covmetric.solvers.newton.solver import NewtonState, path_length
from covmetric.solvers.newton.start import best_multiple, first_weight_fraction

# Newton's model holds from this relative gap on: it then takes two to ten steps.
_NEWTON_GAP = 0.1
# Down to the first number, halving the gap saves Newton's method about as many steps as the second number.
_NEAR_GAP, _STEPS_SAVED = 0.05, 3.0
# If Dykstra crawls, Newton's method begins at the warm start if that has at most this relative gap, otherwise at the
# identity. The solution for a ten times larger lambda has a relative gap of about 0.75.
_WARM_GAP = 0.9
# The steps that Newton's method takes from there, and that the interior-point method takes from the beginning.
_NEWTON_STEPS, _INTERIOR_STEPS = 5.0, 16.0
# The steps that Newton's method is expected to take after it had to start again with smaller weights, and their number
# per row of W. The number grows with n because a step lowers the objective, which is a sum over n eigenvalues, by about
# a constant.
_STEPS_AFTER_RETREAT, _STEPS_PER_ROW = 15.0, 1.0 / 6.0
# The rate of Dykstra is judged after this many epochs. If Newton's path from the identity is long, it is judged only
# after this fraction of the interior-point time, because the gap need not shrink in every epoch.
_FIRST_EPOCHS, _PATIENCE = 2, 0.05
# Dykstra needs about this many times the epochs that its rate so far predicts, because the decrease slows down.
_SLOWING = 1.5
# After Dykstra has crawled, Newton's method gives up a warm start if the gap at its first certificate still exceeds
# this fraction of the gap at the start: it then crawls, too.
_WARM_DECREASE = 0.5
# The steps that Newton's method takes at each point of its path, and their number per row of W.
_STEPS_PER_POINT, _STEPS_PER_POINT_AND_ROW = 3.5, 1.0 / 30.0
# The largest number of epochs between certificates while Dykstra approaches the tolerance.
_MAX_EPOCHS = 50
# The squared Newton decrement below which the method converges quadratically.
_QUADRATIC = 3.0
# The steps over which the decrease of the objective is compared, to judge the rate of Newton's method.
_WINDOW = 4


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
    first : CertifiedPoint
        The start of the solve.
    last : CertifiedPoint
        The last certified point.
    last_iter : int
        The number of iterations at the last certificate.
    epochs : int
        The number of epochs of this phase after its first certificate.
    first_gap : float
        The relative gap at the first certificate of this phase.
    warm_gap : float
        The relative gap of the warm start of this phase, if Newton's model does not hold there, otherwise infinity.
    recent_rate : float
        The decrease of the logarithm of the relative gap per epoch, since the last certificate but one.
    primals : list of float
        The objectives after the last steps of Newton's method with the full weights.
    failed : set of str
        The methods that crawled or failed.
    """

    solver: Solver[Any]
    state: Any
    rng: np.random.Generator
    n_iter: int
    projections: int
    first: CertifiedPoint
    last: CertifiedPoint
    last_iter: int = 0
    epochs: int = -1
    first_gap: float = np.inf
    warm_gap: float = np.inf
    recent_rate: float = np.inf
    primals: list[float] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)

    @property
    def is_last_resort(self) -> bool:
        """Whether both other methods have failed."""
        return len(self.failed) == 2

    def record_objective(self) -> None:
        """Record the objective after a step of Newton's method. With a fraction of the weights, it says nothing."""
        if self.state.weight_fraction < 1.0:
            self.primals = []
        else:
            self.primals.append(self.state.primal)

    def count_epochs(self, epochs: int, earlier_gap: float) -> None:
        """Count the epochs since the last certificate. The first certificate of a phase is the reference of its rate.

        Parameters
        ----------
        epochs : int
            The number of epochs.
        earlier_gap : float
            The relative gap before these epochs.
        """
        gap = self.last.certificate.relative_gap
        if self.epochs < 0:
            self.epochs, self.first_gap = 0, gap
        else:
            self.epochs += epochs
            self.recent_rate = float(np.log(earlier_gap / gap)) / max(epochs, 1) if gap > 0.0 else np.inf


class Hybrid(Solver[HybridState]):
    """Dykstra's algorithm until Newton's model holds, then Newton's method; an interior-point method if either crawls.

    An iteration is an epoch or a step. Newton's method takes over once the certified relative gap is below 0.1, unless
    Dykstra is about to finish. The measured decreases of the gap (Dykstra) and of the objective (Newton) tell how many
    more epochs or steps are needed. If they would take longer than the interior-point method, that method solves the
    problem: its number of steps hardly depends on the scale of the data, but its steps are more expensive. Epochs also
    end if Newton's method from the beginning is expected to be faster.

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
    >>> result = solve(make_paper_problem(n=50, K=50, lam=1e-4, seed=0), Hybrid(), tol=1e-9, random_state=0)
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
        get_order(self.order)  # an invalid order is refused even if Dykstra is not the first method
        warm = bool(point.multipliers.any()) and point.certificate.relative_gap <= _NEWTON_GAP
        solver = self._solver(Newton.name if warm else self.first)
        state = HybridState(solver, None, rng, 0, 0, point, point)
        try:
            state.state = solver.start(problem, point, rng)
        except StepFailed:
            self._give_up(problem, state, point)
        return state

    def step(self, problem: MetricProblem, state: HybridState) -> None:
        try:
            state.solver.step(problem, state.state)
            crawls = False
            if state.solver.name == Newton.name:
                state.record_objective()
                crawls = _newton_crawls(problem, state)
        except (StepFailed, StepStalled):
            crawls = True
        state.n_iter += 1
        if crawls:
            self._give_up(problem, state, state.last)

    def _give_up(self, problem: MetricProblem, state: HybridState, point: CertifiedPoint) -> None:
        """Continue with the next method that has not failed yet, from a certified point."""
        state.failed.add(state.solver.name)
        for phase in _succession(problem, state):
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
            point = _newton_start(problem, state.first)
        started, warm_gap = solver.start(problem, point, state.rng), np.inf
        if isinstance(started, NewtonState):
            started.may_retreat = started.weight_fraction < 1.0  # a warm start would be lost
            if point.multipliers.any() and point.certificate.relative_gap > _NEWTON_GAP:
                # The solution for larger lambda is optimal for a fraction of the weights.
                started.weight_fraction = 1.0 - point.certificate.relative_gap
                warm_gap = point.certificate.relative_gap
        if solver.name == Dykstra.name:  # its metric has to be that of the multipliers
            solver.resume(problem, started, point)
        if state.state is not None:
            state.projections += state.solver.projections(state.state)
        state.solver, state.state = solver, started
        state.epochs, state.first_gap, state.recent_rate, state.primals = -1, np.inf, np.inf, []
        state.warm_gap = warm_gap

    def due(self, problem: MetricProblem, state: HybridState, tol: float) -> bool:
        if state.solver.name != Dykstra.name:
            return state.solver.due(problem, state.state, tol)
        return _certificate_pays(problem, state)

    def candidate(self, state: HybridState) -> tuple[FloatArray | None, FloatArray | None]:
        return state.solver.candidate(state.state)

    def resume(self, problem: MetricProblem, state: HybridState, point: CertifiedPoint) -> None:
        iterations, earlier_gap = state.n_iter - state.last_iter, state.last.certificate.relative_gap
        state.last, state.last_iter = point, state.n_iter
        try:
            if state.solver.name == Dykstra.name and not state.is_last_resort:
                state.count_epochs(iterations, earlier_gap)
                if _newton_takes_over(problem, state):
                    self._switch(problem, state, point, Newton.name)
                    return
                if _dykstra_crawls(problem, state):
                    raise StepFailed
            elif self._gave_up_warm_start(problem, state, point):
                return
            state.solver.resume(problem, state.state, point)
        except StepFailed:
            self._give_up(problem, state, point)

    def _gave_up_warm_start(self, problem: MetricProblem, state: HybridState, point: CertifiedPoint) -> bool:
        """Continue with interior points if Newton's method crawls at its first certificate after a warm start."""
        slow = point.certificate.relative_gap > _WARM_DECREASE * state.warm_gap
        state.warm_gap = np.inf
        if not slow or Interior.name in state.failed:
            return False
        try:
            self._switch(problem, state, point, Interior.name)
        except StepFailed:  # no starting point
            state.failed.add(Interior.name)
            return False
        state.failed.add(Newton.name)
        return True

    def projections(self, state: HybridState) -> int:
        return state.projections + state.solver.projections(state.state)

    def phase(self, state: HybridState) -> str:
        return state.solver.name


def _epoch_seconds(problem: MetricProblem) -> float:
    return sweep_seconds(problem.n, problem.m, problem.n_pairs, 0)


def _newton_seconds(problem: MetricProblem) -> float:
    return newton_seconds(problem.n, problem.m, problem.n_pairs, len(problem.sums.rows))


def _interior_seconds(problem: MetricProblem) -> float:
    return interior_seconds(problem.n, problem.m, problem.n_pairs, len(problem.sums.rows))


def _newton_start(problem: MetricProblem, first: CertifiedPoint) -> CertifiedPoint:
    """Return the point from which Newton's method begins after Dykstra has crawled: a good warm start, or zeros."""
    if first.certificate.relative_gap <= _WARM_GAP and first.multipliers.any():
        return first
    return problem.certified_arrays(problem.sums.half.identity, np.zeros(problem.n_pairs), first.certificate.tol)


def _succession(problem: MetricProblem, state: HybridState) -> tuple[str, str, str]:
    """Return the methods in the order in which they are tried when one of them crawls.

    Newton's steps are the cheapest, and ten of them show whether the method crawls. If it has to begin with a small
    fraction of the weights, however, its path is known to be long.
    """
    warm = bool(_newton_start(problem, state.first).multipliers.any())
    if not warm and newton_path_is_long(problem):
        return Interior.name, Newton.name, Dykstra.name
    return Newton.name, Interior.name, Dykstra.name


def newton_path_is_long(problem: MetricProblem) -> bool:
    """Return whether Newton's method is expected to take longer from the identity than the interior-point method.

    Parameters
    ----------
    problem : MetricProblem
        The problem.

    Returns
    -------
    bool
    """
    return _newton_path_seconds(problem) > _INTERIOR_STEPS * _interior_seconds(problem)


def _newton_path_seconds(problem: MetricProblem) -> float:
    """Return the predicted time of Newton's method from the identity."""
    fraction = first_weight_fraction(problem, best_multiple(problem, weight_fraction=1.0)[1])
    steps = path_length(fraction) * (_STEPS_PER_POINT + _STEPS_PER_POINT_AND_ROW * problem.n)
    return steps * _newton_seconds(problem)


def _epochs_to(state: HybridState, gap: float) -> float:
    """Return the number of epochs until the relative gap is this small, at the rate of this phase."""
    now = state.last.certificate.relative_gap
    if now <= gap:
        return 0.0
    rate = float(np.log(state.first_gap / now)) / max(state.epochs, 1)
    if now <= _NEWTON_GAP:  # the decrease is steady from here on, unless Dykstra begins to crawl
        rate = min(rate, state.recent_rate)
    return float(np.log(now / max(gap, 1e-16))) / rate if rate > 0.0 else np.inf


def _certificate_pays(problem: MetricProblem, state: HybridState) -> bool:
    """Return whether Dykstra may have reached its goal, or has taken twice as long as a certificate.

    Until Newton's model holds, the goal is that it does, then that Newton's method needs few steps. From there on, the
    goal is the tolerance.
    """
    tol, epochs = state.last.certificate.tol, state.n_iter - state.last_iter
    gap = state.last.certificate.relative_gap
    if gap <= _NEWTON_GAP and state.epochs > 0:
        return bool(epochs >= min(_epochs_to(state, _NEAR_GAP if gap > _NEAR_GAP else tol), _MAX_EPOCHS))
    cost = certificate_seconds(problem.n, problem.m, problem.n_pairs, problem.sums.lower_triangles() is not None)
    return bool(state.state.work_since_certificate >= 2.0 * cost)


def _newton_takes_over(problem: MetricProblem, state: HybridState) -> bool:
    """Return whether Newton's model holds and Newton is expected to finish before Dykstra."""
    certificate = state.last.certificate
    if certificate.relative_gap > _NEWTON_GAP:
        return False
    epoch, step = _epoch_seconds(problem), _newton_seconds(problem)
    if not state.epochs:  # the rate is not known yet
        return bool(epoch > _NEWTON_STEPS * step)
    if certificate.relative_gap > _NEAR_GAP and _epochs_to(state, _NEAR_GAP) * epoch < _STEPS_SAVED * step:
        return False
    return bool(_SLOWING * _epochs_to(state, certificate.tol) * epoch > _NEWTON_STEPS * step)


def _dykstra_crawls(problem: MetricProblem, state: HybridState) -> bool:
    """Return whether the epochs until Newton's model holds take longer than another method from the beginning."""
    if state.epochs < _FIRST_EPOCHS or state.last.certificate.relative_gap <= _NEWTON_GAP:
        return False
    epoch, interior = _epoch_seconds(problem), _INTERIOR_STEPS * _interior_seconds(problem)
    newton = _newton_path_seconds(problem)
    if newton > interior and state.epochs * epoch < _PATIENCE * interior:
        return False
    seconds = _epochs_to(state, _NEWTON_GAP) * epoch + _NEWTON_STEPS * _newton_seconds(problem)
    return seconds > min(newton, interior)


def _newton_crawls(problem: MetricProblem, state: HybridState) -> bool:
    """Return whether the steps that Newton's method still needs take longer than the interior-point method."""
    if state.is_last_resort:
        return False
    newton = state.state
    steps = (_STEPS_AFTER_RETREAT + _STEPS_PER_ROW * problem.n) * newton.retreats
    if newton.decrement > _QUADRATIC:
        steps = max(steps, _steps_to_go(state.primals, state.last.certificate.tol))
    return bool(steps * _newton_seconds(problem) > _INTERIOR_STEPS * _interior_seconds(problem))


def _steps_to_go(primals: list[float], tol: float) -> float:
    """Return the number of steps until the objective stops falling, if its decrease shrinks by the same factor."""
    if len(primals) <= 2 * _WINDOW:
        return 0.0
    earlier, recent = primals[-2 * _WINDOW - 1] - primals[-_WINDOW - 1], primals[-_WINDOW - 1] - primals[-1]
    left = recent / (max(tol, 1e-12) * max(1.0, abs(primals[-1])))
    if not left > 1.0:
        return 0.0
    return _WINDOW * float(np.log(left)) / float(np.log(earlier / recent)) if earlier > recent else np.inf
