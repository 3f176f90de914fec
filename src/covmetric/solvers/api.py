"""`solve` and `solve_path`: from a problem to a certified metric."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import numpy as np

from covmetric._utils import tuning
from covmetric._utils.threads import limited_threads
from covmetric._utils.validation import (
    FloatArray,
    as_floats,
    check_n_jobs,
    check_tolerance,
    generator,
    is_count,
    positive_vector,
)
from covmetric._utils.warning import warn
from covmetric.problem import BlockProblem, CertifiedPoint, Certifying, MetricProblem, reduce_to_span
from covmetric.problem.blocks import Executor
from covmetric.solvers.base import Solver
from covmetric.solvers.blocks import BlockNewton
from covmetric.solvers.checkpoint import Checkpoint
from covmetric.solvers.executors import chosen_executor, resolve_executor
from covmetric.solvers.interrupt import DeferredInterrupts, interrupt_waits
from covmetric.solvers.loop import Callback, run
from covmetric.solvers.newton import Newton
from covmetric.solvers.registry import choose_solver, runs_in_blocks, splitting_pays
from covmetric.solvers.result import SolveResult, Status

# The generator of methods that use no random numbers.
_UNUSED_GENERATOR = np.random.default_rng(0)


def solve(
    problem: MetricProblem | BlockProblem,
    solver: str | Solver[Any] = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    random_state: Any = None,
    warm_start: Any = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    checkpoint: Any = None,
) -> SolveResult:
    """Solve a metric learning problem, and prove how close to optimal the solution is.

    If the differences of the pairs span far fewer than n directions, the problem is solved within their span, which is
    exact. The result then holds the metric in the coordinates of the span; see `SolveResult`.

    Problems with many pairs are solved in blocks of pairs by Newton's method, with 'auto' and 'newton'. The result has
    the same bits for any `n_jobs` and for any `executor` on machines of the same kind.

    Parameters
    ----------
    problem : MetricProblem or BlockProblem
        The problem.
    solver : {'auto', 'newton', 'dykstra', 'hybrid', 'interior'} or Solver, default='auto'
        'dykstra' is the paper's method in permuted order; for the other orders, pass `Dykstra(order=...)`. 'newton' is
        a second-order method, and 'interior' an interior-point method for problems on which the others crawl. 'hybrid'
        combines the three, beginning with Dykstra. 'auto' is the hybrid that begins with Dykstra or with Newton,
        whichever is expected to be faster (docs/performance/solvers.md).
    tol : float, default=1e-6
        The tolerance on the relative gap, gap / max(1, |primal|). 0 disables the gap and stall tests: the solver makes
        exactly `max_iter` iterations, and the status is MAX_ITER without a warning.
    max_iter : int or None, default=None
        The limit on the number of iterations: steps (Newton, interior), epochs of K projections (Dykstra), or both
        (hybrid). None means the default of the solver.
    random_state : int, numpy Generator or RandomState, or None, default=None
        The seed of the random orders. The same int always gives the same bits.
    warm_start : array of shape (K,), SolveResult or None, default=None
        Multipliers to start from. They are repaired if they are not feasible for this problem.
    callback : callable or None, default=None
        Called with a `SolverState` after each certificate. The solve stops if it returns True.
    n_jobs : int or None, default=None
        The number of threads that run the blocks of a problem with many pairs: None means 1, and -1 all cores. Smaller
        problems use one thread.
    executor : dask.distributed.Client, 'dask', Executor or None, default=None
        Runs the blocks on the workers of a cluster instead of threads; 'dask' is the current client. The examples are
        sent once; a step moves matrices of shape (n, n). 'dykstra', 'hybrid' and 'interior', which need all pairs at
        once, are then refused. A problem that is too small for blocks is solved in this process.
    checkpoint : path-like or None, default=None
        A file to which a solve in blocks saves its state after each step. If the file exists, the solve resumes from
        it, with the same result as without the interruption. The file is removed when the problem is solved.

    Returns
    -------
    SolveResult
        The metric and its certificate. After Ctrl-C, or if the cluster is lost, the best metric so far, with status
        INTERRUPTED.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        Unless the status is SOLVED, or MAX_ITER with tol = 0.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve
    >>> result = solve(make_paper_problem(n=5, K=20, seed=0), tol=1e-9)
    >>> result.status.name, result.certificate.relative_gap <= 1e-9
    ('SOLVED', True)
    """
    started = time.perf_counter()
    blocks = _Blocks(solver, n_jobs, executor, checkpoint)
    settings = (tol, max_iter, random_state, warm_start, callback)
    if isinstance(problem, BlockProblem):
        blocks.check_solver()
        with DeferredInterrupts(), blocks:
            return blocks.solve(problem, None, started, *settings)
    _check_problem(problem, "a MetricProblem or a BlockProblem")
    with DeferredInterrupts(), blocks:
        reduced, basis = _reduced(problem)
        if blocks.pay(reduced):
            return blocks.solve(blocks.split(reduced), basis, started, *settings)
        with reduced.sums.in_use():
            return _solve(reduced, basis, started, solver, *settings)


def _check_problem(problem: Any, kinds: str = "a MetricProblem") -> None:
    if not isinstance(problem, MetricProblem):
        raise ValueError(f"problem must be {kinds}, got {type(problem).__name__}")


def _reduced(problem: MetricProblem) -> tuple[MetricProblem, FloatArray | None]:
    """Return the problem in the coordinates of the span of its differences, and their basis, if that is smaller."""
    reduction = reduce_to_span(problem)
    return (problem, None) if reduction is None else (reduction.problem, reduction.basis)


class _Blocks:
    """Solves of problems in blocks, with one executor for all problems of a call."""

    def __init__(self, solver: str | Solver[Any], n_jobs: int | None, executor: Any, checkpoint: Any) -> None:
        check_n_jobs(n_jobs)
        self._n_jobs, self._executor = chosen_executor(n_jobs, executor)
        self._solver, self._checkpoint = solver, checkpoint
        self._resolved: Executor | None = None
        self._stack = ExitStack()
        if self._executor is not None or checkpoint is not None:
            self.check_solver()

    def __enter__(self) -> _Blocks:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _running_executor(self) -> Executor:
        """Return the executor, which is created once; one that the user has given is not closed at the end."""
        if self._resolved is None:
            self._resolved = resolve_executor(self._executor, self._n_jobs)
            if self._resolved is not self._executor:
                self._stack.enter_context(self._resolved)
        return self._resolved

    def check_solver(self) -> None:
        """Refuse solvers that need all pairs at once."""
        if not runs_in_blocks(self._solver):
            name = self._solver if isinstance(self._solver, str) else type(self._solver).__name__
            raise ValueError(
                f"solver {name!r} needs all pairs at once: it works neither with an executor, nor with a checkpoint, "
                "nor on a BlockProblem; choose solver='auto' or 'newton'"
            )

    def pay(self, problem: MetricProblem) -> bool:
        """Return whether a problem is solved in blocks, which must not depend on what runs them."""
        return runs_in_blocks(self._solver) and (self._checkpoint is not None or splitting_pays(problem, self._solver))

    @property
    def _memory(self) -> float:
        return self._solver.memory if type(self._solver) is Newton else 2**30

    def split(self, problem: MetricProblem) -> BlockProblem:
        """Return the problem in blocks."""
        return BlockProblem.split(problem, memory=self._memory)

    def solve(
        self,
        problem: BlockProblem,
        basis: FloatArray | None,
        started: float,
        tol: float,
        max_iter: int | None,
        random_state: Any,
        warm_start: Any,
        callback: Callback | None,
    ) -> SolveResult:
        """Solve a problem. The caller defers interrupts."""
        solver = BlockNewton(self._memory)
        checkpoint = None if self._checkpoint is None else Checkpoint(self._checkpoint, problem, tol)
        running = problem.with_executor(self._running_executor())
        try:
            running.check()
            return _solve(
                running, basis, started, solver, tol, max_iter, random_state, warm_start, callback, checkpoint
            )
        finally:
            running.release()


def _solve(
    problem: Any,
    basis: FloatArray | None,
    started: float,
    solver: str | Solver[Any],
    tol: float,
    max_iter: int | None,
    random_state: Any,
    warm_start: Any,
    callback: Callback | None,
    checkpoint: Checkpoint | None = None,
) -> SolveResult:
    """Solve a problem, but keep the sums over pairs for the next solve. The caller defers interrupts."""
    chosen = solver if isinstance(problem, BlockProblem) else choose_solver(solver, problem)
    assert isinstance(chosen, Solver)
    check_tolerance(tol)
    limit = chosen.default_max_iter if max_iter is None else max_iter
    if not is_count(limit):
        raise ValueError(f"max_iter must be None or an integer >= 0, got {max_iter!r}")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be None or callable, got {callback!r}")
    threads = 1 if problem.n < tuning.ONE_THREAD_BELOW else None
    with np.errstate(all="ignore"), limited_threads(threads, "blas"):
        result = run(
            problem,
            chosen,
            tol=float(tol),
            max_iter=int(limit),
            start=_start(problem, warm_start, float(tol), basis),
            started=started,
            rng=_generator(chosen, random_state),
            callback=callback,
            basis=basis,
            checkpoint=checkpoint,
        )
        if interrupt_waits():  # the solve has already ended, but the caller may have more work to stop
            result = result.with_status(Status.INTERRUPTED)
        if result.status is not Status.SOLVED and not (tol == 0.0 and result.status is Status.MAX_ITER):
            _warn(result)
    return result


def solve_path(
    problem: MetricProblem,
    lambdas: Any,
    solver: str | Solver[Any] = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    random_state: Any = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
) -> list[SolveResult]:
    """Solve a problem for several values of lambda, each from the solution of the previous one.

    Parameters
    ----------
    problem : MetricProblem
        The problem at lambda = 1. Its weights are divided by each lambda.
    lambdas : sequence of float
        Positive numbers, in any order. They are processed from the largest to the smallest.
    solver : {'auto', 'newton', 'dykstra', 'hybrid', 'interior'} or Solver, default='auto'
        The solver, as in `solve`.
    tol : float, default=1e-6
        The tolerance on the relative gap of each solution.
    max_iter : int or None, default=None
        The limit on the number of iterations of each solve.
    random_state : int, numpy Generator or RandomState, or None, default=None
        The seed of the random orders.
    callback : callable or None, default=None
        Called with a `SolverState` after each certificate. The whole path stops if it returns True.
    n_jobs : int or None, default=None
        The number of threads of problems with many pairs, as in `solve`.
    executor : dask.distributed.Client, 'dask', Executor or None, default=None
        Runs the blocks of problems with many pairs on a cluster, as in `solve`.

    Returns
    -------
    list of SolveResult
        The results in the order of `lambdas`, each with a certificate. After Ctrl-C, the list contains only the
        solutions that were reached, and the last of these has status INTERRUPTED.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve_path
    >>> problem = make_paper_problem(n=5, K=20, lam=1.0, seed=0)
    >>> [r.status.name for r in solve_path(problem, [1e-1, 1e-2, 1e-3])]
    ['SOLVED', 'SOLVED', 'SOLVED']
    """
    _check_problem(problem)
    blocks = _Blocks(solver, n_jobs, executor, None)
    values = as_floats("lambdas", lambdas)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"lambdas must be a sequence of at least one number, got shape {values.shape}")
    positive_vector("lambdas", values, len(values))
    results: dict[int, SolveResult] = {}
    last = None
    started = time.perf_counter()
    with DeferredInterrupts(), blocks:
        reduced, basis = _reduced(problem)
        with reduced.sums.in_use():
            for i in np.argsort(-values, kind="stable"):
                scaled = reduced.replace(weights=reduced.weights / values[i])
                settings = (tol, max_iter, random_state, last, callback)
                if blocks.pay(scaled):
                    last = blocks.solve(blocks.split(scaled), basis, started, *settings)
                else:
                    last = _solve(scaled, basis, started, solver, *settings)
                results[int(i)] = last
                if last.status is Status.INTERRUPTED:
                    break
                started = time.perf_counter()
    return [results[i] for i in sorted(results)]


def _generator(solver: Solver[Any], random_state: Any) -> np.random.Generator:
    """Return the source of random numbers. Creating one takes a few percent of the time of a small solve."""
    if random_state is None and not solver.is_random:
        return _UNUSED_GENERATOR
    return generator(solver.default_seed if random_state is None else random_state)


def _start(problem: Certifying, warm_start: Any, tol: float, basis: FloatArray | None) -> CertifiedPoint:
    """Return the feasible multipliers to start from, and their metric."""
    if warm_start is None:
        return problem.certified_arrays(np.eye(problem.n), problem.zero_multipliers(), tol)
    if not problem.in_memory and isinstance(warm_start, SolveResult) and warm_start.is_deferred:
        same = (warm_start.basis is None and basis is None) or (
            warm_start.basis is not None and basis is not None and np.array_equal(warm_start.basis, basis)
        )
        if same and warm_start.core.shape == (problem.n,) * 2:
            # The metric is enough, and gathering the multipliers would take a pass over the pairs.
            return problem.certified_arrays(warm_start.core, None, tol)
    multipliers = warm_start.multipliers if isinstance(warm_start, SolveResult) else warm_start
    try:
        return problem.certified(None, multipliers, tol)
    except ValueError as error:
        raise ValueError(f"warm_start does not fit the problem: {error}") from None


def _warn(result: SolveResult) -> None:
    from sklearn.exceptions import ConvergenceWarning  # scikit-learn takes a second to import

    certificate = result.certificate
    warn(
        f"{result.status.name} after {result.n_iter} iterations, relative gap {certificate.relative_gap:.3g} with "
        f"tolerance {certificate.tol:.3g}: {result.status.message}",
        ConvergenceWarning,
    )
