"""Solves with one thread and with two, in blocks and as a whole: the section `threads` of `benchmarks.scale`.

All ways of solving a problem take turns, and the best round of each counts. BLAS uses one thread. Wall-clock times
depend on the other jobs of the machine, so the table shows how many cores these have used during the best round with
two threads; a speedup of two needs two idle cores. Processor times hardly depend on them. The column "2 proc" has the
speedup of two processes that solve the problem at the same time, each with one thread: they share no lock and no
interpreter.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.many_pairs import TimedThreads
from benchmarks.problems import labelled_problem, simulated_classes
from benchmarks.solvers import without_caches
from benchmarks.two_processes import TwoProcesses, two_processes
from covmetric import MetricProblem, make_paper_problem, solve
from covmetric.problem import BlockProblem
from covmetric.solvers import SolveResult, registry

#: n and K of the problems that are solved in blocks, and of small ones, for which n_jobs must not cost anything.
SIZES = ((9, 1_000_000), (22, 60_000), (22, 100_000), (100, 10_000))
SMALL_SIZES = ((10, 50), (50, 1000))
LAMBDAS = (1e-2, 1e-4)


class Round(NamedTuple):
    """A solve: its seconds, the seconds of the processor, and the cores that other jobs used in the meantime."""

    seconds: float
    processor: float
    others: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the section."""
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each problem (default: %(default)s)")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for idle cores (default: %(default)g)")
    parser.add_argument("--largest", type=float, default=1e6, help="the largest number of pairs (default: %(default)g)")


def run(options: argparse.Namespace) -> None:
    """Print the times of all problems."""
    solve(make_paper_problem(4, 6, 1e-1), "newton")  # load the compiled kernels
    solve(BlockProblem.split(make_paper_problem(4, 6, 1e-1)))
    print(f"Newton to 1e-6 on simulated classes, m = n, slack 'is', best of {options.rounds}. Whole: not in blocks.")
    print("In passes: the part of the work that threads share. Others: cores that other jobs used in the best round")
    print("of two threads. 2 proc: the speedup of two processes that solve the problem at the same time.")
    print(f"\n{'':>20} {'seconds':^26} {'one/':>5} {'':>5} {'in':>6}   {'processor':^26} {'one/':>5}")
    names = f"{'whole':>8} {'one':>8} {'two':>8}"
    left, right = f"{names} {'two':>5} {'2 proc':>6} {'passes':>6}", f"{names} {'whole':>5} {'others':>6}"
    print(f"{'n':>4} {'K':>8} {'lambda':>6} {left}   {right} {'bits':>9}")
    with threadpool_limits(1, user_api="blas"), two_processes() as processes:
        for n, K in SIZES + SMALL_SIZES:
            if options.largest >= K:
                embedded, labels = simulated_classes(n, 2000 if n < 50 else 200)
                problem = labelled_problem(embedded, labels, K, 1.0, "is")
                for lam in LAMBDAS:
                    weighted = problem.replace(weights=problem.weights / lam)
                    _print_row(weighted, lam, options.rounds, options.wait, processes)


def _print_row(problem: MetricProblem, lam: float, rounds: int, wait: float, processes: TwoProcesses) -> None:
    """Print the best times of one problem."""
    ways: dict[str, Callable[[MetricProblem], SolveResult]] = {
        "whole": _solve_whole,
        "one": lambda problem: solve(problem, "newton", n_jobs=1),
        "two": lambda problem: solve(problem, "newton", n_jobs=2),
    }
    repeats = min(20, max(1, 20_000 // problem.n_pairs))  # of solves that take milliseconds
    found: dict[str, list[Round]] = {name: [] for name in ways}
    metrics = {name: way(problem).W.tobytes() for name, way in ways.items()}  # not timed
    for _ in range(rounds):
        for name, way in ways.items():
            problems = [without_caches(problem) for _ in range(repeats)]
            _wait_for_idle_cores(wait)
            found[name].append(_timed(way, problems))
    together = processes.seconds(problem, rounds, repeats)
    wall = {name: min(one.seconds for one in values) for name, values in found.items()}
    work = {name: min(one.processor for one in values) for name, values in found.items()}
    print(
        f"{problem.n:>4} {problem.n_pairs:>8} {lam:>6.0e} "
        + " ".join(f"{wall[name]:>8.4f}" for name in ways)
        + f" {wall['one'] / wall['two']:>5.2f} {2.0 * wall['one'] / together:>5.2f} "
        + f"{_in_passes(without_caches(problem)):>6.0%}   "
        + " ".join(f"{work[name]:>8.4f}" for name in ways)
        + f" {work['one'] / work['whole']:>5.2f} {min(found['two']).others:>6.2f} "
        + f"{'equal' if metrics['one'] == metrics['two'] else 'NOT EQUAL':>9}",
        flush=True,
    )


def _solve_whole(problem: MetricProblem) -> SolveResult:
    with never_split():
        return solve(problem, "newton")


def _in_passes(problem: MetricProblem) -> float:
    """Return the fraction of a solve with one thread, in time of the processor, that several threads could share."""
    executor, worked = TimedThreads(), time.process_time()
    solve(problem, "newton", executor=executor)
    return executor.passes.processor.total() / (time.process_time() - worked)


def _timed(way: Callable[[MetricProblem], SolveResult], problems: list[MetricProblem]) -> Round:
    """Return the mean of some solves in a row."""
    before, worked, started = _busy_seconds(), time.process_time(), time.perf_counter()
    for problem in problems:
        way(problem)
    seconds, processor = time.perf_counter() - started, time.process_time() - worked
    others = (_busy_seconds() - before - processor) / seconds
    return Round(seconds / len(problems), processor / len(problems), max(0.0, others))


def _wait_for_idle_cores(limit: float) -> None:
    """Wait until other jobs use less than a fifth of a core, for so many seconds at most."""
    deadline = time.perf_counter() + limit
    while time.perf_counter() < deadline:
        before = _busy_seconds()
        time.sleep(0.25)
        if _busy_seconds() - before < 0.05:
            return


def _busy_seconds() -> float:
    """Return how long the cores of this machine have been busy, or NaN where the system does not say."""
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    except OSError:
        return np.nan
    user, nice, system, _, _, *interrupts = map(int, fields[:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def never_split() -> Iterator[None]:
    """Solve problems with many pairs as a whole."""
    before = registry.SPLIT_FROM
    registry.SPLIT_FROM = 2**62
    try:
        yield
    finally:
        registry.SPLIT_FROM = before
