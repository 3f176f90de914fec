"""The one loop: it owns iteration limits, stopping, history, callbacks and status."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from covmetric._validation import FloatArray
from covmetric.certificate import Certificate
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, State, StepFailed
from covmetric.solvers.result import History, SolveResult, SolverState, Status

# A gap that has not shrunk by a thousandth over this many certificates has stalled.
_STALL_WINDOW = 100
_STALL_FACTOR = 0.999

Callback = Callable[[SolverState], object]


class _Record:
    """Every certificate so far, and the best metric and multipliers: they may come from different steps."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.rows: list[tuple[int, int, float, float, float, float]] = []
        self.best_gaps: list[float] = []
        self.best_W: CertifiedPoint | None = None
        self.best_multipliers: CertifiedPoint | None = None

    def add(self, n_iter: int, projections: int, seconds: float, point: CertifiedPoint) -> None:
        now = point.certificate
        self.rows.append((n_iter, projections, seconds, now.primal, now.dual, now.gap))
        if self.best_W is None or now.primal < self.best_W.certificate.primal:
            self.best_W = point
        if self.best_multipliers is None or now.dual > self.best_multipliers.certificate.dual:
            self.best_multipliers = point
        self.best_gaps.append(self.best_W.certificate.primal - self.best_multipliers.certificate.dual)

    def best(self) -> Certificate:
        """The certificate of the best pair, as far as it is known without computing it anew."""
        assert self.best_W is not None and self.best_multipliers is not None
        primal, dual = self.best_W.certificate, self.best_multipliers.certificate
        return Certificate.from_values(
            primal.primal,
            dual.dual,
            max_violation=np.nan,
            tol=self.tol,
            rounding=max(primal.rounding, dual.rounding),
        )

    def stalled(self) -> bool:
        gaps = self.best_gaps
        return len(gaps) > _STALL_WINDOW and not gaps[-1] < _STALL_FACTOR * gaps[-1 - _STALL_WINDOW]

    def history(self) -> History:
        n_iter, projections, seconds, primal, dual, gap = zip(*self.rows, strict=True)
        return History(
            np.array(n_iter), np.array(projections), np.array(seconds), np.array(primal), np.array(dual), np.array(gap)
        )


def run(
    problem: MetricProblem,
    solver: Solver[Any],
    *,
    tol: float,
    max_iter: int,
    multipliers: FloatArray,
    rng: np.random.Generator,
    callback: Callback | None,
) -> SolveResult:
    """Iterate until the certified gap meets the tolerance, or something else ends the solve."""
    started = time.perf_counter()
    record = _Record(tol)
    state = solver.start(problem, multipliers, rng)
    n_iter = 0
    status = None
    try:
        status = _certify(problem, solver, state, record, n_iter, started, callback)
        while status is None:
            if n_iter >= max_iter:
                status = Status.MAX_ITER
                break
            solver.step(problem, state)
            n_iter += 1
            if n_iter == max_iter or solver.due(problem, state):
                status = _certify(problem, solver, state, record, n_iter, started, callback)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except StepFailed:
        status = Status.NUMERICAL_ERROR
    if not record.rows or record.rows[-1][0] != n_iter or status is Status.INTERRUPTED:
        # Ended between two certificates: what was reached since the last one is not lost.
        _observe(problem, solver, state, record, n_iter, started)
    return _finish(problem, record, status, n_iter, started)


def _observe(
    problem: MetricProblem, solver: Solver[State], state: State, record: _Record, n_iter: int, started: float
) -> CertifiedPoint:
    W, multipliers = solver.candidate(state)
    point = problem.certified(W, multipliers, record.tol)
    record.add(n_iter, solver.projections(state), time.perf_counter() - started, point)
    return point


def _certify(
    problem: MetricProblem,
    solver: Solver[State],
    state: State,
    record: _Record,
    n_iter: int,
    started: float,
    callback: Callback | None,
) -> Status | None:
    """Certify the current point; a status if this ends the solve."""
    point = _observe(problem, solver, state, record, n_iter, started)
    if callback is not None:
        seconds = time.perf_counter() - started
        seen = SolverState(
            n_iter, solver.projections(state), seconds, point.W.copy(), point.multipliers.copy(), point.certificate
        )
        if callback(seen) is True:
            return Status.INTERRUPTED
    if record.tol > 0.0:
        best = record.best()
        if best.relative_gap <= record.tol:
            # Rounding that spoils the proof will not get better by iterating.
            return Status.SOLVED if best.trusted else Status.NUMERICAL_ERROR
        if record.stalled():
            return Status.STALLED
    solver.resume(problem, state, point)
    return None


def _finish(problem: MetricProblem, record: _Record, status: Status, n_iter: int, started: float) -> SolveResult:
    """The best metric and multipliers, with a certificate computed anew for just these two."""
    assert record.best_W is not None and record.best_multipliers is not None
    W = record.best_W.W
    point = problem.certified(W, record.best_multipliers.multipliers, record.tol)
    certificate = point.certificate
    if record.tol > 0.0:
        unproven = status is Status.SOLVED and not certificate.solved
        spoilt = status in (Status.MAX_ITER, Status.STALLED) and not certificate.trusted
        if unproven or spoilt:
            status = Status.NUMERICAL_ERROR
    return SolveResult(
        W=W,
        multipliers=point.multipliers,
        slacks=problem.slacks(W),
        status=status,
        certificate=certificate,
        history=record.history(),
        n_iter=n_iter,
        seconds=time.perf_counter() - started,
    )
