"""Logistic regression on the vectors of the metric."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.rules.optimised import OptimisedRule

# L-BFGS needs some hundred iterations if classes are separable and C is large.
_MAX_ITER = 10_000


class LogisticRule(OptimisedRule):
    """Multinomial logistic regression on vectors in units of their spread.

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
        The inverse strength of the regularisation, as in `OptimisedRule`.
    """

    name = "logistic"

    def _fit_model(self, vectors: FloatArray, codes: IntArray) -> LogisticRegression:
        # The optimal coefficients lie in the span of the training vectors, which is smaller if there are few of them.
        self._basis = np.linalg.qr(vectors.T)[0] if vectors.shape[1] > len(vectors) else None
        return LogisticRegression(C=self.C, max_iter=_MAX_ITER).fit(self._coordinates(vectors), codes)

    def _model_probabilities(self, vectors: FloatArray) -> FloatArray:
        return np.asarray(self._model.predict_proba(self._coordinates(vectors)))

    def _coordinates(self, vectors: FloatArray) -> FloatArray:
        return vectors if self._basis is None else np.asarray(vectors @ self._basis)
