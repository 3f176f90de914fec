"""Microseconds per projection, compared with a literal implementation of the paper and with the BLAS calls alone.

``python -m benchmarks.projection`` prints, in one run and on one BLAS thread, for each size n (with m = n):

(a) a literal NumPy implementation of the paper (tests/naive.py: A^(-1/2) first, then inverse, eigh, Newton-Raphson);
(b) the compiled sweep of covmetric;
(c) dsymm, dgemm, dsytrd + dsterf, dpotrf, dtrsm and dsyrk alone, through the same addresses, workspace preallocated.

Every pair is active, so that no projection is skipped. The three run in turn, and the best of several rounds counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from covmetric import Dykstra, make_paper_problem
from covmetric.experiments.projection import active_problem, projection_timer
from covmetric.solvers.kernels import blas
from covmetric.solvers.kernels.projection import sweep
from covmetric.solvers.kernels.slack import compile_slack
from tests import naive

SIZES = (5, 9, 22, 50, 100, 200)
ROUNDS = 7

_I, _D = blas._I, blas._D
_dsymm, _dgemm, _dsyrk, _dtrsm = blas.dsymm, blas.dgemm, blas.dsyrk, blas.dtrsm
_dsytrd, _dpotrf = blas.dsytrd, blas.dpotrf
_dsterf = blas._external("cython_lapack", "dsterf", _I, _D, _D, _I)


@numba.njit
def unavoidable(W, F, repeats):
    """Make the BLAS and LAPACK calls that a projection needs, on matrices of the same sizes."""
    n = W.shape[0]
    G, M, T, R = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    d, e, tau, work = np.empty(n), np.empty(n), np.empty(n), np.empty(32 * n)
    size, info, lwork = np.array([n], np.int32), np.zeros(1, np.int32), np.array([32 * n], np.int32)
    one, zero, tiny = np.ones(1), np.zeros(1), np.full(1, -1e-9)
    chars = np.array([76, 82, 78, 84], np.uint8)
    lower, right, normal, transposed = chars[0:], chars[1:], chars[2:], chars[3:]
    for _ in range(repeats):
        _dsymm(
            lower.ctypes, lower.ctypes, size.ctypes, size.ctypes, one.ctypes, W.ctypes, size.ctypes, F.ctypes,
            size.ctypes, zero.ctypes, G.ctypes, size.ctypes,
        )  # fmt: skip
        _dgemm(
            transposed.ctypes, normal.ctypes, size.ctypes, size.ctypes, size.ctypes, one.ctypes, F.ctypes, size.ctypes,
            G.ctypes, size.ctypes, zero.ctypes, M.ctypes, size.ctypes,
        )  # fmt: skip
        T[:] = M
        _dsytrd(
            lower.ctypes, size.ctypes, T.ctypes, size.ctypes, d.ctypes, e.ctypes, tau.ctypes, work.ctypes, lwork.ctypes,
            info.ctypes,
        )  # fmt: skip
        _dsterf(size.ctypes, d.ctypes, e.ctypes, info.ctypes)
        R[:] = M
        for i in range(n):
            R[i, i] += 1.0
        _dpotrf(lower.ctypes, size.ctypes, R.ctypes, size.ctypes, info.ctypes)
        _dtrsm(
            right.ctypes, lower.ctypes, transposed.ctypes, normal.ctypes, size.ctypes, size.ctypes, one.ctypes,
            R.ctypes, size.ctypes, G.ctypes, size.ctypes,
        )  # fmt: skip
        _dsyrk(
            lower.ctypes, normal.ctypes, size.ctypes, size.ctypes, tiny.ctypes, G.ctypes, size.ctypes, one.ctypes,
            W.ctypes, size.ctypes,
        )  # fmt: skip


def timed(function, *arguments) -> float:
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


def row(n: int) -> tuple[float, float, float]:
    """Return the seconds per projection of (a), (b) and (c)."""
    K = 200 if n <= 22 else 40
    few = min(K, 40) if n <= 100 else 8
    problem = active_problem(n, K)
    ours = projection_timer(problem)
    order, rng = np.arange(K), np.random.default_rng(0)
    spd, F = np.eye(n), rng.uniform(-0.5, 0.5, (n, n))
    unavoidable(spd, F, 1)
    literal = naive.PaperDykstra(*naive.data(problem))
    best = [np.inf] * 3
    for _ in range(ROUNDS):
        literal.W, literal.alpha = np.eye(n), np.zeros(K)
        best[0] = min(best[0], timed(literal.epoch, order[:few]) / few)
        best[1] = min(best[1], ours())
        best[2] = min(best[2], timed(unavoidable, spd, F, K) / K)
    return best[0], best[1], best[2]


def certificate_fraction(n: int) -> tuple[float, int, float]:
    """Return the time of a certificate in epochs, the epochs between certificates, and their fraction of the time."""
    problem = make_paper_problem(n, 50, 1e-2, seed=0)
    solver, rng = Dykstra(), np.random.default_rng(0)
    state = solver.start(problem, problem.certified(np.eye(n), np.zeros(problem.n_pairs)), rng)
    epoch = certificate = np.inf
    per_certificate = 0
    for _ in range(ROUNDS):
        solver.resume(problem, state, problem.certified(None, state.alpha))
        epochs = 0
        started = time.perf_counter()
        while not solver.due(problem, state, 1e-6):
            solver.step(problem, state)
            epochs += 1
        epoch = min(epoch, (time.perf_counter() - started) / epochs)
        certificate = min(certificate, timed(problem.certified, None, state.alpha))
        per_certificate = max(per_certificate, epochs)
    return certificate / epoch, per_certificate, certificate / (certificate + per_certificate * epoch)


def first_calls() -> tuple[float, float]:
    """Return the seconds of the first solve of a process, without and with compiled code in the cache."""
    script = (
        "import time; from covmetric import make_paper_problem, solve; p = make_paper_problem(5, 20, 1e-2)\n"
        "t = time.perf_counter(); solve(p, 'dykstra', random_state=0); print(time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        runs = [
            subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
    return float(runs[0].stdout), float(runs[1].stdout)


def threads_table() -> None:
    """Print the times of projections and of a certificate on one and on all BLAS threads."""
    print("\nMilliseconds of 10 projections, and of a certificate of 20 pairs, by BLAS threads:")
    print(f"{'n':>5} {'1 thread':>10} {'all':>10}   {'1 thread':>10} {'all':>10}")
    for n in (100, 200, 300, 400):
        problem = active_problem(n, 20)
        slack = compile_slack(problem.slack)
        best = np.full((2, 2), np.inf)
        for _ in range(5):
            for t, limit in enumerate((1, None)):
                with threadpool_limits(limit, user_api="blas"):
                    W, alpha, counts = np.eye(n), np.zeros(20), np.zeros(2, np.int64)
                    seconds = timed(
                        sweep, W, alpha, problem.sums.rows, problem.pairs, problem.similar, problem.bounds,
                        problem.weights, np.arange(10), *slack.addresses, counts, np.zeros((2, problem.n_pairs)),
                    )  # fmt: skip
                    best[0, t] = min(best[0, t], seconds)
                    best[1, t] = min(best[1, t], timed(problem.certified, None, alpha))
        a, b, c, d = 1e3 * best.ravel()
        print(f"{n:>5} {a:>10.2f} {b:>10.2f}   {c:>10.2f} {d:>10.2f}")


def main() -> None:
    cold, warm = first_calls()
    print(f"First solve of a process: {cold:.1f} s with nothing compiled, {warm:.1f} s from the cache.\n")
    print(
        "Microseconds per projection (m = n, all pairs active, one thread): (a) a literal NumPy implementation of the"
    )
    print(
        "paper, (b) ours, (c) the BLAS and LAPACK calls alone. Then the time of a certificate in epochs of K = 50, the"
    )
    print("epochs between certificates by default, and the fraction of the time that certificates then take.\n")
    print(f"{'n':>4} {'(a)':>9} {'(b)':>9} {'(c)':>9} {'a/b':>7} {'b/c':>6}   {'cert.':>6} {'every':>6} {'frac.':>6}")
    with threadpool_limits(1, user_api="blas"):
        for n in SIZES:
            a, b, c = row(n)
            ratio, every, fraction = certificate_fraction(n)
            print(
                f"{n:>4} {1e6 * a:>9.2f} {1e6 * b:>9.2f} {1e6 * c:>9.2f} {a / b:>7.1f} {b / c:>6.2f}   "
                f"{ratio:>6.2f} {every:>6} {fraction:>6.0%}"
            )
    threads_table()


if __name__ == "__main__":
    main()
