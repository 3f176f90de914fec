"""What two cores can gain at most: two processes that solve the same problem at the same time, with a thread each.

They share nothing but the memory bandwidth and the caches, so that two threads can hardly gain more than they do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.solvers import without_caches
from covmetric import MetricProblem, make_paper_problem, solve
from covmetric.problem import BlockProblem

_barrier: Any = None


class TwoProcesses:
    """Two processes that solve problems at the same time."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def seconds(self, problem: MetricProblem, rounds: int, repeats: int) -> float:
        """Return how long a solve takes while the other process does the same, in the best round."""
        both = [self._pool.submit(_rounds, problem, rounds, repeats) for _ in range(2)]
        return min(max(pair) for pair in zip(*(future.result() for future in both), strict=True))


@contextmanager
def two_processes() -> Iterator[TwoProcesses]:
    """Start two processes, which have loaded the compiled kernels."""
    context = get_context("spawn")
    with ProcessPoolExecutor(2, context, _prepare, (context.Barrier(2),)) as pool:
        yield TwoProcesses(pool)


def _prepare(barrier: Any) -> None:
    global _barrier
    _barrier = barrier
    solve(make_paper_problem(4, 6, 1e-1), "newton")
    solve(BlockProblem.split(make_paper_problem(4, 6, 1e-1)))


def _rounds(problem: MetricProblem, rounds: int, repeats: int) -> list[float]:
    seconds = []
    with threadpool_limits(1, user_api="blas"):
        solve(problem, "newton", n_jobs=1)  # not timed
        for _ in range(rounds):
            problems = [without_caches(problem) for _ in range(repeats)]
            _barrier.wait()  # both tasks are running, in a process each
            started = time.perf_counter()
            for one in problems:
                solve(one, "newton", n_jobs=1)
            seconds.append((time.perf_counter() - started) / repeats)
    return seconds
