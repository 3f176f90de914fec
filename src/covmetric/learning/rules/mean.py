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
    squared distance of the training vectors from the means of their own classes. See `MeanBlend` for weights.

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
    probability_note = "The probabilities of class means rank the examples, but are not calibrated."

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:
        return cls.name

    def fit(self, vectors: FloatArray, codes: IntArray, weights: FloatArray | None = None) -> Self:
        """Compute the class means.

        Parameters
        ----------
        vectors : array of shape (l, q)
            The training vectors.
        codes : array of int of shape (l,)
            Their classes, 0..n_classes-1.
        weights : array of shape (l,) or None, default=None
            The weight of each vector in the mean of its class, and in the unit of the probabilities. None weights all
            vectors equally.

        Returns
        -------
        MeanRule
            The rule itself.
        """
        self._present = np.unique(codes)
        by_class = [codes == c for c in self._present]
        share = (lambda members: None) if weights is None else (lambda members: weights[members])
        self._means = np.stack([np.average(vectors[k], axis=0, weights=share(k)) for k in by_class])
        with np.errstate(over="ignore"):
            squared = ((vectors - self._means[np.searchsorted(self._present, codes)]) ** 2).sum(axis=1)
            within = np.average(squared, weights=weights)
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
