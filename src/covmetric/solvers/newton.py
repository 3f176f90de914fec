"""A second-order solver: Newton's method on the reduced primal, which is smooth and strictly convex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import brentq

from covmetric._validation import FloatArray, IntArray, is_number
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed, StepStalled, is_degenerate
from covmetric.solvers.interrupt import check_interrupt
from covmetric.solvers.linesearch import Ray, search
from covmetric.solvers.system import ActiveTerms, choose_system, rates_along

# A certificate after so many steps, even where the solver's own estimate of the gap is still large.
_CERTIFY_AT_LEAST_EVERY = 8
# The dual is looked at once the squared Newton decrement is below this, or so many times the gap that is asked for.
_NEAR, _NEAR_GAPS = 1.0, 10.0
# The dual of multipliers that had to be clipped takes a pass over the pairs: only where it may be good enough to stop.
# Where the pass is quick, that is worth a try earlier.
_CLOSE, _CLOSE_GAPS = 0.01, 100.0
# Steps that stretch W by more than this are tried in the inverse of W, too.
_LONG = 0.5
# The path: stiffness per dimension to begin with, and the squared Newton decrement that counts as centred.
_STIFF, _CENTRED = 100.0, 2.0
# A step lowers P by a constant, more or less, until the iterate is centred: after so many steps the path is too steep.
_PATIENCE, _MAX_RETREATS = 8, 6
# The width of the first bracket around log w, for the start w I.
_ROUGHLY = 5e-2


@dataclass
class NewtonState:
    """The iterate W = C C^T, C lower triangular, and what the last step learned about the dual."""

    C: FloatArray
    s: FloatArray
    primal: float
    multipliers: FloatArray
    dual: float
    share: float
    lost_multipliers: FloatArray
    lost_price: float
    growth: float = 30.0
    steps_at_share: int = 0
    retreats: int = 0
    iterative: bool = True
    tol: float = 0.0
    steps_since_certificate: int = 0


@dataclass(slots=True, eq=False)
class _DualLook:
    """What a step knows of the dual: forces of the active pairs and their changes, and the step's own figures."""

    active: IntArray
    forces: FloatArray
    changes: FloatArray
    gradient: FloatArray
    spectrum: FloatArray
    logdet: float
    close: bool


class Newton(Solver[NewtonState]):
    """Newton's method with W+ = C (I + t Delta) C^T for C C^T = W. An iteration is a step.

    In these coordinates the gradient is C^T (I + S) C - I, and the Hessian I + sum_k h_k vec(B_k) vec(B_k)^T over the
    active pairs, with B_k = C^T A_k C and h_k = c_k d''(s_k) / b_k^2. It is solved by conjugate gradients, or, where
    that is less work, by Cholesky in min(p, active pairs) dimensions, p = n(n+1)/2.

    Parameters
    ----------
    memory : float, default=2**30
        Bytes that the matrix of a step may take, and the lower triangles of all A_k, which are kept during a solve.

    Examples
    --------
    >>> from covmetric import Newton, make_paper_problem, solve
    >>> result = solve(make_paper_problem(n=10, K=50, lam=1e-4, seed=0), Newton(), tol=1e-9)
    >>> result.status.name, result.n_iter < 15
    ('SOLVED', True)
    """

    name = "newton"
    default_max_iter = 200

    def __init__(self, memory: float = 2**30) -> None:
        self.memory = memory

    def __repr__(self) -> str:
        return f"Newton(memory={self.memory!r})"

    def start(self, problem: MetricProblem, point: CertifiedPoint, rng: np.random.Generator) -> NewtonState:
        if not (is_number(self.memory) and self.memory > 0):
            raise ValueError(f"memory must be a positive number of bytes, got {self.memory!r}")
        if point.multipliers.any():
            C, s, share = np.asarray(np.linalg.cholesky(point.W), dtype=np.float64), point.ratios, 1.0
        else:
            C, s = _multiple(problem, share=1.0)
            share = _first_share(problem, s)
        return NewtonState(C, s, np.inf, point.multipliers, -np.inf, share, *_lost_pairs(problem))

    def step(self, problem: MetricProblem, state: NewtonState) -> None:
        C, s, half, slack = state.C, state.s, problem.sums.half, problem.slack
        weights = state.share * problem.weights
        active = np.flatnonzero((problem.similar * (s - 1.0) > 0.0) & (s > 0.0))
        sa, b, c = s[active], problem.bounds[active], weights[active]
        forces, springs = c / b * slack.gradient(sa), c / (b * b) * slack.curvature(sa)
        system = choose_system(ActiveTerms(problem, C, active, forces, springs), self.memory, state.iterative)
        gradient = half.pack(C.T @ C - half.identity) + system.force
        x = -system.solve(gradient)
        state.iterative = state.iterative and not system.gave_up
        decrement = -float(gradient @ x)
        Delta = half.unpack(x)
        if not np.isfinite(decrement):
            raise StepFailed
        check_interrupt()
        half_step = C @ Delta
        ds = self._rates(problem, half_step @ C.T, active, system.rates(x)) / problem.bounds
        logdet, trace = 2.0 * float(np.log(C.diagonal()).sum()), float((C * C).sum())
        spectrum, _, failed = lapack.dsyevd(Delta, compute_v=0)
        if failed:
            raise StepFailed
        ray = Ray(problem, weights, s, ds, spectrum, trace - logdet - problem.n, float((half_step * C).sum()))
        start = ray.regulariser + float(c @ slack.divergence(sa)) + state.share * state.lost_price
        wanted = state.tol * max(1.0, abs(start))
        near = decrement <= max(_NEAR, _NEAR_GAPS * wanted)
        if state.share == 1.0 and (near or state.steps_since_certificate + 1 >= _CERTIFY_AT_LEAST_EVERY):
            quick = problem.sums.lower() is not None and decrement <= _CLOSE_GAPS * wanted
            close = decrement <= _CLOSE or quick
            look = _DualLook(active, forces, springs * b * ds[active], gradient, spectrum, logdet, close)
            self._look_at_dual(problem, state, look)
        t, primal = search(ray, (start, -decrement))
        if t == 0.0 and state.share == 1.0:
            raise StepStalled
        root, failed = lapack.dpotrf(half.identity + t * Delta, lower=True, clean=True)
        if failed:
            raise StepFailed
        state.C, state.s = C @ root, s + t * ds
        if spectrum[-1] > _LONG:
            shorter = min(1.0, 0.9 / float(spectrum[-1]))
            primal = self._try_inverse_step(problem, state, C, shorter * Delta, weights, primal)
        state.steps_since_certificate += 1
        if state.share == 1.0:
            state.primal = primal
        self._follow_path(problem, state, t, decrement)

    def _try_inverse_step(
        self,
        problem: MetricProblem,
        state: NewtonState,
        C: FloatArray,
        Delta: FloatArray,
        weights: FloatArray,
        primal: float,
    ) -> float:
        """Take the same step in W^-1 instead of W where it is the better one; returns the objective.

        Along W + t dW a small eigenvalue at most doubles or so; along W^-1 - t W^-1 dW W^-1 it can grow at once to any
        size. An eigenvalue that no pair holds down gets where it belongs in a single step.
        """
        root, failed = lapack.dpotrf(problem.sums.half.identity - Delta, lower=True, clean=True)
        if failed:
            return primal
        inner, _ = lapack.dtrtrs(root, C.T, lower=True)
        upper = np.triu(lapack.dgeqrf(inner, overwrite_a=True)[0])
        factor = upper.T * np.sign(upper.diagonal())
        if not (np.isfinite(factor).all() and (factor.diagonal() > 0.0).all()):
            return primal
        s = rates_along(problem.sums, factor @ factor.T) / problem.bounds
        active = problem.similar * (s - 1.0) > 0.0
        losses = float(weights[active] @ problem.slack.divergence(s[active]))
        value = float((factor**2).sum() - 2.0 * np.log(factor.diagonal()).sum() - problem.n + losses)
        if not value < primal:
            return primal
        state.C, state.s = factor, s
        return value

    def _follow_path(self, problem: MetricProblem, state: NewtonState, t: float, decrement: float) -> None:
        """Raise the share of the weights once the iterate is centred; retreat where it crawls along the boundary."""
        state.steps_at_share += 1
        if t == 0.0 or decrement <= _CENTRED:
            state.share = min(1.0, state.growth * state.share)
            state.steps_at_share = 0
        degenerate = is_degenerate(state.C)
        if degenerate or state.steps_at_share > _PATIENCE * (1 + state.retreats):
            state.retreats += 1
            if state.retreats > _MAX_RETREATS:
                raise StepFailed if degenerate else StepStalled
            state.share *= 1e-2
            state.growth = max(0.3 * state.growth, 3.0)
            state.steps_at_share = 0
            state.C, state.s = _multiple(problem, state.share)

    def _rates(self, problem: MetricProblem, dW: FloatArray, active: IntArray, known: FloatArray | None) -> FloatArray:
        """<A_k, dW> of all pairs; those of the active ones may be known from the system."""
        if known is None or problem.sums.lower() is not None:
            return rates_along(problem.sums, dW)
        if len(active) == problem.n_pairs:
            return known
        rates = np.empty(problem.n_pairs)
        rates[active] = known
        others = np.ones(problem.n_pairs, dtype=bool)
        others[active] = False
        rates[others] = problem.sums.quadratic(dW, np.flatnonzero(others))
        return rates

    def _look_at_dual(self, problem: MetricProblem, state: NewtonState, look: _DualLook) -> None:
        """Take the better of two dual candidates at W, by an estimate: the certificate is computed from the data.

        The first is alpha(W), with C^T (I + S) C = I + gradient. The second is its linearisation along the step, for
        which Newton's equation says C^T (I + S) C = I - Delta.
        """
        state.dual = -np.inf
        candidates = []
        if look.spectrum[-1] < 1.0:
            candidates.append((float(np.log1p(-look.spectrum).sum()), look.forces + look.changes))
        if look.spectrum[-1] > _LONG:  # far from the optimum, where the linearisation is not yet the better one
            root, failed = lapack.dpotrf(problem.sums.half.identity + problem.sums.half.unpack(look.gradient))
            candidates.append((-np.inf if failed else 2.0 * float(np.log(root.diagonal()).sum()), look.forces))
        for stretch, pull in candidates:
            raw = state.lost_multipliers.copy()
            raw[look.active] = problem.similar[look.active] * pull
            multipliers = problem.clipped(raw)
            if (raw == multipliers).all():
                dual = problem.dual_losses(multipliers) + stretch - look.logdet
            else:
                dual = problem.dual(multipliers) if look.close else -np.inf
            if dual > state.dual or state.dual == -np.inf:
                state.multipliers, state.dual = multipliers, dual

    def due(self, problem: MetricProblem, state: NewtonState, tol: float) -> bool:
        state.tol = tol  # the next step looks at the dual when that is near
        if state.steps_since_certificate >= _CERTIFY_AT_LEAST_EVERY:
            return True
        if not np.isfinite(state.primal):  # still on the path
            return False
        return state.primal - state.dual <= tol * max(1.0, abs(state.primal))

    def candidate(self, state: NewtonState) -> tuple[FloatArray, FloatArray]:
        return state.C @ state.C.T, state.multipliers

    def resume(self, problem: MetricProblem, state: NewtonState, point: CertifiedPoint) -> None:
        state.steps_since_certificate = 0
        state.s = point.ratios

    def projections(self, state: NewtonState) -> int:
        return 0


def _lost_pairs(problem: MetricProblem) -> tuple[FloatArray, float]:
    """The multipliers of the dissimilar pairs of equal examples (zero elsewhere), and what they cost whatever W is."""
    lost = (problem.similar < 0.0) & (problem.squared_norms == 0.0)
    zero = np.zeros(1)
    if not lost.any():
        return np.zeros(problem.n_pairs), 0.0
    multipliers = np.where(lost, -problem.slack.gradient(zero) * problem.weights / problem.bounds, 0.0)
    return multipliers, float(problem.weights[lost].sum() * problem.slack.divergence(zero)[0])


def _first_share(problem: MetricProblem, s: FloatArray) -> float:
    """The share of the weights to begin with.

    Where the losses curve far more than log det, full steps run into the boundary of the cone and crawl along it. A
    share of the weights keeps the first steps inside; it grows once the iterate is centred.
    """
    active = (problem.similar * (s - 1.0) > 0.0) & (s > 0.0)
    stiffness = float((problem.weights[active] * problem.slack.curvature(s[active]) * s[active] ** 2).sum())
    return min(1.0, _STIFF * problem.n / stiffness) if stiffness > 0.0 else 1.0


def _multiple(problem: MetricProblem, share: float) -> tuple[FloatArray, FloatArray]:
    """The factor sqrt(w) I with the w that minimises P(w I), with a share of the weights, and the s that belong to it.

    A problem in one variable, solved to a few percent: the first step does the rest.
    """
    n, slack = problem.n, problem.slack
    s, weights = problem.squared_norms / problem.bounds, share * problem.weights
    best = 1.0

    def slope(log_w: float) -> float:
        """Of P, in log w; notes where P would be lowest were it that of the Itakura-Saito slack on these pairs."""
        nonlocal best
        w = float(np.exp(log_w))
        scaled = w * s
        active = problem.similar * (scaled - 1.0) > 0.0
        c, scaled = weights[active], scaled[active]
        best = (n + float(c.sum())) / (n + float(c @ scaled) / w)
        return n * (w - 1.0) + float(c @ (slack.gradient(scaled) * scaled))

    at_one = slope(0.0)
    if at_one == 0.0:
        return np.eye(n), s
    # Most often the guess is good, and the bracket around it small.
    guess = float(np.log(best))
    below, above = (guess - _ROUGHLY, guess) if slope(guess) > 0.0 else (guess, guess + _ROUGHLY)
    while slope(below) > 0.0 and below > guess - 300.0:
        below, above = guess - 2.0 * (guess - below), below
    while slope(above) < 0.0 and above < guess + 300.0:
        below, above = above, guess + 2.0 * (above - guess)
    w = float(np.exp(brentq(slope, below, above, xtol=0.2 * _ROUGHLY)))
    return np.sqrt(w) * np.eye(n), w * s
