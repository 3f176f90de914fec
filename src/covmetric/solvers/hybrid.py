"""Dykstra first, Newton last, and an interior-point method where they would be slow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.tuning import (
    certificate_seconds,
    estimate_seconds,
    interior_seconds,
    newton_seconds,
    sweep_seconds,
)
from covmetric._utils.validation import FloatArray, is_number
from covmetric.orders import Order, get_order
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed, StepStalled
from covmetric.solvers.dykstra import Dykstra
from covmetric.solvers.interior import Interior
from covmetric.solvers.newton import Newton
from covmetric.solvers.newton.solver import NewtonState
from covmetric.solvers.newton.start import steps_from_identity

# Newton's model holds from this relative gap on: it then takes two to ten steps.
_NEWTON_GAP = 0.1
# If Dykstra crawls, Newton's method begins at the warm start if that has at most this relative gap, otherwise at the
# identity. The solution for a ten times larger lambda has a relative gap of about 0.75.
_WARM_GAP = 0.9
# The steps that Newton's method takes from there, and that the interior-point method takes from the beginning.
_NEWTON_STEPS, _INTERIOR_STEPS = 5.0, 16.0
# The steps of Newton's method from a smaller gap: proportional to this power of the gap, and at least one.
_STEPS_EXPONENT = 1.0 / 6.0
# Newton's method may also take over later, when the gap has fallen by this factor.
_SMALLER_GAP = 30.0
# The steps that Newton's method is expected to take after it had to start again with smaller weights, and their number
# per row of W. The number grows with n because a step lowers the objective, which is a sum over n eigenvalues, by about
# a constant.
_STEPS_AFTER_RETREAT, _STEPS_PER_ROW = 15.0, 1.0 / 6.0
# Dykstra's gap is estimated as soon as the epochs have taken this many times as long as an estimate (the second number
# counts while the gap falls slowly), and certified at the latest when they have taken this many times as long as a
# certificate.
_ESTIMATE_TIMES, _SLOW_ESTIMATE_TIMES, _CERTIFICATE_TIMES = 4.0, 30.0, 40.0
# If the logarithm of the gap falls by less than this per epoch, most epochs leave out idle pairs.
_SLOW = 0.3
# The rate of Dykstra is judged after this many epochs. The first estimate of it is known up to about a factor.
_FIRST_EPOCHS, _DOUBT = 2, 2.0
# It is judged only after this fraction of the time of the other method, because the gap need not shrink in every epoch.
# If the other method is clearly faster, that time is shorter by the ratio of the two, but at most by this factor.
_PATIENCE, _MAX_HURRY = 0.15, 2.0
# A goal counts as reached if the estimated gap is this fraction of it, because an epoch costs less than a certificate.
# The second number is that of the gap for Newton's method.
_WITHIN, _WITHIN_NEWTON = 0.5, 0.65
# Dykstra needs about this many times the epochs that its rate so far predicts, because the decrease slows down.
_SLOWING = 1.5
# After Dykstra has crawled, Newton's method gives up a warm start if the gap at its first certificate still exceeds
# this fraction of the gap at the start: it then crawls, too.
_WARM_DECREASE = 0.5
# The squared Newton decrement below which the method converges quadratically.
_QUADRATIC = 3.0
# The steps over which the decrease of the objective is compared, to judge the rate of Newton's method.
_WINDOW = 4


@dataclass(frozen=True)
class Costs:
    """The predicted times of the parts of a solve, in seconds.

    Attributes
    ----------
    epoch : float
        An epoch of Dykstra's algorithm.
    estimate : float
        An estimate of its gap.
    certificate : float
        A certificate.
    newton_step : float
        A step of Newton's method.
    interior : float
        The interior-point method.
    """

    epoch: float
    estimate: float
    certificate: float
    newton_step: float
    interior: float

    @classmethod
    def of(cls, problem: MetricProblem) -> Costs:
        """Return the costs of a problem.

        Parameters
        ----------
        problem : MetricProblem
            The problem.

        Returns
        -------
        Costs
        """
        n, m, K, examples = problem.n, problem.m, problem.n_pairs, len(problem.sums.rows)
        return cls(
            epoch=sweep_seconds(n, m, K, 0),
            estimate=estimate_seconds(n, K),
            certificate=certificate_seconds(n, m, K, problem.sums.lower_triangles() is not None),
            newton_step=newton_seconds(n, m, K, examples),
            interior=_INTERIOR_STEPS * interior_seconds(n, m, K, examples),
        )

    def newton_from(self, gap: float) -> float:
        """Return the time of Newton's method from a point where its model holds, and of its certificate.

        Parameters
        ----------
        gap : float
            The relative gap of the point.

        Returns
        -------
        float
        """
        steps = max(1.0, _NEWTON_STEPS * float((gap / _NEWTON_GAP) ** _STEPS_EXPONENT))
        return steps * self.newton_step + self.certificate


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
    costs : Costs
        The predicted times of the parts of the solve.
    gaps : list of tuple of int and float
        Iterations of this phase with their relative gaps, certified or estimated. The first one is the start.
    rate : float
        The decrease of the logarithm of the relative gap per epoch of this phase.
    is_estimated : bool
        Whether the last of them was estimated in the last iteration.
    ends_epochs : bool
        Whether Newton's method takes over at the next certificate.
    warm_gap : float
        The relative gap of the warm start of this phase, if Newton's model does not hold there, otherwise infinity.
    newton_steps : float or None
        The predicted steps of Newton's method from the identity, once they have been asked for.
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
    costs: Costs
    gaps: list[tuple[int, float]] = field(default_factory=list)
    rate: float = 0.0
    is_estimated: bool = False
    ends_epochs: bool = False
    warm_gap: float = np.inf
    newton_steps: float | None = None
    primals: list[float] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)

    def newton_seconds(self, problem: MetricProblem) -> float:
        """Return the predicted time of Newton's method from the identity.

        Parameters
        ----------
        problem : MetricProblem
            The problem.

        Returns
        -------
        float
        """
        if self.newton_steps is None:
            self.newton_steps = steps_from_identity(problem)
        return self.newton_steps * self.costs.newton_step

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

    def record_gap(self, iteration: int, gap: float) -> None:
        """Record the relative gap after an iteration, unless that of a later one is known, or it is infinite.

        No rate follows from an infinite gap, which is the estimate if the metric is not positive definite.

        Parameters
        ----------
        iteration : int
            The number of iterations.
        gap : float
            The relative gap.
        """
        if not np.isfinite(gap) or (self.gaps and iteration <= self.gaps[-1][0]):
            return
        self.gaps.append((iteration, gap))
        if len(self.gaps) > 1:  # the first epochs, which are faster, count only at first
            self.rate = _rate(self.gaps[0 if len(self.gaps) == 2 else 1], self.gaps[-1])
            if gap <= _NEWTON_GAP:  # the decrease is steady from here on, unless Dykstra begins to crawl
                self.rate = min(self.rate, _rate(self.gaps[-2], self.gaps[-1]))

    @property
    def gap(self) -> float:
        """The relative gap now, at the rate of this phase; 0 if it is within rounding errors."""
        iteration, gap = self.gaps[-1]
        if self.n_iter == iteration or not gap > 0.0:
            return max(gap, 0.0)
        return gap * float(np.exp(-max(self.rate, 0.0) * (self.n_iter - iteration)))


def _rate(earlier: tuple[int, float], later: tuple[int, float]) -> float:
    """Return the decrease of the logarithm of the relative gap per iteration."""
    (first, first_gap), (last, last_gap) = earlier, later
    return float(np.log(first_gap / last_gap)) / (last - first) if last_gap > 0.0 else np.inf


class Hybrid(Solver[HybridState]):
    """Dykstra's algorithm until Newton's model holds, then Newton's method; an interior-point method if either crawls.

    An iteration is an epoch or a step. Newton's method takes over once the certified relative gap is below 0.1, unless
    Dykstra is about to finish. Dykstra estimates its gap every few epochs, which costs little; the gap is certified
    when the estimate says that the tolerance or the time for Newton's method has come. The decreases of the gap
    (Dykstra) and of the objective (Newton) tell how many more epochs or steps are needed. If they would take longer
    than the interior-point method, that method solves the problem: its number of steps hardly depends on the scale of
    the data, but its steps are more expensive. Epochs also end if Newton's method from the beginning is expected to be
    faster.

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
        state = HybridState(solver, None, rng, 0, 0, point, point, Costs.of(problem))
        state.record_gap(0, point.certificate.relative_gap)
        try:
            state.state = solver.start(problem, point, rng)
        except StepFailed:
            self._give_up(problem, state, point)
        return state

    def step(self, problem: MetricProblem, state: HybridState) -> None:
        try:
            state.solver.step(problem, state.state)
            failed = False
        except (StepFailed, StepStalled):
            failed = True
        state.n_iter += 1
        state.is_estimated = False
        if failed or self._crawls(problem, state):
            self._give_up(problem, state, state.last)

    def _crawls(self, problem: MetricProblem, state: HybridState) -> bool:
        """Return whether another method is expected to be faster, after a step or an epoch."""
        if state.is_last_resort:
            return False
        if state.solver.name == Newton.name:
            state.record_objective()
            return _newton_crawls(problem, state)
        if not isinstance(state.solver, Dykstra):
            return False
        wait = (_SLOW_ESTIMATE_TIMES if state.state.skips_idle else _ESTIMATE_TIMES) * state.costs.estimate
        if state.state.work_since_estimate < wait or state.n_iter - state.gaps[0][0] < _FIRST_EPOCHS:
            return False
        # The estimate is that of a moment within the last epoch, and close to the gap before it.
        state.record_gap(state.n_iter - 1, state.solver.estimated_gap(problem, state.state))
        state.is_estimated = True
        state.state.skips_idle = state.rate < _SLOW
        return _dykstra_crawls(problem, state)

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
        state.gaps, state.rate, state.is_estimated, state.ends_epochs, state.primals = [], 0.0, False, False, []
        state.record_gap(state.n_iter, point.certificate.relative_gap)
        state.warm_gap = warm_gap

    def due(self, problem: MetricProblem, state: HybridState, tol: float) -> bool:
        if state.solver.name != Dykstra.name or state.is_last_resort:
            return state.solver.due(problem, state.state, tol)
        return _certificate_pays(state, tol)

    def candidate(self, state: HybridState) -> tuple[FloatArray | None, FloatArray | None]:
        return state.solver.candidate(state.state)

    def resume(self, problem: MetricProblem, state: HybridState, point: CertifiedPoint) -> None:
        state.last = point
        try:
            if state.solver.name == Dykstra.name and not state.is_last_resort:
                state.record_gap(state.n_iter, point.certificate.relative_gap)
                near = point.certificate.relative_gap <= _NEWTON_GAP
                if near and (state.ends_epochs or _newton_takes_over(state)):
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


def _newton_start(problem: MetricProblem, first: CertifiedPoint) -> CertifiedPoint:
    """Return the point from which Newton's method begins after Dykstra has crawled: a good warm start, or zeros."""
    if first.certificate.relative_gap <= _WARM_GAP or not first.multipliers.any():
        return first
    return problem.certified_arrays(problem.sums.half.identity, np.zeros(problem.n_pairs), first.certificate.tol)


def _succession(problem: MetricProblem, state: HybridState) -> tuple[str, str, str]:
    """Return the methods in the order in which they are tried when one of them crawls.

    Newton's steps are the cheapest, and ten of them show whether the method crawls. If it has to begin with a small
    fraction of the weights, however, its path is known to be long.
    """
    warm = bool(_newton_start(problem, state.first).multipliers.any())
    if not warm and state.newton_seconds(problem) > state.costs.interior:
        return Interior.name, Newton.name, Dykstra.name
    return Newton.name, Interior.name, Dykstra.name


def _epochs_to(state: HybridState, gap: float) -> float:
    """Return the number of epochs until the relative gap is this small, at the rate of this phase."""
    now, rate = state.gap, state.rate
    if now <= gap:
        return 0.0
    return float(np.log(now / max(gap, 1e-16))) / rate if rate > 0.0 else np.inf


def _certificate_pays(state: HybridState, tol: float) -> bool:
    """Return whether Dykstra has reached the tolerance, Newton's method may take over, or a long time has passed."""
    if state.state.work_since_certificate >= _CERTIFICATE_TIMES * state.costs.certificate:
        return True
    if not state.is_estimated:
        return False
    state.ends_epochs = state.gap <= _WITHIN_NEWTON * _NEWTON_GAP and _newton_takes_over(state)
    return state.ends_epochs or state.gap <= _WITHIN * tol


def _newton_takes_over(state: HybridState) -> bool:
    """Return whether Newton's model holds and Newton is expected to finish first, now and after more epochs."""
    gap, tol, costs = state.gap, state.last.certificate.tol, state.costs
    if gap > _NEWTON_GAP:
        return False
    smaller = max(gap / _SMALLER_GAP, tol)
    epochs = _SLOWING * costs.epoch
    later = epochs * _epochs_to(state, smaller) + costs.newton_from(smaller)
    return costs.newton_from(gap) <= min(epochs * _epochs_to(state, tol), later)


def _dykstra_crawls(problem: MetricProblem, state: HybridState) -> bool:
    """Return whether the epochs until Newton's model holds take longer than another method from the beginning."""
    costs, epochs = state.costs, state.n_iter - state.gaps[0][0]
    if epochs < _FIRST_EPOCHS or state.gap <= _NEWTON_GAP:
        return False
    other = min(state.newton_seconds(problem), costs.interior)
    predicted = _epochs_to(state, _NEWTON_GAP) * costs.epoch + costs.newton_from(_NEWTON_GAP)
    if predicted <= (1.0 if len(state.gaps) > 2 else _DOUBT) * other:
        return False
    return epochs * costs.epoch >= _PATIENCE * other / min(predicted / other, _MAX_HURRY)


def _newton_crawls(problem: MetricProblem, state: HybridState) -> bool:
    """Return whether the steps that Newton's method still needs take longer than the interior-point method."""
    newton = state.state
    steps = (_STEPS_AFTER_RETREAT + _STEPS_PER_ROW * problem.n) * newton.retreats
    if newton.decrement > _QUADRATIC:
        certificate = state.last.certificate
        steps = max(steps, _steps_to_go(state.primals, certificate.dual, certificate.tol))
    return bool(steps * state.costs.newton_step > state.costs.interior)


def _steps_to_go(primals: list[float], dual: float, tol: float) -> float:
    """Return the number of steps until the objective stops falling, if its decrease shrinks by the same factor.

    It is no more than what is left at the present decrease, because the objective does not fall below the dual.
    """
    if len(primals) <= 2 * _WINDOW:
        return 0.0
    earlier, recent = primals[-2 * _WINDOW - 1] - primals[-_WINDOW - 1], primals[-_WINDOW - 1] - primals[-1]
    left = recent / (max(tol, 1e-12) * max(1.0, abs(primals[-1])))
    if not left > 1.0:
        return 0.0
    steps = _WINDOW * float(np.log(left)) / float(np.log(earlier / recent)) if earlier > recent else np.inf
    return min(steps, _WINDOW * (primals[-1] - dual) / recent)
