"""The base class of decision rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.neighbors import Search


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
    C : float, default=1.0
        The inverse strength of the regularisation, for rules that are fitted by optimisation.
    """

    name: ClassVar[str]
    #: Whether the rule is the vote of the nearest neighbours, which leave-one-out and quicker scores rely on.
    is_vote_of_neighbors: ClassVar[bool] = False
    #: What the rule looks at, for people: "references", "class means" or "decision boundaries".
    decides_by: ClassVar[str] = "decision boundaries"
    #: What people should know about the probabilities, as a sentence; "" if there is nothing to say.
    probability_note: ClassVar[str] = ""
    #: The parameter that the rule depends on, if any.
    tuned: ClassVar[str | None] = None

    def __init__(
        self,
        n_classes: int,
        n_neighbors: int = 3,
        n_jobs: int | None = None,
        algorithm: str | Search = "auto",
        C: float = 1.0,
    ) -> None:
        self.n_classes = n_classes
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.C = C

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
