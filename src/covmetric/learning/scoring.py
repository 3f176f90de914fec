"""Scores of the vectors of a metric on a split: the accuracy of a decision rule, or a score of distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.distances import cross_distances, distance_blocks, nearest_columns
from covmetric._utils.tuning import SEARCH_ENTRIES
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.rules import RULES, Rule, get_rule
from covmetric.learning.splits import Split
from covmetric.model_selection import DistanceScorer
from covmetric.neighbors.votes import count_votes


class Score(ABC):
    """A score of the vectors of a candidate metric."""

    @property
    @abstractmethod
    def params(self) -> dict[str, Any]:
        """The parameters that the score depends on, by name."""

    @abstractmethod
    def score(
        self, references: FloatArray, queries: FloatArray, codes: IntArray, split: Split, n_columns: int
    ) -> float:
        """Return the score on the test part of a split.

        Parameters
        ----------
        references : array of shape (l_train, q)
            The vectors of the training part.
        queries : array of shape (l_test, q)
            The vectors of the test part.
        codes : array of int of shape (l,)
            The classes of all examples, 0..n_classes-1.
        split : Split
            The split.
        n_columns : int
            The number of columns m of Phi(X).

        Returns
        -------
        float
            The score. More is better.
        """


@dataclass(frozen=True)
class DistanceScoring(Score):
    """A score of the distances between the test examples, whose classes need not be in the training part.

    Attributes
    ----------
    scorer : DistanceScorer
        The scorer.
    """

    scorer: DistanceScorer

    @property
    def params(self) -> dict[str, Any]:
        """No parameters, because nothing is classified."""
        return {}

    def score(
        self, references: FloatArray, queries: FloatArray, codes: IntArray, split: Split, n_columns: int
    ) -> float:
        return self.scorer.score(queries, codes[split.test], split.test_groups)


@dataclass(frozen=True)
class Scoring(Score):
    """A classifier whose accuracy is a score.

    Attributes
    ----------
    rule : {'neighbors', 'mean', 'lda', 'logistic', 'svm'}
        The decision rule.
    n_neighbors : int, default=3
        The number of neighbours.
    C : float, default=1.0
        The inverse strength of the regularisation.
    """

    rule: str
    n_neighbors: int = 3
    C: float = 1.0

    @property
    def params(self) -> dict[str, Any]:
        """The rule and the parameter that it depends on, by name."""
        tuned = RULES[self.rule].tuned
        return {"rule": self.rule, **({} if tuned is None else {tuned: getattr(self, tuned)})}

    def create(self, n_classes: int) -> Rule:
        """Return the rule, to be fitted.

        Parameters
        ----------
        n_classes : int
            The number of classes.

        Returns
        -------
        Rule
            The rule.
        """
        return get_rule(self.rule, n_classes, self.n_neighbors, C=self.C)

    def score(
        self, references: FloatArray, queries: FloatArray, codes: IntArray, split: Split, n_columns: int
    ) -> float:
        n_classes, k = int(codes.max()) + 1, self.n_neighbors
        by_vote = RULES[self.rule].is_vote_of_neighbors
        train_codes = codes[split.train]
        if split.leave_one_out:
            require_vote(self.rule)
            groups = np.arange(len(codes)) if split.groups is None else split.groups
            predicted = leave_one_out(references, codes, groups, k, n_classes)
        elif by_vote and n_columns > 1 and _fit_into_memory(references, len(queries)):
            # NeighborsRule also proves that rounding has not hidden any neighbour, which doubles the time. Only vectors
            # with few digits need this proof, because distances between matrices do not tie.
            predicted = _vote(cross_distances(queries, references), train_codes, k, n_classes)
        else:
            predicted = self.create(n_classes).fit(references, train_codes).predict(queries)
        return float((predicted == codes[split.test]).mean())


def require_vote(rule: str) -> None:
    """Raise ValueError if a rule is not the vote of neighbours, which leave-one-out needs.

    Parameters
    ----------
    rule : str
        The name of the rule.
    """
    if not RULES[rule].is_vote_of_neighbors:
        raise ValueError(f"cv='loo' needs rule='neighbors', got rule={rule!r}; use a number of folds as cv")


def _fit_into_memory(references: FloatArray, n_queries: int) -> bool:
    """Return whether all squared distances fit into memory and are far from overflow and underflow."""
    return len(references) * n_queries <= SEARCH_ENTRIES and bool(1e-100 < np.abs(references).max() < 1e100)


def leave_one_out(vectors: FloatArray, codes: IntArray, groups: npt.NDArray[Any], k: int, n_classes: int) -> IntArray:
    """Predict the class of each vector by the vote of its k nearest neighbours in the other groups.

    Parameters
    ----------
    vectors : array of shape (l, q)
        The vectors.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    groups : array of shape (l,)
        Their groups.
    k : int
        The number of neighbours.
    n_classes : int
        The number of classes.

    Returns
    -------
    array of int of shape (l,)
        The predicted classes. If votes tie, the first class is returned.
    """
    predicted = np.empty(len(codes), dtype=np.int64)
    for rows, squared in distance_blocks(vectors):
        squared[groups[rows, None] == groups] = np.inf
        predicted[rows] = _vote(squared, codes, k, n_classes)
    return predicted


def _vote(squared: FloatArray, codes: IntArray, k: int, n_classes: int) -> IntArray:
    """Return the vote of the k columns with the smallest finite squared distances, for each row."""
    if np.isnan(squared).any():
        raise ValueError("squared distances of the examples overflow: rescale X")
    nearest = nearest_columns(squared, k)
    finite = np.isfinite(np.take_along_axis(squared, nearest, axis=1))
    return np.asarray(count_votes(codes[nearest], n_classes, finite).argmax(axis=1), dtype=np.int64)
