"""The time of nearest neighbours: compared with pyRiemann's classifier on matrices, and between our searches.

``python -m benchmarks.neighbors [--smoke]`` prints both tables; --smoke selects the smallest sizes. All methods run
in one process on one thread, in turn; the best of several rounds counts.
"""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
from pyriemann.classification import KNearestNeighbor
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from benchmarks import smoke
from covmetric import CovMetric, CovMetricClassifier, LearnedMetric, get_embedding
from covmetric.neighbors import SEARCHES, get_search

K, ROUNDS = 3, 5


def simulated_matrices(n: int, count: int, samples: int, latent: int = 10, classes: int = 4, seed: int = 0):
    """Return sample covariances (count, n, n) of Gaussian `samples`, and their classes.

    The logarithms of the true covariances vary along `latent` directions, with a standard deviation of about 0.5 in
    each eigenvalue; half of the variance is between classes.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=count)
    place = rng.standard_normal((classes, latent))[labels] + rng.standard_normal((count, latent))
    place *= 0.5 * np.sqrt(n / 2) * 0.8 ** np.arange(latent) / np.sqrt((0.8 ** (2 * np.arange(latent))).sum())
    directions = rng.standard_normal((latent, n, n))
    directions += np.swapaxes(directions, 1, 2)
    directions /= np.linalg.norm(directions, axis=(1, 2), keepdims=True)
    matrices = np.empty((count, n, n))
    for i in range(count):
        values, vectors = np.linalg.eigh(np.tensordot(place[i], directions, axes=1))
        # Bartlett's decomposition of a Wishart matrix.
        L = np.tril(rng.standard_normal((n, n)), -1)
        L[np.diag_indices(n)] = np.sqrt(rng.chisquare(samples - np.arange(n)))
        root = (vectors * np.exp(0.5 * values)) @ vectors.T @ L
        matrices[i] = root @ root.T / samples
    return matrices, labels


def learned_vectors(n: int, count: int, samples: int, seed: int = 0):
    """Return vectors (count, n n) of simulated matrices under a W with the eigenvalues 1, 1/2, ..., 1/n."""
    matrices, _ = simulated_matrices(n, count, samples, seed=seed)
    basis = np.linalg.qr(np.random.default_rng(seed + 1).standard_normal((n, n)))[0]
    return LearnedMetric(get_embedding("log").fit(matrices), (basis / np.arange(1, n + 1)) @ basis.T).transform(
        matrices
    )


def best_of(rounds: int, **work) -> dict[str, float]:
    """Return the smallest time of each piece of work, in seconds; the pieces run in turn."""
    best = dict.fromkeys(work, np.inf)
    for _ in range(rounds):
        for name, function in work.items():
            started = time.perf_counter()
            function()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def beside_pyriemann(n: int = 22, count: int = 1000, some: int = 25) -> None:
    X, y = simulated_matrices(n, 2 * count, 250)
    train, test, labels = X[:count], X[count:], y[:count]
    peers = {metric: KNearestNeighbor(K, metric, n_jobs=1).fit(train, labels) for metric in ("logeuclid", "riemann")}
    ours = {
        "W = I": CovMetricClassifier(CovMetric("log", lam=float("inf"))).fit(train, labels),
        "learned": CovMetricClassifier(CovMetric("log", random_state=0)).fit(train, labels),
    }
    print(f"{K}-NN, {count} training and {count} test matrices of {n} x {n}: seconds to predict, and speed-up.")
    print(f"pyRiemann is timed on {some} test matrices and extrapolated.\n")
    peer_seconds = best_of(2, **{metric: lambda p=peer: p.predict(test[:some]) for metric, peer in peers.items()})
    our_seconds = best_of(ROUNDS, **{name: lambda c=clf: c.predict(test) for name, clf in ours.items()})
    print(f"{'':>22} {'seconds':>8} {'logeuclid/it':>12} {'riemann/it':>10}")
    whole = {metric: seconds * len(test) / some for metric, seconds in peer_seconds.items()}
    for name, seconds in (*whole.items(), *our_seconds.items()):
        label = f"pyRiemann {name}" if name in whole else f"ours, {name}"
        print(f"{label:>22} {seconds:>8.3f} {whole['logeuclid'] / seconds:>12.1f} {whole['riemann'] / seconds:>10.1f}")
    started = time.perf_counter()
    expected = peers["logeuclid"].predict(test)
    seconds = time.perf_counter() - started
    same = np.count_nonzero(expected == ours["W = I"].predict(test))
    print(f"\nOur labels with W = I equal those of logeuclid for {same} of {count}. logeuclid took {seconds:.1f} s.")

    metric = ours["learned"].metric_
    references, queries = metric.transform(train), metric.transform(test)
    search = get_search("auto", shape=references.shape).fit(references)
    peer = NearestNeighbors(algorithm="brute").fit(references)
    parts = best_of(
        4 * ROUNDS,
        embedding=lambda: metric.transform(test),
        search=lambda: search.nearest(queries, K),
        sklearn=lambda: peer.kneighbors(queries, K),
    )
    print(
        f"Parts: embedding {parts['embedding']:.4f}, search ({search.name}) {parts['search']:.4f}, scikit-learn's "
        f"search {parts['sklearn']:.4f}; ours over scikit-learn's {parts['search'] / parts['sklearn']:.2f}\n"
    )


def peak_megabytes(kind, references, queries) -> float:
    tracemalloc.start()
    kind().fit(references).nearest(queries, K)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def beside_each_other(name: str, vectors, n_queries: int) -> None:
    """Print a row for each search on the same references and queries."""
    references, queries = vectors[n_queries:].copy(), vectors[:n_queries].copy()
    kinds = {**SEARCHES}
    fitted = {}
    for algorithm in tuple(kinds):
        try:
            fitted[algorithm] = kinds[algorithm]().fit(references)
        except ImportError as error:
            print(f"{name:>34} {algorithm:>7} skipped: {error}")
            del kinds[algorithm]
    fits = best_of(2, **{a: lambda c=kind: c().fit(references) for a, kind in kinds.items()})
    searches = best_of(3, **{a: lambda s=search: s.nearest(queries, K) for a, search in fitted.items()})
    expected = fitted["brute"].nearest(queries, K)
    for algorithm, search in fitted.items():
        same = all(np.array_equal(a, b) for a, b in zip(search.nearest(queries, K), expected, strict=True))
        fraction = f"{search.n_exact_ / len(queries) / len(references):.3%}" if algorithm == "pruned" else ""
        peak = peak_megabytes(kinds[algorithm], references, queries)
        directions = search.n_directions_ if algorithm == "pruned" else ""
        print(
            f"{name:>34} {algorithm:>7} {fits[algorithm]:>7.3f} {searches[algorithm]:>7.3f} "
            f"{searches['brute'] / searches[algorithm]:>7.2f} {peak:>7.0f} "
            f"{directions:>4} {fraction:>9} {'equal' if same else 'DIFFERENT RESULT'}",
            flush=True,
        )


def searches(sizes=((20, 20_000, 2000, 200), (100, 4_000, 5000, 500)), n_queries: int = 1000) -> None:
    print(f"The searches: {n_queries} queries, k = {K}. Seconds to fit and to search, speed-up over brute, peak MB")
    print("allocated by NumPy (without FAISS's own memory), directions, fraction of distances computed in full.\n")
    print(f"{'data':>34} {'':>7} {'fit':>7} {'search':>7} {'speedup':>7} {'peak':>7} {'r':>4} {'in full':>9} result")
    for n, count, clean, noisy in sizes:
        for samples in (clean, noisy):
            vectors = learned_vectors(n, count + n_queries, samples)
            beside_each_other(f"{count} x {n * n}, N = {samples}", vectors, n_queries)
        rng = np.random.default_rng(0)
        beside_each_other(f"{count} x {n * n}, isotropic", rng.standard_normal((count + n_queries, n * n)), n_queries)


def main(arguments: list[str] | None = None) -> None:
    small = smoke.asked_for(arguments)
    with threadpool_limits(1):
        if small:
            beside_pyriemann(n=4, count=40, some=5)
            searches(sizes=((8, 1000, 200, 50),), n_queries=50)
        else:
            beside_pyriemann()
            searches()


if __name__ == "__main__":
    main()
