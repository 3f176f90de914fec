"""Fixed metrics, pyRiemann, peers and learned metrics on one's own data: the same folds, the same tuning budget."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.utils.multiclass import check_classification_targets
from tqdm import tqdm

from covmetric._utils.threads import limited_threads
from covmetric._utils.validation import (
    IntArray,
    Matrices,
    as_numbers,
    check_counts,
    generator,
    is_number,
    precision_of,
    symmetric,
    symmetry_tolerance,
)
from covmetric.estimators import CovMetricCV
from covmetric.experiments.fold_results import ComparisonTable, FoldResult, MethodRow
from covmetric.experiments.methods import Method, Training, available_methods
from covmetric.learning.examples import require_classes
from covmetric.learning.scoring import threads_for
from covmetric.learning.splits import Split, make_splits
from covmetric.solvers import Status


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
) -> ComparisonTable:
    """Cross-validate methods on the same folds; what has settings is tuned on the same folds of each training part.

    Parameters
    ----------
    X : array, shape (l, n, n)
        Symmetric or Hermitian positive definite matrices.
    y : array, shape (l,)
    groups : array, shape (l,), or None
        Examples of one group are never on both sides of a split, neither of a fold nor of one that is tuned on.
    methods : list of str or None, default=None
        Names of `available_methods()`; None: all.
    folds : int, default=5
        Fewer where no class has as many examples or groups.
    repeats : int, default=1
        How often to draw new folds.
    reg : float, default=1e-6
        Added to the diagonal of each matrix, as a share of its mean eigenvalue, for all methods alike.
    seed : int, default=0
    n_jobs : int or None, default=None
        Processes that share the work; accuracies do not depend on it, but seconds do.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    ComparisonTable
        A method that fails on a fold has the reason there. Ctrl-C gives what was done until then.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.experiments.compare import compare
    >>> data = make_spd_classes(n_classes=2, n_per_class=20, n=4)
    >>> table = compare(data.X, data.y, methods=["log-3nn", "covmetric-3nn"], folds=2)
    >>> [(row.kind, row.method) for row in table.rows], table.best_fixed.method
    ([('fixed', 'log-3nn'), ('learned', 'covmetric-3nn')], 'log-3nn')
    """
    matrices, codes, groups = _check_data(X, y, groups)
    check_counts(repeats=repeats)
    if not (is_number(reg) and reg >= 0):
        raise ValueError(f"reg must be a number >= 0, got {reg!r}")
    known = available_methods()
    names = _check_names(methods, known)
    splits = [make_splits(folds, matrices, codes, groups, _seed([seed, repeat])) for repeat in range(repeats)]
    tasks = [
        (name, repeat, fold, split)
        for repeat, several in enumerate(splits)
        for fold, split in enumerate(several)  # fold by fold, so that after Ctrl-C methods share the folds
        for name in names
    ]
    work = (delayed(run_fold)(*task, matrices, codes, groups, reg, seed) for task in tasks)
    done: dict[str, list[FoldResult]] = {name: [] for name in names}
    interrupted = False
    bar = tqdm(tasks, "compare", disable=not progress)
    try:
        for (name, *_), result in zip(bar, Parallel(n_jobs, return_as="generator")(work), strict=True):
            done[name].append(result)
            bar.set_postfix_str(name, refresh=False)
    except KeyboardInterrupt:
        if not any(done.values()):
            raise
        interrupted = True
    bar.close()
    return ComparisonTable(
        rows=tuple(MethodRow(known[name].kind, name, tuple(several)) for name, several in done.items() if several),
        examples=len(matrices),
        size=matrices.shape[1],
        classes=int(codes.max()) + 1,
        groups=None if groups is None else len(np.unique(groups)),
        folds=len(splits[0]),
        repeats=repeats,
        seed=seed,
        reg=reg,
        interrupted=interrupted,
    )


def run_fold(
    name: str,
    repeat: int,
    fold: int,
    split: Split,
    X: Matrices,
    codes: IntArray,
    groups: npt.NDArray[Any] | None,
    reg: float,
    seed: int,
) -> FoldResult:
    """Fit a method on the training part of a split, and test it on the other."""
    method = available_methods()[name]
    train, test = split.train, split.test
    data = X if method.adds_reg else _regularised(X, reg)

    def inner_folds() -> list[tuple[IntArray, IntArray]]:
        within = None if groups is None or len(np.unique(groups[train])) < 2 else groups[train]
        # The folds that CovMetricCV(random_state=seed) would draw.
        return [
            (one.train, one.test) for one in make_splits(CovMetricCV().cv, X[train], codes[train], within, _seed(seed))
        ]

    with (
        TemporaryDirectory() as folder,
        warnings.catch_warnings(record=True) as caught,
        limited_threads(threads_for(X)),
    ):
        warnings.simplefilter("always")
        try:
            classifier = method.make(Training(reg, seed, inner_folds, folder))
            started = time.perf_counter()
            classifier.fit(data[train], codes[train])
            fitted = time.perf_counter()
            accuracy = float(np.mean(classifier.predict(data[test]) == codes[test]))
            ended = time.perf_counter()
        except Exception as error:  # whatever other people's code may raise: the other methods go on
            return FoldResult(repeat, fold, failure=_reason(error))
    if _was_interrupted(caught):
        raise KeyboardInterrupt
    return FoldResult(repeat, fold, accuracy, fitted - started, ended - fitted, *_choice(classifier))


def _was_interrupted(caught: list[warnings.WarningMessage]) -> bool:
    """Whether Ctrl-C came during the fit: our learners then keep the best so far, which is no fair result."""
    messages = [str(one.message) for one in caught]
    return any(text.startswith(Status.INTERRUPTED.name) or "search was cut short" in text for text in messages)


def _choice(classifier: Any) -> tuple[str, int]:
    """The settings that were chosen, in words, and among how many."""
    search = getattr(classifier, "learner_", classifier)
    if not hasattr(search, "best_params_"):
        return "", 0
    settings = {name.split("__")[-1]: value for name, value in search.best_params_.items()}
    words = [
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in sorted(settings.items(), key=lambda one: isinstance(one[1], float))
        if name not in ("pairs", "slack")  # CovMetricCV's defaults have one of each
    ]
    return " ".join(words), len(search.cv_results_["params"])


def _reason(error: Exception) -> str:
    """One line: of the many that GridSearchCV writes where all candidates fail, the one with the error itself."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if line.partition(": ")[0].endswith("Error")]
    return (errors[-1] if len(lines) > 1 and errors else lines[0]) if lines else type(error).__name__


def _check_data(X: Any, y: Any, groups: Any) -> tuple[Matrices, IntArray, npt.NDArray[Any] | None]:
    """X as symmetric matrices, y as codes 0, 1, ..., groups as an array."""
    matrices = as_numbers("X", X)
    if matrices.ndim != 3:
        raise ValueError(f"X must hold matrices, shape (l, n, n); got {matrices.shape}")
    matrices = symmetric("X", matrices, symmetry_tolerance(precision_of(np.asarray(X).dtype)))
    labels = np.asarray(y)
    for name, value in (("y", labels), ("groups", None if groups is None else np.asarray(groups))):
        if value is not None and value.shape != (len(matrices),):
            raise ValueError(f"{name} must have one entry per matrix, shape ({len(matrices)},); got {value.shape}")
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    require_classes(classes)
    return matrices, codes.astype(np.int64), None if groups is None else np.asarray(groups)


def _check_names(methods: Sequence[str] | None, known: dict[str, Method]) -> list[str]:
    names = list(known) if methods is None else list(dict.fromkeys(methods))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        problem = f"there is no method {unknown[0]!r}" if unknown else "methods is empty"
        raise ValueError(f"{problem}; there are {', '.join(known)}")
    return names


def _regularised(X: Matrices, reg: float) -> Matrices:
    """What `reg` of an embedding does, for methods that have no such setting."""
    n = X.shape[-1]
    mean = np.trace(X, axis1=1, axis2=2).real / n
    return np.asarray(X + reg * mean[:, None, None] * np.eye(n))


def _seed(entropy: Any) -> int:
    return int(generator(entropy).integers(2**32))
