"""The solvers of this code compared with Newton's method of an earlier commit, in one run.

``python -m benchmarks.earlier [COMMIT] [--rounds 3] [--only thin sets]`` checks the commit out in a temporary folder
(by default, the last one before there was a hybrid) and solves the same problems to 1e-6 with the code of both, in turn
and in processes of their own with one BLAS thread. Times are those of the processor; the best of the rounds counts, and
solves that take longer than three seconds are timed once.

`thin` has vectorised logarithms of NATOPS and JapaneseVowels, `sets` the path of lambda from 1e-1 to 1e-6 on image sets
of ETH-80 (400 x 400 matrices of 40 objects, all their pairs). Both need the folder that COVMETRIC_DATA names.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
#: The last commit before there was a hybrid.
COMMIT = "48bf96f"
SECTIONS = ("thin", "sets")
_LAMBDAS = 10.0 ** -np.arange(1.0, 7.0)
# Solves that take longer than this many seconds are timed once.
_LONG = 3.0


def save_problems(folder: Path, sections: list[str]) -> list[dict]:
    """Write the problems at lambda = 1 into a folder, as arrays, and return what is to be solved."""
    from benchmarks.problems import image_set_problem, neighbour_problem

    tasks = []
    if "thin" in sections:
        for name in ("NATOPS", "JapaneseVowels"):
            for per_kind in (2, 5):
                file = folder / f"{name}-{per_kind}.npz"
                _save(file, neighbour_problem(name, per_kind))
                label = f"{name}, {per_kind} per kind"
                tasks += [{"file": str(file), "label": label, "lambdas": [lam]} for lam in (1e-4, 1e-5)]
    if "sets" in sections:
        file = folder / "sets.npz"
        _save(file, image_set_problem())
        tasks.append({"file": str(file), "label": "ETH-80 image sets, path", "lambdas": _LAMBDAS.tolist()})
    return tasks


def _save(file: Path, problem) -> None:
    embedded = np.swapaxes(problem.sums.rows, 1, 2)
    arrays = {name: getattr(problem, name) for name in ("pairs", "similar", "bounds", "weights")}
    np.savez(file, embedded=embedded, **arrays)


def work(task: dict) -> dict:
    """Solve a problem with the code of this process; return the seconds, the iterations and the statuses."""
    from covmetric import MetricProblem, make_paper_problem, solve, solve_path

    with np.load(task["file"]) as file:
        embedded, pairs, similar, bounds, weights = (
            file[name] for name in ("embedded", "pairs", "similar", "bounds", "weights")
        )
    lambdas, solver = task["lambdas"], task["solver"]
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore")
        for name in ("newton", "dykstra"):
            solve(make_paper_problem(4, 6, 1e-1), name)  # compile before anything is timed
        best = np.inf
        for _ in range(task["rounds"]):
            if len(lambdas) > 1:
                problem = MetricProblem(embedded, pairs, similar, bounds, weights, "is")
                started = time.process_time()
                results = solve_path(problem, lambdas, tol=1e-6)
            else:
                problem = MetricProblem(embedded, pairs, similar, bounds, weights / lambdas[0], "is")
                started = time.process_time()
                results = [solve(problem, solver, 1e-6)]
            best = min(best, time.process_time() - started)
            if best > _LONG:
                break
    statuses = [result.status.name for result in results]
    return {"seconds": best, "iterations": sum(result.n_iter for result in results), "statuses": statuses}


def run(sources: Path, task: dict) -> dict:
    """Solve a problem with the code of a folder, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(sources), str(ROOT)))}
    command = [sys.executable, "-m", "benchmarks.earlier", "--task", json.dumps(task)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.earlier", description=__doc__.partition("\n")[0])
    parser.add_argument("commit", nargs="?", default=COMMIT, help="the earlier commit (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each solve (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="default: both")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.task:
        print(json.dumps(work(json.loads(options.task))))
        return
    from benchmarks.regression import checked_out  # which earlier code cannot import

    with tempfile.TemporaryDirectory() as folder, checked_out(options.commit) as earlier:
        tasks = save_problems(Path(folder), options.only)
        print(f"{'problem':<26} {'lambda':>14}   Newton of {options.commit:<20} hybrid (path: auto)     ratio")
        for task in tasks:
            task["rounds"] = options.rounds
            before = run(earlier / "src", {**task, "solver": "newton"})
            now = run(ROOT / "src", {**task, "solver": "hybrid"})
            lambdas = " .. ".join(
                f"{lam:.0e}" for lam in sorted({task["lambdas"][0], task["lambdas"][-1]}, reverse=True)
            )
            print(
                f"{task['label']:<26} {lambdas:>14}   {_cell(before):<30} {_cell(now):<22} "
                f"{before['seconds'] / now['seconds']:6.1f}",
                flush=True,
            )


def _cell(row: dict) -> str:
    unsolved = [status for status in row["statuses"] if status != "SOLVED"]
    return f"{row['seconds']:.3f} s ({row['iterations']})" + (f" {unsolved[0]}" if unsolved else "")


if __name__ == "__main__":
    main(sys.argv[1:])
