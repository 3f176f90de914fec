"""Vectorised logarithms of many channels: the whole problem against the same problem in the coordinates of its span.

``python -m benchmarks.span`` solves simulated tangent vectors of 63 channels (n = 2,016, 600 examples) and of 128
channels (n = 8,256, 300 examples), each in a process of its own, and prints the best of three interleaved times. The
ratio contains the cost of the reduction. ``python -m benchmarks.span crossover`` prints, for smaller n, the times with
and without the reduction, from which the constants in `covmetric._utils.tuning` were chosen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.memory import peak_kilobytes
from benchmarks.problems import labelled_problem, simulated_classes
from covmetric import MetricProblem, get_embedding, solve
from covmetric.datasets import make_spd_classes
from covmetric.problem import reduce_to_span, span

# Channels, examples and pairs.
CASES = ((63, 600, 3000), (128, 300, 3000))
LAMBDAS = (1e-2, 1e-4)
REPEATS = 3


def tangent_problem(channels: int, count: int, K: int, lam: float) -> MetricProblem:
    """Return a problem on vectorised logarithms of simulated covariance matrices in five classes."""
    data = make_spd_classes(
        n_classes=5, n_per_class=count // 5, n=channels, n_informative=channels // 4, samples=4 * channels
    )
    return labelled_problem(get_embedding("veclog").fit_transform(data.X), data.y, K, lam, "is")


def in_span(problem: MetricProblem) -> MetricProblem:
    """Return the same problem as a user would give it in the coordinates of its span."""
    reduced = reduce_to_span(problem).problem
    return MetricProblem(reduced.embedded, problem.pairs, problem.similar, problem.bounds, problem.weights, "is")


def timed(problem: MetricProblem, solver: str):
    """Return the time of a solve, and its result."""
    start = time.perf_counter()
    result = solve(problem, solver, random_state=0)
    return time.perf_counter() - start, result


def case(channels: int, count: int, K: int, lam: float, solver: str = "auto", repeats: int = REPEATS) -> dict:
    """Return the times, the ratio, the status and the peak memory of one problem."""
    problem = tangent_problem(channels, count, K, lam)
    timed(problem.replace(keep=np.arange(20)), solver)  # imports and compiled code
    start = time.perf_counter()
    whole, result = timed(problem, solver)
    peak = peak_kilobytes() / 1024.0  # before the second problem exists
    given, best = in_span(problem), [whole, np.inf]
    for repeat in range(repeats):
        best[1] = min(best[1], timed(given, solver)[0])
        if repeat < repeats - 1:
            best[0] = min(best[0], timed(problem, solver)[0])
    return {
        "n": problem.n,
        "examples": count,
        "r": given.n,
        "lam": lam,
        "solver": solver,
        "whole": best[0],
        "span": best[1],
        "ratio": best[0] / best[1],
        "status": result.status.name,
        "gap": result.certificate.relative_gap,
        "rounding": result.certificate.rounding,
        "megabytes": peak,
        "elapsed": time.perf_counter() - start,
    }


def crossover() -> None:
    """Print the time of a solve with and without the reduction, for small n."""
    print(f"{'n':>6} {'m':>3} {'examples':>9} {'r':>5} {'with':>10} {'without':>10} {'ratio':>7}")
    few = [(n, 1, count, None) for n in (8, 16, 32, 64, 128) for count in (n // 2, 9 * n // 10)]
    many = [(n, 1, 3 * n, rank) for n in (64, 128, 256) for rank in (n // 2, 9 * n // 10, None)]
    full = [(n, n, 40, None) for n in (64, 128, 200)]
    for n, m, count, rank in few + many + full:
        embedded, labels = simulated_classes(n, count, m if m < n else None, classes=2)
        if rank is not None:
            Q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, rank)))[0]
            embedded = Q @ (Q.T @ embedded)
        problem = labelled_problem(embedded, labels, 10 * n, 1e-2, "is")
        constants, times, sizes = (span.SPAN_ROWS, span.SPAN_MANY_ROWS), [np.inf, np.inf], [n, n]
        for _ in range(REPEATS):
            for k, rows in enumerate((1, 10**9)):
                span.SPAN_ROWS = span.SPAN_MANY_ROWS = rows
                seconds, result = timed(problem, "auto")
                times[k], sizes[k] = min(times[k], seconds), len(result.core)
        span.SPAN_ROWS, span.SPAN_MANY_ROWS = constants
        ratio = times[0] / times[1]
        print(f"{n:>6} {m:>3} {count:>9} {sizes[0]:>5} {times[0]:>10.5f} {times[1]:>10.5f} {ratio:>7.2f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["--case"]:
        channels, count, K = (int(value) for value in given[1:4])
        print(json.dumps(case(channels, count, K, float(given[4]), *given[5:6])))
        return
    if given == ["crossover"]:
        crossover()
        return
    if len(given) > 1:
        raise SystemExit(f"unknown arguments {given}; the arguments are 'crossover', or the name of a solver")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    print(f"{'n':>6} {'examples':>9} {'r':>5} {'lambda':>8} {'whole':>8} {'in span':>8} {'ratio':>6} {'MB':>6}  status")
    for channels, count, K in CASES:
        for lam in LAMBDAS:
            command = [sys.executable, "-m", "benchmarks.span", "--case", *map(str, (channels, count, K, lam)), *given]
            output = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment, cwd=Path(__file__).parents[1]
            ).stdout
            row = json.loads(output.splitlines()[-1])
            print(
                f"{row['n']:>6} {row['examples']:>9} {row['r']:>5} {row['lam']:>8.0e} {row['whole']:>7.2f}s "
                f"{row['span']:>7.2f}s {row['ratio']:>6.2f} {row['megabytes']:>6.0f}  {row['status']} "
                f"(gap {row['gap']:.1e}, rounding {row['rounding']:.1e})",
                flush=True,
            )


if __name__ == "__main__":
    main()
