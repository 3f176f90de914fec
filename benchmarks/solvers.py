"""Newton's method compared with other solvers, on the paper's grid, on real problems and for many pairs.

``python -m benchmarks.solvers [grid] [real] [growth] [warm] [thin] [crossover] [blas]`` prints the tables (the first
four by default). All solvers run in one process on one BLAS thread (but for `blas`), in turn; the best of several
rounds counts. Times are those of the processor (by the clock for `blas`).

`real` uses the Brodatz and ETH-80 images in the folder that COVMETRIC_DATA names, or simulated matrices of the same
sizes without that folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.memory import peak_kilobytes
from benchmarks.problems import (
    available,
    brodatz_like,
    eth80_like,
    labelled_problem,
    neighbour_problem,
    simulated_classes,
)
from covmetric import Dykstra, Newton, make_paper_problem, solve, solve_path
from covmetric._utils import tuning
from covmetric.orders import get_order
from tests import naive

_OURS = (("newton6", "newton", 1e-6), ("newton9", "newton", 1e-9), ("auto", "auto", 1e-6))
SIZES, LAMBDAS = (10, 50, 100), (1e-2, 1e-3, 1e-4)
ROUNDS, TRIES = 5, 10
# Solves that take longer than this many seconds are timed once.
_LONG = 3.0


def timed(function, *arguments, **settings):
    """Return the processor time that a call takes, which other jobs hardly change, and its result."""
    started = time.process_time()
    result = function(*arguments, **settings)
    return time.process_time() - started, result


def literal_seconds(problem, order: str, seed: int = 0, tol: float = 1e-6) -> float:
    """Return the seconds of a literal NumPy implementation of the paper to a relative gap, without the certificates.

    NaN means that a thousand epochs are not enough.
    """
    data = naive.data(problem)
    seconds, paper = timed(naive.PaperDykstra, *data)
    rng, rule = np.random.default_rng(seed), get_order(order)
    best_primal, best_dual = np.inf, -np.inf
    for _ in range(1000):
        more, _ = timed(paper.epoch, rule.epoch(problem.n_pairs, rng))
        seconds += more
        certificate = problem.certify(None, paper.alpha)
        best_primal, best_dual = min(best_primal, certificate.primal), max(best_dual, certificate.dual)
        if best_primal - best_dual <= tol * max(1.0, abs(best_primal)):
            return seconds
    return np.nan


def lbfgs_seconds(problem, optimum: float, tol: float = 1e-6) -> float:
    """Return the seconds of SciPy's L-BFGS on P(L L^T), with log-diagonal Cholesky factors L, to within tol of P*.

    The matrices A_k are part of its time, as those of the other methods are.
    """
    started = time.process_time()
    n, (i, j) = problem.n, problem.pairs.T
    y, b, c, slack = problem.similar, problem.bounds, problem.weights, problem.slack
    F = problem.embedded[i] - problem.embedded[j]
    flat = (F @ np.swapaxes(F, 1, 2)).reshape(len(F), -1)
    rows, columns = np.tril_indices(n)
    diagonal = rows == columns

    def unpack(x):
        L = np.zeros((n, n))
        L[rows, columns] = np.where(diagonal, np.exp(np.minimum(x, 50.0)), x)
        return L

    def value_and_gradient(x):
        L = unpack(x)
        W = L @ L.T
        s = flat @ W.ravel() / b
        active = y * (s - 1.0) > 0.0
        value = -2.0 * x[diagonal].sum() + np.trace(W) - n + c[active] @ slack.divergence(s[active])
        S = (c[active] / b[active] * slack.gradient(s[active])) @ flat[active]
        G = 2.0 * (np.eye(n) + S.reshape(n, n)) @ L
        gradient = G[rows, columns] * np.where(diagonal, L[rows, columns], 1.0) - 2.0 * diagonal
        return value, gradient

    class Close(Exception):
        pass

    def check(x):
        if value_and_gradient(x)[0] <= optimum + tol * max(1.0, abs(optimum)):
            raise Close

    try:
        minimize(
            value_and_gradient, np.zeros(len(rows)), jac=True, method="L-BFGS-B", callback=check,
            options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 0.0, "gtol": 1e-12},
        )  # fmt: skip
    except Close:
        return time.process_time() - started
    return np.nan


def without_caches(problem):
    """Return a copy without anything cached by earlier solves."""
    return problem.replace(keep=np.arange(problem.n_pairs))


def cvxpy_seconds(problem, solver: str) -> float:
    import cvxpy as cp

    from tests.judge import model

    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model(problem)[0].solve(solver=solver)
    except cp.error.SolverError:
        return np.nan
    return time.perf_counter() - started


def _mean(ratios: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def grid() -> None:
    print("The paper's grid: K = 50, slack 'is', seed 0. Milliseconds to the relative gap in brackets.")
    print("paper: a literal NumPy implementation, with its preparation and without certificates. L-BFGS: stops at 1e-6")
    print("from P*, which it is given. Clarabel and SCS: default accuracy, through CVXPY, n <= 50.\n")
    print(
        f"{'n':>4} {'lambda':>7} {'paper perm':>10} {'paper rand':>10} {'Dykstra':>8} {'Newton':>7} {'Newton':>7} "
        f"{'auto':>7} {'L-BFGS':>8} {'Clarabel':>9} {'SCS':>9}   {'paper/N':>8} {'D/N':>5} {'Clar./N':>8}"
    )
    print(
        f"{'':>4} {'':>7} {'(1e-6)':>10} {'(1e-6)':>10} {'(1e-6)':>8} {'(1e-6)':>7} {'(1e-9)':>7} {'(1e-6)':>7} "
        f"{'(1e-6)':>8} {'default':>9} {'default':>9}   {'perm 1e-9':>8} {'1e-6':>5} {'1e-9':>8}"
    )
    ratios, rand_ratios, over_lbfgs = [], [], []
    for n in SIZES:
        for lam in LAMBDAS:
            problem = make_paper_problem(n, 50, lam, seed=0)
            optimum = solve(problem, "newton", tol=1e-12).certificate.primal
            best = dict.fromkeys(("perm", "rand", "dykstra", "newton6", "newton9", "auto", "lbfgs"), np.inf)
            for _ in range(ROUNDS if n < 100 else 3):
                for order in ("perm", "rand"):
                    best[order] = min(best[order], literal_seconds(problem, order))
                best["dykstra"] = min(
                    best["dykstra"], timed(solve, without_caches(problem), "dykstra", 1e-6, random_state=0)[0]
                )
                for _ in range(TRIES):  # they take milliseconds, and wait for the system now and then
                    for name, solver, tol in _OURS:
                        # A copy without caches, so that the time to build them counts in every solve.
                        best[name] = min(best[name], timed(solve, without_caches(problem), solver, tol)[0])
                    best["lbfgs"] = min(best["lbfgs"], lbfgs_seconds(problem, optimum))
            rounds = {10: ROUNDS, 50: 1}.get(n, 0)
            clarabel = min((cvxpy_seconds(problem, "CLARABEL") for _ in range(rounds)), default=np.nan)
            scs = min((cvxpy_seconds(problem, "SCS") for _ in range(rounds)), default=np.nan)
            ms = {name: 1e3 * seconds for name, seconds in best.items()}
            ratios.append(best["perm"] / best["newton9"])
            rand_ratios.append(best["rand"] / best["newton9"])
            over_lbfgs.append(best["newton6"] / best["lbfgs"])
            print(
                f"{n:>4} {lam:>7.0e} {ms['perm']:>10.1f} {ms['rand']:>10.1f} {ms['dykstra']:>8.2f} "
                f"{ms['newton6']:>7.2f} {ms['newton9']:>7.2f} {ms['auto']:>7.2f} {ms['lbfgs']:>8.1f} "
                f"{1e3 * clarabel:>9.1f} {1e3 * scs:>9.1f}   {ratios[-1]:>8.1f} "
                f"{best['dykstra'] / best['newton6']:>5.1f} {clarabel / best['newton9']:>8.1f}",
                flush=True,
            )
    print(f"\nNewton (1e-6) over L-BFGS (1e-6), geometric mean: {_mean(over_lbfgs):.2f}, worst: {max(over_lbfgs):.2f}")
    print(f"paper perm (1e-6) over Newton (1e-9), geometric mean: {_mean(ratios):.1f}")
    print(f"paper rand (1e-6) over Newton (1e-9), geometric mean: {_mean(rand_ratios):.1f}")


def real() -> None:
    print("\nReal problems, Phi = log, the paper's bounds after scaling: Newton to a relative gap of 1e-9.")
    print(f"{'data':>28} {'slack':>6} " + " ".join(f"{f'lam {lam:.0e}':>14}" for lam in 10.0 ** -np.arange(1.0, 7.0)))
    for name, (embedded, labels), K in (("Brodatz", brodatz_like(), 11_100), ("ETH-80", eth80_like(), 800)):
        for slack in ("is", "l2", "re"):
            cells = []
            for lam in 10.0 ** -np.arange(1.0, 7.0):
                problem = labelled_problem(embedded, labels, K, lam, slack)
                result = solve(problem, "newton", tol=1e-9)
                cells.append(f"{result.n_iter:>3} {result.seconds:>5.2f}s {result.status.name[:3]}")
            print(f"{f'{name} n={problem.n} K={K}':>28} {slack:>6} " + " ".join(f"{c:>14}" for c in cells), flush=True)
    print("(steps, seconds, status: SOL is SOLVED)")


CASES = [
    (9, 10_000, 1e-2), (9, 100_000, 1e-2), (9, 1_000_000, 1e-2),
    (22, 1_000, 1e-2), (22, 10_000, 1e-2), (22, 100_000, 1e-2),
    (100, 10_000, 1e-2), (100, 10_000, 1e-4), (400, 780, 1e-2), (400, 780, 1e-4),
]  # fmt: skip


def growth_case(n: int, K: int, lam: float) -> None:
    """Print one row of the growth table, in a separate process, so that its peak memory can be measured."""
    embedded, labels = simulated_classes(n, 2000 if n < 100 else 200 if n < 400 else 80)
    problem = labelled_problem(embedded, labels, K, lam, "is")
    solve(make_paper_problem(4, 6, 1e-1), "newton")  # compile before anything is timed
    with threadpool_limits(1, user_api="blas"):
        result = solve(problem, "newton", tol=1e-6)
    figures = {
        "status": result.status.name,
        "steps": result.n_iter,
        "seconds": result.seconds,
        "peak": peak_kilobytes(),
    }
    print(json.dumps(figures))


def growth() -> None:
    print("\nGrowth: Newton to 1e-6 on simulated classes (m = n, slack 'is'); peak memory of the whole process in MB.")
    print(
        f"{'n':>4} {'K':>8} {'lambda':>7} {'status':>8} {'steps':>5} {'seconds':>8} {'x per 10 K':>10} {'peak MB':>8}"
    )
    last: dict[int, tuple[int, float]] = {}
    for n, K, lam in CASES:
        command = [sys.executable, "-m", "benchmarks.solvers", "--case", str(n), str(K), str(lam)]
        row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        times = f"{row['seconds'] / last[n][1]:.1f}" if n in last and last[n][0] * 10 == K else ""
        last[n] = (K, row["seconds"])
        print(
            f"{n:>4} {K:>8} {lam:>7.0e} {row['status']:>8} {row['steps']:>5} {row['seconds']:>8.2f} {times:>10} "
            f"{row['peak'] / 1024:>8.0f}",
            flush=True,
        )


def warm() -> None:
    print("\nWarm starts: Newton to 1e-9 after a change of the pairs (n = 9, K = 5,000, lambda = 1e-3).")
    embedded, labels = simulated_classes(9, 1000)
    whole = labelled_problem(embedded, labels, 5000, 1e-3, "is")
    cold = min((solve(whole, "newton", tol=1e-9) for _ in range(3)), key=lambda r: r.seconds)
    print(f"{'cold':>24}: {cold.n_iter:>2} steps {1e3 * cold.seconds:>7.1f} ms")
    for added in (1, 50, 500):
        kept = np.arange(5000 - added)
        before = solve(whole.replace(keep=kept, weights=whole.weights[0]), "newton", tol=1e-9)
        again = min(
            (solve(whole, "newton", tol=1e-9, warm_start=before.warm_start(added=added)) for _ in range(3)),
            key=lambda r: r.seconds,
        )
        print(f"{f'{added} pairs added':>24}: {again.n_iter:>2} steps {1e3 * again.seconds:>7.1f} ms")
    for factor in (1.001, 1.05):
        moved = whole.replace(bounds=factor * whole.bounds)
        again = min((solve(moved, "newton", tol=1e-9, warm_start=cold) for _ in range(3)), key=lambda r: r.seconds)
        print(f"{f'bounds times {factor}':>24}: {again.n_iter:>2} steps {1e3 * again.seconds:>7.1f} ms")


def iterations(result) -> str:
    """Return the number of epochs (marked with an e) and of second-order steps, as "8e+4"."""
    counts = np.diff(result.history.n_iter, prepend=0)
    epochs = int(counts[result.history.phase == "dykstra"].sum())
    return "+".join(f"{count}{mark}" for count, mark in ((epochs, "e"), (result.n_iter - epochs, "")) if count)


def thin() -> None:
    print(
        "\nVectorised logarithms (m = 1), neighbour pairs, slack 'is', to 1e-6: epochs (e) and steps, and seconds (best"
    )
    print(f"of 3; a single round if it takes longer than {_LONG:g} s). Ratio: the seconds of auto over those at 1e-2.")
    if not available():
        print("skipped: the series are not in the folder that COVMETRIC_DATA names")
        return
    lambdas = 10.0 ** -np.arange(1.0, 7.0)
    solvers = ("newton", "interior", "hybrid", "auto")
    for name in ("NATOPS", "JapaneseVowels"):
        for per_kind in (2, 5):
            problem = neighbour_problem(name, per_kind)
            print(f"{name}, n = {problem.n}, K = {problem.n_pairs}, {per_kind} neighbours per kind")
            for solver in solvers:
                cells, best = [], []
                for lam in lambdas:
                    scaled = problem.replace(weights=problem.weights / lam)
                    runs = [timed(solve, without_caches(scaled), solver, 1e-6)]
                    while len(runs) < 3 and runs[0][0] < _LONG:
                        runs.append(timed(solve, without_caches(scaled), solver, 1e-6))
                    seconds, result = min(runs, key=lambda run: run[0])
                    best.append(seconds)
                    mark = "" if result.status.name == "SOLVED" else "*"
                    cells.append(f"{f'{iterations(result)}, {seconds:.2f} s{mark}':>14}")
                print(f"{solver:>10} {' '.join(cells)}", flush=True)
            print(f"{'ratio':>10} {' '.join(f'{seconds / best[1]:>14.2f}' for seconds in best)}", flush=True)
            runs = [timed(solve_path, problem, lambdas)]
            if runs[0][0] < _LONG:
                runs.append(timed(solve_path, problem, lambdas))
            seconds, results = min(runs, key=lambda run: run[0])
            solved = sum(result.status.name == "SOLVED" for result in results)
            print(f"{'path':>10} {seconds:.2f} s for all six lambda with auto, {solved} SOLVED", flush=True)


def crossover() -> None:
    print("\nCrossovers: milliseconds to a relative gap of 1e-6, simulated classes, slack 'is' (best of 2).")
    print(f"{'n':>4} {'m':>4} {'K':>6} {'lambda':>7} {'Newton':>9} {'Dykstra':>9}  faster")
    for n in (5, 10, 22, 50, 100, 200):
        for m in (1, n):
            for K in (10, 100, 1000, 10_000):
                if n * n * m * K > 1e9:
                    continue
                embedded, labels = simulated_classes(n, max(40, 2 * int(K**0.5)), m)
                for lam in (1e-1, 1e-3):
                    problem = labelled_problem(embedded, labels, K, lam, "is")
                    newton = min(solve(problem, Newton()).seconds for _ in range(2))
                    runs = [solve(problem, Dykstra(), random_state=0, max_iter=2000) for _ in range(2)]
                    dykstra = min(r.seconds for r in runs)
                    faster = "Newton" if newton <= dykstra or runs[0].status.name != "SOLVED" else "Dykstra"
                    print(
                        f"{n:>4} {m:>4} {K:>6} {lam:>7.0e} {1e3 * newton:>9.2f} {1e3 * dykstra:>9.2f}  {faster}",
                        flush=True,
                    )


def blas() -> None:
    print(
        "\nThreads of BLAS: seconds by the clock with one and with all, 'auto' to 1e-6, simulated classes (best of 3)."
    )
    print(f"{'n':>4} {'m':>4} {'K':>6} {'lambda':>7} {'one':>8} {'all':>8} {'all/one':>8}")
    for n in (128, 200, 300, 400, 600, 1000):
        for m, K in ((1, 2000), (4, 1000), (n, 200)):
            if n * m > 2**19:
                continue
            embedded, labels = simulated_classes(n, 1200 if m == 1 else 2 * int(K**0.5), m)
            for lam in (1e-2, 1e-4):
                problem = labelled_problem(embedded, labels, K, lam, "is")
                seconds = dict.fromkeys((1, max(2, os.cpu_count() or 2)), np.inf)
                for _ in range(3):
                    for threads in seconds:
                        fresh = without_caches(problem)
                        started = time.perf_counter()
                        with threads_everywhere(threads):
                            solve(fresh, "auto")
                        seconds[threads] = min(seconds[threads], time.perf_counter() - started)
                one, several = seconds.values()
                print(f"{n:>4} {m:>4} {K:>6} {lam:>7.0e} {one:>8.3f} {several:>8.3f} {several / one:>8.2f}", flush=True)


@contextmanager
def threads_everywhere(count: int) -> Iterator[None]:
    """Let BLAS use this many threads for all sizes."""
    usual, tuning.ONE_THREAD_BELOW = tuning.ONE_THREAD_BELOW, 0
    try:
        with threadpool_limits(count, user_api="blas"):
            yield
    finally:
        tuning.ONE_THREAD_BELOW = usual


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)  # the tables show it
    if arguments[:1] == ["--case"]:
        n, K, lam = arguments[1:]
        growth_case(int(n), int(K), float(lam))
        return
    sections = {
        "grid": grid, "real": real, "growth": growth, "warm": warm, "thin": thin, "crossover": crossover, "blas": blas,
    }  # fmt: skip
    unknown = [a for a in arguments if a not in sections]
    if unknown:
        raise SystemExit(f"unknown section {unknown[0]!r}; the sections are {', '.join(sections)}")
    small = make_paper_problem(4, 6, 1e-1)
    for solver in ("newton", "dykstra"):
        solve(small, solver)  # compile before anything is timed
    with threadpool_limits(1, user_api="blas"):
        for name in arguments or ("grid", "real", "growth", "warm"):
            sections[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
