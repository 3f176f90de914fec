"""One method on one fold of a comparison."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import IntArray, Matrices
from covmetric.estimators import CovMetricCV
from covmetric.experiments.attempts import attempt, choice_of
from covmetric.experiments.comparison_inputs import draw_seed, regularised
from covmetric.experiments.fold_results import FoldResult
from covmetric.experiments.method_results import FIXED, LEARNED
from covmetric.experiments.methods import Training, available_methods
from covmetric.experiments.neighborhoods import Neighborhood, find_neighborhoods
from covmetric.learning.splits import Split, make_splits
from covmetric.solvers import SolveResult


@dataclass(frozen=True)
class FoldRun:
    """What one method did on one fold.

    Attributes
    ----------
    result : FoldResult
        The accuracy and the times, or the reason of a failure.
    confusion : tuple of (int, int, int)
        The true class, the predicted class, and how often they came together.
    neighborhoods : tuple of Neighborhood
        The neighbours of some test examples, if the method is a fixed or a learned metric, in the first repeat.
    """

    result: FoldResult
    confusion: tuple[tuple[int, int, int], ...] = ()
    neighborhoods: tuple[Neighborhood, ...] = ()


def run_fold(
    name: str,
    repeat: int,
    fold: int,
    split: Split,
    n_queries: int,
    X: Matrices,
    codes: IntArray,
    groups: npt.NDArray[Any] | None,
    reg: float,
    seed: int,
) -> FoldRun:
    """Fit a method on the training part of a split and test it on the other part.

    Parameters
    ----------
    name : str
        The name of the method.
    repeat, fold : int
        The numbers of the repeat and of the fold.
    split : Split
        The training part and the test part.
    n_queries : int
        The number of test examples whose neighbours are kept.
    X : array of shape (l, n, n)
        The matrices.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    groups : array of shape (l,) or None
        Their groups.
    reg : float
        The regularisation, as in `compare`.
    seed : int
        The seed, as in `compare`.

    Returns
    -------
    FoldRun
        The result of the fold.
    """
    method = available_methods()[name]
    train, test = split.train, split.test
    data = X if method.adds_reg else regularised(X, reg)
    fit_params = {"groups": groups[train]} if method.takes_groups and groups is not None else {}

    def inner_folds() -> list[tuple[IntArray, IntArray]]:
        inner_groups = None if groups is None or len(np.unique(groups[train])) < 2 else groups[train]
        # These are the folds of CovMetricCV(random_state=seed).
        inner = make_splits(CovMetricCV().cv, X[train], codes[train], inner_groups, draw_seed(seed))
        return [(one.train, one.test) for one in inner]

    def fit_and_predict(folder: str) -> tuple[Any, IntArray, tuple[float, float], tuple[Neighborhood, ...]]:
        classifier = method.make(Training(reg, seed, inner_folds, folder))
        started = time.perf_counter()
        classifier.fit(data[train], codes[train], **fit_params)
        fitted = time.perf_counter()
        predicted = np.asarray(classifier.predict(data[test]))
        seconds = fitted - started, time.perf_counter() - fitted
        if n_queries == 0 or method.kind not in (FIXED, LEARNED):
            return classifier, predicted, seconds, ()
        neighborhoods = find_neighborhoods(classifier, data, codes, train, test, predicted, n_queries)
        return classifier, predicted, seconds, neighborhoods

    done, failure = attempt(fit_and_predict, X)
    if done is None:
        return FoldRun(FoldResult(repeat, fold, failure=failure))
    classifier, predicted, seconds, neighborhoods = done
    accuracy = float(np.mean(predicted == codes[test]))
    chosen, candidates = choice_of(classifier)
    status, gap = _certificate_of(classifier)
    result = FoldResult(repeat, fold, accuracy, *seconds, chosen, candidates, status=status, relative_gap=gap)
    return FoldRun(result, _confusion(codes[test], predicted), neighborhoods)


def _certificate_of(classifier: Any) -> tuple[str, float | None]:
    """Return the status and the relative gap of the problem that a classifier of covmetric solved."""
    fitted = getattr(classifier, "best_estimator_", classifier)
    for part in [step for _, step in getattr(fitted, "steps", [("", fitted)])]:
        result = getattr(getattr(part, "learner_", part), "result_", None)
        if isinstance(result, SolveResult):
            return result.status.name, result.certificate.relative_gap
    return "", None


def _confusion(true: IntArray, predicted: IntArray) -> tuple[tuple[int, int, int], ...]:
    """Return how often each pair of a true and a predicted class occurs."""
    counts = Counter(zip(true.tolist(), predicted.tolist(), strict=True))
    return tuple((one, other, count) for (one, other), count in sorted(counts.items()))
