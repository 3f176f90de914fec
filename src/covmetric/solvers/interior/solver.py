"""A primal-dual interior-point method, for problems of any scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covmetric._utils.validation import FloatArray, is_number
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed
from covmetric.solvers.interior.direction import Direction, Linearisation
from covmetric.solvers.interior.point import InteriorPoint, ScaledPairs, cholesky
from covmetric.solvers.interior.start import central_start
from covmetric.solvers.interrupt import check_interrupt
from covmetric.solvers.newton.dual_candidates import coincident_terms

# A step goes this fraction of the way to the boundary; the second number applies if the predictor reaches beyond _LONG.
_FRACTION, _BOLD_FRACTION, _LONG = 0.95, 0.99, 0.9
# The smallest factor by which a step tries to reduce theta.
_MIN_CENTRING = 1e-4
# The fractions of the second-order correction that are tried, until the step is not much shorter than the best.
_CORRECTIONS = (1.0, 0.5, 0.25, 0.1, 0.0)
# If the first step is shorter than this, the start is too far from the central path: theta is multiplied by _RESTART.
_SHORT_FIRST_STEP, _RESTART, _LARGEST_RESTART = 0.05, 100.0, 1e12
# A step shorter than this does not change anything.
_SHORTEST = 1e-6
# The directions are dominated by rounding errors if theta is not halved in this many steps.
_PATIENCE = 12
# A certificate is computed at least every this many steps, even if the estimated gap is still large.
_CERTIFY_AT_LEAST_EVERY = 8


@dataclass
class InteriorState:
    """The iterate and the best bounds so far.

    Attributes
    ----------
    pairs : ScaledPairs
        The pairs that depend on W.
    point : InteriorPoint
        The iterate.
    multipliers : array of shape (K,)
        The multipliers of pairs of equal examples, and zero for all other pairs.
    primal, dual : float
        Estimates of the objective and of the dual value at the iterate.
    iterative : bool
        Whether conjugate gradients are still efficient.
    restart_factor : float or None
        The factor of the first theta; None after the first step.
    best : float
        The smallest theta so far, up to a factor of two.
    steps_since_best : int
        The number of steps since then.
    steps_since_certificate : int
        The number of steps since the last certificate.
    """

    pairs: ScaledPairs
    point: InteriorPoint
    multipliers: FloatArray
    primal: float = np.inf
    dual: float = -np.inf
    iterative: bool = True
    restart_factor: float | None = 1.0
    best: float = np.inf
    steps_since_best: int = 0
    steps_since_certificate: int = 0


class Interior(Solver[InteriorState]):
    """A primal-dual interior-point method with Mehrotra's predictor and corrector.

    An iteration is a step. W, its inverse M = I + S, the slack variables and the multipliers are separate variables
    whose products are driven to their values at the optimum. The number of steps hardly depends on the scale of the
    data: it is about ten to thirty, even if distances are off their bounds by many orders of magnitude, where Newton's
    method crawls. On ordinary problems Newton's method takes fewer and cheaper steps.

    Parameters
    ----------
    memory : float, default=2**30
        The number of bytes that the matrix of a step may take.

    Examples
    --------
    >>> from covmetric import Interior, make_paper_problem, solve
    >>> result = solve(make_paper_problem(n=10, K=50, lam=1e-6, seed=0), Interior())
    >>> result.status.name, result.n_iter < 30
    ('SOLVED', True)
    """

    name = "interior"
    default_max_iter = 200
    is_random = False

    def __init__(self, memory: float = 2**30) -> None:
        self.memory = memory

    def start(self, problem: MetricProblem, point: CertifiedPoint, rng: np.random.Generator) -> InteriorState:
        if not (is_number(self.memory) and self.memory > 0):
            raise ValueError(f"memory must be a positive number of bytes, got {self.memory!r}")
        pairs = ScaledPairs.from_problem(problem)
        return InteriorState(pairs, central_start(pairs), coincident_terms(problem)[0])

    def step(self, problem: MetricProblem, state: InteriorState) -> None:
        equations, direction, step = self._direction(state)
        while state.restart_factor is not None and step < _SHORT_FIRST_STEP:
            state.restart_factor *= _RESTART
            if state.restart_factor > _LARGEST_RESTART:
                break
            state.point = central_start(state.pairs, state.restart_factor)
            equations, direction, step = self._direction(state)
        state.restart_factor = None
        if not step > _SHORTEST:
            raise StepFailed  # the directions are dominated by rounding errors
        state.point = self._moved(state.pairs, equations, direction, step)
        state.primal, state.dual = _values(state)
        state.iterative = state.iterative and not equations.system.gave_up
        state.steps_since_certificate += 1
        self._check_progress(state)

    def _direction(self, state: InteriorState) -> tuple[Linearisation, Direction, float]:
        """Return the direction of a step and its length."""
        point = state.point
        equations = Linearisation(state.pairs, point, self.memory, state.iterative)
        check_interrupt()
        predictor = equations.direction(0.0)
        reach = min(1.0, equations.longest_step(predictor))
        centring = max(_MIN_CENTRING, (1.0 - reach) ** 2 * min(1.0, 1.05 - reach))
        target = centring * point.theta
        direction, length = self._corrected(equations, predictor, target, reach)
        return equations, direction, min(1.0, (_BOLD_FRACTION if reach > _LONG else _FRACTION) * length)

    @staticmethod
    def _check_progress(state: InteriorState) -> None:
        """Raise StepFailed if the steps have not achieved anything for a while."""
        theta = state.point.theta
        state.steps_since_best += 1
        if theta < 0.5 * state.best:
            state.best, state.steps_since_best = theta, 0
        elif state.steps_since_best > _PATIENCE:
            raise StepFailed

    @staticmethod
    def _corrected(
        equations: Linearisation, predictor: Direction, target: float, reach: float
    ) -> tuple[Direction, float]:
        """Return the direction with the fraction of the second-order correction that allows the longest step."""
        corrected = equations.direction(target, equations.correction(predictor))
        best, length = corrected, equations.longest_step(corrected)
        if length >= min(1.0, reach):
            return best, length
        plain = equations.direction(target)
        for fraction in _CORRECTIONS[1:]:
            blend = plain.blended(corrected, fraction)
            reached = equations.longest_step(blend)
            if reached > 1.05 * length:
                best, length = blend, reached
        return best, length

    @staticmethod
    def _moved(pairs: ScaledPairs, equations: Linearisation, direction: Direction, step: float) -> InteriorPoint:
        """Return the point after a step; the step is shortened if M is not positive definite there."""
        p = equations.point
        for _ in range(10):
            L = equations.G @ cholesky(np.diag(equations.d) + step * direction.X)
            tau = p.tau + step * direction.tau
            try:
                R = pairs.dual_factor(tau)
            except StepFailed:
                step *= 0.5
                continue
            return InteriorPoint(
                L,
                R,
                pairs.ratios(L),
                tau,
                v=p.v + step * direction.v,
                xi=p.xi + step * direction.xi,
                u=p.u + step * direction.u,
            )
        raise StepFailed

    def due(self, problem: MetricProblem, state: InteriorState, tol: float) -> bool:
        if state.steps_since_certificate >= _CERTIFY_AT_LEAST_EVERY:
            return True
        if not np.isfinite(state.primal):  # before the first step
            return False
        return state.primal - state.dual <= tol * max(1.0, abs(state.primal))

    def candidate(self, state: InteriorState) -> tuple[FloatArray, FloatArray]:
        multipliers = state.multipliers.copy()
        multipliers[state.pairs.index] = state.point.tau / state.pairs.bounds
        return state.point.L @ state.point.L.T, multipliers

    def resume(self, problem: MetricProblem, state: InteriorState, point: CertifiedPoint) -> None:
        state.steps_since_certificate = 0

    def projections(self, state: InteriorState) -> int:
        return 0


def _values(state: InteriorState) -> tuple[float, float]:
    """Return the objective of W and the dual value of the multipliers, to a few digits less than a certificate."""
    pairs, p = state.pairs, state.point
    problem, c, slack = pairs.problem, pairs.weights, pairs.problem.slack
    active = pairs.similar * (p.s - 1.0) > 0.0
    logdet = float(np.linalg.slogdet(p.L)[1])
    primal = float((p.L**2).sum()) - 2.0 * logdet - problem.n + float(c[active] @ slack.divergence(p.s[active]))
    t = np.clip(pairs.similar * p.tau / c, slack.t_min, slack.t_max)
    dual = 2.0 * float(np.log(p.R.diagonal()).sum()) + float(c @ slack.conjugate(t))
    return primal, dual
