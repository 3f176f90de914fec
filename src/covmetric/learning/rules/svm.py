"""A support vector machine with the Gaussian kernel of the metric."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
from scipy.special import softmax
from sklearn.svm import SVC

from covmetric._utils.validation import FloatArray, IntArray, check_positive
from covmetric.learning.rules.base import Rule
from covmetric.learning.rules.units import Units


class SvmRule(Rule):
    """A support vector machine with the kernel exp(-D), D the squared distance in units of its mean from the centre.

    The probabilities are the softmax of the decision values of the classes. They are not calibrated.

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
        The inverse strength of the regularisation.
    """

    name = "svm"
    tuned = "C"

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:
        return cls.name

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        check_positive("C", self.C)
        self._present = np.unique(codes)
        self._units = replace(Units.of_vectors(vectors), basis=None)  # queries may be outside of the span
        if len(self._present) > 1:
            self._model = SVC(C=self.C, gamma=1.0).fit(self._units.apply(vectors), codes)
        return self

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        result = np.zeros((len(vectors), self.n_classes))
        result[:, self._present] = 1.0 if len(self._present) == 1 else softmax(self._decisions(vectors), axis=1)
        return result

    def _decisions(self, vectors: FloatArray) -> FloatArray:
        """Return the decision value of each class that is present."""
        values = np.asarray(self._model.decision_function(self._units.apply(vectors)))
        return np.stack([-values, values], axis=1) if values.ndim == 1 else values
