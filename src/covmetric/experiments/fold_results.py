"""The result of a comparison: methods by folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

#: Where a method comes from.
FIXED, PYRIEMANN, PEER, LEARNED = "fixed", "pyRiemann", "peer", "learned"


@dataclass(frozen=True)
class FoldResult:
    """One method on one fold.

    Attributes
    ----------
    repeat, fold : int
    accuracy, fit_seconds, predict_seconds : float or None
        None where it failed. The seconds to fit include those of tuning.
    chosen : str
        The settings that were chosen on the training part; empty where nothing is tuned.
    candidates : int
        Among how many settings.
    failure : str
        Why it failed; empty where it did not.
    """

    repeat: int
    fold: int
    accuracy: float | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    chosen: str = ""
    candidates: int = 0
    failure: str = ""


@dataclass(frozen=True)
class MethodRow:
    """One method on all the folds that were done."""

    kind: str
    method: str
    folds: tuple[FoldResult, ...]

    @property
    def failure(self) -> str:
        """Why it failed, the first time; empty where it never did."""
        return next((fold.failure for fold in self.folds if fold.failure), "")

    @property
    def accuracies(self) -> dict[tuple[int, int], float]:
        """By repeat and fold."""
        return {(one.repeat, one.fold): one.accuracy for one in self.folds if one.accuracy is not None}

    @property
    def accuracy(self) -> float | None:
        """The mean over the folds; None where one failed, because the others are no fair comparison."""
        return None if self.failure else float(np.mean(list(self.accuracies.values())))

    @property
    def standard_error(self) -> float | None:
        """Of the accuracy; None where there are fewer than two folds."""
        return None if self.failure else _standard_error(list(self.accuracies.values()))

    @property
    def chosen(self) -> dict[str, int]:
        """The settings that were chosen and how often, the most frequent first."""
        return dict(Counter(one.chosen for one in self.folds if one.chosen).most_common())

    @property
    def candidates(self) -> int:
        """Among how many settings."""
        return max((one.candidates for one in self.folds), default=0)

    def seconds(self, what: str) -> float | None:
        """The median over the folds to "fit" or to "predict": what is compiled or loaded once does not count."""
        known = [value for one in self.folds if (value := getattr(one, f"{what}_seconds")) is not None]
        return float(np.median(known)) if known else None


@dataclass(frozen=True)
class ComparisonTable:
    """All methods, and what they were compared on.

    Attributes
    ----------
    rows : tuple of MethodRow
    examples, size, classes : int
        Matrices, their number of rows, and classes.
    groups : int or None
        How many groups stayed together in the folds.
    folds, repeats, seed : int
    reg : float
    interrupted : bool
        Whether Ctrl-C came before the end: then `rows` has what was done.
    """

    rows: tuple[MethodRow, ...]
    examples: int
    size: int
    classes: int
    groups: int | None
    folds: int
    repeats: int
    seed: int
    reg: float
    interrupted: bool = False

    @property
    def best_fixed(self) -> MethodRow | None:
        """The fixed metric with the highest accuracy, chosen on these very folds; None where there is none."""
        fixed = [row for row in self.rows if row.kind == FIXED and not row.failure]
        return max(fixed, key=lambda row: (len(row.folds), row.accuracy), default=None)

    def difference(self, row: MethodRow) -> tuple[float | None, float | None]:
        """The mean difference to the best fixed metric over the folds of both, and its standard error."""
        best = self.best_fixed
        if best is None or row is best or row.failure:
            return None, None
        ours, theirs = row.accuracies, best.accuracies
        differences = [ours[key] - theirs[key] for key in ours if key in theirs]
        return (float(np.mean(differences)), _standard_error(differences)) if differences else (None, None)

    def summary(self) -> list[dict[str, Any]]:
        """One flat record per method, for a table."""
        records = []
        for row in self.rows:
            difference, error = self.difference(row)
            records.append(
                {
                    "kind": row.kind,
                    "method": row.method,
                    "accuracy": row.accuracy,
                    "standard_error": row.standard_error,
                    "difference": difference,
                    "difference_error": error,
                    "fit_seconds": row.seconds("fit"),
                    "predict_seconds": row.seconds("predict"),
                    "folds": len(row.folds),
                    "chosen": ", ".join(f"{words} ({times})" for words, times in row.chosen.items()),
                    "candidates": row.candidates,
                    "failure": row.failure,
                }
            )
        return records

    def as_dict(self) -> dict[str, Any]:
        """Everything in lists, dicts, strings and numbers, for JSON; `from_dict` reads it."""
        best = self.best_fixed
        return {**asdict(self), "best_fixed": best and best.method, "summary": self.summary()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The table that `as_dict` described."""
        given = {name: value for name, value in values.items() if name in cls.__dataclass_fields__}
        rows = tuple(
            MethodRow(row["kind"], row["method"], tuple(FoldResult(**fold) for fold in row["folds"]))
            for row in given.pop("rows")
        )
        return cls(rows=rows, **given)


def _standard_error(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
