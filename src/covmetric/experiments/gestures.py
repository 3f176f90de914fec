"""Hand gestures from electromyograms: learned and fixed metrics, fitted on one session and tested on the next."""

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

#: Kinds of methods: fixed metrics, pyRiemann's classifiers and learned metrics.
FIXED, PYRIEMANN, LEARNED = "W = I, 3-NN", "pyRiemann", "learned, 3-NN"


@dataclass(frozen=True)
class Row:
    """One method on one person.

    Attributes
    ----------
    kind : str
        "W = I, 3-NN", "pyRiemann" or "learned, 3-NN".
    method : str
        The name of the method.
    person : str
        The name of the person.
    accuracy : float
        The accuracy on the windows of the second session.
    fit_seconds, predict_seconds : float
        The times to fit and to predict.
    """

    kind: str
    method: str
    person: str
    accuracy: float
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class GestureSummary:
    """One method over all people.

    Attributes
    ----------
    kind, method : str
        As in `Row`.
    accuracies : tuple of float
        The accuracy for each person.
    accuracy, fit_seconds, predict_seconds : float
        Means over the people.
    """

    kind: str
    method: str
    accuracies: tuple[float, ...]
    accuracy: float
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class GestureTable:
    """All methods on all people.

    Attributes
    ----------
    rows : list of Row
        One entry per method and person.
    learned : dict from str to CovMetricClassifier
        The learned classifier of each person.
    test : dict from str to tuple of arrays
        The matrices and the classes of each person's second session.
    windows : int
        The number of covariance matrices.
    channels : int
        Their number of rows.
    """

    rows: list[Row]
    learned: dict[str, CovMetricClassifier] = field(repr=False)
    test: dict[str, tuple[FloatArray, Any]] = field(repr=False)
    windows: int
    channels: int

    @property
    def people(self) -> list[str]:
        """The names of the people, sorted."""
        return sorted(self.learned)

    def summary(self) -> list[GestureSummary]:
        """Average over the people.

        Returns
        -------
        list of GestureSummary
            One entry per method.
        """
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            groups.setdefault((row.kind, row.method), []).append(row)
        return [
            GestureSummary(
                *key,
                accuracies=tuple(row.accuracy for row in rows),
                accuracy=float(np.mean([row.accuracy for row in rows])),
                fit_seconds=float(np.mean([row.fit_seconds for row in rows])),
                predict_seconds=float(np.mean([row.predict_seconds for row in rows])),
            )
            for key, rows in groups.items()
        ]

    def best_accuracy(self, kind: str) -> float:
        """Return the highest mean accuracy of the methods of a kind.

        Parameters
        ----------
        kind : str
            As in `Row`.

        Returns
        -------
        float
        """
        return max(row.accuracy for row in self.summary() if row.kind == kind)


def gestures(window: int = 250, seed: int = 0, n_jobs: int | None = None, progress: bool = False) -> GestureTable:
    """Fit each method on the first session of each person and test it on the second.

    Parameters
    ----------
    window : int, default=250
        The number of samples per covariance matrix.
    seed : int, default=0
        The seed of the folds and of the pairs.
    n_jobs : int or None, default=None
        The number of processes for the search.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    GestureTable
    """
    data = load_emg(window)
    # Classes as numbers: pyRiemann 0.12's nearest neighbours truncate class names to the length of the first one.
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
    """Return the methods by kind and name, as functions that make a classifier."""
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
