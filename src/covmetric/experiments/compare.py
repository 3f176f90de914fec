"""Cross-validated comparison of fixed and learned metrics, peers and pyRiemann on the user's data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from covmetric._utils.validation import IntArray, check_counts, check_nonnegative
from covmetric.estimators.references import shown_name
from covmetric.experiments.comparison_inputs import check_matrices_and_labels, check_methods, draw_seed
from covmetric.experiments.fold_results import ComparisonTable, MethodRow
from covmetric.experiments.fold_runs import FoldRun, run_fold
from covmetric.experiments.method_results import FIXED, LEARNED, best_row
from covmetric.experiments.methods import available_methods
from covmetric.experiments.neighborhoods import MAX_QUERIES, Neighborhood, NeighborTable, make_neighbor_table
from covmetric.experiments.running import run_tasks
from covmetric.learning.splits import make_splits


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
    chosen = check_methods(methods, available)
    splits = [make_splits(folds, matrices, codes, groups, draw_seed([seed, repeat])) for repeat in range(repeats)]
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
        return [shown_name(None, i) for i in range(count)]
    if len(names) != count:
        raise ValueError(f"names must have one entry per matrix, {count} in all; got {len(names)}")
    return [str(name) for name in names]
