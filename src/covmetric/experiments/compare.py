"""Cross-validated comparison of fixed and learned metrics, peers and pyRiemann on the user's data."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from covmetric._utils.threads import limited_threads, threads_for
from covmetric._utils.validation import (
    IntArray,
    Matrices,
    as_numbers,
    check_counts,
    check_nonnegative,
    generator,
    precision_of,
    symmetric,
    symmetry_tolerance,
)
from covmetric.estimators import CovMetricCV
from covmetric.experiments.fold_results import (
    FIXED,
    LEARNED,
    ComparisonTable,
    FoldResult,
    MethodRow,
    best_row,
)
from covmetric.experiments.methods import Training, available_methods
from covmetric.experiments.neighborhoods import (
    MAX_QUERIES,
    Neighborhood,
    NeighborTable,
    find_neighborhoods,
    make_neighbor_table,
)
from covmetric.experiments.running import run_tasks
from covmetric.learning.examples import require_classes
from covmetric.learning.splits import Split, make_splits
from covmetric.solvers import SolveResult, Status


def compare(
    X: Any,
    y: Any,
    groups: Any = None,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    *,
    repeats: int = 1,
    reg: float = 1e-6,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    names: Sequence[str] | None = None,
) -> ComparisonTable:
    """Cross-validate methods on the same folds.

    Methods that have settings tune them on the same inner folds of each training part.

    Parameters
    ----------
    X : array of shape (l, n, n)
        Symmetric or Hermitian positive definite matrices.
    y : array of shape (l,)
        The class of each matrix.
    groups : array of shape (l,) or None, default=None
        The group of each matrix. The examples of a group stay on the same side of every split, including inner splits.
    methods : list of str or None, default=None
        Names from `available_methods`. None means all methods.
    folds : int, default=5
        The number of folds, which is reduced if no class has as many examples or groups.
    repeats : int, default=1
        The number of times that new folds are drawn.
    reg : float, default=1e-6
        The fraction of its mean eigenvalue that is added to the diagonal of each matrix, for all methods.
    seed : int, default=0
        The seed of the folds and of the methods.
    n_jobs : int or None, default=None
        The number of processes. The accuracies do not depend on it, but the seconds do.
    progress : bool, default=False
        Whether to show a progress bar.
    names : sequence of l str or None, default=None
        The names of the matrices, for the neighbours in the table. None means "example 0", "example 1", ...

    Returns
    -------
    ComparisonTable
        The results. If a method fails on a fold, the fold holds the reason. After Ctrl-C, the table holds the completed
        folds.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.compare import compare
    >>> data = make_spd_classes(n_classes=2, n_per_class=20, n=4)
    >>> table = compare(data.X, data.y, methods=["log-3nn", "covmetric-3nn"], folds=2)
    >>> [(row.kind, row.method) for row in table.rows], table.best_fixed.method
    ([('fixed', 'log-3nn'), ('learned', 'covmetric-3nn')], 'log-3nn')
    """
    matrices, codes, groups = check_matrices_and_labels(X, y, groups)
    names_of_examples = _check_example_names(names, len(matrices))
    check_counts(repeats=repeats)
    check_nonnegative("reg", reg)
    available = available_methods()
    chosen = check_names(methods, available)
    splits = [make_splits(folds, matrices, codes, groups, _seed([seed, repeat])) for repeat in range(repeats)]
    tasks = [
        (name, repeat, fold, split, -(-MAX_QUERIES // len(folds_of_repeat)) if repeat == 0 else 0)
        for repeat, folds_of_repeat in enumerate(splits)
        for fold, split in enumerate(folds_of_repeat)  # fold by fold: all methods have the same folds after Ctrl-C
        for name in chosen
    ]
    common = (matrices, codes, groups, reg, seed)
    done, interrupted = run_tasks(run_fold, tasks, common, n_jobs, progress)
    rows = tuple(_row(available[name].kind, name, runs) for name, runs in done.items() if runs)
    return ComparisonTable(
        rows=rows,
        examples=len(matrices),
        size=matrices.shape[1],
        classes=int(codes.max()) + 1,
        groups=None if groups is None else len(np.unique(groups)),
        folds=len(splits[0]),
        repeats=repeats,
        seed=seed,
        reg=reg,
        interrupted=interrupted,
        class_names=tuple(str(name) for name in np.unique(np.asarray(y)).tolist()),
        neighbors=_neighbors(rows, done, names_of_examples, codes),
    )


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


def _row(kind: str, method: str, runs: Sequence[FoldRun]) -> MethodRow:
    counts: Counter[tuple[int, int]] = Counter()
    for run in runs:
        counts.update({(true, predicted): count for true, predicted, count in run.confusion})
    confusion = tuple((true, predicted, count) for (true, predicted), count in sorted(counts.items()))
    return MethodRow(kind, method, tuple(run.result for run in runs), confusion)


def _neighbors(
    rows: Sequence[MethodRow], done: Mapping[str, Sequence[FoldRun]], names: Sequence[str], codes: IntArray
) -> NeighborTable | None:
    """Return the neighbours in the best fixed and in the best learned metric, which are known only at the end."""

    def of_best(kind: str) -> tuple[str, list[Neighborhood]] | None:
        best = best_row(rows, kind)
        if best is None:
            return None
        return best.method, [one for run in done[best.method] for one in run.neighborhoods]

    learned = of_best(LEARNED)
    return None if learned is None else make_neighbor_table(of_best(FIXED), learned, names, codes)


def _check_example_names(names: Sequence[str] | None, count: int) -> list[str]:
    if names is None:
        return [f"example {i}" for i in range(count)]
    if len(names) != count:
        raise ValueError(f"names must have one entry per matrix, {count} in all; got {len(names)}")
    return [str(name) for name in names]


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
        inner = make_splits(CovMetricCV().cv, X[train], codes[train], inner_groups, _seed(seed))
        return [(one.train, one.test) for one in inner]

    with (
        TemporaryDirectory() as folder,
        warnings.catch_warnings(record=True) as caught,
        limited_threads(threads_for(X)),
    ):
        warnings.simplefilter("always")
        try:
            classifier = method.make(Training(reg, seed, inner_folds, folder))
            started = time.perf_counter()
            classifier.fit(data[train], codes[train], **fit_params)
            fitted = time.perf_counter()
            predicted = np.asarray(classifier.predict(data[test]))
            ended = time.perf_counter()
            neighborhoods = (
                find_neighborhoods(classifier, data, codes, train, test, predicted, n_queries)
                if n_queries and method.kind in (FIXED, LEARNED)
                else ()
            )
        except Exception as error:  # third-party code may raise any error; the other methods continue
            return FoldRun(FoldResult(repeat, fold, failure=reason_of(error)))
    if was_interrupted(caught):
        raise KeyboardInterrupt
    accuracy = float(np.mean(predicted == codes[test]))
    status, gap = _certificate_of(classifier)
    result = FoldResult(
        repeat,
        fold,
        accuracy,
        fitted - started,
        ended - fitted,
        *choice_of(classifier),
        status=status,
        relative_gap=gap,
    )
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


def was_interrupted(caught: list[warnings.WarningMessage]) -> bool:
    """Return whether Ctrl-C ended the fit early; the model is then incomplete, and its accuracy would be unfair.

    Parameters
    ----------
    caught : list of WarningMessage
        The warnings of the fit.

    Returns
    -------
    bool
        Whether a warning says so.
    """
    messages = [str(one.message) for one in caught]
    return any(text.startswith(Status.INTERRUPTED.name) or "search was cut short" in text for text in messages)


def choice_of(classifier: Any) -> tuple[str, int]:
    """Return the settings that a search chose.

    Parameters
    ----------
    classifier : object
        A fitted estimator, which may be a search or have a search as its `learner_`.

    Returns
    -------
    chosen : str
        The chosen settings as text, or "" if nothing was searched.
    candidates : int
        The number of candidates.
    """
    search = getattr(classifier, "learner_", classifier)
    if not hasattr(search, "best_params_"):
        return "", 0
    combined = ("rule", "C", "n_neighbors") if getattr(classifier, "rule", None) == "auto" else ()  # all are combined
    parameters = {name.split("__")[-1]: value for name, value in search.best_params_.items() if name not in combined}
    settings = [
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={getattr(value, 'name', value)}"
        for name, value in sorted(parameters.items(), key=lambda item: isinstance(item[1], float))
        if name not in ("pairs", "slack")
        and value is not None  # CovMetricCV has a single candidate for these by default
    ]
    return " ".join(settings), len(search.cv_results_["params"])


def reason_of(error: Exception) -> str:
    """Return an error in one line; if all candidates of a GridSearchCV fail, the last error of its long message.

    Parameters
    ----------
    error : Exception
        The error.

    Returns
    -------
    str
        The line.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if line.partition(": ")[0].endswith("Error")]
    return (errors[-1] if len(lines) > 1 and errors else lines[0]) if lines else type(error).__name__


def check_matrices_and_labels(X: Any, y: Any, groups: Any) -> tuple[Matrices, IntArray, npt.NDArray[Any] | None]:
    """Check the data of a comparison.

    Parameters
    ----------
    X : array of shape (l, n, n)
        Symmetric or Hermitian matrices.
    y : array of shape (l,)
        Their classes.
    groups : array of shape (l,) or None
        Their groups.

    Returns
    -------
    X : array of shape (l, n, n)
        The matrices.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    groups : array of shape (l,) or None
        Their groups.

    Raises
    ------
    ValueError
        If the data are invalid.
    """
    matrices = as_numbers("X", X)
    if matrices.ndim != 3:
        raise ValueError(f"X must hold matrices, shape (l, n, n); got shape {matrices.shape}")
    matrices = symmetric("X", matrices, symmetry_tolerance(precision_of(np.asarray(X).dtype)))
    labels = np.asarray(y)
    groups = None if groups is None else np.asarray(groups)
    for name, value in (("y", labels), ("groups", groups)):
        if value is not None and value.shape != (len(matrices),):
            raise ValueError(
                f"{name} must have one entry per matrix, shape ({len(matrices)},); got shape {value.shape}"
            )
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    require_classes(classes)
    return matrices, codes.astype(np.int64), groups


def check_names(methods: Sequence[str] | None, available: Mapping[str, Any]) -> list[str]:
    """Check the names of methods.

    Parameters
    ----------
    methods : list of str or None
        The names. None means all methods.
    available : dict
        The methods by name.

    Returns
    -------
    list of str
        Each name once.

    Raises
    ------
    ValueError
        If a name is unknown, or if there are none.
    """
    names = list(available) if methods is None else list(dict.fromkeys(methods))
    unknown = [name for name in names if name not in available]
    if unknown or not names:
        problem = f"there is no method {unknown[0]!r}" if unknown else "methods is empty"
        raise ValueError(f"{problem}; the methods are {', '.join(available)}")
    return names


def regularised(X: Matrices, reg: float) -> Matrices:
    """Add `reg` times the mean eigenvalue to the diagonal, as an embedding does, for methods that have no `reg`.

    Parameters
    ----------
    X : array of shape (l, n, n)
        The matrices.
    reg : float
        The fraction of the mean eigenvalue.

    Returns
    -------
    array of shape (l, n, n)
        The regularised matrices.
    """
    n = X.shape[-1]
    mean_eigenvalue = np.trace(X, axis1=1, axis2=2).real / n
    return np.asarray(X + reg * mean_eigenvalue[:, None, None] * np.eye(n))


def _seed(entropy: Any) -> int:
    return int(generator(entropy).integers(2**32))
