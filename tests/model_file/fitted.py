"""Estimators of every kind, for the tests of saving."""

from __future__ import annotations

import numpy as np

from covmetric import (
    CovMetric,
    CovMetricClassifier,
    CovMetricCV,
    Dykstra,
    NeighborPairs,
    QuantileBounds,
    get_embedding,
)

ESTIMATORS = {
    "CovMetric": lambda: CovMetric(random_state=0),
    "CovMetric inf": lambda: CovMetric("chol", lam=np.inf),
    "CovMetric objects": lambda: CovMetric(
        get_embedding("power", p=0.25),
        pairs=NeighborPairs(2, rounds=2),
        bounds=QuantileBounds(0.1, 0.9),
        solver=Dykstra("cyclic"),
        slack="l2",
        random_state=0,
    ),
    "CovMetricCV": lambda: CovMetricCV(["log", "chol"], cv=2, random_state=0),
    "CovMetricClassifier": lambda: CovMetricClassifier(random_state=0),
    "CovMetricClassifier mean": lambda: CovMetricClassifier(
        CovMetric("log", prior="covariance", slack="re", random_state=0), rule="mean"
    ),
    "CovMetricClassifier within": lambda: CovMetricClassifier(CovMetric(prior="within", shrinkage=0.2, random_state=0)),
    "CovMetricClassifier gmml": lambda: CovMetricClassifier(
        CovMetric("veclog", prior="gmml", prior_t=0.25, lam=np.inf, random_state=0)
    ),
    "CovMetricClassifier CV": lambda: CovMetricClassifier(CovMetricCV("log", lambdas=[0.1, 0.01], random_state=0)),
}


def answers(model, X):
    """Return the probabilities of a classifier, or the vectors of a learner."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.transform(X)
