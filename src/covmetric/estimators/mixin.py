"""Methods and attributes that fitted estimators share."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from covmetric._utils.validation import FloatArray
from covmetric.learning.examples import check_examples
from covmetric.learning.fit import FittedProblem
from covmetric.metric import LearnedMetric
from covmetric.solvers import SolveResult, Status


class SolvedMixin:
    """Fitted attributes of estimators with a `result_`."""

    result_: SolveResult | None

    def _set_fitted(self, metric: LearnedMetric, fitted: FittedProblem) -> None:
        """Set the fitted attributes."""
        self.metric_ = metric
        self.result_ = fitted.result
        self.scale_ = fitted.scale

    @property
    def status_(self) -> Status:
        """How the solve ended; SOLVED if nothing had to be solved."""
        return Status.SOLVED if self.result_ is None else self.result_.status

    @property
    def duality_gap_(self) -> float:
        """The certified duality gap, P(W) minus the dual objective; 0 if nothing had to be solved."""
        return 0.0 if self.result_ is None else self.result_.certificate.gap

    @property
    def gap_bound_(self) -> float:
        """The proven bound on P(W) - P*: the duality gap plus a bound on the rounding error of its computation."""
        return 0.0 if self.result_ is None else self.result_.certificate.bound

    @property
    def n_iter_(self) -> int:
        """The number of Newton steps or Dykstra epochs; 0 if nothing had to be solved."""
        return 0 if self.result_ is None else self.result_.n_iter


class SolvingMixin(BaseEstimator):
    """Estimators with the parameter `executor`. The client of a cluster cannot be copied, so copies share it."""

    executor: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = copy.copy(self)
        memo[id(self)] = copied
        memo[id(self.executor)] = self.executor
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return copied

    def __sklearn_clone__(self) -> Self:
        plain = copy.copy(self)
        plain.executor = None
        cloned: Self = BaseEstimator.__sklearn_clone__(plain)
        cloned.executor = self.executor
        return cloned


class MetricMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transformer and distances of estimators with a `metric_`."""

    metric_: LearnedMetric
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.three_d_array = True
        return tags

    @property
    def W_(self) -> FloatArray:
        """The learned matrix, shape (n, n)."""
        return self.metric_.W

    @property
    def components_(self) -> FloatArray:
        """A square root of `W_`, shape (n, n). For vectors, transform(X) is X @ components_.T."""
        return self.metric_.components

    @property
    def _n_features_out(self) -> int:
        n, m = self.metric_.embedding.shape_out_
        return n * m

    def transform(self, X: Any) -> Any:
        """Map examples to vectors whose Euclidean distances are the learned distances.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Matrices or vectors, as in `fit`.

        Returns
        -------
        array of shape (l, q), or DataFrame
            The vectors, where q is the number of entries of an embedded example. It is a DataFrame if `set_output`
            requested one.
        """
        check_is_fitted(self, "metric_")
        return self.metric_.transform(check_examples(self, X), n_jobs=self.n_jobs)

    def distance(self, X1: Any, X2: Any, squared: bool = False) -> Any:
        """Return the learned distance sqrt(D) between two examples, or between corresponding examples of two arrays.

        Parameters
        ----------
        X1 : array of shape (..., n, n) or (..., d)
            One example or several.
        X2 : array of shape (..., n, n) or (..., d)
            One example or several. The leading axes of X1 and X2 are broadcast against each other.
        squared : bool, default=False
            Whether to return D instead of sqrt(D).

        Returns
        -------
        float or array
            One number for each pair of examples.
        """
        check_is_fitted(self, "metric_")
        return self.metric_.distance(X1, X2, squared=squared)

    def pairwise(self, X1: Any, X2: Any = None, squared: bool = False) -> FloatArray:
        """Return the learned distances sqrt(D) between all examples of two arrays.

        Parameters
        ----------
        X1 : array of shape (l1, n, n) or (l1, d)
            Matrices or vectors.
        X2 : array of shape (l2, n, n) or (l2, d), or None, default=None
            Matrices or vectors. None means X1.
        squared : bool, default=False
            Whether to return D instead of sqrt(D).

        Returns
        -------
        array of shape (l1, l2)
            The distances.
        """
        check_is_fitted(self, "metric_")
        second = None if X2 is None else check_examples(self, X2)
        return self.metric_.pairwise(check_examples(self, X1), second, squared=squared, n_jobs=self.n_jobs)

    def pair_distance(self, pairs: Any) -> FloatArray:
        """Return the learned distance sqrt(D) of each pair.

        Parameters
        ----------
        pairs : array of shape (K, 2, n, n) or (K, 2, d)
            Pairs of matrices or vectors.

        Returns
        -------
        array of shape (K,)
            The distances.
        """
        check_is_fitted(self, "metric_")
        array = np.asarray(pairs)
        if array.ndim < 3 or array.shape[1] != 2:
            raise ValueError(f"pairs must have shape (K, 2, n, n), or (K, 2, d) for vectors; got {array.shape}")
        return np.asarray(self.metric_.distance(array[:, 0], array[:, 1]))
