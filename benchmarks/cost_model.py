"""A model of the time of a solve in blocks: the section `model` of `benchmarks.scale`.

A solve makes passes over the pairs, which come from a recipe. With K pairs, w workers and T tasks per pass, it takes

    sum over passes of  o_0 + o_1 T + K f(n, m, l) i / w,    i = ceil(T / w) / (T / w),

where f is the time of the processor per pair, a sum of terms with coefficients c >= 0 that are fitted for each kind of
pass, and o_0 + o_1 T what Dask needs for a pass, fitted to passes that compute nothing.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.clusters import two_workers
from benchmarks.many_pairs import Passes, TimedThreads, recipe_problem
from covmetric import solve
from covmetric._utils.tuning import MAX_RANGES
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import PairPass, RecipePairs, block_pairs
from covmetric.problem.blocks.dask import DaskExecutor
from covmetric.solvers.blocks.choice import matrix_spacing

#: Kinds of passes with similar costs. All others are certificates.
KINDS = {
    "start": ("CheckPass", "MultiplePass"),
    "system": ("GradientPass",),
    "step": ("RayPass", "CandidatePass", "StepLossPass"),
    "product": ("HessianPass", "PreconditionerPass"),
    "certificate": (),
}
#: n, m and l of the solves to which the model is fitted.
SOLVES = (
    (4, 4, 500), (4, 4, 2000), (9, 1, 500), (9, 1, 2000), (9, 9, 500), (9, 9, 2000), (16, 1, 500), (16, 1, 2000),
    (16, 16, 500), (16, 16, 2000), (25, 1, 2000), (25, 25, 500), (25, 25, 2000),
)  # fmt: skip
#: n = m, K and the number of workers of the predictions.
PREDICTIONS = (
    (9, 10**6, 2), (9, 10**7, 2), (9, 10**8, 2), (9, 10**9, 16), (9, 10**9, 100), (16, 10**9, 100), (25, 10**9, 100),
)  # fmt: skip
TERMS = ("1", "n m", "n^2 m", "n^2 m l/q", "p^2")


def terms(n: int, m: int, examples: int) -> list[float]:
    """Return the terms of f. Examples are transformed once per block of q pairs; p = n (n + 1) / 2.

    The last term is that of the matrix of a system.
    """
    square, p = float(n * n * m), n * (n + 1) / 2
    return [1.0, float(n * m), square, square * examples / block_pairs(n, m), p * p]


def kind_of(name: str, dense: bool) -> str:
    """Return the kind of a pass. Without a matrix, the gradient is a sum like the products of conjugate gradients."""
    if name == "GradientPass" and not dense:
        return "product"
    return next((kind for kind, names in KINDS.items() if name in names), "certificate")


@dataclass(frozen=True)
class Measured:
    """A solve: its sizes n, m and l, and passes and seconds of the processor per pair and pass, by kind."""

    sizes: tuple[int, int, int]
    passes: dict[str, int]
    per_pair: dict[str, float]


class NothingPass(PairPass):
    """A pass that computes nothing."""

    def of_block(self, block: Any) -> tuple[float]:
        """Return a number."""
        return (0.0,)


class ManyTasks(DaskExecutor):
    """Workers that are given as many tasks as if there were more of them."""

    @staticmethod
    def tasks_for(n_threads: int) -> int:
        """Return the largest number of tasks."""
        return max(n_threads, MAX_RANGES)


class EmptyBlocks(RecipePairs):
    """Blocks that are not made."""

    def block(self, index: int) -> Any:
        """Return nothing."""
        return None


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the section."""
    parser.add_argument("--pairs", type=int, default=100_000, help="pairs of the solves (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=1000, help="MB of memory per worker (default: %(default)s)")


def run(options: argparse.Namespace) -> None:
    """Print the coefficients, how well the model fits, and its predictions."""
    measured = [_measured(*sizes, options.pairs) for sizes in SOLVES]
    coefficients = {kind: _fitted(kind, measured) for kind in KINDS}
    print("Nanoseconds per pair and pass:")
    print(f"{'':>12} " + " ".join(f"{name:>10}" for name in TERMS) + f" {'largest error':>14}")
    for kind, (values, error) in coefficients.items():
        print(f"{kind:>12} " + " ".join(f"{1e9 * value:>10.3g}" for value in values) + f" {error:>13.0%}")
    with two_workers(options.limit) as client:
        overhead = _overhead(client)
    print(f"\nOverhead of Dask per pass: {1e3 * overhead[0]:.1f} ms + {1e3 * overhead[1]:.2f} ms per task\n")
    print("Predictions, 2,000 examples, m = n, lambda = 1e-2:")
    print(f"{'n':>4} {'K':>14} {'workers':>7} {'passes':>6} {'tasks':>6} {'of it Dask':>10} {'seconds':>9}")
    for n, K, workers in PREDICTIONS:
        passes = next(one.passes for one in measured if one.sizes == (n, n, 2000))
        tasks = len(recipe_problem(n, K, 1e-2).source.ranges(DaskExecutor.tasks_for(workers)))
        dask = sum(passes.values()) * (overhead[0] + overhead[1] * tasks)
        work = K * sum(count * coefficients[kind][0] @ terms(n, n, 2000) for kind, count in passes.items())
        rounds = math.ceil(tasks / workers) / (tasks / workers)
        print(
            f"{n:>4} {K:>14,} {workers:>7} {sum(passes.values()):>6} {tasks:>6} {dask:>10.1f} "
            f"{dask + work * rounds / workers:>9.1f}"
        )


def _measured(n: int, m: int, examples: int, K: int) -> Measured:
    """Solve a problem twice, and return the better times of the processor."""
    problem = recipe_problem(n, K, 1e-2, None if m == n else m, examples)
    runs = [_passes(problem) for _ in range(2)]
    dense = matrix_spacing(problem, 2**30) == 1
    passes, per_pair = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0.0)
    for name, count in runs[0].count.items():
        kind = kind_of(name, dense)
        passes[kind] += count
        per_pair[kind] += min(one.processor[name] for one in runs) / K
    means = {kind: per_pair[kind] / max(1, passes[kind]) for kind in KINDS}
    return Measured((n, m, examples), passes, means)


def _passes(problem: BlockProblem) -> Passes:
    executor = TimedThreads()
    solve(problem, executor=executor)
    return executor.passes


def _fitted(kind: str, measured: list[Measured]) -> tuple[np.ndarray, float]:
    """Return the coefficients c >= 0 with the smallest relative errors, and the largest of these errors."""
    rows = [one for one in measured if one.passes[kind]]
    seconds = np.array([one.per_pair[kind] for one in rows])
    matrix = np.array([terms(*one.sizes) for one in rows]) / seconds[:, None]
    if kind != "system":
        matrix[:, TERMS.index("p^2")] = 0.0
    values = nnls(matrix, np.ones(len(rows)))[0]
    return values, float(np.abs(matrix @ values - 1.0).max())


def _overhead(client: Any) -> np.ndarray:
    """Return the seconds of a pass that computes nothing: per pass, and per task."""
    counts, seconds = (2, 32, 128, 256), []
    for count in counts:
        found = recipe_problem(2, count * block_pairs(2, 2), 1e-2).source
        assert isinstance(found, RecipePairs)
        source = EmptyBlocks(found.examples, found.recipe, found.bounds, found.weight, found.slack)
        with ManyTasks(client) as executor:
            executor.run(source, NothingPass())  # sends the examples
            times = []
            for _ in range(5):
                started = time.perf_counter()
                executor.run(source, NothingPass())
                times.append(time.perf_counter() - started)
        seconds.append(min(times))
    matrix = np.array([[1.0, count] for count in counts])
    return nnls(matrix / np.array(seconds)[:, None], np.ones(len(counts)))[0]
