"""Searches of settings and of neighbours on two workers: sections `search` and `neighbors` of `benchmarks.scale`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import parallel_config

from benchmarks.memory import peak_kilobytes
from covmetric import CovMetricCV
from covmetric.datasets import make_spd_classes
from covmetric.neighbors import get_search

#: The settings of joblib under which the section `search` runs.
WAYS: dict[str, dict[str, Any]] = {
    "one process": {"backend": "sequential"},
    "two processes": {"backend": "loky", "n_jobs": 2},
    "two workers": {"backend": "dask"},
}


@contextmanager
def two_workers(megabytes: int) -> Iterator[Any]:
    """Start two worker processes of one thread each, with a limit on their memory; yield a client."""
    from distributed import Client, LocalCluster

    settings = {"host": "127.0.0.1", "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**settings, memory_limit=megabytes * 10**6) as cluster, Client(cluster) as client:
        yield client


def peaks(client: Any) -> str:
    """Return the peak memory of each worker."""
    return ", ".join(f"{kilobytes / 1e3:.0f} MB" for kilobytes in client.run(peak_kilobytes).values())


def add_search_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the section `search`."""
    parser.add_argument("--examples", type=int, default=400, help="number of examples (default: %(default)s)")
    parser.add_argument("--size", type=int, default=16, help="rows of a matrix (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="repeats, in turn (default: %(default)s)")


def run_search(options: argparse.Namespace) -> None:
    """Print the times of the same search in one process, two processes and on two workers."""
    data = make_spd_classes(n_classes=4, n_per_class=options.examples // 4, n=options.size, random_state=0)
    with two_workers(2000):
        seconds: dict[str, list[float]] = {name: [] for name in WAYS}
        results = set()
        for repeat in range(options.repeats + 1):  # the first one starts processes and loads kernels
            for name, way in WAYS.items():
                start = time.perf_counter()
                with parallel_config(**way):
                    found = CovMetricCV(random_state=0).fit(data.X, data.y)
                results.add((found.W_.tobytes(), found.cv_results_["mean_test_score"].tobytes()))
                if repeat:
                    seconds[name].append(time.perf_counter() - start)
    for name, values in seconds.items():
        print(f"{name:<14} {np.mean(values):6.2f} s  ({min(values):.2f} to {max(values):.2f})")
    print(f"W and scores   {'equal, bit by bit' if len(results) == 1 else 'NOT EQUAL'}")


def add_neighbors_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the section `neighbors`."""
    parser.add_argument("--references", type=int, default=4_000_000, help="number of references (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="number of queries (default: %(default)s)")
    parser.add_argument("--dimensions", type=int, default=45, help="length of a vector (default: %(default)s)")
    parser.add_argument("--block", type=int, default=100_000, help="references per block (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=600, help="MB of memory per worker (default: %(default)s)")


def run_neighbors(options: argparse.Namespace) -> None:
    """Print the memory and the time of an exact search among references that are made when they are needed."""
    import dask
    import dask.array as da

    from covmetric.distributed import kneighbors

    shape, k = (options.references, options.dimensions), 10
    queries = np.random.default_rng(1).standard_normal((options.queries, options.dimensions))
    with two_workers(options.limit) as client:
        references = da.random.default_rng(0).standard_normal(shape, chunks=(options.block, options.dimensions))
        start = time.perf_counter()
        distances, indices = dask.compute(*kneighbors(queries, references, k))
        seconds = time.perf_counter() - start
        print(f"references           {shape[0]:,} of length {shape[1]}, {8 * shape[0] * shape[1] / 1e6:,.0f} MB")
        print(f"limit                {options.limit} MB for each of 2 workers")
        print(f"peak of the workers  {peaks(client)}")
        print(f"time                 {seconds:.1f} s for {options.queries} queries, making the references included")
        # The neighbours of a few queries, literally, from another pass over the references.
        few = [np.inf] * min(3, options.queries)
        for number in range(references.numblocks[0]):
            block = references.blocks[number].compute()
            found = get_search("brute").fit(block).nearest(queries[: len(few)], 1)[0][:, 0]
            few = np.minimum(few, found)
        print(f"nearest, again       {'equal' if np.array_equal(few, distances[: len(few), 0]) else 'NOT EQUAL'}")
    assert indices.shape == (options.queries, k)
