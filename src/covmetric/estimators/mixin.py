"""What every fitted estimator with a `metric_` can do."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from covmetric._utils.validation import FloatArray
from covmetric.learning.examples import check_examples
from covmetric.learning.fit import FittedProblem
from covmetric.metric import LearnedMetric
from covmetric.solvers import SolveResult, Status


class SolvedMixin:
    """The fitted attributes that follow from a solved problem."""

    result_: SolveResult | None

    def _set_fitted(self, metric: LearnedMetric, fitted: FittedProblem) -> None:
        """Set the fitted attributes."""
        self.metric_ = metric
        self.result_ = fitted.result
        self.scale_ = fitted.scale

    @property
    def status_(self) -> Status:
        """How the solve ended."""
        return Status.SOLVED if self.result_ is None else self.result_.status

    @property
    def duality_gap_(self) -> float:
        """The certified duality gap, in units of `scale_`."""
        return 0.0 if self.result_ is None else self.result_.certificate.gap

    @property
    def gap_bound_(self) -> float:
        """The proven bound on P(W) - P*: the duality gap plus the rounding error of its computation."""
        return 0.0 if self.result_ is None else self.result_.certificate.bound

    @property
    def n_iter_(self) -> int:
        """Steps or epochs of the solve."""
        return 0 if self.result_ is None else self.result_.n_iter


class MetricMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Distances and the Euclidean embedding of the learned `metric_`."""

    metric_: LearnedMetric
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.three_d_array = True
        return tags

    @property
    def W_(self) -> FloatArray:
        """The learned matrix, shape (n, n), for the unscaled Phi."""
        return self.metric_.W

    @property
    def components_(self) -> FloatArray:
        """The symmetric square root of `W_`, shape (n, n); for vectors, transform(X) is X @ components_.T."""
        return self.metric_.components

    @property
    def _n_features_out(self) -> int:
        n, m = self.metric_.embedding.shape_out_
        return n * m

    def transform(self, X: Any) -> Any:
        """Map X to vectors, shape (l, n m), whose squared Euclidean distances are the learned D."""
        check_is_fitted(self, "metric_")
        return self.metric_.transform(check_examples(self, X), n_jobs=self.n_jobs)

    def distance(self, X1: Any, X2: Any, squared: bool = False) -> Any:
        """The learned distance sqrt(D) between two examples, or between the examples of two arrays, one by one.

        `squared=True` returns D. The leading axes are broadcast against each other.
        """
        check_is_fitted(self, "metric_")
        return self.metric_.distance(X1, X2, squared=squared)

    def pairwise(self, X1: Any, X2: Any = None, squared: bool = False) -> FloatArray:
        """The learned distances of all examples of X1 from all of X2 (None: X1), shape (l1, l2)."""
        check_is_fitted(self, "metric_")
        second = None if X2 is None else check_examples(self, X2)
        return self.metric_.pairwise(check_examples(self, X1), second, squared=squared, n_jobs=self.n_jobs)

    def pair_distance(self, pairs: Any) -> FloatArray:
        """The learned distance sqrt(D) of each pair, shape (K,), of pairs (K, 2, n, n), or (K, 2, d) for vectors."""
        check_is_fitted(self, "metric_")
        array = np.asarray(pairs)
        if array.ndim < 3 or array.shape[1] != 2:
            raise ValueError(f"pairs must have shape (K, 2, n, n), or (K, 2, d) for vectors; got {array.shape}")
        return np.asarray(self.metric_.distance(array[:, 0], array[:, 1]))
