"""A second-order solver: Newton's method on the reduced primal, which is smooth and strictly convex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.optimize import brentq

from covmetric._validation import FloatArray, IntArray, is_number
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed, StepStalled, is_degenerate
from covmetric.solvers.interrupt import check_interrupt
from covmetric.solvers.linesearch import Ray, search
from covmetric.solvers.system import ActiveTerms, HalfVectors, choose_system, half_vectors_of

# A certificate after so many steps, even where the solver's own estimate of the gap is still large.
_CERTIFY_AT_LEAST_EVERY = 5
# The dual is looked at once the squared Newton decrement is below this: before, the gap is large anyway.
_NEAR = 10.0
# Steps that stretch W by more than this are tried in the inverse of W, too.
_LONG = 0.5
# The path: stiffness per dimension to begin with, and the squared Newton decrement that counts as centred.
_STIFF, _CENTRED = 100.0, 2.0
# A step lowers P by a constant, more or less, until the iterate is centred: after so many steps the path is too steep.
_PATIENCE, _MAX_RETREATS = 8, 6


@dataclass
class NewtonState:
    """The iterate W = C C^T, C lower triangular, and what the last step learned about the dual."""

    C: FloatArray
    s: FloatArray
    primal: float
    multipliers: FloatArray
    dual: float
    half: HalfVectors
    share: float
    lost_multipliers: FloatArray
    lost_price: float
    growth: float = 30.0
    steps_at_share: int = 0
    retreats: int = 0
    steps_since_certificate: int = 0


class Newton(Solver[NewtonState]):
    """Newton's method with W+ = C (I + t Delta) C^T for C C^T = W. An iteration is a step.

    In these coordinates the gradient is C^T (I + S) C - I, and the Hessian I + sum_k h_k vec(B_k) vec(B_k)^T over the
    active pairs, with B_k = C^T A_k C and h_k = c_k d''(s_k) / b_k^2. It is solved in min(p, active pairs) dimensions,
    p = n(n+1)/2, by Cholesky, or by conjugate gradients where that is less work or neither fits the memory.

    Parameters
    ----------
    memory : float, default=2**30
        Bytes that the matrix of a step may take.

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

    def start(
        self,
        problem: MetricProblem,
        W: FloatArray,
        multipliers: FloatArray,
        rng: np.random.Generator,
    ) -> NewtonState:
        if not (is_number(self.memory) and self.memory > 0):
            raise ValueError(f"memory must be a positive number of bytes, got {self.memory!r}")
        if multipliers.any():
            C = np.asarray(np.linalg.cholesky(W), dtype=np.float64)
            s, share = problem.sums.distances(C) / problem.bounds, 1.0
        else:
            C, s = _multiple(problem, share=1.0)
            share = _first_share(problem, s)
        half = half_vectors_of(problem.n)
        return NewtonState(C, s, np.inf, multipliers, -np.inf, half, share, *_lost_pairs(problem))

    def step(self, problem: MetricProblem, state: NewtonState) -> None:
        C, s, half, slack = state.C, state.s, state.half, problem.slack
        weights = state.share * problem.weights
        active = np.flatnonzero((problem.similar * (s - 1.0) > 0.0) & (s > 0.0))
        sa, b, c = s[active], problem.bounds[active], weights[active]
        forces, springs = c / b * slack.gradient(sa), c / (b * b) * slack.curvature(sa)
        system = choose_system(ActiveTerms(problem, C, active, forces, springs, half), self.memory)
        gradient = half.pack(C.T @ C - half.identity) + system.force
        x = -system.solve(gradient)
        decrement = -float(gradient @ x)
        Delta = half.unpack(x)
        if not np.isfinite(decrement):
            raise StepFailed
        check_interrupt()
        half_step = C @ Delta
        ds = self._rates(problem, half_step @ C.T, active, system.rates(x)) / problem.bounds
        logdet, trace = 2.0 * float(np.log(C.diagonal()).sum()), float((C * C).sum())
        spectrum = np.asarray(np.linalg.eigvalsh(Delta), dtype=np.float64)
        ray = Ray(problem, weights, s, ds, spectrum, trace - logdet - problem.n, float((half_step * C).sum()))
        if state.share == 1.0 and (decrement <= _NEAR or state.steps_since_certificate + 1 >= _CERTIFY_AT_LEAST_EVERY):
            changes = springs * b * ds[active]
            self._look_at_dual(problem, state, active, forces, changes, half.unpack(gradient), spectrum, logdet)
        start = ray.regulariser + float(c @ slack.divergence(sa)) + state.share * state.lost_price
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
        root, failed = lapack.dpotrf(state.half.identity - Delta, lower=True, clean=True)
        if failed:
            return primal
        upper = np.asarray(np.linalg.qr(solve_triangular(root, C.T, lower=True), mode="r"), dtype=np.float64)
        factor = upper.T * np.sign(np.diag(upper))
        if not (np.isfinite(factor).all() and (np.diag(factor) > 0.0).all()):
            return primal
        s = problem.sums.quadratic(factor @ factor.T) / problem.bounds
        active = problem.similar * (s - 1.0) > 0.0
        losses = float(weights[active] @ problem.slack.divergence(s[active]))
        value = float((factor**2).sum() - 2.0 * np.log(np.diag(factor)).sum() - problem.n + losses)
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
        if known is None:
            return problem.sums.quadratic(dW)
        if len(active) == problem.n_pairs:
            return known
        rates = np.empty(problem.n_pairs)
        rates[active] = known
        others = np.ones(problem.n_pairs, dtype=bool)
        others[active] = False
        rates[others] = problem.sums.quadratic(dW, np.flatnonzero(others))
        return rates

    def _look_at_dual(
        self,
        problem: MetricProblem,
        state: NewtonState,
        active: IntArray,
        forces: FloatArray,
        changes: FloatArray,
        gradient: FloatArray,
        spectrum: FloatArray,
        logdet: float,
    ) -> None:
        """Take the better of two dual candidates at W, by an estimate: the certificate is computed from the data.

        The first is alpha(W), with C^T (I + S) C = I + gradient. The second is its linearisation along the step, for
        which Newton's equation says C^T (I + S) C = I - Delta.
        """
        state.dual = -np.inf
        candidates = []
        if spectrum[-1] < 1.0:
            candidates.append((float(np.log1p(-spectrum).sum()), forces + changes))
        if spectrum[-1] > _LONG:  # far from the optimum, where the linearisation is not yet the better one
            root, failed = lapack.dpotrf(state.half.identity + gradient)
            candidates.append((-np.inf if failed else 2.0 * float(np.log(root.diagonal()).sum()), forces))
        for stretch, pull in candidates:
            raw = state.lost_multipliers.copy()
            raw[active] = problem.similar[active] * pull
            multipliers = problem.clipped(raw)
            if not np.array_equal(raw, multipliers):
                dual = problem.dual(multipliers)
            else:
                dual = problem.dual_losses(multipliers) + stretch - logdet
            if dual > state.dual:
                state.multipliers, state.dual = multipliers, dual

    def due(self, problem: MetricProblem, state: NewtonState, tol: float) -> bool:
        if state.steps_since_certificate >= _CERTIFY_AT_LEAST_EVERY:
            return True
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

    A problem in one variable.
    """
    s = problem.squared_norms / problem.bounds
    weights = share * problem.weights

    def slope(log_w: float) -> float:
        """Of P, in log w."""
        scaled = np.exp(log_w) * s
        active = problem.similar * (scaled - 1.0) > 0.0
        pulls = weights[active] @ (problem.slack.gradient(scaled[active]) * scaled[active])
        return float(problem.n * np.expm1(log_w) + pulls)

    if slope(0.0) == 0.0:
        return np.eye(problem.n), s
    lo, hi = -1.0, 1.0
    with np.errstate(over="ignore"):
        while slope(lo) > 0.0 and lo > -300.0:
            lo *= 2.0
        while slope(hi) < 0.0 and hi < 300.0:
            hi *= 2.0
        w = float(np.exp(brentq(slope, lo, hi, xtol=5e-2)))
    return np.sqrt(w) * np.eye(problem.n), w * s
