"""Problems for the benchmarks: the paper's image data if it is available, else simulated classes."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np

from covmetric import MetricProblem, NeighborPairs, RandomPairs, get_embedding
from covmetric.constraints import QuantileBounds, constrain, get_bounds
from covmetric.datasets import load_brodatz, load_emg, load_eth80, load_eth80_sets, load_series, load_ssvep
from covmetric.experiments.image_sets import split_objects

_DATA = Path(os.environ.get("COVMETRIC_DATA", Path(__file__).parents[2] / "shared" / "data"))


def simulated_classes(n: int, count: int, m: int | None = None, classes: int = 8, seed: int = 0):
    """Return embedded examples (count, n, m) around class centres, with labels; m = n gives symmetric matrices."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=count)
    centres = 0.5 * rng.standard_normal((classes, n, m or n))
    scales = rng.lognormal(0.0, 0.5, (1, n, 1))
    embedded = centres[labels] + scales * rng.standard_normal((count, n, m or n))
    if m is None:
        embedded = (embedded + np.swapaxes(embedded, 1, 2)) / 2
    return embedded, labels


def labelled_problem(embedded, labels, K: int, lam: float, slack: str, seed: int = 0) -> MetricProblem:
    """Return a problem of K random pairs, half of them similar, with the paper's scale and bounds."""
    rng = np.random.default_rng(seed)
    by_class = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    by_class = [members for members in by_class if len(members) > 1]
    similar = np.arange(K) % 2 == 0
    pairs = np.empty((K, 2), dtype=np.int64)
    groups = rng.integers(len(by_class), size=K)
    for k in range(K):
        if similar[k]:
            pairs[k] = rng.choice(by_class[groups[k]], 2, replace=False)
        else:
            i = rng.choice(by_class[groups[k]])
            j = rng.integers(len(labels))
            while labels[j] == labels[i]:
                j = rng.integers(len(labels))
            pairs[k] = i, j
    sample = pairs[: min(K, 20_000)]
    squared = ((embedded[sample[:, 0]] - embedded[sample[:, 1]]) ** 2).sum(axis=(1, 2))
    scaled = embedded / np.sqrt(np.median(squared))
    bounds = np.where(similar, 0.05, 0.95)
    return MetricProblem(scaled, pairs, np.where(similar, 1.0, -1.0), bounds, 1.0 / (lam * K), slack)


def brodatz_like():
    """Return the logarithms of 5 x 5 covariances of 111 textures, 52 patches each, and their classes."""
    if not (_DATA / "brodatz").is_dir():
        return simulated_classes(5, 5550, classes=111)
    X, y, _ = brodatz_quarters(13)
    return get_embedding("log").fit_transform(X), y


@functools.cache
def brodatz_quarters(patches: int):
    """Return 5 x 5 covariances of `patches` patches of each quarter of 111 textures; their classes and quarters."""
    data = load_brodatz(_DATA / "brodatz", patches)
    return data.X, data.y, data.groups


@functools.cache
def _eth80():
    return load_eth80(_DATA / "eth80")


def eth80_images(views: slice):
    """Return 9 x 9 covariances of the chosen views of each object of ETH-80; their classes and objects."""
    data = _eth80()
    chosen = np.zeros(len(data.X), dtype=bool)
    for name in np.unique(data.groups):
        chosen[np.flatnonzero(data.groups == name)[views]] = True
    return data.X[chosen], data.y[chosen], data.groups[chosen]


def eth80_sets(size: tuple[int, int]):
    """Return one covariance matrix per object of ETH-80, of grey values over its views; their classes."""
    data = load_eth80_sets(_DATA / "eth80", size)
    return data.X, data.y, None


def eth80_like():
    """Return the logarithms of 9 x 9 covariances of ETH-80 images, ten views of each object, and their classes."""
    if not (_DATA / "eth80").is_dir():
        return simulated_classes(9, 800)
    matrices, labels, _ = eth80_images(slice(0, 40, 4))
    return get_embedding("log").fit_transform(matrices), labels


def series(name: str):
    """Return the shrunk covariances of the series in `name`.npz, of both parts, and their classes."""
    data = load_series(name, _DATA / "series")
    return data.X, data.y


def neighbour_problem(name: str, per_kind: int) -> MetricProblem:
    """Return the problem at lambda = 1 of a series' vectorised logarithms and neighbour pairs, slack `is`."""
    X, y = series(name)
    embedded = get_embedding("veclog").fit_transform(X)
    codes = np.unique(y, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    chosen = constrain(embedded, codes, NeighborPairs(per_kind), get_bounds((0.05, 0.95)), "median", rng)
    return _scaled(embedded, chosen)


def image_set_problem() -> MetricProblem:
    """Return the problem at lambda = 1 of the experiment on image sets: all pairs of 40 objects of ETH-80, n = 400."""
    data = load_eth80_sets(_DATA / "eth80")
    codes = np.unique(data.y, return_inverse=True)[1]
    train = split_objects(codes, seed=0).train
    embedded = get_embedding("log").fit_transform(data.X[train])
    rng = np.random.default_rng(0)
    pairs, bounds = RandomPairs(budget=10**6, balance=None), QuantileBounds(0.05, 0.95)
    return _scaled(embedded, constrain(embedded, codes[train], pairs, bounds, "median", rng))


def _scaled(embedded, chosen) -> MetricProblem:
    """Return the problem of scaled examples."""
    return MetricProblem(
        embedded / np.sqrt(chosen.scale), chosen.pairs, chosen.similar, chosen.bounds, chosen.weights, "is"
    )


def ssvep():
    """Return 24 x 24 covariances of the SSVEP trials, their classes, subjects and recordings."""
    data = load_ssvep(_DATA / "series")
    return data.X, data.y, data.subject, data.groups


def available() -> bool:
    """Return whether the folder of real data exists."""
    return _DATA.is_dir()


@functools.cache
def emg():
    """Return the recordings of hand gestures."""
    return load_emg()
