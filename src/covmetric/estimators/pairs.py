"""CovMetricPairs: learn from pairs that are known to be near or far, without classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from covmetric._utils.validation import (
    FloatArray,
    IntArray,
    as_numbers,
    first_index,
    generator,
    is_number,
    positive_vector,
    signs,
)
from covmetric.constraints import LabelledPairs, bounded, get_bounds
from covmetric.estimators.cov_metric import chosen_solver
from covmetric.estimators.mixin import SolvedMixin
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.examples import embedding_for
from covmetric.learning.fit import FittedProblem, fit_constraints
from covmetric.learning.progress import solving
from covmetric.learning.settings import LearningSettings
from covmetric.learning.threshold import best_threshold, check_calibration
from covmetric.metric import LearnedMetric


class CovMetricPairs(SavedEstimator, SolvedMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a distance from pairs of matrices, or vectors, that should be near (+1) or far (-1).

    The vocabulary is that of metric-learn's pair learners, which can be replaced by this class; with vectors it solves
    the problem of ITML, to a proven gap.

    Parameters
    ----------
    phi, slack, lam, bounds, scale, prior, solver, order, reg, tol, max_iter, random_state, n_jobs, verbose
        As in `CovMetric`.
    preprocessor : array, shape (l, n, n) or (l, d), callable or None, default=None
        Where pairs are given as indices (K, 2): the examples, or a function that is called with the distinct indices
        and returns their examples, in that order.

    Attributes
    ----------
    metric_ : LearnedMetric
    components_ : array, shape (n, n)
    threshold_ : float
        A pair at most so far apart is predicted to be similar.
    classes_ : array
        [-1, 1].
    result_, duality_gap_, gap_bound_, n_iter_, status_, scale_
        As in `CovMetric`.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import CovMetricPairs
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> pairs = X.reshape(20, 2, 3)
    >>> y = np.where(np.abs(pairs[:, 0, 0] - pairs[:, 1, 0]) < 1.0, 1, -1)
    >>> learner = CovMetricPairs(lam=1e-3).fit(pairs, y)
    >>> learner.status_.name, bool(learner.score(pairs, y) > 0.9)
    ('SOLVED', True)
    """

    _parts = ("metric_", "result_", "scale_", "classes_", "n_features_in_", "threshold_")

    def __init__(
        self,
        phi: Any = "auto",
        *,
        slack: Any = "is",
        lam: float = 1e-2,
        bounds: Any = "absolute",
        scale: Any = "median",
        prior: Any = "identity",
        solver: Any = "auto",
        order: str = "perm",
        reg: float = 0.0,
        tol: float = 1e-6,
        max_iter: int | None = None,
        preprocessor: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.phi = phi
        self.slack = slack
        self.lam = lam
        self.bounds = bounds
        self.scale = scale
        self.prior = prior
        self.solver = solver
        self.order = order
        self.reg = reg
        self.tol = tol
        self.max_iter = max_iter
        self.preprocessor = preprocessor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, pairs: Any, y: Any, pair_weights: Any = None, calibration_params: dict[str, Any] | None = None
    ) -> Self:
        """Learn the metric, and calibrate the threshold on the same pairs.

        Parameters
        ----------
        pairs : array, shape (K, 2, n, n), (K, 2, d), or (K, 2) indices where there is a preprocessor
        y : array, shape (K,)
            +1 for pairs that should be near, -1 for those that should be far.
        pair_weights : array, shape (K,), or None
            How much each pair counts, relative to the others; positive.
        calibration_params : dict or None
            Arguments of `calibrate_threshold`.
        """
        calibration = {} if calibration_params is None else dict(calibration_params)
        check_calibration(**{"strategy": "accuracy", "min_rate": None, "beta": 1.0, **calibration})
        examples, index = self._examples(pairs)
        similar = signs("y", y, len(index))
        weights = None if pair_weights is None else positive_vector("pair_weights", pair_weights, len(index))
        embedding = embedding_for(self.phi, examples, self.reg)
        embedded = embedding.fit_transform(examples, n_jobs=self.n_jobs)
        bounds = get_bounds(self.bounds)
        with solving(self.verbose) as callback:
            settings = LearningSettings(
                selection=None,
                bounds=bounds,
                scale=self.scale,
                slack=self.slack,
                prior=self.prior,
                solver=chosen_solver(self.solver, self.order),
                tol=self.tol,
                max_iter=self.max_iter,
                callback=callback,
            )
            no_classes = np.zeros(len(embedded), dtype=np.int64)
            start = FittedProblem.at_prior(settings, embedded, no_classes, embedding.copies_)
            constraints = bounded(
                start.examples, LabelledPairs(index, similar), bounds, self.scale, weights, "the two of pairs[{k}]"
            )
            fitted = fit_constraints(start, constraints, self.lam, generator(self.random_state))
        self._set_fitted(LearnedMetric(embedding, fitted.metric()), fitted)
        self.n_features_in_ = int(examples.shape[1])
        self.classes_ = np.array([-1, 1])
        return self.calibrate_threshold(pairs, y, **calibration)

    @property
    def components_(self) -> FloatArray:
        """The symmetric square root of the learned matrix."""
        return self.metric_.components

    def get_mahalanobis_matrix(self) -> FloatArray:
        """The learned matrix W, shape (n, n), for the unscaled Phi."""
        check_is_fitted(self)
        return self.metric_.W.copy()

    def get_metric(self) -> Callable[..., float]:
        """A function of two examples that returns their distance; `squared=True` returns D."""
        check_is_fitted(self)
        return self.metric_.distance

    def transform(self, X: Any) -> FloatArray:
        """Map examples to vectors whose Euclidean distances are the learned ones."""
        check_is_fitted(self)
        return self.metric_.transform(X, n_jobs=self.n_jobs)

    def pair_distance(self, pairs: Any) -> FloatArray:
        """The learned distance sqrt(D) of each pair, shape (K,)."""
        check_is_fitted(self)
        examples, index = self._examples(pairs)
        vectors = self.metric_.transform(examples, n_jobs=self.n_jobs)
        return np.asarray(np.linalg.norm(vectors[index[:, 0]] - vectors[index[:, 1]], axis=1))

    def pair_score(self, pairs: Any) -> FloatArray:
        """How similar the pairs are: -pair_distance."""
        return -self.pair_distance(pairs)

    def decision_function(self, pairs: Any) -> FloatArray:
        """The same as `pair_score`: higher means more similar."""
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> IntArray:
        """+1 for pairs at most `threshold_` apart, -1 for the others."""
        check_is_fitted(self)
        if not hasattr(self, "threshold_"):
            raise AttributeError("no threshold is set: call set_threshold or calibrate_threshold first")
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: Any, y: Any) -> float:
        """The area under the ROC curve of `decision_function`."""
        scores = self.decision_function(pairs)
        return float(roc_auc_score(signs("y", y, len(scores)), scores))

    def set_threshold(self, threshold: float) -> Self:
        """Set `threshold_`, a distance."""
        check_is_fitted(self)
        if not is_number(threshold):
            raise ValueError(f"threshold must be a number, got {threshold!r} of type {type(threshold).__name__}")
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(
        self,
        pairs_valid: Any,
        y_valid: Any,
        strategy: str = "accuracy",
        min_rate: float | None = None,
        beta: float = 1.0,
    ) -> Self:
        """Choose `threshold_` on labelled pairs.

        Parameters
        ----------
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
        min_rate : float or None
            For max_tpr the least rate of true negatives, for max_tnr that of true positives.
        beta : float, default=1.0
            For f_beta.
        """
        check_is_fitted(self)
        distances = self.pair_distance(pairs_valid)
        self.threshold_ = best_threshold(distances, signs("y_valid", y_valid, len(distances)), strategy, min_rate, beta)
        return self

    def _examples(self, pairs: Any) -> tuple[npt.NDArray[Any], IntArray]:
        """The examples of the pairs, and the pairs as indices into them."""
        array = np.asarray(pairs)
        if array.ndim == 2 and array.shape[1] == 2:
            if self.preprocessor is None:
                raise ValueError(
                    f"pairs of shape {array.shape} are indices, which need a preprocessor; without one, pairs must "
                    "have shape (K, 2, n, n), or (K, 2, d) for vectors"
                )
            return self._looked_up(array)
        if array.ndim not in (3, 4) or array.shape[1] != 2 or array.shape[0] == 0:
            raise ValueError(f"pairs must have shape (K, 2, n, n), or (K, 2, d) for vectors; got {array.shape}")
        as_numbers("pairs", array)  # NaN is found with its index into the pairs
        return array.reshape(-1, *array.shape[2:]), np.arange(2 * len(array)).reshape(-1, 2)

    def _looked_up(self, indices: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], IntArray]:
        if len(indices) == 0:
            raise ValueError("pairs is empty: at least one pair is needed")
        distinct, index = np.unique(indices, return_inverse=True)
        index = index.reshape(indices.shape)
        if callable(self.preprocessor):
            found = np.asarray(self.preprocessor(distinct))
            if found.ndim not in (2, 3) or len(found) != len(distinct):
                raise ValueError(
                    f"preprocessor must return one example for each of the {len(distinct)} indices that it is given; "
                    f"it returned an array of shape {found.shape}"
                )
            return found, index
        examples = np.asarray(self.preprocessor)
        if not np.issubdtype(distinct.dtype, np.integer):
            raise ValueError(f"pairs must be integers (indices into preprocessor), got dtype {indices.dtype}")
        outside = (indices < 0) | (indices >= len(examples))
        if outside.any():
            where = first_index(outside)
            raise ValueError(f"pairs{where} is {indices[tuple(where)]}: it must be in 0..{len(examples) - 1}")
        return examples[distinct], index
