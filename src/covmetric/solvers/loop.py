"""The one loop: it owns iteration limits, stopping, history, callbacks and status."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric._utils.warning import warn
from covmetric.problem import Certificate, CertifiedPoint
from covmetric.problem.blocks import ExecutorLost
from covmetric.solvers.base import Solver, State, StepFailed, StepStalled
from covmetric.solvers.checkpoint import Checkpoint, Progress
from covmetric.solvers.interrupt import check_interrupt
from covmetric.solvers.result import History, SolveResult, SolverState, Status

# The solve has stalled if the gap has not shrunk by a thousandth over this many certificates.
_STALL_WINDOW = 100
_STALL_FACTOR = 0.999

Callback = Callable[[SolverState], object]


class _Record:
    """All certificates so far, and the best metric and the best multipliers, which may come from different steps."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.rows: list[tuple[int, int, float, float, float, float, str]] = []
        self.best_gaps: list[float] = []
        self.best_W: CertifiedPoint | None = None
        self.best_multipliers: CertifiedPoint | None = None

    def add(self, n_iter: int, projections: int, seconds: float, point: CertifiedPoint, phase: str) -> None:
        now = point.certificate
        self.rows.append((n_iter, projections, seconds, now.primal, now.dual, now.gap, phase))
        if self.best_W is None or now.primal < self.best_W.certificate.primal:
            self.best_W = point
        if self.best_multipliers is None or now.dual > self.best_multipliers.certificate.dual:
            self.best_multipliers = point
        self.best_gaps.append(self.best_W.certificate.primal - self.best_multipliers.certificate.dual)

    def best(self) -> Certificate:
        """Estimate the certificate of the best metric with the best multipliers, without a pass over the pairs.

        The rounding error is an estimate, because each of the two points contributes the errors of both its W and its
        multipliers. `_Run.finish` computes the certificate of the two together.
        """
        assert self.best_W is not None and self.best_multipliers is not None
        primal, dual = self.best_W.certificate, self.best_multipliers.certificate
        if primal is dual:
            return primal
        return Certificate.from_values(
            primal.primal,
            dual.dual,
            max_violation=np.nan,
            tol=self.tol,
            rounding=max(primal.rounding, dual.rounding),
        )

    def keep_best_point(self) -> None:
        """Keep the best of the two points alone, if their combination can no longer be certified."""
        assert self.best_W is not None and self.best_multipliers is not None
        best = min(self.best_W, self.best_multipliers, key=lambda point: point.certificate.gap)
        self.best_W = self.best_multipliers = best

    def stalled(self) -> bool:
        gaps = self.best_gaps
        return len(gaps) > _STALL_WINDOW and not gaps[-1] < _STALL_FACTOR * gaps[-1 - _STALL_WINDOW]

    def history(self) -> History:
        return History(*(np.array(column) for column in zip(*self.rows, strict=True)))


def run(
    problem: Any,
    solver: Solver[Any],
    *,
    tol: float,
    max_iter: int,
    start: CertifiedPoint,
    started: float,
    rng: np.random.Generator,
    callback: Callback | None,
    basis: FloatArray | None = None,
    checkpoint: Checkpoint | None = None,
) -> SolveResult:
    """Iterate until the certified gap meets the tolerance, or until the solve ends for another reason.

    Parameters
    ----------
    problem : MetricProblem or BlockProblem
        The problem.
    solver : Solver
        The method.
    tol : float
        The tolerance on the relative gap; 0 disables the gap and stall tests.
    max_iter : int
        The limit on the number of iterations.
    start : CertifiedPoint
        Feasible multipliers and their metric.
    started : float
        The value of `time.perf_counter` at the start of the solve.
    rng : numpy.random.Generator
        The source of random numbers.
    callback : callable or None
        Called with a `SolverState` after each certificate; returning True stops the solve.
    basis : array of shape (n, r) or None, default=None
        The basis in whose coordinates the problem is given, for the result and for callbacks.
    checkpoint : Checkpoint or None, default=None
        The file from which the solve resumes, and to which it saves its state after each iteration.

    Returns
    -------
    SolveResult
    """
    return _Run(problem, solver, tol, max_iter, callback, started, basis, checkpoint).result(start, rng)


class _Run(Generic[State]):
    """One solve."""

    def __init__(
        self,
        problem: Any,
        solver: Solver[State],
        tol: float,
        max_iter: int,
        callback: Callback | None,
        started: float,
        basis: FloatArray | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        self.problem = problem
        self.checkpoint = checkpoint
        self.solver = solver
        self.max_iter = max_iter
        self.callback = callback
        self.record = _Record(tol)
        self.started = started
        self.basis = basis
        self.n_iter = 0

    def result(self, start: CertifiedPoint, rng: np.random.Generator) -> SolveResult:
        try:
            state = self.solver.start(self.problem, start, rng)
        except (StepFailed, KeyboardInterrupt, ExecutorLost) as reason:
            self.record.add(0, 0, time.perf_counter() - self.started, start, self.solver.name)
            if not isinstance(reason, StepFailed):
                return self.finish(self.lost(reason))
            return self.finish(Status.SOLVED if self.record.best().solved else Status.NUMERICAL_ERROR)
        try:
            state, resumed = self.resumed(state)
            status = (None if resumed else self.judge(start, state)) or self.iterate(state)
        except ExecutorLost as reason:
            status = self.lost(reason)
        except KeyboardInterrupt:
            status = self.certify_last(state) or Status.INTERRUPTED
        except (StepStalled, StepFailed) as reason:
            status = Status.STALLED if isinstance(reason, StepStalled) else Status.NUMERICAL_ERROR
            lost = self.certify_last(state)
            if self.record.best().solved:
                status = Status.SOLVED  # the step failed because the optimum has been reached
            status = lost or status
        return self.finish(status)

    def lost(self, reason: BaseException) -> Status:
        """Keep the best point that has been certified, if sums over pairs can no longer be computed."""
        if isinstance(reason, ExecutorLost):
            warn(f"{reason}: the result is the best metric so far", RuntimeWarning)
        self.record.keep_best_point()
        return Status.INTERRUPTED

    def iterate(self, state: State) -> Status:
        """Step and certify until there is a status."""
        status = None
        while status is None:
            if self.n_iter >= self.max_iter:
                return Status.MAX_ITER
            self.solver.step(self.problem, state)
            self.n_iter += 1
            check_interrupt()
            due = self.solver.due(self.problem, state, self.record.tol)
            if not due:  # a certificate that is made only because of the limit would change the steps that follow
                self.save(state)
            if due or self.n_iter == self.max_iter:
                status = self.certify(state)
            if due and status is None:
                self.save(state)
        return status

    def resumed(self, state: State) -> tuple[State, bool]:
        """Return the state of the checkpoint, if there is one, and whether there is."""
        saved: Any = None if self.checkpoint is None else self.checkpoint.load(state)  # type: ignore[arg-type]
        if saved is None:
            return state, False
        progress, state = saved
        self.n_iter = progress.n_iter
        self.started = time.perf_counter() - progress.seconds
        record = self.record
        record.rows, record.best_gaps = progress.rows, progress.best_gaps
        record.best_W, record.best_multipliers = progress.best_metric, progress.best_multipliers
        return state, True

    def save(self, state: State) -> None:
        """Save the state after an iteration, if there is a file for it."""
        checkpoint, record = self.checkpoint, self.record
        if checkpoint is None:
            return
        assert record.best_W is not None and record.best_multipliers is not None
        seconds = time.perf_counter() - self.started
        best = record.best_W, record.best_multipliers
        checkpoint.save(Progress(self.n_iter, seconds, record.rows, record.best_gaps, *best), state)  # type: ignore[arg-type]

    def certify(self, state: State) -> Status | None:
        """Certify the candidate and resume from it; return a status if this ends the solve."""
        point = self.certified_candidate(state)
        status = self.judge(point, state)
        if status is None:
            self.solver.resume(self.problem, state, point)
        return status

    def certify_last(self, state: State) -> Status | None:
        """Certify the last candidate of a solve, because it may be the best; return a status if this is cut short."""
        try:
            self.keep(self.certified_candidate(state), state)
        except (KeyboardInterrupt, ExecutorLost) as reason:
            if self.problem.in_memory:  # a second Ctrl-C, which is raised at once
                raise
            return self.lost(reason)
        return None

    def certified_candidate(self, state: State) -> CertifiedPoint:
        """Return the solver's candidate with its certificate."""
        W, multipliers = self.solver.candidate(state)
        # Solvers are not trusted: W becomes a symmetric copy, and multipliers that are not finite are dropped.
        W = None if W is None else 0.5 * (W + W.T)
        if multipliers is not None:
            multipliers = self.problem.finite_multipliers(multipliers)
        try:
            point: CertifiedPoint = self.problem.certified_arrays(W, multipliers, self.record.tol)
        except ValueError:  # W is too ill-conditioned to be stored
            multipliers = self.problem.zero_multipliers() if multipliers is None else multipliers
            point = self.problem.certified_arrays(None, multipliers, self.record.tol)
        return point

    def keep(self, point: CertifiedPoint, state: State) -> None:
        """Add a certified point to the record."""
        seconds = time.perf_counter() - self.started
        self.record.add(self.n_iter, self.solver.projections(state), seconds, point, self.solver.phase(state))

    def judge(self, point: CertifiedPoint, state: State) -> Status | None:
        """Record a certified point and call the callback; return a status if this ends the solve."""
        self.keep(point, state)
        stop = self.callback is not None and self.asks_to_stop(self.callback, point, self.solver.projections(state))
        if self.record.tol > 0.0:
            best = self.record.best()
            if best.solved:
                return Status.SOLVED
            if best.relative_gap <= self.record.tol and not best.trusted:
                return Status.NUMERICAL_ERROR  # more iterations do not reduce the rounding error
            if self.record.stalled():
                return Status.STALLED
        if stop:
            return Status.INTERRUPTED
        check_interrupt()
        return None

    def asks_to_stop(self, callback: Callback, point: CertifiedPoint, projections: int) -> bool:
        """Call the callback with copies of the arrays, and return whether it returns True."""
        problem = self.problem
        parts: dict[str, Any] = {
            "n_iter": self.n_iter,
            "projections": projections,
            "seconds": time.perf_counter() - self.started,
            "core": point.W.copy(),
            "certificate": point.certificate,
            "basis": self.basis,
        }
        if problem.in_memory:
            answer = callback(SolverState(multipliers=point.multipliers.copy(), **parts))
        else:
            answer = callback(SolverState.deferred(lambda: {"multipliers": problem.pair_arrays(point)[0]}, **parts))
        return isinstance(answer, bool | np.bool_) and bool(answer)

    def finish(self, status: Status) -> SolveResult:
        """Return the best metric and multipliers, with the certificate of exactly this pair."""
        record = self.record
        assert record.best_W is not None and record.best_multipliers is not None
        point = record.best_W
        if record.best_multipliers is not point:
            try:
                point = self.problem.certified_arrays(point.W, record.best_multipliers.multipliers, record.tol)
            except (KeyboardInterrupt, ExecutorLost) as reason:
                if self.problem.in_memory:
                    raise
                status = self.lost(reason)
                point = record.best_W
        certificate = point.certificate
        if record.tol > 0.0:
            unproven = status is Status.SOLVED and not certificate.solved
            spoilt = status in (Status.MAX_ITER, Status.STALLED) and not certificate.trusted
            if unproven or spoilt:
                status = Status.NUMERICAL_ERROR
        if self.checkpoint is not None and status is Status.SOLVED:
            self.checkpoint.remove()
        parts: dict[str, Any] = {
            "core": point.W,
            "status": status,
            "certificate": certificate,
            "history": record.history(),
            "n_iter": self.n_iter,
            "seconds": time.perf_counter() - self.started,
            "basis": self.basis,
        }
        problem = self.problem
        if problem.in_memory:
            multipliers, slacks = problem.pair_arrays(point)
            return SolveResult(multipliers=multipliers, slacks=slacks, **parts)

        def gather() -> dict[str, FloatArray]:
            arrays = dict(zip(("multipliers", "slacks"), problem.pair_arrays(point), strict=True))
            problem.release()
            return arrays

        deferred: SolveResult = SolveResult.deferred(gather, **parts)
        return deferred
