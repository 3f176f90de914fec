"""Solves of problems whose pairs come from a recipe: sections `pairs` and `workers` of `benchmarks.scale`.

`pairs` solves one in a process of its own, and `workers` several sizes on two worker processes. The pairs are made anew
for every pass, so that memory does not grow with their number.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.clusters import peaks, two_workers
from benchmarks.memory import peak_kilobytes
from benchmarks.problems import simulated_classes
from covmetric import solve
from covmetric.constraints import RandomPairRecipe
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import PairPass, PairSource, Threads
from covmetric.problem.blocks.dask import DaskExecutor


def recipe_problem(n: int, K: int, lam: float, m: int | None = None, examples: int = 2000) -> BlockProblem:
    """Return the problem of `benchmarks.problems.labelled_problem`, with pairs from a recipe."""
    embedded, labels = simulated_classes(n, examples, m)
    recipe = RandomPairRecipe(labels, K, seed=0)
    i, j = recipe.make(0, min(K, 20_000)).pairs.T
    scale = np.median(((embedded[i] - embedded[j]) ** 2).sum(axis=(1, 2)))
    return BlockProblem.from_recipe(embedded / np.sqrt(scale), recipe, (0.05, 0.95), 1.0 / (lam * K))


@dataclass
class Passes:
    """How often each kind of pass has run, and how long each kind took, by the clock and by the processor."""

    count: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    processor: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def timed(self, task: PairPass) -> Iterator[None]:
        """Time a pass."""
        started, worked = time.perf_counter(), time.process_time()
        yield
        name = type(task).__name__
        self.count[name] += 1
        self.seconds[name] += time.perf_counter() - started
        self.processor[name] += time.process_time() - worked


class TimedThreads(Threads):
    """Threads that time their passes."""

    def __init__(self, n_jobs: int = 1) -> None:
        super().__init__(n_jobs)
        self.passes = Passes()

    def run(self, source: PairSource, task: PairPass) -> Any:
        """Return the value of a pass."""
        with self.passes.timed(task):
            return super().run(source, task)


class TimedWorkers(DaskExecutor):
    """Workers of a cluster whose passes are timed."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.passes = Passes()

    def run(self, source: PairSource, task: PairPass) -> Any:
        """Return the value of a pass."""
        with self.passes.timed(task):
            return super().run(source, task)


def add_pairs_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the section `pairs`."""
    parser.add_argument("--pairs", type=float, default=1e7, help="number of pairs (default: %(default)g)")
    parser.add_argument("--size", type=int, default=16, help="rows of a matrix (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="number of threads (default: %(default)s)")


def run_pairs(options: argparse.Namespace) -> None:
    """Print the time and the peak memory of a solve in a process of its own."""
    K, load = int(options.pairs), os.getloadavg()[0]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        row = pool.submit(_solve_alone, options.size, K, options.jobs).result()
    print(
        f"pairs                {K:,} at n = m = {options.size}, from a recipe; as arrays {row['arrays'] / 1e6:,.0f} MB"
    )
    print(f"status               {row['status']}, {row['steps']} steps, {row['passes']} passes")
    print(f"relative gap         {row['gap']:.1e}")
    print(f"time                 {row['seconds']:.1f} s, {row['processor']:.1f} s of the processor")
    print(f"threads              {options.jobs}")
    print(f"peak of the process  {row['peak'] / 1e3:.0f} MB")
    print(f"load before          {load:.1f}")


def _solve_alone(n: int, K: int, jobs: int) -> dict[str, Any]:
    solve(recipe_problem(n, 1000, 1e-2))  # load the compiled kernels
    problem = recipe_problem(n, K, 1e-2)
    executor = TimedThreads(jobs)
    worked = time.process_time()
    result = solve(problem, executor=executor)
    return {
        "status": result.status.name,
        "steps": result.n_iter,
        "passes": executor.passes.count.total(),
        "gap": result.certificate.relative_gap,
        "seconds": result.seconds,
        "processor": time.process_time() - worked,
        "peak": peak_kilobytes(),
        "arrays": 8 * K * 5,  # two indices, y, b and c
    }


def add_workers_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the section `workers`."""
    sizes = [1e6, 1e7, 1e8]
    parser.add_argument("--pairs", type=float, nargs="+", default=sizes, help="numbers of pairs (default: 1e6 1e7 1e8)")
    parser.add_argument("--size", type=int, default=9, help="rows of a matrix (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=1000, help="MB of memory per worker (default: %(default)s)")
    parser.add_argument("--idle", type=float, default=5.0, help="seconds of an idle cluster (default: %(default)g)")


def run_workers(options: argparse.Namespace) -> None:
    """Print time, passes, bytes and memory of solves on two workers, and whether anything of the cluster is left.

    Workers tell the scheduler twice a second that they are alive, whether they work or not. "By clock" is what this
    makes up of the kB per pass: the seconds of the solve times what an idle cluster sends per second.
    """
    print(f"n = m = {options.size}, lambda = 1e-2, slack 'is', 2,000 examples, two workers of one thread each")
    print(
        f"{'K':>11} {'status':>7} {'gap':>7} {'steps':>5} {'passes':>6} {'seconds':>8} {'tasks':>5} "
        f"{'kB per pass':>11} {'by clock':>8} {'peak of the workers':>20} {'load':>5}"
    )
    with two_workers(options.limit) as client:
        pids = list(client.run(os.getpid).values())
        solve(
            recipe_problem(options.size, min(200_000, int(options.pairs[0])), 1e-2), executor=client
        )  # load the compiled kernels
        idle = _idle_rate(client, options.idle)
        for size in options.pairs:
            _print_solve(client, recipe_problem(options.size, int(size), 1e-2), idle)
    alive = [pid for pid in pids if _exists(pid)]
    print(f"workers that are left: {len(alive)}")


def _idle_rate(client: Any, seconds: float) -> float:
    """Return the bytes that an idle cluster sends per second."""
    before, started = bytes_sent(client), time.perf_counter()
    time.sleep(seconds)
    return (bytes_sent(client) - before) / (time.perf_counter() - started)


def _print_solve(client: Any, problem: BlockProblem, idle: float) -> None:
    """Print the row of a problem, on a cluster that sends so many bytes per second when it is idle."""
    executor, load = TimedWorkers(client), os.getloadavg()[0]
    before = bytes_sent(client)
    result = solve(problem, executor=executor)
    moved = bytes_sent(client) - before
    count = executor.passes.count.total()
    print(
        f"{problem.n_pairs:>11,} {result.status.name:>7} {result.certificate.relative_gap:>7.0e} {result.n_iter:>5} "
        f"{count:>6} {result.seconds:>8.1f} {executor.n_tasks:>5} "
        f"{moved / count / 1e3:>11.0f} {result.seconds * idle / count / 1e3:>8.0f} {peaks(client):>20} {load:>5.1f}",
        flush=True,
    )


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def bytes_sent(client: Any) -> int:
    """Return the bytes that client, scheduler and workers have written to their connections since the first call.

    Messages of Dask itself are counted, too, such as the heartbeats of workers.
    """
    return _written() + sum(client.run(_written).values())


def _written() -> int:
    """Return the bytes that Dask has written in this process since the first call."""
    from distributed.comm.tcp import TCP

    if not hasattr(TCP, "bytes_written"):
        original = TCP.write

        async def write(self: Any, *arguments: Any, **settings: Any) -> Any:
            count = await original(self, *arguments, **settings)
            TCP.bytes_written += count
            return count

        TCP.bytes_written, TCP.write = 0, write
    return int(TCP.bytes_written)
