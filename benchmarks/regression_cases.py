"""The small problems of `benchmarks.regression`: each is prepared once and then timed.

They use only what every version is expected to offer, so that they run with older code as well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problems import labelled_problem, simulated_classes
from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, get_embedding, solve
from covmetric.descriptors import ImageCovariances

#: A case prepares its data and returns what is timed.
Case = Callable[[], Callable[[], object]]


def _matrices(count: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return covariance matrices of two classes, which differ in the first channel, and their labels."""
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 2
    series = rng.standard_normal((count, n, 5 * n)) * rng.lognormal(0.0, 0.3, (count, n, 1))
    series[labels == 1, 0] *= 1.5
    return series @ series.transpose(0, 2, 1) / (5 * n), labels


def _solve(solver: str, n: int, m: int | None, K: int, lam: float, slack: str = "is") -> Case:
    def prepare() -> Callable[[], object]:
        problem = labelled_problem(*simulated_classes(n, 400, m), K, lam, slack)
        return lambda: solve(problem, solver, random_state=0)

    return prepare


def _embed(phi: str) -> Case:
    def prepare() -> Callable[[], object]:
        X, _ = _matrices(2000, 16)
        return lambda: get_embedding(phi).fit_transform(X)

    return prepare


def _estimator(make: Callable[[], object], count: int, n: int) -> Case:
    def prepare() -> Callable[[], object]:
        X, y = _matrices(count, n)
        return lambda: make().fit(X, y)  # type: ignore[attr-defined]

    return prepare


def _predict() -> Callable[[], object]:
    X, y = _matrices(1200, 8)
    fitted = CovMetricClassifier(CovMetric("log", random_state=0)).fit(X[:600], y[:600])
    return lambda: fitted.predict(X[600:])


def _pairwise() -> Callable[[], object]:
    X, y = _matrices(1000, 8)
    metric = CovMetric("log", random_state=0).fit(X, y).metric_
    return lambda: metric.pairwise(X)


def _images() -> Callable[[], object]:
    images = np.random.default_rng(0).integers(0, 256, (20, 128, 128), dtype=np.uint8)
    return lambda: ImageCovariances().fit_transform(list(images))


#: What the table prints, and how it is prepared.
CASES: dict[str, Case] = {
    "Dykstra, n = 9, m = 9, K = 2000, is": _solve("dykstra", 9, None, 2000, 1e-1),
    "Dykstra, n = 30, m = 1, K = 2000, l2": _solve("dykstra", 30, 1, 2000, 1e-1, "l2"),
    "Newton, n = 9, m = 9, K = 5000, is": _solve("newton", 9, None, 5000, 1e-2),
    "Newton, n = 24, m = 24, K = 1000, re": _solve("newton", 24, None, 1000, 1e-2, "re"),
    "Newton, n = 100, m = 1, K = 1000, is": _solve("newton", 100, 1, 1000, 1e-1),
    "auto, n = 60, m = 1, K = 1000, is": _solve("auto", 60, 1, 1000, 1e-2),
    "embedding log, 2000 matrices, n = 16": _embed("log"),
    "embedding relog, 2000 matrices, n = 16": _embed("relog"),
    "CovMetric, 200 matrices, n = 8": _estimator(lambda: CovMetric("relog", random_state=0), 200, 8),
    "CovMetricCV, 100 matrices, n = 6": _estimator(lambda: CovMetricCV(random_state=0), 100, 6),
    "predict, 600 against 600, n = 8": _predict,
    "pairwise distances, 1000 matrices, n = 8": _pairwise,
    "ImageCovariances, 20 images, 128 x 128": _images,
}
