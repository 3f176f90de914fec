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
    """A classifier of vectors (l, q) into classes 0..n_classes-1, by Euclidean distance."""

    name: ClassVar[str]

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
        """Return the name of the rule in tables.

        Parameters
        ----------
        n_neighbors : int
            The number of neighbours.

        Returns
        -------
        str
        """

    @abstractmethod
    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        """Remember the training vectors and their classes."""

    @abstractmethod
    def probabilities(self, vectors: FloatArray) -> FloatArray:
        """How much speaks for each class, shape (l, n_classes); rows sum up to 1."""

    def predict(self, vectors: FloatArray) -> IntArray:
        """The class that most speaks for; the first of those that tie."""
        return np.asarray(self.probabilities(vectors).argmax(axis=1), dtype=np.int64)


class NeighborsRule(Rule):
    """The vote of the nearest training vectors, found exactly."""

    name = "neighbors"

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:
        return f"{n_neighbors}nn"

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        check_n_neighbors(self.n_neighbors)
        self._codes = codes
        # A copy: an object that the user made may serve others, too.
        named = isinstance(self.algorithm, str)
        search = get_search(self.algorithm, self.n_jobs if named else None, vectors.shape)
        self._search = copy.copy(search).fit(vectors)
        return self

    def nearest(self, vectors: FloatArray | None, k: int) -> tuple[FloatArray, IntArray]:
        """Distances and indices of the k nearest, each of shape (l, k); None: of the training vectors' own others."""
        return self._search.nearest(vectors, k)

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        k = min(self.n_neighbors, len(self._codes))
        votes = self._codes[self.nearest(vectors, k)[1]]
        return count_votes(votes, self.n_classes)


class MeanRule(Rule):
    """The nearest class mean, as in pyRiemann's MDM; shares fall off with the squared distance."""

    name = "mean"

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:  # noqa: ARG003
        return cls.name

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        self._present = np.unique(codes)
        self._means = np.stack([vectors[codes == c].mean(axis=0) for c in self._present])
        with np.errstate(over="ignore"):
            own = ((vectors - self._means[np.searchsorted(self._present, codes)]) ** 2).sum(axis=1).mean()
        if not np.isfinite(own):
            raise ValueError("squared distances of the examples from their class means overflow: rescale X")
        self._unit = float(own) if own > 0.0 else 1.0
        return self

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            squared = np.stack([((vectors - mean) ** 2).sum(axis=1) for mean in self._means], axis=1)
        if not np.isfinite(squared).all():
            where = int(np.flatnonzero(~np.isfinite(squared).all(axis=1))[0])
            raise ValueError(f"X[{where}] is too far from the class means: its squared distance overflows; rescale X")
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
    """The rule of that name."""
    if not (isinstance(rule, str) and rule in RULES):
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    get_search(algorithm)  # refuses unknown names in any case
    return RULES[rule](n_classes, n_neighbors, n_jobs, algorithm)
