"""scikit-learn estimators for matrices of shape (l, n, n) and vectors of shape (l, d)."""

from __future__ import annotations

from covmetric.estimators.classifier import CovMetricClassifier
from covmetric.estimators.cov_metric import PAPER_SETTINGS, CovMetric
from covmetric.estimators.cov_metric_cv import CovMetricCV
from covmetric.estimators.image_patches import ImagePatchClassifier
from covmetric.estimators.pairs import CovMetricPairs
from covmetric.estimators.recentre import Recentre
from covmetric.model_file import constructor_defaults, register_stateful

__all__ = [
    "PAPER_SETTINGS",
    "CovMetric",
    "CovMetricCV",
    "CovMetricClassifier",
    "CovMetricPairs",
    "ImagePatchClassifier",
    "Recentre",
]

for _cls in (CovMetric, CovMetricCV, CovMetricClassifier, CovMetricPairs, ImagePatchClassifier, Recentre):
    register_stateful(_cls, replaceable=constructor_defaults(_cls))
