"""Decision rules on the vectors of a learned metric. `RULES` lists them by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.neighbors import NearestNeighbors

from covmetric._validation import FloatArray, IntArray, is_count


class Rule(ABC):
    """A classifier of vectors (l, q) into classes 0..n_classes-1, by Euclidean distance."""

    name: ClassVar[str]

    def __init__(self, n_classes: int, n_neighbors: int = 3, n_jobs: int | None = None) -> None:
        self.n_classes = n_classes
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    @abstractmethod
    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        """Remember the training vectors and their classes."""

    @abstractmethod
    def shares(self, vectors: FloatArray) -> FloatArray:
        """How much speaks for each class, shape (l, n_classes); rows sum up to 1."""

    def predict(self, vectors: FloatArray) -> IntArray:
        """The class that most speaks for; the first of those that tie."""
        return np.asarray(self.shares(vectors).argmax(axis=1), dtype=np.int64)


class NeighborsRule(Rule):
    """The vote of the nearest training vectors, found exactly by scikit-learn's brute force."""

    name = "neighbors"

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        check_n_neighbors(self.n_neighbors)
        # Distances by a matrix product lose the digits that the vectors have in common.
        self._centre = vectors.mean(axis=0)
        self._codes = codes
        self._search = NearestNeighbors(algorithm="brute", n_jobs=self.n_jobs).fit(vectors - self._centre)
        return self

    def nearest(self, vectors: FloatArray | None, k: int) -> tuple[FloatArray, IntArray]:
        """Distances and indices of the k nearest, each of shape (l, k); None: of the training vectors' own others."""
        distances, indices = self._search.kneighbors(None if vectors is None else vectors - self._centre, n_neighbors=k)
        return distances, indices

    def shares(self, vectors: FloatArray) -> FloatArray:
        k = min(self.n_neighbors, len(self._codes))
        votes = self._codes[self.nearest(vectors, k)[1]]
        return count_votes(votes, self.n_classes)


class MeanRule(Rule):
    """The nearest class mean, as in pyRiemann's MDM; shares fall off with the squared distance."""

    name = "mean"

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        self._present = np.unique(codes)
        self._means = np.stack([vectors[codes == c].mean(axis=0) for c in self._present])
        own = ((vectors - self._means[np.searchsorted(self._present, codes)]) ** 2).sum(axis=1).mean()
        self._unit = float(own) if own > 0.0 else 1.0
        return self

    def shares(self, vectors: FloatArray) -> FloatArray:
        squared = np.stack([((vectors - mean) ** 2).sum(axis=1) for mean in self._means], axis=1)
        result = np.zeros((len(vectors), self.n_classes))
        result[:, self._present] = softmax(-squared / self._unit, axis=1)
        return result


RULES: dict[str, type[Rule]] = {
    "neighbors": NeighborsRule,
    "mean": MeanRule,
}


def get_rule(rule: str, n_classes: int, n_neighbors: int = 3, n_jobs: int | None = None) -> Rule:
    """The rule of that name."""
    if not (isinstance(rule, str) and rule in RULES):
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    return RULES[rule](n_classes, n_neighbors, n_jobs)


def check_n_neighbors(n_neighbors: Any) -> None:
    """A number of neighbours is an integer >= 1."""
    if not (is_count(n_neighbors) and n_neighbors >= 1):
        raise ValueError(f"n_neighbors must be an integer >= 1, got {n_neighbors!r}")


def count_votes(votes: IntArray, n_classes: int, valid: npt.NDArray[np.bool_] | None = None) -> FloatArray:
    """The share of each class among the (valid) votes, shapes (l, k) and (l, n_classes)."""
    counts = np.zeros((len(votes), n_classes))
    np.add.at(counts, (np.arange(len(votes))[:, None], votes), 1.0 if valid is None else valid.astype(float))
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
