"""What the results of all comparisons have in common: the runs of each method, and the difference to the best one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from covmetric.experiments.estimates import Estimate, Key, paired_difference

#: Where a method comes from.
FIXED, PYRIEMANN, PEER, LEARNED = "fixed", "pyRiemann", "peer", "learned"


class Run(Protocol):
    """One method on one fold or split."""

    @property
    def chosen(self) -> str:
        """The settings that were chosen on the training part, or "" if the method has nothing to tune."""

    @property
    def candidates(self) -> int:
        """The number of settings that were tried."""

    @property
    def failure(self) -> str:
        """The reason why the method failed, or "" if it did not."""


@dataclass(frozen=True)
class MethodRuns(ABC):
    """One method on all completed folds or splits.

    Attributes
    ----------
    kind : str
        Where the method comes from: "fixed", "pyRiemann", "peer" or "learned".
    method : str
        The name of the method.
    """

    kind: str
    method: str

    @property
    @abstractmethod
    def runs(self) -> Sequence[Run]:
        """The completed folds or splits."""

    @property
    @abstractmethod
    def score(self) -> float | None:
        """The mean score by which methods are ranked, or None if the method has none."""

    @property
    def failure(self) -> str:
        """The reason of the first failure, or "" if nothing failed."""
        return next((one.failure for one in self.runs if one.failure), "")

    @property
    def chosen(self) -> dict[str, int]:
        """The chosen settings and how often each was chosen, in descending order of frequency."""
        return dict(Counter(one.chosen for one in self.runs if one.chosen).most_common())

    @property
    def chosen_text(self) -> str:
        """The chosen settings in one line, with how often each was chosen."""
        return ", ".join(f"{settings} ({count})" for settings, count in self.chosen.items())

    @property
    def candidates(self) -> int:
        """The number of settings that were tried."""
        return max((one.candidates for one in self.runs), default=0)

    def seconds(self, what: str) -> float | None:
        """Return the median time over the runs, which leaves out the compilation in the first one.

        Parameters
        ----------
        what : {'fit', 'predict'}
            The step.

        Returns
        -------
        float or None
            The time in seconds, or None if all runs failed.
        """
        measured = [value for one in self.runs if (value := getattr(one, f"{what}_seconds")) is not None]
        return float(np.median(measured)) if measured else None


Row = TypeVar("Row", bound=MethodRuns)


def best_row(rows: Sequence[Row], kind: str) -> Row | None:
    """Return the method of a kind with the highest score.

    Parameters
    ----------
    rows : sequence of MethodRuns
        The methods.
    kind : str
        The kind: "fixed", "pyRiemann", "peer" or "learned".

    Returns
    -------
    MethodRuns or None
        The first of the methods with the most runs and the highest score; None if there is none that has a score.

    Examples
    --------
    >>> from covmetric.experiments.fold_results import FoldResult, MethodRow
    >>> rows = [MethodRow("learned", name, (FoldResult(0, 0, value),)) for name, value in [("a", 0.5), ("b", 0.75)]]
    >>> best_row(rows, "learned").method, best_row(rows, "fixed")
    ('b', None)
    """
    scored = [(len(row.runs), score, row) for row in rows if row.kind == kind and (score := row.score) is not None]
    return max(scored, key=lambda entry: entry[:2])[2] if scored else None


@dataclass(frozen=True)
class MethodTable(ABC, Generic[Row]):
    """All methods on the same folds or splits.

    Attributes
    ----------
    rows : tuple of MethodRuns
        The methods.
    examples, size, classes : int
        The number of matrices, their number of rows, and the number of classes.
    """

    rows: tuple[Row, ...]
    examples: int
    size: int
    classes: int

    @property
    def best_fixed(self) -> Row | None:
        """The fixed metric with the highest score, or None if there is no fixed metric."""
        return best_row(self.rows, FIXED)

    @abstractmethod
    def summary(self) -> list[Any]:
        """Return the statistics of each method.

        Returns
        -------
        list
            One dataclass per method.
        """

    def as_dict(self) -> dict[str, Any]:
        """Return the table as lists, dicts, strings and numbers, for JSON.

        Returns
        -------
        dict
            The argument of `from_dict`.
        """
        best = self.best_fixed
        return {**asdict(self), "best_fixed": best and best.method, "summary": [asdict(one) for one in self.summary()]}

    @classmethod
    def _fields(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the table in the result of `as_dict`, which has other entries as well."""
        return {name: value for name, value in values.items() if name in cls.__dataclass_fields__}

    def _above_best_fixed(self, row: Row, values: Callable[[Row], Mapping[Key, float]]) -> Estimate | None:
        """Return the mean difference between a method and the best fixed metric, paired by fold or split."""
        best = self.best_fixed
        if best is None or row is best or row.failure:
            return None
        own, reference = values(row), values(best)
        common = [key for key in own if key in reference]
        if not common:
            return None
        return paired_difference({key: own[key] for key in common}, {key: reference[key] for key in common})
