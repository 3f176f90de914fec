"""The scores of a search along lambda."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.plotting.axes import axes_for
from covmetric.plotting.bars import COLOURS
from covmetric.plotting.fitted import find_learner

_LINES = (COLOURS[5], COLOURS[2], COLOURS[3], COLOURS[6], COLOURS[1], "#000000", COLOURS[0])
_MARKERS = "os^Dv*XP"
# The parameters of which each value has a line. The first entry that makes few enough lines is used.
_SPLITS, _MAX_LINES = (("phi", "rule"), ("rule",), ("phi",), ()), 8


class SearchDisplay:
    """The cross-validated accuracies of a `CovMetricCV` along lambda.

    There is one line per embedding and decision rule, or one per rule if these are more than eight. A point is the best
    mean accuracy over the other parameters of the search, and its bar is the standard error over the folds. lambda =
    inf is the metric before learning. The chosen candidate need not be the best one: `CovMetricCV` prefers simpler
    candidates among those that count as equally good.

    Use `from_estimator` or `from_result` to create it.

    Parameters
    ----------
    cv_results : dict of arrays
        The scores, as in `CovMetricCV.cv_results_`.
    best_index : int or None, default=None
        The index of the chosen candidate, which is marked by a star.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetricCV
    >>> from covmetric.plotting import SearchDisplay
    >>> search = CovMetricCV(random_state=0).fit(*load_iris(return_X_y=True))
    >>> display = SearchDisplay.from_estimator(search)
    >>> [label.get_text() for label in display.ax_.get_xticklabels()]
    ['0.001', '0.01', '0.1', 'inf']
    """

    def __init__(self, cv_results: Mapping[str, Any], *, best_index: int | None = None) -> None:
        self.cv_results = cv_results
        self.best_index = best_index

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the scores of a fitted search.

        Parameters
        ----------
        estimator : CovMetricCV, CovMetricClassifier with such a learner, or Pipeline with one
            The fitted search.
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        SearchDisplay
            The display.

        Raises
        ------
        ValueError
            If the estimator did not search.
        """
        learner, _ = find_learner(estimator)
        if not hasattr(learner, "cv_results_"):
            raise ValueError(f"estimator must have a fitted CovMetricCV; its learner {learner!r} did not search")
        return cls.from_result(learner.cv_results_, best_index=learner.best_index_, ax=ax)

    @classmethod
    def from_result(cls, cv_results: Mapping[str, Any], *, best_index: int | None = None, ax: Any = None) -> Self:
        """Draw scores in the format of `CovMetricCV.cv_results_`.

        Parameters
        ----------
        cv_results : dict of arrays
            The scores.
        best_index : int or None, default=None
            The index of the chosen candidate.
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        SearchDisplay
            The display.
        """
        return cls(cv_results, best_index=best_index).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one line per embedding and rule.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            The axes. None means a new figure.

        Returns
        -------
        SearchDisplay
            The display itself.
        """
        self.ax_ = axes_for(ax, "SearchDisplay.plot", 6.8, 4.2)
        self.figure_ = self.ax_.figure
        params, mean, error = self.cv_results["params"], *self._percent()
        lambdas = sorted({float(candidate["lam"]) for candidate in params})
        names = self._lines()
        lines = list(dict.fromkeys(names))
        for number, line in enumerate(lines):
            best = self._best_by_lambda(line, names, lambdas, mean)
            # Side by side, so that the bars of different lines do not hide each other.
            places = np.array(list(best)) + 0.5 * ((number + 0.5) / len(lines) - 0.5)
            chosen = list(best.values())
            self.ax_.errorbar(
                places, mean[chosen], error[chosen], color=_LINES[number % len(_LINES)],
                marker=_MARKERS[number // len(_LINES) % len(_MARKERS)], markersize=4, linewidth=1.2, elinewidth=0.8,
                capsize=2, label=line,
            )  # fmt: skip
            if self.best_index in chosen:
                place = places[chosen.index(self.best_index)]
                self.ax_.plot(place, mean[self.best_index], "*", color="black", markersize=15, zorder=5, label="chosen")
        self.ax_.set_xticks(range(len(lambdas)), [f"{lam:g}" for lam in lambdas])
        self.ax_.set_xlabel("lambda (inf: before learning)")
        self.ax_.set_ylabel("accuracy in the search, percent")
        self.ax_.grid(axis="y", alpha=0.3)
        self.ax_.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
        self.ax_.spines[["top", "right"]].set_visible(False)
        return self

    def _percent(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean accuracy of each candidate and its standard error, in percent."""
        folds = np.array([v for k, v in self.cv_results.items() if k.startswith("split") and k.endswith("_test_score")])
        scored = (~np.isnan(folds)).sum(axis=0)
        mean = 100 * np.asarray(self.cv_results["mean_test_score"], dtype=np.float64)
        spread = 100 * np.asarray(self.cv_results["std_test_score"], dtype=np.float64)
        return mean, spread / np.sqrt(np.maximum(scored - 1, 1))  # std_test_score divides by the number of folds

    def _lines(self) -> list[str]:
        """Return the name of the line of each candidate."""
        names: list[str] = []
        for split in _SPLITS:
            names = [_line(candidate, split) for candidate in self.cv_results["params"]]
            if len(set(names)) <= _MAX_LINES:
                break
        return names

    def _best_by_lambda(self, line: str, names: list[str], lambdas: list[float], mean: FloatArray) -> dict[int, int]:
        """Return the best candidate of a line at each lambda; the chosen candidate stands for its lambda."""
        best: dict[int, int] = {}
        for index, (name, candidate) in enumerate(zip(names, self.cv_results["params"], strict=True)):
            if name != line or np.isnan(mean[index]):
                continue
            place = lambdas.index(float(candidate["lam"]))
            if place not in best or (best[place] != self.best_index and mean[index] > mean[best[place]]):
                best[place] = index
            if index == self.best_index:
                best[place] = index
        return dict(sorted(best.items()))


def _line(candidate: Mapping[str, Any], split: tuple[str, ...]) -> str:
    values = [candidate[name] for name in split if candidate.get(name) is not None]
    return ", ".join(str(getattr(value, "name", value)) for value in values) or "all candidates"
