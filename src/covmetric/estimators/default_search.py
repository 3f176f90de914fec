"""The search of ``CovMetricClassifier(rule='auto')``."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric.estimators.cov_metric_cv import CovMetricCV
from covmetric.learning.examples import DEFAULT_PHI

# Chosen on NATOPS, ERing and Epilepsy. 'relog' comes before the tangent space, because its W is smaller and suffers
# less if the data change from one session to the next.
_PHIS = (DEFAULT_PHI, "tangent-pca")
_LAMBDAS = (1e-2, 1e-1, np.inf)
# A weak and a strong regularisation of the support vector machine complement each other.
_C = (3.0, 30.0)
#: The rules that `CovMetricClassifier` combines if the learner names none: one with a kernel, a linear and a local one.
COMBINED_RULES = ("svm", "lda", "neighbors")

# The combined rules gain nothing from more pairs.
_SETTINGS = {"pairs": "neighbors", "rule": list(COMBINED_RULES), "lambdas": _LAMBDAS, "C": _C}


def default_search(vectors: bool = False, **settings: Any) -> CovMetricCV:
    """Return the search for a metric that `CovMetricClassifier` uses if `rule` is 'auto'.

    The rules of the search are those that the classifier combines.

    Parameters
    ----------
    vectors : bool, default=False
        Whether the examples are vectors instead of matrices.
    **settings : object
        Other parameters of `CovMetricCV`, such as `cv`, `reg` or `random_state`.

    Returns
    -------
    CovMetricCV
        The search, which is not fitted.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> classifier = CovMetricClassifier(default_search(cv=10, reg=1e-6), rule="auto")
    """
    phi = "auto" if vectors else list(_PHIS)
    return CovMetricCV(phi, **{**_SETTINGS, **settings})
