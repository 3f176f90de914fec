"""CovMetricPairs: learn a metric from pairs that are labelled as similar or dissimilar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from covmetric._utils.validation import (
    FloatArray,
    IntArray,
    generator,
    is_number,
    positive_vector,
    signs,
)
from covmetric._utils.warning import warn
from covmetric.constraints import LabelledPairs, bounded
from covmetric.estimators.mixin import SolvedMixin, SolvingMixin
from covmetric.estimators.pair_examples import errors_name_the_pairs, examples_of_pairs
from covmetric.estimators.parameters import settings_from_parameters
from covmetric.estimators.restoring import restored_on_failure
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.examples import embedding_for
from covmetric.learning.fit import FittedProblem, fit_constraints
from covmetric.learning.progress import progress_callback
from covmetric.learning.threshold import best_threshold, check_calibration, only_kind
from covmetric.solvers import solving_with


class CovMetricPairs(SavedEstimator, SolvedMixin, SolvingMixin, BaseEstimator):
    """Metric learning on pairs of matrices, or vectors, that are labelled as similar (+1) or dissimilar (-1).

    The interface follows metric-learn's pair learners. For vectors, the problem is the problem of ITML, solved to a
    certified gap.

    Parameters
    ----------
    phi : str or Embedding, default='auto'
        The embedding: 'id', 'log', 'relog', 'veclog', 'tangent', 'tangent-pca', 'sqrt', 'power' or 'chol' for
        matrices, 'vector' for vectors, or an object. 'auto' is 'relog' for matrices and 'vector' for vectors.
    slack : {'is', 'l2', 're'} or Slack, default='is'
        The divergence that penalises violated bounds: Itakura-Saito, squared Euclidean, or relative entropy.
    lam : float, default=1e-2
        The strength of the prior: if all K pairs have equal weights, each weight is 1 / (lam K). If inf, W is the prior
        and nothing is solved.
    bounds : (float, float), {'absolute', 'quantile'} or Bounds, default='absolute'
        The upper bound on the squared distances of similar pairs and the lower bound on the squared distances of
        dissimilar pairs, in units of `scale`: two numbers, the paper's 0.05 and 0.95 ('absolute'), or the 5th and
        the 95th percentile of the squared distances ('quantile').
    scale : 'median', float or None, default='median'
        The unit of the bounds, a squared distance: the median over the pairs, a number, or 1 if None.
    prior : {'identity', 'covariance', 'within', 'gmml'} or array of shape (n, n), default='identity'
        The metric that W is kept close to, in units of `scale`. 'covariance' is the inverse covariance of the embedded
        examples. 'gmml' is the geometric mean S^-1 #_t D of GMML, where S and D are the means of F F^T over the similar
        and the dissimilar pairs, F is the difference of the two embedded examples, and t is `prior_t`. 'within' is
        S^-1.
    prior_t : float, default=0.5
        The position t on the geodesic from S^-1 (t = 0) to D (t = 1), from 0 to 1. It is used if `prior` is 'gmml'.
    shrinkage : 'auto' or float, default='auto'
        The shrinkage g of the priors 'within' and 'gmml', from 0 to 1: each scatter matrix S of size n becomes
        (1 - g) S + g tr(S)/n I. 'auto' is the shrinkage of Ledoit and Wolf for the differences F of similar pairs.
    solver : {'auto', 'newton', 'dykstra', 'hybrid', 'interior'} or Solver, default='auto'
        The solver.
    order : {'perm', 'rand', 'cyclic'}, default='perm'
        The order of the projections, for solver='dykstra'.
    reg : float, default=0.0
        The regularisation for singular matrices: the fraction of its mean eigenvalue that is added to the diagonal of
        each matrix.
    tol : float, default=1e-6
        The tolerance on the relative duality gap.
    max_iter : int or None, default=None
        The maximum number of Newton steps or Dykstra epochs. None means the default of the solver.
    preprocessor : array of shape (l, n, n) or (l, d), callable or None, default=None
        The examples, if pairs are given as indices of shape (K, 2). A callable is called with the distinct indices and
        returns their examples in that order.
    random_state : int, RandomState, Generator or None, default=None
        The source of random orders.
    n_jobs : int or None, default=None
        The number of threads that embed matrices, and that solve problems with many pairs. The result does not depend
        on it.
    verbose : int, default=0
        If not 0, a progress bar is shown.
    executor : dask.distributed.Client, 'dask' or None, default=None
        Solves problems with many pairs on the workers of a cluster, as in `covmetric.solve`; 'dask' is the current
        client. It is not saved with models.

    Attributes
    ----------
    metric_ : LearnedMetric
        The learned metric.
    components_ : array of shape (n, n)
        A square root of the learned matrix W: W = components_.T @ components_. See `LearnedMetric.components`.
    threshold_ : float
        The distance up to which a pair is predicted to be similar, at least 0. `fit` does not set it if all pairs are
        of the same kind.
    result_ : SolveResult or None
        The solution, in units of `scale_` and in the coordinates of the prior; None if `lam` is inf.
    duality_gap_ : float
        The certified duality gap: the objective minus the dual objective.
    gap_bound_ : float
        The proven bound on the distance of the objective from its optimum: the duality gap plus a bound on the rounding
        error of its computation.
    n_iter_ : int
        The number of Newton steps or Dykstra epochs.
    status_ : Status
        How the solve ended.
    scale_ : float
        The unit of the bounds, a squared distance.
    classes_ : array of shape (2,)
        The labels, [-1, 1].
    n_features_in_ : int
        The number of rows n of a matrix, or of entries d of a vector.

    See Also
    --------
    CovMetric : Learns from labelled examples.

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
    _optional_parts = ("threshold_",)

    def __init__(
        self,
        phi: Any = "auto",
        *,
        slack: Any = "is",
        lam: float = 1e-2,
        bounds: Any = "absolute",
        scale: Any = "median",
        prior: Any = "identity",
        prior_t: float = 0.5,
        shrinkage: Any = "auto",
        solver: Any = "auto",
        order: str = "perm",
        reg: float = 0.0,
        tol: float = 1e-6,
        max_iter: int | None = None,
        preprocessor: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        executor: Any = None,
    ) -> None:
        self.phi = phi
        self.slack = slack
        self.lam = lam
        self.bounds = bounds
        self.scale = scale
        self.prior = prior
        self.prior_t = prior_t
        self.shrinkage = shrinkage
        self.solver = solver
        self.order = order
        self.reg = reg
        self.tol = tol
        self.max_iter = max_iter
        self.preprocessor = preprocessor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.executor = executor

    def fit(
        self, pairs: Any, y: Any, pair_weights: Any = None, calibration_params: dict[str, Any] | None = None
    ) -> Self:
        """Learn the metric, and calibrate the threshold on the same pairs.

        A metric can be learned from similar pairs alone, or from dissimilar pairs alone, but a threshold between the
        two kinds cannot. If all pairs are of the same kind, `fit` warns and sets no threshold, and `predict` needs
        `calibrate_threshold` with pairs of both kinds, or `set_threshold`, first.

        Parameters
        ----------
        pairs : array of shape (K, 2, n, n), (K, 2, d) or (K, 2)
            Pairs of matrices, of vectors, or of indices for the preprocessor.
        y : array of shape (K,)
            +1 for similar pairs, -1 for dissimilar pairs.
        pair_weights : array of shape (K,) or None, default=None
            Positive weights of the pairs, also in the means S and D of a prior. Only their ratios matter. None means
            equal weights.
        calibration_params : dict or None, default=None
            Keyword arguments of `calibrate_threshold`.

        Returns
        -------
        CovMetricPairs
            The fitted estimator.

        Raises
        ------
        ValueError
            If the pairs, the labels, the weights or a parameter is invalid.
        """
        calibration = {} if calibration_params is None else dict(calibration_params)
        check_calibration(**{"strategy": "accuracy", "min_rate": None, "beta": 1.0, **calibration})
        examples, index = examples_of_pairs(pairs, self.preprocessor)
        similar = signs("y", y, len(index))
        weights = None if pair_weights is None else positive_vector("pair_weights", pair_weights, len(index))
        with errors_name_the_pairs(pairs):
            embedding = embedding_for(self.phi, examples, self.reg)
            embedded = embedding.fit_transform(examples, n_jobs=self.n_jobs)
        with progress_callback(self.verbose) as callback, solving_with(self.n_jobs, self.executor):
            settings = settings_from_parameters(self, None, callback)
            no_classes = np.zeros(len(embedded), dtype=np.int64)
            labelled = LabelledPairs(index, similar)
            start = FittedProblem.at_prior(
                settings, embedded, no_classes, embedding.copies_, pairs=labelled, pair_weights=weights
            )
            origin = "the two examples of pairs[{k}]"
            constraints = bounded(start.examples, labelled, settings.bounds, self.scale, weights, origin)
            fitted = fit_constraints(start, constraints, self.lam, generator(self.random_state))
        with restored_on_failure(self):
            self._set_fitted(fitted.learned_metric(embedding), fitted)
            self.n_features_in_ = int(examples.shape[1])
            self.classes_ = np.array([-1, 1])
            if hasattr(self, "threshold_"):
                del self.threshold_  # of an earlier fit
            kind = only_kind(similar)
            if kind is None:
                return self.calibrate_threshold(pairs, y, **calibration)
            warn(
                f"all {len(similar)} pairs are {kind}, so that no threshold was calibrated and predict cannot be "
                "called: call calibrate_threshold with pairs of both kinds, or set_threshold with a distance"
            )
        return self

    @property
    def components_(self) -> FloatArray:
        """A square root of the learned matrix, shape (n, n)."""
        return self.metric_.components

    def get_mahalanobis_matrix(self) -> FloatArray:
        """Return a copy of the learned matrix.

        Returns
        -------
        array of shape (n, n)
            W.
        """
        check_is_fitted(self)
        return self.metric_.W.copy()

    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as a function.

        Returns
        -------
        callable
            A function of two examples that returns their distance sqrt(D), or D with ``squared=True``.
        """
        check_is_fitted(self)
        return self.metric_.distance

    def transform(self, X: Any) -> FloatArray:
        """Map examples to vectors whose Euclidean distances are the learned distances.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Matrices or vectors.

        Returns
        -------
        array of shape (l, q)
            The vectors, where q is the number of entries of an embedded example.
        """
        check_is_fitted(self)
        return self.metric_.transform(X, n_jobs=self.n_jobs)

    def pair_distance(self, pairs: Any) -> FloatArray:
        """Return the learned distance sqrt(D) of each pair.

        Parameters
        ----------
        pairs : array of shape (K, 2, n, n), (K, 2, d) or (K, 2)
            Pairs of matrices, of vectors, or of indices for the preprocessor.

        Returns
        -------
        array of shape (K,)
            The distances.
        """
        check_is_fitted(self)
        examples, index = examples_of_pairs(pairs, self.preprocessor)
        with errors_name_the_pairs(pairs):
            vectors = self.metric_.transform(examples, n_jobs=self.n_jobs)
        return np.asarray(np.linalg.norm(vectors[index[:, 0]] - vectors[index[:, 1]], axis=1))

    def pair_score(self, pairs: Any) -> FloatArray:
        """Return the similarity of each pair, which is the negative distance.

        Parameters
        ----------
        pairs : array of shape (K, 2, n, n), (K, 2, d) or (K, 2)
            Pairs of matrices, of vectors, or of indices for the preprocessor.

        Returns
        -------
        array of shape (K,)
            The similarities.
        """
        return -self.pair_distance(pairs)

    def decision_function(self, pairs: Any) -> FloatArray:
        """Return the similarity of each pair, as `pair_score` does.

        Parameters
        ----------
        pairs : array of shape (K, 2, n, n), (K, 2, d) or (K, 2)
            Pairs of matrices, of vectors, or of indices for the preprocessor.

        Returns
        -------
        array of shape (K,)
            The similarities.
        """
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> IntArray:
        """Return whether the pairs are predicted to be similar.

        Parameters
        ----------
        pairs : array of shape (K, 2, n, n), (K, 2, d) or (K, 2)
            Pairs of matrices, of vectors, or of indices for the preprocessor.

        Returns
        -------
        array of int of shape (K,)
            +1 if the distance is at most `threshold_`, otherwise -1.

        Raises
        ------
        AttributeError
            If no threshold is set, because all pairs that `fit` learned from were of the same kind.
        """
        check_is_fitted(self)
        if not hasattr(self, "threshold_"):
            raise AttributeError("no threshold is set: call set_threshold or calibrate_threshold first")
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: Any, y: Any) -> float:
        """Return the area under the ROC curve of `decision_function`.

        Parameters
        ----------
        pairs : array of shape (K, 2, n, n), (K, 2, d) or (K, 2)
            Pairs of matrices, of vectors, or of indices for the preprocessor.
        y : array of shape (K,)
            +1 for similar pairs, -1 for dissimilar pairs.

        Returns
        -------
        float
            The area, from 0 to 1.
        """
        scores = self.decision_function(pairs)
        return float(roc_auc_score(signs("y", y, len(scores)), scores))

    def set_threshold(self, threshold: float) -> Self:
        """Set the distance up to which a pair is predicted to be similar.

        Parameters
        ----------
        threshold : float
            The distance, at least 0.

        Returns
        -------
        CovMetricPairs
            The estimator itself.

        Raises
        ------
        ValueError
            If the threshold is not a finite number, or is negative.
        """
        check_is_fitted(self)
        if not is_number(threshold):
            raise ValueError(f"threshold must be a number, got {threshold!r} of type {type(threshold).__name__}")
        if threshold < 0.0:
            raise ValueError(f"threshold must be a distance >= 0, got {threshold!r}; with 0, only equal examples match")
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
        """Choose the threshold on labelled pairs of both kinds.

        Parameters
        ----------
        pairs_valid : array of shape (K, 2, n, n), (K, 2, d) or (K, 2)
            Pairs of matrices, of vectors, or of indices for the preprocessor.
        y_valid : array of shape (K,)
            +1 for similar pairs, -1 for dissimilar pairs.
        strategy : {'accuracy', 'f_beta', 'max_tpr', 'max_tnr'}, default='accuracy'
            What the threshold maximises: the accuracy, the F-beta score, the true positive rate with a true negative
            rate of at least `min_rate`, or the true negative rate with a true positive rate of at least `min_rate`.
        min_rate : float or None, default=None
            The minimum rate, from 0 to 1. It is required by 'max_tpr' and 'max_tnr'.
        beta : float, default=1.0
            The weight of recall relative to precision. It is used by 'f_beta'.

        Returns
        -------
        CovMetricPairs
            The estimator itself.

        Raises
        ------
        ValueError
            If the pairs, the labels or a parameter is invalid, if all pairs are of the same kind, or if no threshold
            reaches `min_rate`.
        """
        check_is_fitted(self)
        distances = self.pair_distance(pairs_valid)
        similar = signs("y_valid", y_valid, len(distances))
        kind = only_kind(similar)
        if kind is not None:
            raise ValueError(
                f"y_valid has only pairs that are {kind}, on which no threshold can be calibrated: pass pairs of both "
                "kinds, or call set_threshold with a distance"
            )
        self.threshold_ = best_threshold(distances, similar, strategy, min_rate, beta)
        return self
