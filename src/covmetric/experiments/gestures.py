"""Hand gestures from electromyograms: learned on one session, tested on the next, beside the fixed metrics."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm import tqdm

from covmetric._utils.validation import FloatArray
from covmetric.datasets.emg import load_emg
from covmetric.estimators import CovMetric, CovMetricClassifier, CovMetricCV

#: Whose metric it is, and how it classifies.
FIXED, PYRIEMANN, LEARNED = "W = I, 3-NN", "pyRiemann", "learned, 3-NN"


@dataclass(frozen=True)
class Row:
    """One method on one person.

    Attributes
    ----------
    kind, method, person : str
    accuracy : float
        The share of windows of the second session that were recognised.
    fit_seconds, predict_seconds : float
    """

    kind: str
    method: str
    person: str
    accuracy: float
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class GestureTable:
    """All rows; the learned classifiers and the test data of each person for a closer look."""

    rows: list[Row]
    learned: dict[str, CovMetricClassifier] = field(repr=False)
    test: dict[str, tuple[FloatArray, Any]] = field(repr=False)
    windows: int
    channels: int

    @property
    def people(self) -> list[str]:
        """The people, in order."""
        return sorted(self.learned)

    def methods(self) -> list[tuple[str, str]]:
        """(kind, method) of the rows, in order."""
        return list(dict.fromkeys((row.kind, row.method) for row in self.rows))

    def rows_for(self, kind: str, method: str) -> list[Row]:
        """The rows of a method, one per person."""
        return [row for row in self.rows if (row.kind, row.method) == (kind, method)]

    def mean(self, kind: str, method: str) -> float:
        """The mean accuracy of a method over the people."""
        return float(np.mean([row.accuracy for row in self.rows_for(kind, method)]))


def gestures(window: int = 250, seed: int = 0, n_jobs: int | None = None, progress: bool = False) -> GestureTable:
    """Learn on each person's first session, with `CovMetricCV`, and test on the second.

    Parameters
    ----------
    window : int, default=250
        Samples per covariance matrix.
    seed : int, default=0
    n_jobs : int or None, default=None
        Processes for the search.
    progress : bool, default=False
        Whether to show a progress bar.
    """
    data = load_emg(window)
    # Numbers: pyRiemann 0.12's nearest neighbours cut the names of classes to the length of the first one.
    y = np.searchsorted(data.target_names, data.y)
    people = np.unique(data.person).tolist()
    methods = _methods(seed, n_jobs)
    rows, learned, test = [], {}, {}
    bar = tqdm(total=len(people) * len(methods), desc="gestures", disable=not progress)
    for person in people:
        first, second = ((data.person == person) & (data.session == s) for s in (1, 2))
        test[person] = data.X[second], data.y[second]
        for (kind, method), make in methods.items():
            classifier = make()
            grouped = isinstance(classifier, CovMetricClassifier) and isinstance(classifier.learner, CovMetricCV)
            started = time.perf_counter()
            classifier.fit(data.X[first], y[first], **({"groups": data.groups[first]} if grouped else {}))
            fitted = time.perf_counter()
            accuracy = float(np.mean(classifier.predict(data.X[second]) == y[second]))
            rows.append(Row(kind, method, person, accuracy, fitted - started, time.perf_counter() - fitted))
            if grouped:
                learned[person] = classifier
            bar.update()
    bar.close()
    return GestureTable(rows, learned, test, len(data.X), data.X.shape[1])


def _methods(seed: int, n_jobs: int | None) -> dict[tuple[str, str], Callable[[], Any]]:
    """What is compared, by kind and name, as functions that make a classifier."""
    from pyriemann.classification import MDM, FgMDM, KNearestNeighbor

    def fixed(phi: str) -> Callable[[], Any]:
        return lambda: CovMetricClassifier(CovMetric(phi, lam=np.inf))

    search: dict[str, Any] = {"pairs": ["neighbors", "random"], "random_state": seed, "n_jobs": n_jobs}
    return {
        **{(FIXED, phi): fixed(phi) for phi in ("id", "log", "relog", "sqrt", "chol")},
        (PYRIEMANN, "MDM, riemann"): MDM,
        (PYRIEMANN, "FgMDM, riemann"): FgMDM,
        (PYRIEMANN, "3-NN, riemann"): lambda: KNearestNeighbor(3, "riemann"),
        (LEARNED, "CovMetricCV"): lambda: CovMetricClassifier(CovMetricCV(**search)),
    }
