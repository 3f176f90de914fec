"""The result of the hand gestures: each method on each person with each seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.estimators import CovMetricClassifier
from covmetric.experiments.estimates import Estimate, mean_and_standard_error

#: Kinds of methods: fixed metrics, pyRiemann's classifiers, other methods of metric learning, and covmetric.
FIXED, PYRIEMANN, PEER, LEARNED = "fixed metric, 3-NN", "pyRiemann", "other learned metric, 3-NN", "covmetric"


@dataclass(frozen=True)
class Row:
    """One method on one person with one seed.

    Attributes
    ----------
    kind : str
        "fixed metric, 3-NN", "pyRiemann", "other learned metric, 3-NN" or "covmetric".
    method : str
        The name of the method.
    person : str
        The name of the person.
    seed : int or None
        The seed of the folds and of the pairs, or None if the method uses neither.
    accuracy : float
        The accuracy on the windows of the second session.
    fit_seconds, predict_seconds : float
        The times to fit, which includes tuning, and to predict.
    """

    kind: str
    method: str
    person: str
    seed: int | None
    accuracy: float
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class GestureSummary:
    """One method over all people and seeds.

    Attributes
    ----------
    kind, method : str
        As in `Row`.
    accuracies : tuple of float
        The mean over the seeds for each person.
    accuracy : float
        The mean over people and seeds.
    lowest, highest : float
        The range over the seeds of the mean over the people. Both equal `accuracy` for a method without a seed.
    seeds : int
        The number of seeds, or 0 for a method without a seed.
    fit_seconds, predict_seconds : float
        Means over people and seeds.
    """

    kind: str
    method: str
    accuracies: tuple[float, ...]
    accuracy: float
    lowest: float
    highest: float
    seeds: int
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class LearnedRun:
    """A classifier that learned its metric with one seed.

    Attributes
    ----------
    row : Row
        The method, the person, the seed and the accuracy.
    classifier : CovMetricClassifier
        The fitted classifier.
    """

    row: Row
    classifier: CovMetricClassifier = field(repr=False)


@dataclass(frozen=True)
class GestureTable:
    """All methods on all people with all seeds.

    Attributes
    ----------
    rows : list of Row
        One entry per method and person, and per seed if the method has one.
    learned : list of LearnedRun
        The classifiers with a learned metric.
    test : dict from str to tuple of arrays
        The matrices and the classes of each person's second session.
    windows : int
        The number of covariance matrices.
    channels : int
        Their number of rows.
    """

    rows: list[Row]
    learned: list[LearnedRun] = field(repr=False)
    test: dict[str, tuple[FloatArray, Any]] = field(repr=False)
    windows: int
    channels: int

    @property
    def people(self) -> list[str]:
        """The names of the people, sorted."""
        return sorted({row.person for row in self.rows})

    @property
    def seeds(self) -> list[int]:
        """The seeds, sorted."""
        return sorted({row.seed for row in self.rows if row.seed is not None})

    @property
    def learned_methods(self) -> list[str]:
        """The names of the methods of covmetric; the first one is recommended."""
        return [method for method, kind in self.methods.items() if kind == LEARNED]

    @property
    def methods(self) -> dict[str, str]:
        """The kind of each method, by name."""
        return {row.method: row.kind for row in self.rows}

    def accuracies(self, method: str) -> FloatArray:
        """Return the accuracies of a method by seed and person.

        Parameters
        ----------
        method : str
            The name of the method.

        Returns
        -------
        array of shape (n_seeds, n_people)
            The accuracies. All rows are equal if the method has no seed.
        """
        values = {(row.seed, row.person): row.accuracy for row in self.rows if row.method == method}
        has_seed = any(seed is not None for seed, _ in values)
        seeds = self.seeds if has_seed else [None] * max(1, len(self.seeds))
        return np.array([[values[seed, person] for person in self.people] for seed in seeds])

    def summary(self) -> list[GestureSummary]:
        """Average over people and seeds.

        Returns
        -------
        list of GestureSummary
            One entry per method.
        """
        summaries = []
        for method, kind in self.methods.items():
            rows = [row for row in self.rows if row.method == method]
            seeds = {row.seed for row in rows} - {None}
            # One row without a seed: the mean of equal numbers would round.
            accuracies = self.accuracies(method)[: len(seeds) or 1]
            by_seed = accuracies.mean(axis=1)
            summaries.append(
                GestureSummary(
                    kind,
                    method,
                    accuracies=tuple(accuracies.mean(axis=0).tolist()),
                    # Rounding may move the mean of equal numbers out of their range.
                    accuracy=float(np.clip(by_seed.mean(), by_seed.min(), by_seed.max())),
                    lowest=float(by_seed.min()),
                    highest=float(by_seed.max()),
                    seeds=len(seeds),
                    fit_seconds=float(np.mean([row.fit_seconds for row in rows])),
                    predict_seconds=float(np.mean([row.predict_seconds for row in rows])),
                )
            )
        return summaries

    def best(self, kind: str) -> GestureSummary:
        """Return the method of a kind that has the highest mean accuracy on the second sessions.

        Parameters
        ----------
        kind : str
            As in `Row`.

        Returns
        -------
        GestureSummary
            The method. It is chosen by the test data, so its accuracy is an optimistic estimate.
        """
        return max((row for row in self.summary() if row.kind == kind), key=lambda row: row.accuracy)

    def difference(self, method: str, other: str) -> Estimate:
        """Return how far a method is above another one, paired by person and seed.

        Parameters
        ----------
        method, other : str
            The names of the methods.

        Returns
        -------
        Estimate
            In percentage points: the mean over people and seeds, and its standard error over the seeds. The standard
            error measures the draw of folds and pairs; it says nothing about other people.
        """
        by_seed = (self.accuracies(method) - self.accuracies(other)).mean(axis=1)
        return mean_and_standard_error((100 * by_seed).tolist())

    def verdict(self, method: str) -> str:
        """Return sentences that compare a method with the best ones and name those that it does not beat.

        Parameters
        ----------
        method : str
            The name of a method of covmetric.

        Returns
        -------
        str
            A method counts as beaten if the difference is above two standard errors.
        """
        comparisons = [
            f"{_signed(self.difference(method, best.method))} the best {noun} ({best.method})"
            for noun, best in (("fixed metric", self.best(FIXED)), ("classifier of pyRiemann", self.best(PYRIEMANN)))
        ]
        others = [other for other, kind in self.methods.items() if kind != LEARNED]
        unbeaten = [other for other in others if not _is_above(self.difference(method, other))]
        margin = " by more than two standard errors" if len(self.seeds) > 1 else ""
        if unbeaten:
            wins = f"It does not win against {', '.join(unbeaten)}: it is not above them{margin}."
        else:
            wins = f"It is above all of them{margin}."
        return f"{method} is {' and '.join(comparisons)}. {wins}"

    def typical(self, method: str) -> LearnedRun:
        """Return the person and seed whose accuracy is nearest to the mean accuracy of a method.

        Parameters
        ----------
        method : str
            The name of a method of covmetric.

        Returns
        -------
        LearnedRun
            The first one, if several are equally near.
        """
        mean = float(self.accuracies(method).mean())
        runs = [run for run in self.learned if run.row.method == method]
        return min(runs, key=lambda run: abs(run.row.accuracy - mean))


def _signed(difference: Estimate) -> str:
    side = "above" if difference.mean >= 0 else "below"
    return f"{Estimate(abs(difference.mean), difference.standard_error, difference.count).text()} points {side}"


def _is_above(difference: Estimate) -> bool:
    return difference.mean > 2 * (difference.standard_error or 0.0)
