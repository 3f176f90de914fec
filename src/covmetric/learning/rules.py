"""Decision rules on the vectors of a learned metric. `RULES` lists them by name."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np
from scipy.special import softmax

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.neighbors import Search, get_search
from covmetric.neighbors.votes import check_n_neighbors, count_votes


class Rule(ABC):
    """A classifier of vectors by their Euclidean distances.

    Parameters
    ----------
    n_classes : int
        The number of classes; some of them may be missing from the training vectors.
    n_neighbors : int, default=3
        The number of neighbours, for rules that use neighbours.
    n_jobs : int or None, default=None
        The number of threads that search for neighbours.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        The search for neighbours.
    """

    name: ClassVar[str]
    #: Whether the rule is the vote of the nearest neighbours, which leave-one-out and quicker scores rely on.
    is_vote_of_neighbors: ClassVar[bool] = False

    def __init__(
        self, n_classes: int, n_neighbors: int = 3, n_jobs: int | None = None, algorithm: str | Search = "auto"
    ) -> None:
        self.n_classes = n_classes
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.algorithm = algorithm

    @classmethod
    @abstractmethod
    def short_name(cls, n_neighbors: int) -> str:
        """Return the name of the rule in tables and in names of methods.

        Parameters
        ----------
        n_neighbors : int
            The number of neighbours.

        Returns
        -------
        str
            A name without spaces, such as "3nn".
        """

    @abstractmethod
    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        """Learn the rule from labelled vectors.

        Parameters
        ----------
        vectors : array of shape (l, q)
            The training vectors.
        codes : array of int of shape (l,)
            Their classes, 0..n_classes-1.

        Returns
        -------
        Rule
            The rule itself.
        """

    @abstractmethod
    def probabilities(self, vectors: FloatArray) -> FloatArray:
        """Return the estimated probability of each class.

        Parameters
        ----------
        vectors : array of shape (l, q)
            The vectors to classify.

        Returns
        -------
        array of shape (l, n_classes)
            The probabilities. Each row sums to 1. Classes without a training vector have the probability 0.
        """

    def predict(self, vectors: FloatArray) -> IntArray:
        """Return the most probable class of each vector.

        Parameters
        ----------
        vectors : array of shape (l, q)
            The vectors to classify.

        Returns
        -------
        array of int of shape (l,)
            Classes 0..n_classes-1. If several classes tie, the first one is returned.
        """
        return np.asarray(self.probabilities(vectors).argmax(axis=1), dtype=np.int64)


class NeighborsRule(Rule):
    """The vote of the nearest training vectors.

    Parameters
    ----------
    n_classes : int
        The number of classes.
    n_neighbors : int, default=3
        The number of neighbours. If there are fewer training vectors, all of them vote.
    n_jobs : int or None, default=None
        The number of threads that search for neighbours.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        The search for neighbours. All searches are exact.
    """

    name = "neighbors"
    is_vote_of_neighbors = True

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:
        return f"{n_neighbors}nn"

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        check_n_neighbors(self.n_neighbors)
        self._codes = codes
        named = isinstance(self.algorithm, str)
        search = get_search(self.algorithm, self.n_jobs if named else None, vectors.shape)
        # The copy leaves a Search object of the user unfitted, so that several rules can use it.
        self._search = copy.copy(search).fit(vectors)
        return self

    def nearest(self, vectors: FloatArray | None, k: int) -> tuple[FloatArray, IntArray]:
        """Return the k nearest training vectors for each vector.

        Parameters
        ----------
        vectors : array of shape (l, q) or None
            The vectors. None means the training vectors, which are then not their own neighbours.
        k : int
            The number of neighbours.

        Returns
        -------
        distances : array of shape (l, k)
            The distances, in ascending order.
        indices : array of int of shape (l, k)
            The indices of the training vectors.
        """
        return self._search.nearest(vectors, k)

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        k = min(self.n_neighbors, len(self._codes))
        votes = self._codes[self.nearest(vectors, k)[1]]
        return count_votes(votes, self.n_classes)


class MeanRule(Rule):
    """The nearest class mean, as in pyRiemann's MDM.

    The probabilities are the softmax of the negative squared distances from the class means, in units of the mean
    squared distance of the training vectors from the means of their own classes.

    Parameters
    ----------
    n_classes : int
        The number of classes.
    n_neighbors : int, default=3
        Not used.
    n_jobs : int or None, default=None
        Not used.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        Not used.
    """

    name = "mean"

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:
        return cls.name

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        self._present = np.unique(codes)
        self._means = np.stack([vectors[codes == c].mean(axis=0) for c in self._present])
        with np.errstate(over="ignore"):
            within = ((vectors - self._means[np.searchsorted(self._present, codes)]) ** 2).sum(axis=1).mean()
        if not np.isfinite(within):
            raise ValueError("squared distances of the examples from their class means overflow: rescale X")
        self._unit = float(within) if within > 0.0 else 1.0
        return self

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            squared = np.stack([((vectors - mean) ** 2).sum(axis=1) for mean in self._means], axis=1)
        if not np.isfinite(squared).all():
            i = int(np.flatnonzero(~np.isfinite(squared).all(axis=1))[0])
            raise ValueError(f"X[{i}] is too far from the class means: its squared distance overflows; rescale X")
        result = np.zeros((len(vectors), self.n_classes))
        result[:, self._present] = softmax(-squared / self._unit, axis=1)
        return result


RULES: dict[str, type[Rule]] = {
    "neighbors": NeighborsRule,
    "mean": MeanRule,
}


def get_rule(
    rule: str, n_classes: int, n_neighbors: int = 3, n_jobs: int | None = None, algorithm: str | Search = "auto"
) -> Rule:
    """Return an unfitted rule.

    Parameters
    ----------
    rule : {'neighbors', 'mean'}
        The name of the rule.
    n_classes : int
        The number of classes.
    n_neighbors : int, default=3
        The number of neighbours.
    n_jobs : int or None, default=None
        The number of threads that search for neighbours.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        The search for neighbours.

    Returns
    -------
    Rule
        The rule, to be fitted.

    Raises
    ------
    ValueError
        If the rule or the search is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> rule = get_rule("mean", n_classes=2).fit(np.array([[0.0], [1.0], [4.0]]), np.array([0, 0, 1]))
    >>> rule.predict(np.array([[2.0], [3.0]])).tolist()
    [0, 1]
    """
    if not (isinstance(rule, str) and rule in RULES):
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    get_search(algorithm)  # raises ValueError for unknown names, even if the rule does not search
    return RULES[rule](n_classes, n_neighbors, n_jobs, algorithm)
