"""A second-order solver: Newton's method on the reduced primal, which is smooth and strictly convex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import brentq

from covmetric._validation import FloatArray, IntArray, is_number
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed, StepStalled
from covmetric.solvers.linesearch import Ray, search
from covmetric.solvers.system import HalfVectors, choose_system

# A certificate after so many steps, even where the solver's own estimate of the gap is still large.
_CERTIFY_AT_LEAST_EVERY = 5


@dataclass
class NewtonState:
    """The iterate W = C C^T, C lower triangular, and what the last step learned about the dual."""

    C: FloatArray
    s: FloatArray
    primal: float
    multipliers: FloatArray
    dual: float
    half: HalfVectors
    steps_since_certificate: int = 0


class Newton(Solver[NewtonState]):
    """Newton's method with W+ = C (I + t Delta) C^T for C C^T = W. An iteration is a step.

    In these coordinates the gradient is C^T (I + S) C - I, and the Hessian I + sum_k h_k vec(B_k) vec(B_k)^T over the
    active pairs, with B_k = C^T A_k C and h_k = c_k d''(s_k) / b_k^2. It is solved in min(p, active pairs) dimensions,
    p = n(n+1)/2, by Cholesky, or by conjugate gradients where neither fits the memory.

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
        else:
            C = np.sqrt(_best_multiple(problem)) * np.eye(problem.n)
        s = problem.sums.distances(C) / problem.bounds
        return NewtonState(C, s, np.inf, multipliers, -np.inf, HalfVectors(problem.n))

    def step(self, problem: MetricProblem, state: NewtonState) -> None:
        C, s, half, slack = state.C, state.s, state.half, problem.slack
        active = np.flatnonzero(problem.similar * (s - 1.0) > 0.0)
        sa, b, c = s[active], problem.bounds[active], problem.weights[active]
        forces, springs = c / b * slack.gradient(sa), c / (b * b) * slack.curvature(sa)
        system = choose_system(problem, C, active, forces, springs, half, self.memory)
        gradient = half.pack(C.T @ C - np.eye(problem.n)) + system.force
        x = -system.solve(gradient)
        Delta = half.unpack(x)
        if not np.isfinite(Delta).all():
            raise StepFailed
        ds = problem.sums.bilinear(C, Delta) / problem.bounds
        logdet, trace = 2.0 * float(np.log(np.diag(C)).sum()), float((C * C).sum())
        spectrum = np.asarray(np.linalg.eigvalsh(Delta), dtype=np.float64)
        ray = Ray(problem, s, ds, spectrum, trace - logdet - problem.n, float(((C @ Delta) * C).sum()))
        start = ray.at(0.0)
        self._look_at_dual(problem, state, active, forces, springs * b * ds[active], half.unpack(gradient), ray, logdet)
        t, primal = search(ray, start)
        if t == 0.0:
            raise StepStalled
        root, failed = lapack.dpotrf(np.eye(problem.n) + t * Delta, lower=True, clean=True)
        if failed:
            raise StepFailed
        state.C = C @ root
        state.s = s + t * ds
        state.primal = primal
        state.steps_since_certificate += 1

    def _look_at_dual(
        self,
        problem: MetricProblem,
        state: NewtonState,
        active: IntArray,
        forces: FloatArray,
        changes: FloatArray,
        gradient: FloatArray,
        ray: Ray,
        logdet: float,
    ) -> None:
        """Take the better of two dual candidates at W, by an estimate: the certificate is computed from the data.

        The first is alpha(W), with C^T (I + S) C = I + gradient. The second is its linearisation along the step, for
        which Newton's equation says C^T (I + S) C = I - Delta.
        """
        state.dual = -np.inf
        spectra = np.linalg.eigvalsh(gradient), -ray.eigenvalues
        for spectrum, pull in zip(spectra, (forces, forces + changes), strict=True):
            raw = np.zeros(problem.n_pairs)
            raw[active] = problem.similar[active] * pull
            multipliers = problem.clipped(raw)
            if not np.array_equal(raw, multipliers):
                value = problem.dual(multipliers)
            elif spectrum.min() > -1.0:
                value = problem.dual_losses(multipliers) + float(np.log1p(spectrum).sum()) - logdet
            else:
                continue
            if value > state.dual:
                state.multipliers, state.dual = multipliers, value

    def due(self, problem: MetricProblem, state: NewtonState, tol: float) -> bool:
        if state.steps_since_certificate >= _CERTIFY_AT_LEAST_EVERY:
            return True
        return state.primal - state.dual <= tol * max(1.0, abs(state.primal))

    def candidate(self, state: NewtonState) -> tuple[FloatArray, FloatArray]:
        return state.C @ state.C.T, state.multipliers

    def resume(self, problem: MetricProblem, state: NewtonState, point: CertifiedPoint) -> None:
        state.steps_since_certificate = 0
        state.s = problem.sums.distances(state.C) / problem.bounds

    def projections(self, state: NewtonState) -> int:
        return 0


def _best_multiple(problem: MetricProblem) -> float:
    """The w that minimises P(w I), a problem in one variable."""
    s = problem.squared_norms / problem.bounds

    def slope(log_w: float) -> float:
        """Of P, in log w."""
        w = np.exp(log_w)
        active = problem.similar * (w * s - 1.0) > 0.0
        pulls = problem.weights[active] * problem.slack.gradient(w * s[active]) * w * s[active]
        return float(problem.n * (w - 1.0) + pulls.sum())

    lo, hi = -1.0, 1.0
    with np.errstate(over="ignore"):
        while slope(lo) > 0.0 and lo > -300.0:
            lo *= 2.0
        while slope(hi) < 0.0 and hi < 300.0:
            hi *= 2.0
        return float(np.exp(brentq(slope, lo, hi, xtol=1e-3)))
