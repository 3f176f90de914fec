"""How the block sizes in `covmetric._utils.tuning` affect speed: at a quarter, at one and at four times their value.

``python -m benchmarks.blocks [--smoke]`` prints a line per constant; --smoke takes the smallest sizes. The three values
take turns in the same run, and the best of several rounds counts. BLAS runs on one thread; work that is distributed
over jobs runs on two.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import smoke
from benchmarks.neighbors import best_of, simulated_matrices
from benchmarks.problems import labelled_problem, simulated_classes
from covmetric import MetricProblem, NeighborPairs, get_embedding, solve
from covmetric._utils import tuning
from covmetric._utils.distances import cross_distances, nearest_columns, squared_distances
from covmetric.descriptors.series import SeriesCovariances
from covmetric.neighbors import get_search
from covmetric.peers.distances import FIXED_DISTANCES

ROUNDS = 5
FACTORS = (0.25, 1.0, 4.0)


def timings(module: str, name: str, work: Callable[[], object], rounds: int) -> list[float]:
    """Return the seconds of the work for each value of a constant, patched in the module that uses it."""
    user, value = importlib.import_module(module), getattr(tuning, name)

    def with_factor(factor: float) -> None:
        setattr(user, name, max(1, int(factor * value)))
        work()

    try:
        best = best_of(rounds, **{str(factor): lambda f=factor: with_factor(f) for factor in FACTORS})
    finally:
        setattr(user, name, value)
    return list(best.values())


def embedding_work(size: int):
    matrices, _ = simulated_matrices(22, size, 100)
    phi = get_embedding("log").fit(matrices)
    yield "covmetric.embeddings.base", "MATRICES_PER_JOB", lambda: phi.transform(matrices, n_jobs=2)


def series_work(size: int):
    series = np.random.default_rng(0).standard_normal((size, 24, 51))
    describe = SeriesCovariances(n_jobs=2).fit(series).transform
    yield "covmetric.descriptors.series", "SERIES_PER_JOB", lambda: describe(series)


def distance_work(size: int):
    rng = np.random.default_rng(0)
    vectors, codes = rng.standard_normal((size, 100)), rng.integers(4, size=size)
    pairs = rng.integers(size, size=(2, 20 * size))
    squared = cross_distances(vectors, vectors)
    home = "covmetric._utils.distances"
    yield home, "DISTANCE_BLOCK_BYTES", lambda: NeighborPairs(3).select(vectors, codes, rng)
    yield home, "DIFFERENCE_ENTRIES", lambda: squared_distances(vectors, vectors, *pairs)
    yield home, "NEAREST_BLOCK", lambda: nearest_columns(squared, 3)
    vectors *= 0.9 ** np.arange(100)  # pruning is for vectors with a decaying spectrum
    brute, pruned = (get_search(name, shape=vectors.shape).fit(vectors) for name in ("brute", "pruned"))
    yield "covmetric.neighbors.brute", "LIST_ENTRIES", lambda: brute.nearest(vectors, 3)
    yield "covmetric.neighbors.pruned", "BOUND_ENTRIES", lambda: pruned.nearest(vectors, 3)


def invariant_work(size: int):
    matrices, _ = simulated_matrices(22, size, 100)
    distance = FIXED_DISTANCES["riemann"]().fit(matrices)
    for name in ("INVARIANT_ENTRIES", "INVARIANT_BOUNDS", "INVARIANT_CANDIDATES"):
        yield "covmetric.peers.distances.invariant", name, lambda: distance.nearest(matrices, 3)


def certificates(embedded, problem, count: int) -> None:
    """Several certificates of a problem that is stated anew, so that nothing is kept from before."""
    anew = MetricProblem(embedded, problem.pairs, problem.similar, problem.bounds, problem.weights, problem.slack)
    W = np.diag(np.linspace(0.5, 1.5, anew.n))
    for _ in range(count):
        anew.certify(W)


def problem_work(size: int):
    embedded, labels = simulated_classes(22, 500)
    problem = labelled_problem(embedded, labels, 10 * size, 1e-2, "is")
    W = np.eye(22)
    # Use a new copy each time, because chunks are not used again once their sums are kept.
    yield "covmetric.problem.differences", "CHUNK_BYTES", lambda: problem.replace(bounds=problem.bounds).certify(W)
    yield "covmetric.problem.differences", "KEPT_BYTES", lambda: certificates(embedded, problem, 5)
    yield "covmetric.solvers.systems.direct", "SYSTEM_BLOCK_BYTES", lambda: solve(problem, "newton", tol=1e-3)


def main(arguments: list[str] | None = None) -> None:
    small = smoke.asked_for(arguments)
    size, rounds = (130, 1) if small else (2000, ROUNDS)
    print("Milliseconds at a quarter of the value, at the value, and at four times the value of each constant.\n")
    print(f"{'constant':>22} {'value':>10} {'quarter':>9} {'value':>9} {'4 times':>9}   best/value")
    with threadpool_limits(1, user_api="blas"):
        for group in (embedding_work, series_work, distance_work, invariant_work, problem_work):
            for module, name, work in group(size):
                seconds = timings(module, name, work, rounds)
                cells = " ".join(f"{1e3 * s:>9.2f}" for s in seconds)
                print(
                    f"{name:>22} {getattr(tuning, name):>10} {cells}   {min(seconds) / seconds[1]:>10.2f}", flush=True
                )


if __name__ == "__main__":
    main()
