"""Hostile problems: how often each solver proves the tolerance, and in how many iterations.

``python -m benchmarks.hostile [--seeds 2000] [--solvers auto newton] [--file FILE]`` solves problems with n <= 14,
m <= 2n and K <= 80, lambda from 10 to 1e-7, scales, ranks, contradictions, weights and bounds over six decades, and
examples of different classes that differ by a rounding error, with the default settings to 1e-6. Every SOLVED is
checked in exact arithmetic where n <= 6. With a file, finished seeds are kept, so that a stopped run resumes. With
--precise, the condition of the optimal W of each problem that ends as NUMERICAL_ERROR is computed with 60 digits. With
--cvxpy N, Clarabel judges the first N seeds: its metric must not be better than ours by more than the tolerance.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.precise import condition, optimal_metric
from covmetric import MetricProblem, Status, solve
from tests.exact import exact_gap
from tests.judge import solve_with_cvxpy

_TOL = 1e-6
# Clarabel counts as accurate if its metric is within this relative distance of the optimum.
_ACCURATE = 1e-4


def draw(seed: int) -> MetricProblem | None:
    """Return the problem of a seed, or None if MetricProblem refuses it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    m, K, count = int(rng.integers(1, 2 * n + 1)), int(rng.integers(1, 81)), int(rng.integers(2, 20))
    lam = 10.0 ** rng.uniform(-7, 1)
    examples = rng.standard_normal((count, n, m))
    if rng.random() < 0.3:
        rank = int(rng.integers(1, n + 1))
        examples = rng.standard_normal((n, rank)) @ rng.standard_normal((count, rank, m))
    if rng.random() < 0.4:
        examples *= 10.0 ** rng.uniform(-3, 3, (1, n, 1))
    if rng.random() < 0.5:
        examples *= 10.0 ** rng.uniform(-3, 3)
    if rng.random() < 0.1:  # nearly equal examples
        examples[-1] = examples[0] * (1.0 + 1e-15 * rng.standard_normal((n, m)))
    i, j = rng.integers(0, count, K), rng.integers(0, count - 1, K)
    F = examples[i] - examples[j + (j >= i)]
    if rng.random() < 0.3:
        F *= 10.0 ** rng.uniform(-3, 3, (K, 1, 1))
    similar = np.where(rng.random(K) < rng.random(), 1, -1)
    median = float(np.median((F**2).sum(axis=(1, 2))))
    kind = rng.random()
    if kind < 0.4:
        bounds = np.where(similar > 0, 0.05, 0.95) * median
    else:
        bounds = (median if kind < 0.7 else 1.0) * 10.0 ** rng.uniform(-3, 3, K)
    weights = np.full(K, 1.0 / (lam * K))
    if rng.random() < 0.4:
        weights = weights * 10.0 ** rng.uniform(-3, 3, K)
    try:
        return MetricProblem.from_differences(F, similar, bounds, weights, str(rng.choice(["is", "l2", "re"])))
    except ValueError:  # a dissimilar pair of equal examples, or an overflow
        return None


def check(seed: int, solver: str) -> list | None:
    """Return the status, iterations, seconds, relative gap, cond(W), and whether exact arithmetic refutes SOLVED."""
    problem = draw(seed)
    if problem is None:
        return None
    started = time.perf_counter()
    result = solve(problem, solver, tol=_TOL, random_state=0)
    seconds = time.perf_counter() - started
    refuted = False
    if result.status is Status.SOLVED and problem.n <= 6:
        refuted = not exact_gap(problem, result) <= _TOL * max(1.0, abs(result.certificate.primal))
    condition = float(np.linalg.cond(result.W))
    return [result.status.name, result.n_iter, seconds, result.certificate.relative_gap, condition, refuted]


def compare_with_cvxpy(seed: int) -> str:
    """Return "worse" if our metric is not optimal by Clarabel's, "equal", or "inaccurate" if Clarabel is no judge."""
    problem = draw(seed)
    if problem is None:
        return "refused"
    result = solve(problem, tol=_TOL, random_state=0)
    ours = result.certificate.primal
    try:
        W, _, _ = solve_with_cvxpy(problem)
        theirs = problem.primal(W)
    except Exception:  # Clarabel has many ways to fail, and W may not be positive definite
        return "inaccurate"
    unit = max(1.0, abs(ours))
    if result.status is Status.SOLVED and ours > theirs + _TOL * unit:
        return "worse"
    return "equal" if theirs <= ours + _ACCURATE * unit else "inaccurate"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--solvers", nargs="+", default=["auto", "newton"])
    parser.add_argument("--file", type=Path)
    parser.add_argument("--precise", action="store_true")
    parser.add_argument("--cvxpy", type=int, default=0, metavar="N")
    options = parser.parse_args()
    done = json.loads(options.file.read_text()) if options.file and options.file.is_file() else {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        for seed in tqdm(range(options.seeds), "hostile problems"):
            for solver in options.solvers:
                if f"{solver} {seed}" not in done:
                    done[f"{solver} {seed}"] = check(seed, solver)
            if options.file and seed % 50 == 49:
                options.file.write_text(json.dumps(done))
    if options.file:
        options.file.write_text(json.dumps(done))
    for solver in options.solvers:
        rows = {seed: done[f"{solver} {seed}"] for seed in range(options.seeds)}
        solved = {seed: row for seed, row in rows.items() if row is not None}
        counts = Counter(row[0] for row in solved.values())
        iterations = np.percentile([row[1] for row in solved.values()], [50, 90, 99, 100]).astype(int)
        total = sum(row[2] for row in solved.values())
        print(
            f"{solver}: {dict(counts)}, {len(rows) - len(solved)} refused, {sum(r[5] for r in solved.values())} refuted"
        )
        print(f"  iterations (median, 90 %, 99 %, largest) {iterations.tolist()}, {total:.1f} s in all")
        for seed, row in solved.items():
            if row[0] != "SOLVED":
                more = ""
                if options.precise and row[0] == "NUMERICAL_ERROR":
                    W, theta = optimal_metric(draw(seed))
                    more = f"; with 60 digits cond(W) {condition(W):.1e} at theta {theta:.1e}"
                print(f"  seed {seed}: {row[0]} after {row[1]}, relative gap {row[3]:.1e}, cond(W) {row[4]:.1e}{more}")
    if options.cvxpy:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            verdicts = Counter(compare_with_cvxpy(seed) for seed in tqdm(range(options.cvxpy), "CVXPY"))
        print(f"judged by Clarabel (auto): {dict(verdicts)}")


if __name__ == "__main__":
    main()
