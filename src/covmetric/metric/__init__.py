"""The learned metric: distances, the Euclidean embedding, kernels for support vector machines, interpretation."""

from __future__ import annotations

from covmetric.metric.interpretation import Explanation, Patterns
from covmetric.metric.learned_metric import LearnedMetric
from covmetric.metric.svm_kernel import MetricKernel

__all__ = ["Explanation", "LearnedMetric", "MetricKernel", "Patterns"]
