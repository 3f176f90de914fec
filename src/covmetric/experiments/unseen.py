"""Comparison of distances on classes that were not in the training data."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import IntArray, Matrices, check_nonnegative
from covmetric.experiments.attempts import attempt, choice_of
from covmetric.experiments.comparison_inputs import check_matrices_and_labels, check_methods, draw_seed, regularised
from covmetric.experiments.running import run_tasks
from covmetric.experiments.unseen_methods import UnseenTraining, unseen_methods
from covmetric.experiments.unseen_results import MEASURES, UnseenResult, UnseenRow, UnseenTable
from covmetric.model_selection import ClassShuffleSplit, get_scorer, vectors_or_distances
from covmetric.model_selection.splitters import MIN_CLASSES, default_class_splits


def compare_unseen(
    X: Any,
    y: Any,
    groups: Any = None,
    methods: Sequence[str] | None = None,
    splits: int = 5,
    *,
    test_size: Any = 0.25,
    reg: float = 1e-6,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> UnseenTable:
    """Learn distances from some classes, and compare them on the other classes.

    Methods that have settings tune them by the mean average precision on the same inner splits of the training classes,
    if there are at least four.

    Parameters
    ----------
    X : array of shape (l, n, n)
        Symmetric or Hermitian positive definite matrices.
    y : array of shape (l,)
        The class of each matrix.
    groups : array of shape (l,) or None, default=None
        The group of each matrix. Matrices of the same class and the same group are not compared.
    methods : list of str or None, default=None
        Names from `unseen_methods`. None means all methods.
    splits : int, default=5
        The number of random splits of the classes.
    test_size : int or float, default=0.25
        The number of classes that a split holds out, or their fraction.
    reg : float, default=1e-6
        The fraction of its mean eigenvalue that is added to the diagonal of each matrix, for all methods.
    seed : int, default=0
        The seed of the splits and of the methods.
    n_jobs : int or None, default=None
        The number of processes. The scores do not depend on it, but the seconds do.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    UnseenTable
        The results. If a method fails on a split, the split holds the reason. After Ctrl-C, the table holds the
        completed splits.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.unseen import compare_unseen
    >>> data = make_spd_classes(n_classes=6, n_per_class=8, n=3)
    >>> table = compare_unseen(data.X, data.y, methods=["log", "tangent-lda"], splits=2)
    >>> table.best_fixed.method, table.test_classes
    ('log', 2)
    """
    matrices, codes, groups = check_matrices_and_labels(X, y, groups)
    check_nonnegative("reg", reg)
    names = check_methods(methods, unseen_methods())
    splitter = ClassShuffleSplit(splits, test_size=test_size, random_state=draw_seed(seed))
    parts = list(splitter.split(matrices, codes))
    tasks = [(name, split, train, test) for split, (train, test) in enumerate(parts) for name in names]
    common = (matrices, codes, groups, reg, seed)
    done, interrupted = run_tasks(run_split, tasks, common, n_jobs, progress)
    kinds = {name: method.kind for name, method in unseen_methods().items()}
    return UnseenTable(
        rows=tuple(UnseenRow(kinds[name], name, tuple(results)) for name, results in done.items() if results),
        examples=len(matrices),
        size=matrices.shape[1],
        classes=int(codes.max()) + 1,
        test_classes=len(np.unique(codes[parts[0][1]])),
        groups=None if groups is None else len(np.unique(groups)),
        splits=len(parts),
        seed=seed,
        reg=reg,
        interrupted=interrupted,
    )


def run_split(
    name: str,
    split: int,
    train: IntArray,
    test: IntArray,
    X: Matrices,
    codes: IntArray,
    groups: npt.NDArray[Any] | None,
    reg: float,
    seed: int,
) -> UnseenResult:
    """Fit a method on the training classes and score its distances on the other classes.

    Parameters
    ----------
    name : str
        The name of the method.
    split : int
        The number of the split.
    train, test : arrays of int
        The examples of the training classes and of the other classes.
    X : array of shape (l, n, n)
        The matrices.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    groups : array of shape (l,) or None
        Their groups.
    reg : float
        The regularisation, as in `compare_unseen`.
    seed : int
        The seed, as in `compare_unseen`.

    Returns
    -------
    UnseenResult
    """
    method = unseen_methods()[name]
    data = X if method.adds_reg else regularised(X, reg)
    given = [None if groups is None else groups[part] for part in (train, test)]

    def fit_and_score(folder: str) -> tuple[Any, float, dict[str, float | None]]:
        estimator = method.make(UnseenTraining(reg, seed, inner_splits(codes[train], seed), folder))
        started = time.perf_counter()
        estimator.fit(data[train], codes[train], groups=given[0])
        seconds = time.perf_counter() - started
        return estimator, seconds, _scores(estimator, data[test], codes[test], given[1])

    done, failure = attempt(fit_and_score, X)
    if done is None:
        return UnseenResult(split, failure=failure)
    estimator, seconds, scores = done
    return UnseenResult(split, scores, seconds, *choice_of(estimator))


def inner_splits(codes: IntArray, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return the splits of the training classes that ``CovMetricCV(cv='classes', random_state=seed)`` draws.

    Parameters
    ----------
    codes : array of int of shape (l,)
        The classes of the training examples.
    seed : int
        The seed.

    Returns
    -------
    list of (train, test)
        The splits; none if there are too few classes.
    """
    if len(np.unique(codes)) < 2 * MIN_CLASSES:
        return []
    return list(default_class_splits(codes, draw_seed(seed)).split(codes, codes))


def _scores(estimator: Any, X: Matrices, codes: IntArray, groups: Any) -> dict[str, float | None]:
    """Return the scores of a fitted estimator; None for those that the classes are too small for."""
    points, metric = vectors_or_distances(estimator, X)  # once for all scores
    scores: dict[str, float | None] = {}
    for measure in MEASURES:
        negative = measure == "verification_eer"
        scorer = get_scorer(f"neg_{measure}" if negative else measure)
        try:
            scores[measure] = scorer.score(points, codes, groups, metric) * (-1.0 if negative else 1.0)
        except ValueError:
            if measure == MEASURES[0]:
                raise
            scores[measure] = None
    return scores
