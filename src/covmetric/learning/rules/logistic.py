"""Logistic regression on the vectors of the metric."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.linear_model import LogisticRegression

from covmetric._utils.validation import FloatArray, IntArray, check_positive
from covmetric.learning.rules.base import Rule
from covmetric.learning.rules.units import Units

# L-BFGS needs some hundred iterations if classes are separable and C is large.
_MAX_ITER = 10_000


class LogisticRule(Rule):
    """Multinomial logistic regression, in units of the spread of the training vectors.

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
        The inverse strength of the regularisation, as in scikit-learn, for vectors whose
        mean squared distance from their mean is 1.
    """

    name = "logistic"
    tuned = "C"

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:
        return cls.name

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        check_positive("C", self.C)
        self._present = np.unique(codes)
        self._units = Units.of_vectors(vectors)
        if len(self._present) > 1:
            self._model = LogisticRegression(C=self.C, max_iter=_MAX_ITER).fit(self._units.apply(vectors), codes)
        return self

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        result = np.zeros((len(vectors), self.n_classes))
        one_class = len(self._present) == 1
        result[:, self._present] = 1.0 if one_class else self._model.predict_proba(self._units.apply(vectors))
        return result
