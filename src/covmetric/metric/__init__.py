"""The learned metric, with its kernels for support vector machines and its interpretation."""

from __future__ import annotations

from covmetric.metric.interpretation import Explanation, Patterns
from covmetric.metric.learned_metric import LearnedMetric
from covmetric.metric.svm_kernel import MetricKernel

__all__ = ["Explanation", "LearnedMetric", "MetricKernel", "Patterns"]
