"""A support vector machine with the Gaussian kernel of the metric."""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit, softmax
from sklearn.svm import SVC

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.rules.optimised import OptimisedRule

# The slope of the logistic function of a decision value. At the margin, where the value is 1, the probability is 0.98.
_SLOPE = 4.0
# With more classes, most comparisons are between classes that are out of the question. They would make the
# probabilities of the leading classes nearly equal.
_LEADING_CLASSES = 6


class SvmRule(OptimisedRule):
    """A support vector machine with the kernel exp(-D), where D is the squared distance.

    The unit of D is the mean squared distance of the training vectors from their mean. There is one decision value for
    each pair of classes, and its logistic function is the probability of the first class against the second. The
    probability of a class is proportional to the geometric mean of its probabilities against all classes, squared, as
    for normalised Bradley-Terry models [1]_. If there are more than six classes, it is the mean over the six classes
    with the largest such means. It is not calibrated.

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
    probability_note = "The probabilities of the support vector machine rank the examples, but are not calibrated."

    def _fit_model(self, vectors: FloatArray, codes: IntArray) -> SVC:
        return SVC(C=self.C, gamma=1.0, decision_function_shape="ovo").fit(vectors, codes)

    def _model_probabilities(self, vectors: FloatArray) -> FloatArray:
        values = np.asarray(self._model.decision_function(vectors))
        if values.ndim == 1:  # two classes, for which scikit-learn's sign is the opposite
            values = -values[:, None]
        return couple_pairs(_SLOPE * values, len(self._model.classes_))


def couple_pairs(log_odds: FloatArray, n_classes: int) -> FloatArray:
    """Return the probabilities of classes, given the probability of each class against each other class.

    Parameters
    ----------
    log_odds : array of shape (l, n_classes * (n_classes - 1) / 2)
        The logarithms of the odds of the first class against the second, for the pairs (0, 1), (0, 2), and so on.
    n_classes : int
        The number of classes.

    Returns
    -------
    array of shape (l, n_classes)
        The probabilities. Each row sums to 1.

    Examples
    --------
    >>> couple_pairs(np.log([[4.0, 4.0, 1.0]]), 3).round(2).tolist()
    [[0.63, 0.18, 0.18]]
    """
    log_products = np.zeros((len(log_odds), n_classes))
    start = 0
    for first in range(n_classes - 1):  # against all later classes
        block = log_odds[:, start : start + n_classes - 1 - first]
        log_products[:, first] += log_expit(block).sum(axis=1)
        log_products[:, first + 1 :] += log_expit(-block)
        start += block.shape[1]
    n_opponents = min(n_classes, _LEADING_CLASSES)
    if n_opponents < n_classes:
        leading = np.argsort(-log_products, axis=1, kind="stable")[:, :n_opponents]
        log_products = _against(leading, log_odds, n_classes)
    return np.asarray(softmax(2.0 / n_opponents * log_products, axis=1))


def _against(opponents: IntArray, log_odds: FloatArray, n_classes: int) -> FloatArray:
    """Return the logarithm of the product of the probabilities of each class against some classes, row by row."""
    first, second = np.triu_indices(n_classes, 1)
    column, sign = np.zeros((n_classes, n_classes), dtype=np.int64), np.zeros((n_classes, n_classes))
    column[first, second] = column[second, first] = np.arange(len(first))
    sign[first, second], sign[second, first] = -1.0, 1.0  # row: the opponent
    log_products = np.zeros((len(log_odds), n_classes))
    for opponent in opponents.T:
        logs = log_expit(sign[opponent] * np.take_along_axis(log_odds, column[opponent], axis=1))
        logs[np.arange(len(logs)), opponent] = 0.0  # a class is no opponent of its own
        log_products += logs
    return log_products
