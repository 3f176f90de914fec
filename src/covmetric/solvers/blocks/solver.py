"""Newton's method on the reduced primal, with sums over blocks of pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.half_vectors import HalfVectors
from covmetric._utils.validation import FloatArray, is_number
from covmetric.problem import BlockProblem, CertifiedPoint
from covmetric.problem.blocks import KeyedMatrix, PairMultipliers, ZeroMultipliers
from covmetric.solvers.base import Solver, StepFailed, StepStalled
from covmetric.solvers.blocks.choice import matrix_spacing
from covmetric.solvers.blocks.multipliers import StepMultipliers
from covmetric.solvers.blocks.passes import (
    CandidatePass,
    GradientPass,
    HessianPass,
    MultiplePass,
    PreconditionerPass,
    RayPass,
    StepLossPass,
)
from covmetric.solvers.interrupt import check_interrupt
from covmetric.solvers.newton.linesearch import search
from covmetric.solvers.newton.solver import CERTIFY_AT_LEAST_EVERY, CLOSE, PathState, candidates_pay, follow_path
from covmetric.solvers.newton.start import fraction_for, multiple_near_minimum
from covmetric.solvers.newton.stretch import Stretch, inverse_step_factor
from covmetric.solvers.systems import cholesky, conjugate_gradients
from covmetric.solvers.systems.preconditioner import GaussianPreconditioner, Preconditioner, SampledPreconditioner

# Squared distances are computed anew after this many updates, because each update adds rounding errors.
_MAX_UPDATES = 8


@dataclass
class BlockState(PathState):
    """The iterate W = C C^T, with its place on the path, and the best dual candidate. All of it is n x n or smaller.

    Attributes
    ----------
    W : KeyedMatrix
        The metric C C^T.
    spacing : int
        Which pairs are summed up to a matrix: see `matrix_spacing`.
    tol : float
        The tolerance on the relative gap.
    multipliers : PairMultipliers
        The dual candidate.
    primal : float
        The objective P(W), or infinity while the path uses a fraction of the weights.
    dual : float
        An estimate of the dual value of the candidate.
    preconditioned : bool
        Whether conjugate gradients needed the Gaussian preconditioner in the last step.
    n_steps : int
        The number of steps so far.
    steps_since_certificate : int
        The number of steps since the last certificate.
    """

    W: KeyedMatrix
    spacing: int
    tol: float
    multipliers: PairMultipliers
    primal: float = np.inf
    dual: float = -np.inf
    preconditioned: bool = False
    n_steps: int = 0
    steps_since_certificate: int = 0


@dataclass(slots=True, eq=False)
class _BlockRay:
    """The objective P(W(t)) for W(t) = C (I + t Delta) C^T; each value is a pass over the blocks.

    `known` says whether the blocks have kept the derivatives of the squared distances along the step.
    """

    problem: BlockProblem
    state: BlockState
    change: KeyedMatrix
    stretch: Stretch
    regulariser: float
    known: bool

    @property
    def limit(self) -> float:
        return self.stretch.limit

    def at(self, t: float) -> tuple[float, float]:
        logdet, logdet_slope = self.stretch.logdet(t)
        trace_rate = float(self.change.array.trace())
        task = RayPass(self.state.W, self.change, self.state.weight_fraction, t, self.known)
        loss, slope = self.problem.total(task)
        self.known = self.problem.source.keeps_blocks
        return self.regulariser - logdet + t * trace_rate + loss, trace_rate - logdet_slope + slope


class BlockNewton(Solver[BlockState]):
    """Newton's method on a problem in blocks, with the steps and the path of `Newton`.

    The state is a few n x n matrices. Everything that belongs to a pair is computed in the block of the pair, from
    these matrices, so that a lost block can be computed again anywhere. The linear system is summed up as a matrix if
    that takes less time, and solved by conjugate gradients otherwise, which a sample of the pairs may precondition
    (`matrix_spacing`).

    Parameters
    ----------
    memory : float, default=2**30
        The number of bytes that the matrices of a step, and what all blocks keep, may take each.
    """

    name = "newton"
    default_max_iter = 200
    is_random = False

    def __init__(self, memory: float = 2**30) -> None:
        self.memory = memory

    def start(self, problem: BlockProblem, point: CertifiedPoint, rng: np.random.Generator) -> BlockState:  # type: ignore[override]
        if not (is_number(self.memory) and self.memory > 0):
            raise ValueError(f"memory must be a positive number of bytes, got {self.memory!r}")
        spacing, tol = matrix_spacing(problem, self.memory), point.certificate.tol
        if not isinstance(point.multipliers, ZeroMultipliers):
            C = np.asarray(np.linalg.cholesky(point.W), dtype=np.float64)
            return BlockState(C, 1.0, _metric_of(C), spacing, tol, point.multipliers)
        w = _best_multiple(problem, 1.0)
        stiffness = problem.total(MultiplePass(w, 1.0))[3] / problem.n
        fraction = fraction_for(stiffness, problem.n, problem.m)
        C = np.sqrt(w) * problem.half.identity
        return BlockState(C, fraction, _metric_of(C), spacing, tol, point.multipliers)

    def step(self, problem: BlockProblem, state: BlockState) -> None:  # type: ignore[override]
        C, W, half, fraction = state.C, state.W, problem.half, state.weight_fraction
        loss, gradient, x = _direction(problem, state)
        decrement = -float(gradient @ x)
        if not np.isfinite(decrement):
            raise StepFailed
        Delta = half.unpack(x)
        dW = KeyedMatrix.of(_symmetric(C @ Delta @ C.T))
        stretch = Stretch(Delta, half.identity)
        regulariser = float(np.vdot(C, C)) - _logdet(C) - problem.n
        value = regulariser + loss
        pays = candidates_pay(state, value, decrement)
        known = pays and self._update_dual_candidate(problem, state, dW, stretch, gradient, decrement)
        check_interrupt()
        ray = _BlockRay(problem, state, dW, stretch, regulariser, known and problem.source.keeps_blocks)
        t, primal = search(ray, (value, -decrement))
        if t == 0.0 and fraction == 1.0:
            raise StepStalled
        state.C = C @ stretch.root(t)
        state.W = _moved(problem, W, t, dW, state.C)
        if stretch.is_long:
            primal = _try_inverse_step(problem, state, C, min(1.0, 0.9 / stretch.largest) * Delta, primal)
        if not pays and fraction == 1.0:  # if the solve ends with this step, alpha(W) is far better than older ones
            state.multipliers, state.dual = StepMultipliers(W=state.W), -np.inf
        state.n_steps += 1
        state.steps_since_certificate += 1
        if fraction == 1.0:
            state.primal = primal
        if follow_path(state, t, decrement):
            state.C = np.sqrt(_best_multiple(problem, state.weight_fraction)) * half.identity
            state.W = _metric_of(state.C)

    def _update_dual_candidate(
        self,
        problem: BlockProblem,
        state: BlockState,
        dW: KeyedMatrix,
        stretch: Stretch,
        gradient: FloatArray,
        decrement: float,
    ) -> bool:
        """Form the multipliers that the step suggests.

        Return whether the blocks have computed the derivatives of the squared distances along the step for it.
        """
        candidates, logdets = [], []
        reverse_logdet = stretch.reverse_logdet()
        if reverse_logdet is not None:
            candidates.append(StepMultipliers(W=state.W, change=dW))
            logdets.append(reverse_logdet)
        if stretch.is_long:  # far from the optimum, the linearisation may be the worse candidate
            root, failed = lapack.dpotrf(problem.half.identity + problem.half.unpack(gradient))
            candidates.append(StepMultipliers(W=state.W))
            logdets.append(-np.inf if failed else 2.0 * float(np.log(root.diagonal()).sum()))
        # There is at least one of them: a step that is not long can be reversed.
        sums = problem.total(CandidatePass(tuple(candidates)))
        state.dual = -np.inf
        for k, (candidate, logdet) in enumerate(zip(candidates, logdets, strict=True)):
            n_clipped, dual_loss = sums[2 * k], sums[2 * k + 1]
            dual = dual_loss + logdet - _logdet(state.C)
            if n_clipped:
                # The estimate does not hold for clipped multipliers; near the optimum, the dual is worth a pass.
                dual = problem.dual_value(candidate) if decrement <= CLOSE else -np.inf
            if k == 0 or dual > state.dual:
                state.multipliers, state.dual = candidate, dual
        return reverse_logdet is not None

    def due(self, problem: BlockProblem, state: BlockState, tol: float) -> bool:  # type: ignore[override]
        if state.steps_since_certificate >= CERTIFY_AT_LEAST_EVERY:
            return True
        return np.isfinite(state.primal) and state.primal - state.dual <= tol * max(1.0, abs(state.primal))

    def candidate(self, state: BlockState) -> tuple[FloatArray, PairMultipliers]:  # type: ignore[override]
        return state.W.array, state.multipliers

    def resume(self, problem: BlockProblem, state: BlockState, point: CertifiedPoint) -> None:  # type: ignore[override]
        state.steps_since_certificate = 0

    def projections(self, state: BlockState) -> int:
        return 0


def _logdet(C: FloatArray) -> float:
    """Return log det C C^T of a triangular C."""
    return 2.0 * float(np.log(C.diagonal()).sum())


def _symmetric(matrix: FloatArray) -> FloatArray:
    """Return the symmetric part: sums over pairs read one triangle, and blocks of either kind must agree."""
    return np.asarray(0.5 * (matrix + matrix.T))


def _metric_of(C: FloatArray) -> KeyedMatrix:
    """Return the metric C C^T."""
    return KeyedMatrix.of(_symmetric(C @ C.T))


def _moved(problem: BlockProblem, W: KeyedMatrix, t: float, dW: KeyedMatrix, C: FloatArray) -> KeyedMatrix:
    """Return the metric C C^T = W + t dW.

    Blocks that keep their squared distances update them, which saves a pass. After some steps they are computed anew.
    """
    if not problem.source.keeps_blocks or len(W.steps()) >= _MAX_UPDATES:
        return _metric_of(C)
    return W.moved(t, dW, _symmetric(C @ C.T))


def _best_multiple(problem: BlockProblem, fraction: float) -> float:
    """Return the w that minimises P(w I), with a fraction of the weights."""
    return multiple_near_minimum(problem.n, lambda w: problem.total(MultiplePass(w, fraction)))


def _direction(problem: BlockProblem, state: BlockState) -> tuple[float, FloatArray, FloatArray]:
    """Return the loss at W, and the gradient and the Newton direction as half vectors in the coordinates of C."""
    C, W, half, fraction = state.C, state.W, problem.half, state.weight_fraction
    # A sample that did not help in the last step is not taken again.
    spacing = 0 if state.spacing > 1 and state.preconditioned else state.spacing
    loss, force, *matrices = problem.total(GradientPass(spacing, W, C, fraction))
    gradient = half.pack(C.T @ C - half.identity)
    for matrix in matrices:
        matrix.reshape(-1, order="A")[:: half.size + 1] += 1.0  # a view
    if state.spacing == 1:
        gradient = gradient + force
        return loss, gradient, -np.asarray(lapack.dpotrs(cholesky(matrices[0]), gradient)[0])
    gradient = gradient + half.pack(C.T @ force @ C)

    def image(X: FloatArray) -> FloatArray:
        check_interrupt()
        product: FloatArray = problem.total(HessianPass(W, fraction, _symmetric(C @ X @ C.T)))[0]
        return np.asarray(X + C.T @ product @ C)

    def gaussian() -> Preconditioner:
        total, springs, squares, weight = problem.total(PreconditionerPass(W, C, fraction))
        mean = _symmetric(C.T @ springs @ C) / (total if total > 0.0 else 1.0)
        return GaussianPreconditioner(mean, total, squares / weight if weight > 0.0 else 0.0)

    solution = conjugate_gradients(
        gradient,
        image,
        half,
        first=_sampled_preconditioner(matrices[0], half) if matrices else None,
        preconditioned=state.preconditioned,
        make_preconditioner=gaussian,
    )
    state.preconditioned = solution.preconditioned
    return loss, gradient, -solution.x


def _sampled_preconditioner(matrix: FloatArray, half: HalfVectors) -> Preconditioner | None:
    """Return the preconditioner of a sample, or None if rounding errors dominate its matrix."""
    try:
        return SampledPreconditioner(matrix, half)
    except StepFailed:
        return None


def _try_inverse_step(
    problem: BlockProblem, state: BlockState, C: FloatArray, Delta: FloatArray, primal: float
) -> float:
    """Take the same step in W^-1 instead of W if it is better; return the objective."""
    factor = inverse_step_factor(C, Delta)
    if factor is None:
        return primal
    loss = problem.total(StepLossPass(_symmetric(factor @ factor.T), state.weight_fraction))[0]
    value = float((factor**2).sum()) - _logdet(factor) - problem.n + float(loss)
    if not value < primal:
        return primal
    state.C, state.W = factor, _metric_of(factor)
    return value
