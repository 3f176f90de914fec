"""The choice that "auto" makes, on seeded problems of all shapes.

``python -m benchmarks.cells [--cells 100] [--first 0] [--seconds 2] [--file FILE]`` draws problems with n from 5 to
400, m = 1, 2 or n, K from 10 to 1e5, lambda from 1e-1 to 1e-6 and the three slacks, each under 1 GB, and times the
solvers on each of them to 1e-6, in turn, on one BLAS thread. There are at least two rounds, and more until `--seconds`
have passed; the best of the rounds counts, and a first solve is not timed. A solver is stopped at ten times the fastest
time. All times are those of the processor, so that other jobs hardly matter. With a file, finished cells are kept, so
that a stopped run resumes.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from covmetric import MetricProblem, solve

#: The solvers whose best time "auto" is compared with.
RIVALS = ("hybrid", "newton", "dykstra")
_MAX_OPERATIONS, _MAX_BYTES, _CAP, _MAX_ROUNDS = 2e9, 2**29, 10.0, 12


def draw(seed: int) -> tuple[dict, MetricProblem]:
    """Return the settings of a cell and its problem."""
    rng = np.random.default_rng(seed)
    while True:
        n = round(5 * 80 ** rng.random())
        m = int(rng.choice([1, 2, n]))
        K = round(10 ** rng.uniform(1, 5))
        count = int(np.clip(round(2.0 * K ** rng.uniform(0.5, 0.9)), 6, 5000))
        if K * n * n * m <= _MAX_OPERATIONS and 8.0 * count * n * m <= _MAX_BYTES:
            break
    lam, slack = 10.0 ** rng.uniform(-6, -1), str(rng.choice(["is", "l2", "re"]))
    classes = rng.integers(0, rng.integers(2, 11), count)
    centres = rng.standard_normal((11, n, m))
    examples = centres[classes] * rng.uniform(0.2, 1.0) + rng.standard_normal((count, n, m)) * np.exp(
        rng.standard_normal((1, n, 1))
    )
    i = rng.integers(0, count, 4 * K)
    j = (i + rng.integers(1, count, 4 * K)) % count
    same = classes[i] == classes[j]
    order = np.argsort(np.where(same, rng.random(4 * K), 1.0 - rng.random(4 * K) * (1.0 - same.mean())), kind="stable")
    pick = np.sort(order[:K])
    pairs, similar = np.stack([i, j], axis=1)[pick], np.where(same[pick], 1, -1)
    probe = MetricProblem(examples, pairs, similar, 1.0, 1.0, slack)
    median = float(np.median(probe.squared_norms))
    bounds = (
        np.where(similar > 0, 0.05, 0.95) * median
        if rng.random() < 0.5
        else np.where(similar > 0, *np.quantile(probe.squared_norms, [0.05, 0.95]))
    )
    settings = {"seed": seed, "n": n, "m": m, "K": K, "lam": float(f"{lam:.2g}"), "slack": slack, "examples": count}
    return settings, probe.replace(bounds=bounds, weights=1.0 / (lam * K))


def seconds(problem: MetricProblem, solver, limit: float) -> tuple[float, str, int]:
    """Return the time, the status and the iterations of a solve that is stopped after a time."""
    fresh = problem.replace(keep=np.arange(problem.n_pairs))
    started = time.process_time()
    result = solve(fresh, solver, random_state=0, callback=lambda state: time.process_time() - started > limit)
    return time.process_time() - started, result.status.name, result.n_iter


def measure(problem: MetricProblem, at_least: float) -> dict[str, list]:
    """Return the best time, the status and the iterations of each solver, in two rounds or more."""
    best: dict[str, list] = {}
    seconds(problem, "auto", 60.0)  # the first solve of a large problem also waits for memory
    started = time.process_time()
    for number in range(_MAX_ROUNDS):
        if number > 1 and time.process_time() - started > at_least:
            break
        for name in ("auto", *RIVALS):
            solved = [row[0] for row in best.values() if row[1] == "SOLVED"]
            limit = _CAP * min(solved, default=60.0)
            if name in best and best[name][0] > limit:
                continue  # it was stopped
            row = list(seconds(problem, name, limit))
            if name not in best or row[0] < best[name][0]:
                best[name] = row
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first cell")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    done = json.loads(options.file.read_text()) if options.file and options.file.is_file() else {}
    names, seeds = ["auto", *RIVALS], range(options.first, options.first + options.cells)
    print(f"{'seed':>4} {'n':>4} {'m':>4} {'K':>6} {'lambda':>8} slack " + " ".join(f"{name:>13}" for name in names))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        _compile()
        for seed in seeds:
            if str(seed) not in done:
                settings, problem = draw(seed)
                done[str(seed)] = {**settings, "times": measure(problem, options.seconds)}
                if options.file:
                    options.file.write_text(json.dumps(done))
            cell = done[str(seed)]
            marks = [_mark(cell["times"][name]) for name in names]
            head = f"{seed:>4} {cell['n']:>4} {cell['m']:>4} {cell['K']:>6} {cell['lam']:>8.1e} {cell['slack']:>5}"
            print(head, *(f"{mark:>13}" for mark in marks), f"{_ratio(cell):6.2f}", flush=True)
    ratios = np.array([_ratio(done[str(seed)]) for seed in seeds])
    print(
        f"\nauto over the best of {', '.join(RIVALS)}: {np.exp(np.log(ratios).mean()):.2f} in the geometric mean, at "
        f"most 1.5 times on {(ratios <= 1.5).sum()} of {len(ratios)}; worst {ratios.max():.2f}"
    )


def _compile() -> None:
    """Solve small problems of all shapes with all solvers, so that no kernel is compiled while it is timed."""
    for m in (1, 2, 5):
        problem = MetricProblem.from_differences(
            np.random.default_rng(0).standard_normal((60, 5, m)), np.ones(60), 1.0, 1.0
        )
        for name in ("auto", "interior", *RIVALS):
            solve(problem, name)


def _mark(row: list) -> str:
    return f"{1e3 * row[0]:.1f}" + ("" if row[1] == "SOLVED" else "*") + f" ({row[2]})"


def _ratio(cell: dict) -> float:
    """Return the time of auto over the best time of a solver that solved the problem."""
    times = cell["times"]
    best = min((times[name][0] for name in RIVALS if times[name][1] == "SOLVED"), default=np.nan)
    return float(times["auto"][0] / best) if times["auto"][1] == "SOLVED" else np.inf


if __name__ == "__main__":
    main()
