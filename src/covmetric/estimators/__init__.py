"""Estimators for scikit-learn's pipelines, on matrices (l, n, n) and on vectors (l, d)."""

from __future__ import annotations

from covmetric.estimators.classifier import CovMetricClassifier
from covmetric.estimators.cov_metric import PAPER_SETTINGS, CovMetric
from covmetric.estimators.cov_metric_cv import CovMetricCV
from covmetric.estimators.pairs import CovMetricPairs

__all__ = ["PAPER_SETTINGS", "CovMetric", "CovMetricCV", "CovMetricClassifier", "CovMetricPairs"]
