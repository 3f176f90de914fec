"""A support vector machine with the Gaussian kernel of the metric."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax
from sklearn.svm import SVC

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.rules.optimised import OptimisedRule


class SvmRule(OptimisedRule):
    """A support vector machine with the kernel exp(-D), where D is the squared distance.

    The unit of D is the mean squared distance of the training vectors from their mean. The probabilities are the
    softmax of the decision values of the classes. They are not calibrated.

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

    name = "svm"

    def _fit_model(self, vectors: FloatArray, codes: IntArray) -> SVC:
        return SVC(C=self.C, gamma=1.0).fit(vectors, codes)

    def _model_probabilities(self, vectors: FloatArray) -> FloatArray:
        values = np.asarray(self._model.decision_function(vectors))
        if values.ndim == 1:  # two classes
            values = np.stack([-values, values], axis=1)
        return np.asarray(softmax(values, axis=1))
