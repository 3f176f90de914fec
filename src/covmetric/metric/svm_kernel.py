"""Kernels in the learned metric, for support vector machines and Gaussian processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from covmetric._utils.distances import cross_distances
from covmetric._utils.validation import FloatArray, is_number


class Transformer(Protocol):
    """What a kernel needs of a metric."""

    def transform(self, X: Any) -> FloatArray:
        """Return vectors whose Euclidean distances are those of the metric."""
        ...


def _gaussian(first: FloatArray, second: FloatArray, gamma: float) -> FloatArray:
    return np.asarray(np.exp(-gamma * cross_distances(first, second)))


def _linear(first: FloatArray, second: FloatArray, gamma: float) -> FloatArray:
    return np.asarray(gamma * first @ second.T)


KERNELS: dict[str, Callable[[FloatArray, FloatArray, float], FloatArray]] = {
    "gaussian": _gaussian,
    "linear": _linear,
}


class MetricKernel(BaseEstimator):  # type: ignore[misc]
    """A positive semi-definite kernel of a learned metric; see `LearnedMetric.as_kernel`."""

    def __init__(self, metric: Transformer, kind: str = "gaussian", gamma: float = 1.0) -> None:
        self.metric = metric
        self.kind = kind
        self.gamma = gamma

    def check(self) -> MetricKernel:
        """Raise ValueError for settings that make no kernel; returns self."""
        if not (isinstance(self.kind, str) and self.kind in KERNELS):
            raise ValueError(f"kind must be one of {', '.join(map(repr, KERNELS))}, got {self.kind!r}")
        if not (is_number(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a positive number, got {self.gamma!r}")
        return self

    def __call__(self, X: Any, Y: Any = None, Cref: Any = None, metric: Any = None) -> FloatArray:  # noqa: ARG002
        """The kernel of all examples of X with all of Y (None: X), shape (l1, l2).

        `Cref` and `metric` are what pyRiemann's SVC hands to its kernels; they are not used.
        """
        self.check()
        first = self.metric.transform(X)
        second = first if Y is None or Y is X else self.metric.transform(Y)
        return KERNELS[self.kind](first, second, float(self.gamma))
