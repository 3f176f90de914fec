"""The nearest class mean."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import softmax

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.rules.base import Rule


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
    C : float, default=1.0
        Not used.
    """

    name = "mean"
    decides_by = "class means"

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
