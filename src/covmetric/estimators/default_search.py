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
_NEIGHBORS = (3, 9)


def default_search(vectors: bool = False, **settings: Any) -> CovMetricCV:
    """Return the search for a metric and a decision rule that `CovMetricClassifier` uses if `rule` is 'auto'.

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
    return CovMetricCV(phi, **{"rule": "auto", "lambdas": _LAMBDAS, "n_neighbors": _NEIGHBORS, **settings})
