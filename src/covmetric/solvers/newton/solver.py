"""Newton's method on the reduced primal, which is smooth and strictly convex."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, is_number
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed, StepStalled, is_degenerate
from covmetric.solvers.interrupt import check_interrupt
from covmetric.solvers.newton.dual_candidates import DualCandidates, coincident_terms
from covmetric.solvers.newton.linesearch import Ray, search
from covmetric.solvers.newton.start import GROWTH, NEARLY_ALL, best_multiple, first_weight_fraction
from covmetric.solvers.newton.stretch import Stretch, inverse_step_factor
from covmetric.solvers.systems import ActiveTerms, System, choose_system, rates_along

# A certificate is computed at least every this many steps, even if the estimated gap is still large.
CERTIFY_AT_LEAST_EVERY = 8
# Dual candidates may be worth forming if the squared Newton decrement is below _NEAR, or below _NEAR_GAPS times the
# requested gap. Near the optimum their gap is about a tenth of its square, and rarely less than a hundredth of that, so
# that they cannot end the solve if _QUADRATIC times the square exceeds the requested gap.
_NEAR, _NEAR_GAPS, _QUADRATIC = 1.0, 10.0, 1e-3
# The dual of clipped multipliers takes a pass over the pairs. It is computed only if it may end the solve: if the
# squared Newton decrement is below the first number or, if the pass is quick, below the second number times the
# requested gap.
CLOSE, CLOSE_GAPS = 0.01, 100.0
# The squared Newton decrement at which an iterate counts as centred on the path.
_CENTRED = 2.0
# Until the iterate is centred, a step lowers P by about a constant. After more than _PATIENCE steps without centring,
# the weights have grown too fast, and the path starts again; at most _MAX_RETREATS times. If the squared decrement is
# below _NEARLY_CENTRED, a new start would lose more than it gains, and _LONG_PATIENCE counts if it is more.
_PATIENCE, _MAX_RETREATS = 8, 6
_NEARLY_CENTRED, _LONG_PATIENCE = 20.0, 20
# The smallest factor by which the fraction of the weights grows after retreats.
_MIN_GROWTH = 3.0


@dataclass
class PathState:
    """Where an iterate is on the path of growing weights.

    Attributes
    ----------
    C : array of shape (n, n)
        The lower triangular factor of W.
    weight_fraction : float
        The fraction of the weights at the current point of the path.
    fraction_growth : float
        The factor by which the fraction grows next.
    steps_at_fraction : int
        The number of steps with the current fraction.
    retreats : int
        The number of times that the path has started again with smaller weights.
    may_retreat : bool
        Whether the path may start again. A warm start would be lost.
    """

    C: FloatArray
    weight_fraction: float
    fraction_growth: float = field(default=GROWTH, kw_only=True)
    steps_at_fraction: int = field(default=0, kw_only=True)
    retreats: int = field(default=0, kw_only=True)
    may_retreat: bool = field(default=True, kw_only=True)


@dataclass
class NewtonState(PathState):
    """The iterate W = C C^T, with its place on the path, and the best dual candidate of the last step.

    Attributes
    ----------
    s : array of shape (K,)
        Squared distances divided by their bounds.
    tol : float
        The tolerance on the relative gap.
    primal : float
        The objective P(W), or infinity while the path uses a fraction of the weights.
    multipliers : array of shape (K,) or None
        The dual candidate. None means alpha(W), which the certificate computes.
    dual : float
        An estimate of its dual value.
    coincident_multipliers : array of shape (K,)
        The multipliers of dissimilar pairs of equal examples, and zero for all other pairs.
    coincident_loss : float
        The loss of these pairs.
    iterative : bool
        Whether conjugate gradients are still efficient.
    preconditioned : bool
        Whether they needed a preconditioner in the last step.
    decrement : float
        The squared Newton decrement before the last step.
    n_steps : int
        The number of steps so far.
    steps_since_certificate : int
        The number of steps since the last certificate.
    """

    s: FloatArray
    tol: float
    primal: float
    multipliers: FloatArray | None
    dual: float
    coincident_multipliers: FloatArray
    coincident_loss: float
    iterative: bool = True
    preconditioned: bool = False
    decrement: float = np.inf
    n_steps: int = 0
    steps_since_certificate: int = 0


@dataclass(slots=True, eq=False)
class NewtonDirection:
    """The direction W + t C Delta C^T of a step.

    Attributes
    ----------
    stretch : Stretch
        The matrix I + t Delta, with the direction Delta in the coordinates of C.
    gradient : array of shape (p,)
        The gradient of P in the same coordinates, as a half vector.
    decrement : float
        The squared Newton decrement.
    ratio_rates : array of shape (K,)
        The derivatives of the squared distances along the direction, divided by the bounds.
    trace_rate : float
        The derivative of tr W along the direction.
    """

    stretch: Stretch
    gradient: FloatArray
    decrement: float
    ratio_rates: FloatArray
    trace_rate: float


class Newton(Solver[NewtonState]):
    """Newton's method with steps W+ = C (I + t Delta) C^T from W = C C^T.

    An iteration is a step. In these coordinates the gradient is C^T (I + S) C - I, and the Hessian is
    I + sum_k h_k vec(B_k) vec(B_k)^T over the active pairs, with B_k = C^T A_k C and h_k = c_k d''(s_k) / b_k^2. The
    system is solved by conjugate gradients or, if that is less work, by a Cholesky factorisation in
    min(p, active pairs) dimensions, p = n(n+1)/2.

    Parameters
    ----------
    memory : float, default=2**30
        The number of bytes that the matrix of a step may take. The lower triangles of all A_k, which are kept during a
        solve, may take the same number of bytes.

    Examples
    --------
    >>> from covmetric import Newton, make_paper_problem, solve
    >>> result = solve(make_paper_problem(n=10, K=50, lam=1e-4, seed=0), Newton(), tol=1e-9)
    >>> result.status.name, result.n_iter < 15
    ('SOLVED', True)
    """

    name = "newton"
    default_max_iter = 200
    is_random = False

    def __init__(self, memory: float = 2**30) -> None:
        self.memory = memory

    def start(self, problem: MetricProblem, point: CertifiedPoint, rng: np.random.Generator) -> NewtonState:
        if not (is_number(self.memory) and self.memory > 0):
            raise ValueError(f"memory must be a positive number of bytes, got {self.memory!r}")
        if point.multipliers.any():
            C, s, fraction = np.asarray(np.linalg.cholesky(point.W), dtype=np.float64), point.ratios, 1.0
        else:
            C, s = best_multiple(problem, weight_fraction=1.0)
            fraction = first_weight_fraction(problem, s)
        tol = point.certificate.tol
        return NewtonState(C, fraction, s, tol, np.inf, point.multipliers, -np.inf, *coincident_terms(problem))

    def step(self, problem: MetricProblem, state: NewtonState) -> None:
        weights = problem.weights if state.weight_fraction == 1.0 else state.weight_fraction * problem.weights
        terms = _active_terms(problem, state, weights)
        system = choose_system(terms, self.memory, state.iterative, preconditioned=state.preconditioned)
        direction = _direction(problem, terms, system)
        state.iterative, state.preconditioned = state.iterative and not system.gave_up, system.preconditioned
        ray = _ray(problem, state, weights, direction)
        loss = float(weights[terms.active] @ problem.slack.divergence(state.s[terms.active]))
        value = ray.regulariser + loss + state.weight_fraction * state.coincident_loss
        self._update_dual_candidate(problem, state, terms, direction, value)
        t, primal = search(ray, (value, -direction.decrement))
        if t == 0.0 and state.weight_fraction == 1.0:
            raise StepStalled
        primal = _advance(problem, state, weights, direction, t, primal)
        state.decrement = direction.decrement
        state.n_steps += 1
        state.steps_since_certificate += 1
        if state.weight_fraction == 1.0:
            state.primal = primal
        if follow_path(state, t, direction.decrement):
            state.C, state.s = best_multiple(problem, state.weight_fraction)

    def _update_dual_candidate(
        self, problem: MetricProblem, state: NewtonState, terms: ActiveTerms, direction: NewtonDirection, value: float
    ) -> None:
        """Form the multipliers that the step suggests, if a certificate may soon be due."""
        if not candidates_pay(state, value, direction.decrement):
            if state.weight_fraction == 1.0:  # if the solve ends with this step, alpha(W) is far better than older ones
                state.multipliers, state.dual = None, -np.inf
            return
        close = direction.decrement <= CLOSE_GAPS * state.tol * max(1.0, abs(value)) and state.n_steps > 0
        quick = close and problem.sums.lower_triangles() is not None
        candidates = DualCandidates(
            terms.active,
            terms.forces,
            terms.springs * problem.bounds[terms.active] * direction.ratio_rates[terms.active],
            direction.gradient,
            direction.stretch,
            _logdet(state.C),
            clipped_pays=direction.decrement <= CLOSE or quick,
        )
        best = candidates.best(problem, state.coincident_multipliers)
        state.dual = -np.inf if best is None else best.dual
        state.multipliers = state.multipliers if best is None else best.multipliers

    def due(self, problem: MetricProblem, state: NewtonState, tol: float) -> bool:
        if state.steps_since_certificate >= CERTIFY_AT_LEAST_EVERY:
            return True
        if not np.isfinite(state.primal):  # the path still uses a fraction of the weights
            return False
        return state.primal - state.dual <= tol * max(1.0, abs(state.primal))

    def candidate(self, state: NewtonState) -> tuple[FloatArray, FloatArray | None]:
        return state.C @ state.C.T, state.multipliers

    def resume(self, problem: MetricProblem, state: NewtonState, point: CertifiedPoint) -> None:
        state.steps_since_certificate = 0
        state.s = point.ratios

    def projections(self, state: NewtonState) -> int:
        return 0


class CandidateState(Protocol):
    """What decides about dual candidates, besides the objective and the decrement."""

    weight_fraction: float
    tol: float
    n_steps: int
    steps_since_certificate: int


def candidates_pay(state: CandidateState, value: float, decrement: float) -> bool:
    """Return whether the dual candidates of a step may end the solve, or belong to a certificate that is due anyway.

    Parameters
    ----------
    state : NewtonState or BlockState
        The state before the step.
    value : float
        The objective there.
    decrement : float
        The squared Newton decrement there.

    Returns
    -------
    bool
    """
    if state.weight_fraction < 1.0:
        return False
    if state.steps_since_certificate + 1 >= CERTIFY_AT_LEAST_EVERY:
        return True
    if state.tol == 0.0:  # any step may be the last one
        return decrement <= _NEAR
    wanted = state.tol * max(1.0, abs(value))
    # The first step starts from a multiple of I, which is not near the optimum for any tolerance.
    close = decrement <= _NEAR_GAPS * wanted and state.n_steps > 0
    return close or (decrement <= _NEAR and _QUADRATIC * decrement**2 <= wanted)


def _logdet(C: FloatArray) -> float:
    """Return log det C C^T of a triangular C."""
    return 2.0 * float(np.log(C.diagonal()).sum())


def _active_terms(problem: MetricProblem, state: NewtonState, weights: FloatArray) -> ActiveTerms:
    """Return the contributions of the active pairs to the gradient and the Hessian, with these weights."""
    active = (problem.terms.active(state.s) & (state.s > 0.0)).nonzero()[0]
    s, b, c = state.s[active], problem.bounds[active], weights[active]
    ratio = c / b
    return ActiveTerms(
        problem, state.C, active, ratio * problem.slack.gradient(s), ratio / b * problem.slack.curvature(s)
    )


def _direction(problem: MetricProblem, terms: ActiveTerms, system: System) -> NewtonDirection:
    """Solve for the Newton direction, and compute the derivatives along it."""
    C, half = terms.C, problem.sums.half
    gradient = half.pack(C.T @ C - half.identity) + system.force
    x = -system.solve(gradient)
    decrement = -float(gradient @ x)
    Delta = half.unpack(x)
    if not np.isfinite(decrement):
        raise StepFailed
    check_interrupt()
    dW = terms.to_metric(Delta)
    rates = _rates(problem, dW, terms.active, system.rates(x) if system.keeps_pairs else None)
    return NewtonDirection(
        Stretch(Delta, half.identity), gradient, decrement, rates / problem.bounds, float(dW.trace())
    )


def _rates(problem: MetricProblem, dW: FloatArray, active: IntArray, active_rates: FloatArray | None) -> FloatArray:
    """Return <A_k, dW> of all pairs, using the values of the active pairs if the system has computed them."""
    n_others, sums = problem.n_pairs - len(active), problem.sums
    # A product with each example takes less work than one with each of the other pairs if these are more.
    if active_rates is None or sums.lower_triangles() is not None or n_others > len(sums.rows):
        return rates_along(sums, dW)
    if n_others == 0:
        return active_rates
    rates = np.empty(problem.n_pairs)
    rates[active] = active_rates
    others = np.ones(problem.n_pairs, dtype=bool)
    others[active] = False
    rates[others] = sums.inner_products(dW, np.flatnonzero(others))
    return rates


def _ray(problem: MetricProblem, state: NewtonState, weights: FloatArray, direction: NewtonDirection) -> Ray:
    """Return P along the direction."""
    regulariser = float(np.vdot(state.C, state.C)) - _logdet(state.C) - problem.n
    return Ray(problem, weights, state.s, direction.ratio_rates, direction.stretch, regulariser, direction.trace_rate)


def _advance(
    problem: MetricProblem,
    state: NewtonState,
    weights: FloatArray,
    direction: NewtonDirection,
    t: float,
    primal: float,
) -> float:
    """Take the step of length t, or the inverse step if it is better; return the objective there."""
    C, stretch = state.C, direction.stretch
    state.C, state.s = C @ stretch.root(t), state.s + t * direction.ratio_rates
    if stretch.is_long:
        shorter = min(1.0, 0.9 / stretch.largest)
        return _try_inverse_step(problem, state, C, shorter * stretch.Delta, weights, primal)
    return primal


def _try_inverse_step(
    problem: MetricProblem, state: NewtonState, C: FloatArray, Delta: FloatArray, weights: FloatArray, primal: float
) -> float:
    """Take the same step in W^-1 instead of W if it is better; return the objective.

    Along W + t dW a small eigenvalue grows by a factor of about two at most. Along W^-1 - t W^-1 dW W^-1 it can grow to
    any size at once, so an eigenvalue that no pair bounds reaches its optimal value in a single step.
    """
    factor = inverse_step_factor(C, Delta)
    if factor is None:
        return primal
    s = rates_along(problem.sums, factor @ factor.T) / problem.bounds
    active = problem.terms.active(s)
    losses = float(weights[active] @ problem.slack.divergence(s[active]))
    value = float((factor**2).sum() - 2.0 * np.log(factor.diagonal()).sum() - problem.n + losses)
    if not value < primal:
        return primal
    state.C, state.s = factor, s
    return value


def follow_path(state: PathState, t: float, decrement: float) -> bool:
    """Raise the fraction of the weights once the iterate is centred, or lower it if it is stuck near the boundary.

    Parameters
    ----------
    state : PathState
        The state, which is changed.
    t : float
        The length of the last step.
    decrement : float
        The squared Newton decrement before it.

    Returns
    -------
    bool
        Whether the path has to start again from the best multiple of the identity.

    Raises
    ------
    StepFailed
        If W is degenerate and the path may not start again.
    StepStalled
        If the path has started again too often.
    """
    state.steps_at_fraction += 1
    if t == 0.0 or decrement <= _CENTRED:
        grown = state.fraction_growth * state.weight_fraction
        nearly_all = 1.0 if state.retreats else NEARLY_ALL  # after a retreat, the path is followed closely
        state.weight_fraction = 1.0 if grown > nearly_all else grown
        state.steps_at_fraction = 0
    degenerate = is_degenerate(state.C)
    patience = _PATIENCE * (1 + state.retreats)
    if decrement <= _NEARLY_CENTRED:
        patience = max(patience, _LONG_PATIENCE)
    stuck = state.may_retreat and state.steps_at_fraction > patience
    if not (degenerate or stuck):
        return False
    state.retreats += 1
    if state.retreats > _MAX_RETREATS or not state.may_retreat:
        raise StepFailed if degenerate else StepStalled
    state.weight_fraction *= 1e-2
    state.fraction_growth = max(0.3 * state.fraction_growth, _MIN_GROWTH)
    state.steps_at_fraction = 0
    return True
