"""The base class of rules that scikit-learn fits by optimisation."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, check_positive
from covmetric.learning.rules.base import Rule
from covmetric.learning.rules.units import Units


class OptimisedRule(Rule):
    """A classifier of scikit-learn on vectors in units of their spread.

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
        The inverse strength of the regularisation, as in scikit-learn, for vectors whose mean squared distance from
        their mean is 1.
    """

    tuned = "C"

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:
        return cls.name

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        check_positive("C", self.C)
        self._present = np.unique(codes)
        self._units = Units.of_vectors(vectors)
        if len(self._present) > 1:  # scikit-learn refuses a single class
            self._model = self._fit_model(self._units.apply(vectors), codes)
        return self

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        result = np.zeros((len(vectors), self.n_classes))
        one_class = len(self._present) == 1
        result[:, self._present] = 1.0 if one_class else self._model_probabilities(self._units.apply(vectors))
        return result

    @abstractmethod
    def _fit_model(self, vectors: FloatArray, codes: IntArray) -> Any:
        """Return scikit-learn's classifier, fitted on vectors in units of their spread."""

    @abstractmethod
    def _model_probabilities(self, vectors: FloatArray) -> FloatArray:
        """Return the probabilities of the classes that are present, for vectors in the same units."""
