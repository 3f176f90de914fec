"""Hand gestures from electromyograms: learned and fixed metrics, fitted on one session and tested on the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from pyriemann.classification import MDM, FgMDM
from sklearn.base import clone
from sklearn.utils import Bunch
from tqdm import tqdm

from covmetric._utils.threads import limited_threads, threads_for
from covmetric._utils.validation import FloatArray, IntArray, generator
from covmetric.datasets.emg import load_emg
from covmetric.estimators import CovMetricClassifier, CovMetricCV
from covmetric.experiments.gesture_results import FIXED, LEARNED, PEER, PYRIEMANN, GestureTable, LearnedRun, Row
from covmetric.experiments.methods import PHIS, Training, available_methods
from covmetric.learning.splits import make_splits

#: The methods without a seed: their kind, and their name in `compare` or their class.
DETERMINISTIC: dict[str, tuple[str, Any]] = {
    **{phi: (FIXED, f"{phi}-3nn") for phi in PHIS},
    "riemann": (FIXED, "distance:riemann"),
    "MDM": (PYRIEMANN, MDM),
    "FgMDM": (PYRIEMANN, FgMDM),
}
#: The classifiers in pyRiemann's tangent space, which are tuned as in `compare`, by their names there.
TUNED = {
    "tangent space + LR": "tangent-logreg",
    "tangent space + SVM": "tangent-svm",
    "tangent space + shrunk LDA": "tangent-lda",
}
#: Another method of metric learning, which is tuned as in `compare` and draws random pairs, by its name there.
PEERS = {"GMML in tangent space": "peer:gmml"}
#: The classifiers with a metric that covmetric learns, by seed. The first one is recommended.
LEARNERS: dict[str, Callable[[int], CovMetricClassifier]] = {
    "CovMetricClassifier, auto": lambda seed: CovMetricClassifier(rule="auto", random_state=seed),
    "CovMetricCV, 3-NN": lambda seed: CovMetricClassifier(CovMetricCV(random_state=seed)),
}

#: The training indices and the test indices of a fold.
Fold = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Sessions:
    """The two sessions of a person.

    Attributes
    ----------
    person : str
        The name of the person.
    X : array of shape (l, n, n)
        The matrices of the first session.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    groups : array of shape (l,)
        Their rounds.
    X_test : array of shape (l_test, n, n)
        The matrices of the second session.
    codes_test : array of int of shape (l_test,)
        Their classes.
    """

    person: str
    X: FloatArray
    codes: IntArray
    groups: npt.NDArray[Any]
    X_test: FloatArray
    codes_test: IntArray

    def folds(self, seed: int) -> list[Fold]:
        """Return the folds of the first session that all learners with ``random_state=seed`` draw.

        Parameters
        ----------
        seed : int
            The seed.

        Returns
        -------
        list of tuples of arrays
            The training indices and the test indices of each fold.
        """
        drawn = int(generator(seed).integers(2**32))
        splits = make_splits(CovMetricCV().cv, self.X, self.codes, self.groups, drawn)
        return [(split.train, split.test) for split in splits]


#: A row, with the classifier if its metric is learned.
_Result = tuple[Row, CovMetricClassifier | None]


def gestures(
    window: int = 250, seeds: Sequence[int] = range(10), n_jobs: int | None = None, progress: bool = False
) -> GestureTable:
    """Fit each method on the first session of each person and test it on the second.

    Methods that have settings tune them by cross-validation on the first session. The seed draws the folds, which are
    the same for all methods, and the random pairs. Methods that use neither run once. The rounds of the session are the
    groups of the folds and, for covmetric, of the pairs.

    Parameters
    ----------
    window : int, default=250
        The number of samples per covariance matrix.
    seeds : sequence of int, default=range(10)
        The seeds of the folds and of the pairs.
    n_jobs : int or None, default=None
        The number of processes, as in joblib. The accuracies do not depend on it.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    GestureTable
        The rows in the order fixed metrics, pyRiemann's classifiers, peers, covmetric.
    """
    data = load_emg(window)
    people = [_sessions_of(person, data) for person in np.unique(data.person).tolist()]
    # The longest tasks come first, so that no process is idle at the end.
    tasks = [
        *(delayed(_run_tuned)(method, one, seeds) for method in TUNED for one in people),
        *(delayed(_run_peer)(method, one, seeds) for method in PEERS for one in people),
        *(delayed(_run_learned)(method, one, seed) for method in LEARNERS for one in people for seed in seeds),
        *(delayed(_run_once)(method, one) for method in DETERMINISTIC for one in people),
    ]
    rows: list[Row] = []
    learned: list[LearnedRun] = []
    results_by_task = Parallel(n_jobs, return_as="generator_unordered")(tasks)
    for results in tqdm(results_by_task, "gestures", len(tasks), disable=not progress):
        for row, classifier in results:
            rows.append(row)
            if classifier is not None:
                learned.append(LearnedRun(row, classifier))
    order = [*DETERMINISTIC, *TUNED, *PEERS, *LEARNERS]

    def place(row: Row) -> tuple[int, str, int]:
        return order.index(row.method), row.person, row.seed or 0

    rows.sort(key=place)
    learned.sort(key=lambda run: place(run.row))
    test = {one.person: (one.X_test, data.target_names[one.codes_test]) for one in people}
    return GestureTable(rows, learned, test, len(data.X), data.X.shape[1])


def _sessions_of(person: str, data: Bunch) -> Sessions:
    codes = np.searchsorted(data.target_names, data.y)
    first, second = ((data.person == person) & (data.session == session) for session in (1, 2))
    return Sessions(person, data.X[first], codes[first], data.groups[first], data.X[second], codes[second])


def _run_once(method: str, sessions: Sessions) -> list[_Result]:
    """Run a method without a seed."""
    kind, source = DETERMINISTIC[method]
    with limited_threads(threads_for(sessions.X)):
        classifier = available_methods()[source].make(_training([])) if isinstance(source, str) else source()
        return [(Row(kind, method, sessions.person, None, *_evaluate(classifier, sessions)), None)]


def _run_learned(method: str, sessions: Sessions, seed: int) -> list[_Result]:
    """Learn a metric with one seed."""
    with limited_threads(threads_for(sessions.X)):
        classifier = LEARNERS[method](seed)
        measured = _evaluate(classifier, sessions, groups=sessions.groups)
    return [(Row(LEARNED, method, sessions.person, seed, *measured), classifier)]


def _run_peer(method: str, sessions: Sessions, seeds: Sequence[int]) -> list[_Result]:
    """Tune a method on the folds and the pairs of each seed. The tangent vectors of a fold serve all seeds."""
    results: list[_Result] = []
    with limited_threads(threads_for(sessions.X)), TemporaryDirectory() as folder:
        for seed in seeds:
            search = available_methods()[PEERS[method]].make(_training(sessions.folds(seed), folder, seed))
            results.append((Row(PEER, method, sessions.person, seed, *_evaluate(search, sessions)), None))
    return results


def _run_tuned(method: str, sessions: Sessions, seeds: Sequence[int]) -> list[_Result]:
    """Tune a classifier of pyRiemann on the folds of each seed.

    There are few ways to divide the rounds of a session into folds, so different seeds draw the same folds. Each
    distinct fold is scored once, and each distinct choice is fitted once.
    """
    folds = {seed: sessions.folds(seed) for seed in seeds}
    distinct = {test.tobytes(): (train, test) for drawn in folds.values() for train, test in drawn}
    with limited_threads(threads_for(sessions.X)), TemporaryDirectory() as folder:
        training = _training(list(distinct.values()), folder)
        search = available_methods()[TUNED[method]].make(training).set_params(refit=False)
        started = time.perf_counter()
        search.fit(sessions.X, sessions.codes)
        fold_seconds = (time.perf_counter() - started) / len(distinct)
        columns = list(distinct)
        scores = np.column_stack([search.cv_results_[f"split{i}_test_score"] for i in range(len(columns))])
        measured: dict[int, tuple[float, float, float]] = {}
        results: list[_Result] = []
        for seed, drawn in folds.items():
            means = scores[:, [columns.index(test.tobytes()) for _, test in drawn]].mean(axis=1)
            best = int(means.argmax())  # the first of the best, as in GridSearchCV
            if best not in measured:
                chosen = clone(search.estimator).set_params(**search.cv_results_["params"][best])
                measured[best] = _evaluate(chosen, sessions)
            accuracy, fit_seconds, predict_seconds = measured[best]
            fit_seconds += len(drawn) * fold_seconds
            results.append(
                (Row(PYRIEMANN, method, sessions.person, seed, accuracy, fit_seconds, predict_seconds), None)
            )
        return results


def _training(folds: list[Fold], folder: str = "", seed: int = 0) -> Training:
    """Return the settings with which the methods of `compare` run: no regularisation, and the given folds."""
    return Training(reg=0.0, seed=seed, inner_folds=lambda: folds, folder=folder)


def _evaluate(classifier: Any, sessions: Sessions, **fit_arguments: Any) -> tuple[float, float, float]:
    """Fit on the first session; return the accuracy on the second, and the seconds to fit and to predict."""
    started = time.perf_counter()
    classifier.fit(sessions.X, sessions.codes, **fit_arguments)
    fitted = time.perf_counter()
    accuracy = float(np.mean(classifier.predict(sessions.X_test) == sessions.codes_test))
    return accuracy, fitted - started, time.perf_counter() - fitted
