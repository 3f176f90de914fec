"""The result of a comparison: each method on each fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.experiments.estimates import mean_and_standard_error
from covmetric.experiments.method_results import MethodRuns, MethodTable
from covmetric.experiments.neighborhoods import NeighborTable


@dataclass(frozen=True)
class FoldResult:
    """One method on one fold.

    Attributes
    ----------
    repeat, fold : int
        The numbers of the repeat and of the fold.
    accuracy, fit_seconds, predict_seconds : float or None
        The accuracy and the times, or None if the method failed. `fit_seconds` includes the time for tuning.
    chosen : str
        The settings that were chosen on the training part, or "" if the method has nothing to tune.
    candidates : int
        The number of settings that were tried.
    failure : str
        The reason why the method failed, or "" if it did not.
    status : str
        The status of the solver that learned the metric, or "" if nothing was solved.
    relative_gap : float or None
        The relative duality gap of the learned metric, or None if nothing was solved.
    """

    repeat: int
    fold: int
    accuracy: float | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    chosen: str = ""
    candidates: int = 0
    failure: str = ""
    status: str = ""
    relative_gap: float | None = None


@dataclass(frozen=True)
class MethodRow(MethodRuns):
    """One method on all completed folds.

    Attributes
    ----------
    kind : str
        Where the method comes from: "fixed", "pyRiemann", "peer" or "learned".
    method : str
        The name of the method.
    folds : tuple of FoldResult
        The completed folds.
    confusion : tuple of (int, int, int)
        The true class, the predicted class, and how often they came together in the test parts of the completed folds.
        Classes are numbers, and only counts above zero are listed.
    """

    folds: tuple[FoldResult, ...]
    confusion: tuple[tuple[int, int, int], ...] = ()

    @property
    def runs(self) -> tuple[FoldResult, ...]:
        """The completed folds."""
        return self.folds

    @property
    def score(self) -> float | None:
        """The accuracy."""
        return self.accuracy

    @property
    def accuracies(self) -> dict[tuple[int, int], float]:
        """The accuracies by repeat and fold."""
        return {(one.repeat, one.fold): one.accuracy for one in self.folds if one.accuracy is not None}

    @property
    def accuracy(self) -> float | None:
        """The mean over the folds, or None if a fold failed, because the other folds are not a fair comparison."""
        return None if self.failure else mean_and_standard_error(list(self.accuracies.values())).mean

    @property
    def standard_error(self) -> float | None:
        """The standard error of the accuracy, or None if there are fewer than two folds."""
        return None if self.failure else mean_and_standard_error(list(self.accuracies.values())).standard_error


@dataclass(frozen=True)
class MethodSummary:
    """The statistics of one method.

    Attributes
    ----------
    kind, method : str
        As in `MethodRow`.
    accuracy, standard_error : float or None
        The mean over the folds and its standard error.
    difference, difference_error : float or None
        The mean difference to the best fixed metric, paired by fold, and its standard error.
    fit_seconds, predict_seconds : float or None
        Medians over the folds.
    folds : int
        The number of completed folds.
    chosen : str
        The chosen settings, with how often each was chosen.
    candidates : int
        The number of settings that were tried.
    failure : str
        The reason of the first failure, or "" if no fold failed.
    """

    kind: str
    method: str
    accuracy: float | None
    standard_error: float | None
    difference: float | None
    difference_error: float | None
    fit_seconds: float | None
    predict_seconds: float | None
    folds: int
    chosen: str
    candidates: int
    failure: str


@dataclass(frozen=True)
class ComparisonTable(MethodTable[MethodRow]):
    """All methods on the same folds.

    Attributes
    ----------
    rows : tuple of MethodRow
        The methods.
    examples, size, classes : int
        The number of matrices, their number of rows, and the number of classes.
    groups : int or None
        The number of groups that the folds keep together, or None if there are no groups.
    folds, repeats, seed : int
        The number of folds, how often new folds were drawn, and the seed.
    reg : float
        The regularisation, as in `compare`.
    interrupted : bool
        Whether Ctrl-C ended the comparison early. `rows` then holds the completed folds.
    class_names : tuple of str
        The names of the classes, in the order of the numbers in the confusions.
    neighbors : NeighborTable or None
        The neighbours of some test examples in the best fixed and in the best learned metric. None if no metric was
        learned.
    """

    groups: int | None
    folds: int
    repeats: int
    seed: int
    reg: float
    interrupted: bool = False
    class_names: tuple[str, ...] = ()
    neighbors: NeighborTable | None = None

    def confusion(self, row: MethodRow) -> IntArray:
        """Return the confusion of a method, summed over the test parts of its folds.

        Parameters
        ----------
        row : MethodRow
            A row of this table.

        Returns
        -------
        array of int of shape (n_classes, n_classes)
            The counts. Rows are true classes, columns are predicted classes.

        Raises
        ------
        ValueError
            If an entry belongs to no class, or is negative.
        """
        matrix = np.zeros((self.classes, self.classes), dtype=np.int64)
        for true, predicted, count in row.confusion:
            if not (0 <= true < self.classes and 0 <= predicted < self.classes and count >= 0):
                raise ValueError(f"the confusion of {row.method} has the entry {(true, predicted, count)}")
            matrix[true, predicted] += count
        return matrix

    def difference(self, row: MethodRow) -> tuple[float | None, float | None]:
        """Return the mean difference between a method and the best fixed metric, paired by fold.

        Parameters
        ----------
        row : MethodRow
            A row of this table.

        Returns
        -------
        difference : float or None
            The mean difference. None for the best fixed metric itself, for a method that failed, and if the two methods
            have no fold in common.
        standard_error : float or None
            The standard error of the difference. Also None if there are fewer than two folds.
        """
        estimate = self._above_best_fixed(row, lambda one: one.accuracies)
        return (None, None) if estimate is None else (estimate.mean, estimate.standard_error)

    def summary(self) -> list[MethodSummary]:
        """Return the statistics of each method.

        Returns
        -------
        list of MethodSummary
            One entry per method.
        """
        return [
            MethodSummary(
                row.kind,
                row.method,
                row.accuracy,
                row.standard_error,
                *self.difference(row),
                fit_seconds=row.seconds("fit"),
                predict_seconds=row.seconds("predict"),
                folds=len(row.folds),
                chosen=row.chosen_text,
                candidates=row.candidates,
                failure=row.failure,
            )
            for row in self.rows
        ]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Create a table from the result of `as_dict`.

        Parameters
        ----------
        values : dict
            The result of `as_dict`.

        Returns
        -------
        ComparisonTable
        """
        fields = cls._fields(values)
        rows = tuple(
            MethodRow(
                row["kind"],
                row["method"],
                tuple(FoldResult(**fold) for fold in row["folds"]),
                tuple((int(true), int(predicted), int(count)) for true, predicted, count in row.get("confusion", ())),
            )
            for row in fields.pop("rows")
        )
        neighbors = fields.pop("neighbors", None)
        return cls(
            rows=rows,
            class_names=tuple(str(name) for name in fields.pop("class_names", ())),
            neighbors=None if neighbors is None else NeighborTable.from_dict(neighbors),
            **fields,
        )
