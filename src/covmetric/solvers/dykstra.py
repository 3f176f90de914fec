"""The paper's method: Dykstra's algorithm, in cyclic, permuted or random order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from covmetric._utils.tuning import (
    BLOCK_COLUMNS,
    CERTIFICATE_FRACTION,
    OPERATIONS_PER_SWEEP,
    certificate_seconds,
    sweep_seconds,
    visits_blocks,
)
from covmetric._utils.validation import FloatArray, IntArray, is_count
from covmetric.orders import Order, get_order
from covmetric.problem import CertifiedPoint, MetricProblem
from covmetric.solvers.base import Solver, StepFailed, is_degenerate
from covmetric.solvers.interrupt import check_interrupt

if TYPE_CHECKING:
    from covmetric.solvers.kernels.slack import CompiledSlack

# The solve gives up after more than this many consecutive certificates with a metric too ill-conditioned to be stored.
_MAX_DEGENERATE = 5
# Idle pairs are visited in one of so many epochs, if the hybrid asks for it.
_IDLE_EVERY = 3


@dataclass
class DykstraState:
    """The iterate: multipliers alpha, and their metric W up to rounding errors.

    Attributes
    ----------
    W : array of shape (n, n)
        The metric.
    alpha : array of shape (K,)
        The multipliers.
    order : Order
        The order of the visits.
    rng : numpy.random.Generator
        The source of random numbers of the order.
    slack : CompiledSlack
        The slack's functions for the compiled kernel.
    n_epochs : int
        The number of epochs.
    skips_idle : bool
        Whether most epochs leave out the pairs that were idle at their last visit. The paper's method visits all pairs.
    visits : int
        The number of visited half-spaces.
    counts : array of int of shape (2,)
        The number of visits that changed W, and the number that did not.
    epochs_since_certificate : int
        The number of epochs since the last certificate.
    visited : array of shape (2, K)
        The ratios s_k and the dual variables t_k of the pairs, each from before its last visit.
    work_since_certificate : float
        The modelled time since the last certificate.
    work_since_estimate : float
        The modelled time since the last estimate of the gap.
    degenerate_certificates : int
        The number of consecutive certificates with a metric too ill-conditioned to be stored.
    """

    W: FloatArray
    alpha: FloatArray
    order: Order
    rng: np.random.Generator
    slack: CompiledSlack
    visited: FloatArray
    n_epochs: int = 0
    skips_idle: bool = False
    visits: int = 0
    counts: IntArray = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    epochs_since_certificate: int = 0
    work_since_certificate: float = 0.0
    work_since_estimate: float = 0.0
    degenerate_certificates: int = 0


class Dykstra(Solver[DykstraState]):
    """The stochastic Dykstra method: Bregman projections onto one half-space at a time.

    An iteration is an epoch of K visits.

    Parameters
    ----------
    order : {'cyclic', 'perm', 'rand'} or Order, default='perm'
        The order of the visits within an epoch.
    certify_every : int or None, default=None
        The number of epochs between certificates. None lets certificates take at most a fifth of the time. The time is
        modelled by counting operations, not measured, so that a seed always gives the same result.

    Examples
    --------
    >>> from covmetric import Dykstra, make_paper_problem, solve
    >>> result = solve(make_paper_problem(n=5, K=20, lam=1e-2, seed=0), Dykstra(order="rand"), random_state=0)
    >>> result.status.name, result.certificate.relative_gap <= 1e-6
    ('SOLVED', True)
    """

    name = "dykstra"
    default_max_iter = 10_000

    def __init__(self, order: str | Order = "perm", certify_every: int | None = None) -> None:
        self.order = order
        self.certify_every = certify_every

    def start(self, problem: MetricProblem, point: CertifiedPoint, rng: np.random.Generator) -> DykstraState:
        from covmetric.solvers.kernels.slack import compile_slack  # Numba takes a second to import

        every = self.certify_every
        if every is not None and not (is_count(every) and every >= 1):
            raise ValueError(f"certify_every must be None or an integer >= 1, got {every!r}")
        return DykstraState(
            W=point.W.copy(),
            alpha=point.multipliers.copy(),
            order=get_order(self.order),
            rng=rng,
            slack=compile_slack(problem.slack),
            visited=np.zeros((2, problem.n_pairs)),
        )

    def step(self, problem: MetricProblem, state: DykstraState) -> None:
        order = state.order.epoch(problem.n_pairs, state.rng)
        if state.skips_idle and state.n_epochs % _IDLE_EVERY:
            order = order[_busy(problem, state)[order]]
        state.n_epochs += 1
        moved, idle = state.counts.tolist()
        per_call = max(1, int(OPERATIONS_PER_SWEEP / (10 * problem.n**2 * problem.m)))
        for start in range(0, len(order), per_call):
            check_interrupt()
            self._sweep(problem, state, order[start : start + per_call])
        state.epochs_since_certificate += 1
        moved_now, idle_now = state.counts.tolist()
        work = sweep_seconds(problem.n, problem.m, moved_now - moved, idle_now - idle)
        state.work_since_certificate += work
        state.work_since_estimate += work

    def _sweep(self, problem: MetricProblem, state: DykstraState, order: IntArray) -> None:
        """Visit the pairs; after a breakdown, rebuild W from the multipliers and continue with the same pair."""
        from covmetric.solvers.kernels import block_projection, projection

        in_blocks = visits_blocks(problem.n, problem.m)
        rebuilt = False
        while len(order):
            before = sum(state.counts.tolist())
            arguments = (
                state.W, state.alpha, problem.sums.rows, problem.pairs, problem.similar, problem.bounds,
                problem.weights, order, *state.slack.addresses, state.counts, state.visited,
            )  # fmt: skip
            if in_blocks:
                status = block_projection.sweep_blocks(*arguments, BLOCK_COLUMNS // problem.m)
            else:
                status = projection.sweep(*arguments)
            done = sum(state.counts.tolist()) - before
            state.visits += done
            if status == projection.DONE:
                return
            if done == 0 and rebuilt:
                raise StepFailed
            order = order[done:]
            self._rebuild(problem, state)
            rebuilt = True

    def _rebuild(self, problem: MetricProblem, state: DykstraState, tol: float = 0.0) -> None:
        try:
            state.W = problem.metric(state.alpha, tol).copy()
        except ValueError:
            # Rounding errors have moved the multipliers just out of the dual domain.
            point = problem.certified(None, state.alpha)
            state.W, state.alpha = point.W.copy(), point.multipliers.copy()

    def due(self, problem: MetricProblem, state: DykstraState, tol: float) -> bool:
        if self.certify_every is not None:
            return state.epochs_since_certificate >= self.certify_every
        has_triangles = problem.sums.lower_triangles() is not None
        cost = certificate_seconds(problem.n, problem.m, problem.n_pairs, has_triangles)
        return state.work_since_certificate >= cost / CERTIFICATE_FRACTION

    def estimated_gap(self, problem: MetricProblem, state: DykstraState) -> float:
        """Estimate the relative gap without a pass over the pairs.

        Because W (I + S) = I, the gap is a sum over the pairs, sum_k c_k (d+(s_k) - h(t_k) - t_k s_k), where d+ is the
        loss of a pair, zero if it is not active. No term is negative. The sweep knows s_k and t_k before each
        projection, so the estimate is that of a moment within the last epoch.
        The call sets `state.work_since_estimate` to 0.

        Parameters
        ----------
        problem : MetricProblem
            The problem.
        state : DykstraState
            The state after an epoch.

        Returns
        -------
        float
            The estimate. It is infinite if the metric is not positive definite.
        """
        state.work_since_estimate = 0.0
        (s, t), c, slack = state.visited, problem.weights, problem.slack
        root, failed = lapack.dpotrf(state.W, lower=True)
        if failed:
            return np.inf
        active = problem.terms.active(s)
        losses, duals = float(c[active] @ slack.divergence(s[active])), float(c @ slack.conjugate(t))
        gap = losses - duals - float(c @ (t * s))
        primal = gap + duals - 2.0 * float(np.log(root.diagonal()).sum())
        return gap / max(1.0, abs(primal)) if np.isfinite(gap) else np.inf

    def candidate(self, state: DykstraState) -> tuple[None, FloatArray]:
        return None, state.alpha.copy()  # the kernel changes the multipliers in place

    def resume(self, problem: MetricProblem, state: DykstraState, point: CertifiedPoint) -> None:
        state.epochs_since_certificate = 0
        state.work_since_certificate = state.work_since_estimate = 0.0
        if point.derived and np.array_equal(point.multipliers, state.alpha):
            state.W = point.W.copy()
        else:
            self._rebuild(problem, state, point.certificate.tol)
        factor, failed = lapack.dpotrf(state.W, lower=True)
        state.degenerate_certificates = state.degenerate_certificates + 1 if failed or is_degenerate(factor) else 0
        if state.degenerate_certificates > _MAX_DEGENERATE:
            raise StepFailed  # more epochs do not help

    def projections(self, state: DykstraState) -> int:
        return state.visits


def _busy(problem: MetricProblem, state: DykstraState) -> npt.NDArray[np.bool_]:
    """Return which pairs have a multiplier, or violated their bound at their last visit."""
    return (state.alpha > 0.0) | problem.terms.active(state.visited[0])
