"""Kernels in the learned metric, for support vector machines and Gaussian processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from covmetric._utils.distances import cross_distances
from covmetric._utils.validation import FloatArray, is_number


class Transformer(Protocol):
    """The part of a metric that a kernel needs."""

    def transform(self, X: Any) -> FloatArray:
        """Return vectors whose Euclidean distances are the distances of the metric.

        Parameters
        ----------
        X : array of shape (l, n, n), or (l, d) for vectors
            The examples.

        Returns
        -------
        array of shape (l, q)
            One vector per example.
        """
        ...


def _gaussian(first: FloatArray, second: FloatArray, gamma: float) -> FloatArray:
    return np.asarray(np.exp(-gamma * cross_distances(first, second)))


def _linear(first: FloatArray, second: FloatArray, gamma: float) -> FloatArray:
    return np.asarray(gamma * first @ second.T)


#: The kernels by name: functions of transformed examples (l1, q) and (l2, q) and of gamma.
KERNELS: dict[str, Callable[[FloatArray, FloatArray, float], FloatArray]] = {
    "gaussian": _gaussian,
    "linear": _linear,
}


class MetricKernel(BaseEstimator):
    """A positive semi-definite kernel in a learned metric.

    It is a callable for ``sklearn.svm.SVC(kernel=...)`` and for pyRiemann's ``SVC(kernel_fct=...)``. As a scikit-learn
    estimator it can be cloned, and its parameters can be tuned by name, for example ``kernel__gamma``.
    `LearnedMetric.as_kernel` makes one.

    Parameters
    ----------
    metric : LearnedMetric
        The metric, or any object with a method `transform` whose vectors have the distances of the metric.
    kind : {'gaussian', 'linear'}, default='gaussian'
        The Gaussian kernel exp(-gamma D) of the squared distance D, or gamma times the inner product of the transformed
        examples.
    gamma : float, default=1.0
        A positive factor.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import LearnedMetric, get_embedding
    >>> from covmetric.metric import MetricKernel
    >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.eye(2))
    >>> kernel = MetricKernel(metric, kind="linear", gamma=0.5)
    >>> kernel(np.stack([np.eye(2), 2.0 * np.eye(2)]))
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, metric: Transformer, kind: str = "gaussian", gamma: float = 1.0) -> None:
        self.metric = metric
        self.kind = kind
        self.gamma = gamma

    def check(self) -> MetricKernel:
        """Raise ValueError if a parameter is invalid.

        Returns
        -------
        MetricKernel
            The kernel itself.

        Raises
        ------
        ValueError
            If `kind` is not the name of a kernel, or `gamma` is not a positive number.
        """
        if not (isinstance(self.kind, str) and self.kind in KERNELS):
            raise ValueError(f"kind must be one of {', '.join(map(repr, KERNELS))}, got {self.kind!r}")
        if not (is_number(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a positive number, got {self.gamma!r}")
        return self

    def __call__(self, X: Any, Y: Any = None, Cref: Any = None, metric: Any = None) -> FloatArray:
        """Return the kernel matrix between two sets of examples.

        Parameters
        ----------
        X : array of shape (l1, n, n), or (l1, d) for vectors
            The first examples.
        Y : array of shape (l2, n, n), or (l2, d) for vectors, or None, default=None
            The second examples. None means the examples of X.
        Cref, metric : object
            Ignored. pyRiemann's SVC passes them to its kernels.

        Returns
        -------
        array of shape (l1, l2)
        """
        self.check()
        first = self.metric.transform(X)
        second = first if Y is None or Y is X else self.metric.transform(Y)
        return KERNELS[self.kind](first, second, float(self.gamma))
