"""The estimators that contract tests walk through."""

from __future__ import annotations

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.learning.rules import RULES

LEARNERS = [CovMetric(random_state=0), CovMetricCV(random_state=0)]
CLASSIFIERS = [CovMetricClassifier(rule=rule, random_state=0) for rule in RULES]


def output(estimator, X):
    """Return the probabilities of a fitted classifier, or the vectors of a fitted learner."""
    return estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else estimator.transform(X)
