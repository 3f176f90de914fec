"""A support vector machine with the Gaussian kernel of the metric."""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit, softmax
from sklearn.svm import SVC

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.rules.optimised import OptimisedRule

# The slope of the logistic function of a decision value. At the margin, where the value is 1, the probability is 0.98.
_SLOPE = 4.0


class SvmRule(OptimisedRule):
    """A support vector machine with the kernel exp(-D), where D is the squared distance.

    The unit of D is the mean squared distance of the training vectors from their mean. There is one decision value for
    each pair of classes, and its logistic function is the probability of the first class against the second. The
    probability of a class is proportional to the geometric mean of its probabilities against all classes, squared, as
    for normalised Bradley-Terry models [1]_. It is not calibrated.

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

    References
    ----------
    .. [1] T. Hastie and R. Tibshirani, "Classification by pairwise coupling", Annals of Statistics 26, 1998.
    """

    name = "svm"

    def _fit_model(self, vectors: FloatArray, codes: IntArray) -> SVC:
        return SVC(C=self.C, gamma=1.0, decision_function_shape="ovo").fit(vectors, codes)

    def _model_probabilities(self, vectors: FloatArray) -> FloatArray:
        values = np.asarray(self._model.decision_function(vectors))
        if values.ndim == 1:  # two classes, for which scikit-learn's sign is the opposite
            values = -values[:, None]
        n_classes = len(self._model.classes_)
        log_products = np.zeros((len(vectors), n_classes))
        start = 0
        for first in range(n_classes - 1):  # against all later classes
            block = _SLOPE * values[:, start : start + n_classes - 1 - first]
            log_products[:, first] += log_expit(block).sum(axis=1)
            log_products[:, first + 1 :] += log_expit(-block)
            start += block.shape[1]
        return np.asarray(softmax(2.0 / n_classes * log_products, axis=1))
