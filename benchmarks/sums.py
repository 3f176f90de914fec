"""The speed-up of the compiled sums of Newton's step if they may be reassociated (`fastmath={"reassoc", "contract"}`).

``python -m benchmarks.sums`` times both versions of the same code in turn, and prints the ratio of the best times.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numba
import numpy as np

from covmetric.solvers.kernels import newton_sums

#: (number of pairs, size of W)
SIZES = ((50, 10), (50, 50), (900, 24), (5000, 9), (100_000, 9), (780, 200))
ROUNDS = 20


def best_seconds(functions: list[Callable[[], None]], rounds: int = ROUNDS) -> list[float]:
    """Return the best time of each function, with the functions called in turn."""
    best = [np.inf] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            started = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - started)
    return best


def stretch_times(n_pairs: int, n: int, rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Return the seconds of `stretch` with and without reassociation, and the largest relative difference."""
    rng = np.random.default_rng(0)
    size = n * (n + 1) // 2
    rows, vector, weights = rng.standard_normal((n_pairs, size)), rng.standard_normal(size), rng.random(n_pairs)
    strict = numba.njit(nogil=True, error_model="numpy")(newton_sums.stretch.py_func)
    results = [np.empty(size), np.empty(size)]
    repeats = max(1, int(2e6 / rows.size))

    def call(kernel: Callable[..., None], out: np.ndarray) -> Callable[[], None]:
        return lambda: [kernel(rows, vector, weights, out) for _ in range(repeats)]

    calls = [call(newton_sums.stretch, results[0]), call(strict, results[1])]
    best_seconds(calls, 1)  # compiles
    loose, in_order = best_seconds(calls, rounds)
    difference = float(np.abs(results[0] - results[1]).max() / np.abs(results[1]).max())
    return loose / repeats, in_order / repeats, difference


def main() -> None:
    print("The sum of h_k <A_k, E> A_k over the pairs: microseconds, reassociated and in order, the best of several.\n")
    print(f"{'pairs':>8} {'n':>5} {'reassociated':>13} {'in order':>10} {'ratio':>6} {'difference':>11}")
    for n_pairs, n in SIZES:
        loose, in_order, difference = stretch_times(n_pairs, n)
        times = f"{1e6 * loose:>13.1f} {1e6 * in_order:>10.1f} {in_order / loose:>6.2f}"
        print(f"{n_pairs:>8} {n:>5} {times} {difference:>11.1e}")


if __name__ == "__main__":
    main()
