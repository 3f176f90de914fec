"""The result of a comparison on classes that were not in the training data: each method on each split."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from covmetric.experiments.estimates import Estimate, mean_and_standard_error
from covmetric.experiments.method_results import MethodRuns, MethodTable

#: The scores of a comparison. The first one decides which fixed metric is the best. Less is better for the last one.
MEASURES = (
    "mean_average_precision",
    "recall_at_1",
    "one_shot_accuracy",
    "five_shot_accuracy",
    "verification_auc",
    "verification_eer",
)


@dataclass(frozen=True)
class UnseenResult:
    """One method on one split of the classes.

    Attributes
    ----------
    split : int
        The number of the split.
    scores : dict from str to float or None
        The scores, by names from `MEASURES`. None if the classes are too small for a score, and all are missing if the
        method failed.
    fit_seconds : float or None
        The time to fit, including the time for tuning.
    chosen : str
        The settings that were chosen on the training classes, or "" if the method has nothing to tune.
    candidates : int
        The number of settings that were tried.
    failure : str
        The reason why the method failed, or "" if it did not.
    """

    split: int
    scores: dict[str, float | None] = field(default_factory=dict)
    fit_seconds: float | None = None
    chosen: str = ""
    candidates: int = 0
    failure: str = ""


@dataclass(frozen=True)
class UnseenRow(MethodRuns):
    """One method on all completed splits.

    Attributes
    ----------
    kind : str
        Where the method comes from: "fixed", "pyRiemann", "peer" or "learned".
    method : str
        The name of the method.
    splits : tuple of UnseenResult
        The completed splits.
    """

    splits: tuple[UnseenResult, ...]

    @property
    def runs(self) -> tuple[UnseenResult, ...]:
        """The completed splits."""
        return self.splits

    @property
    def score(self) -> float | None:
        """The mean average precision, or None if the method failed."""
        estimate = self.estimate(MEASURES[0])
        return None if estimate is None else estimate.mean

    @property
    def fit_seconds(self) -> float | None:
        """The median time to fit, or None if all splits failed."""
        return self.seconds("fit")

    def values(self, measure: str) -> dict[int, float]:
        """Return a score on the splits that have it.

        Parameters
        ----------
        measure : str
            A name from `MEASURES`.

        Returns
        -------
        dict from int to float
            The scores by split.
        """
        scores = {one.split: one.scores.get(measure) for one in self.splits}
        return {split: score for split, score in scores.items() if score is not None}

    def estimate(self, measure: str) -> Estimate | None:
        """Return the mean of a score over the splits.

        Parameters
        ----------
        measure : str
            A name from `MEASURES`.

        Returns
        -------
        Estimate or None
            The mean and its standard error; None if the method failed on a split, or if no split has the score.
        """
        values = list(self.values(measure).values())
        return None if self.failure or not values else mean_and_standard_error(values)


@dataclass(frozen=True)
class UnseenSummary:
    """The statistics of one method. Each score is a mean over the splits, with its standard error.

    Attributes
    ----------
    kind, method : str
        As in `UnseenRow`.
    mean_average_precision, mean_average_precision_error : float or None
        How well the examples of new classes retrieve each other.
    difference, difference_error : float or None
        The mean difference of the mean average precision to the best fixed metric, paired by split.
    recall_at_1, recall_at_1_error : float or None
        How often the nearest example has the class of the query.
    one_shot_accuracy, one_shot_accuracy_error : float or None
        The accuracy with one known example of each new class.
    five_shot_accuracy, five_shot_accuracy_error : float or None
        The accuracy with five known examples of each new class.
    verification_auc, verification_auc_error : float or None
        The area under the ROC curve of the question whether two examples have the same class.
    verification_eer, verification_eer_error : float or None
        The equal error rate of this question. Less is better.
    fit_seconds : float or None
        The median time to fit.
    splits : int
        The number of completed splits.
    chosen : str
        The chosen settings, with how often each was chosen.
    candidates : int
        The number of settings that were tried.
    failure : str
        The reason of the first failure, or "" if no split failed.
    """

    kind: str
    method: str
    mean_average_precision: float | None
    mean_average_precision_error: float | None
    difference: float | None
    difference_error: float | None
    recall_at_1: float | None
    recall_at_1_error: float | None
    one_shot_accuracy: float | None
    one_shot_accuracy_error: float | None
    five_shot_accuracy: float | None
    five_shot_accuracy_error: float | None
    verification_auc: float | None
    verification_auc_error: float | None
    verification_eer: float | None
    verification_eer_error: float | None
    fit_seconds: float | None
    splits: int
    chosen: str
    candidates: int
    failure: str


@dataclass(frozen=True)
class UnseenTable(MethodTable[UnseenRow]):
    """All methods on the same splits of the classes.

    Attributes
    ----------
    rows : tuple of UnseenRow
        The methods.
    examples, size, classes : int
        The number of matrices, their number of rows, and the number of classes.
    test_classes : int
        The number of classes that each split holds out.
    groups : int or None
        The number of groups, or None if there are no groups.
    splits, seed : int
        The number of splits, and the seed.
    reg : float
        The regularisation, as in `compare`.
    interrupted : bool
        Whether Ctrl-C ended the comparison early. `rows` then holds the completed splits.
    """

    test_classes: int
    groups: int | None
    splits: int
    seed: int
    reg: float
    interrupted: bool = False

    def difference(self, row: UnseenRow, measure: str = MEASURES[0]) -> Estimate | None:
        """Return the mean difference between a method and the best fixed metric, paired by split.

        Parameters
        ----------
        row : UnseenRow
            A row of this table.
        measure : str, default='mean_average_precision'
            A name from `MEASURES`.

        Returns
        -------
        Estimate or None
            The difference. None for the best fixed metric itself, for a method that failed, and if the two methods have
            no split in common.
        """
        return self._above_best_fixed(row, lambda one: one.values(measure))

    def summary(self) -> list[UnseenSummary]:
        """Return the statistics of each method.

        Returns
        -------
        list of UnseenSummary
            One entry per method.
        """
        return [self._summary_of(row) for row in self.rows]

    def _summary_of(self, row: UnseenRow) -> UnseenSummary:
        estimates = {measure: row.estimate(measure) for measure in MEASURES} | {"difference": self.difference(row)}
        numbers: dict[str, float | None] = {}
        for name, estimate in estimates.items():
            numbers[name] = None if estimate is None else estimate.mean
            numbers[f"{name}_error"] = None if estimate is None else estimate.standard_error
        return UnseenSummary(
            row.kind,
            row.method,
            **numbers,
            fit_seconds=row.fit_seconds,
            splits=len(row.splits),
            chosen=row.chosen_text,
            candidates=row.candidates,
            failure=row.failure,
        )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Create a table from the result of `as_dict`.

        Parameters
        ----------
        values : dict
            The result of `as_dict`.

        Returns
        -------
        UnseenTable
        """
        fields = cls._fields(values)
        rows = tuple(
            UnseenRow(row["kind"], row["method"], tuple(UnseenResult(**one) for one in row["splits"]))
            for row in fields.pop("rows")
        )
        return cls(rows=rows, **fields)
