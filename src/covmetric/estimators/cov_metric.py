"""CovMetric: learn a metric, and transform into its Euclidean space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray, generator
from covmetric.constraints import RandomPairs, get_pairs
from covmetric.estimators.mixin import MetricMixin, SolvedMixin, SolvingMixin
from covmetric.estimators.parameters import settings_from_parameters
from covmetric.estimators.restoring import restored_on_failure
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.examples import check_labelled, embedding_for, require_classes, warn_lone_examples
from covmetric.learning.fit import FittedProblem, fit_path
from covmetric.learning.progress import progress_callback
from covmetric.learning.settings import LearningSettings
from covmetric.learning.splits import check_groups
from covmetric.solvers import Callback, solving_with

#: The settings of the paper's recognition experiments, as parameters of `CovMetric` without `phi` and `lam`. The number
#: of pairs, the bounds, the slack, the prior and the algorithm are the paper's. Two settings are choices of ours, which
#: the paper leaves open: half of the pairs are similar (`balance`), and the bounds apply to squared distances that are
#: divided by their median over the pairs (`scale`).
PAPER_SETTINGS: dict[str, Any] = {
    "pairs": RandomPairs(budget=100, balance=0.5),
    "bounds": (0.05, 0.95),
    "scale": "median",
    "slack": "is",
    "solver": "dykstra",
    "order": "rand",
    "prior": "identity",
}


class CovMetric(SavedEstimator, SolvedMixin, SolvingMixin, MetricMixin):
    """Metric learning on covariance matrices, or vectors, with class labels.

    The learned distance is sqrt(D), where D(X1, X2) = <W, (Phi(X1) - Phi(X2)) (Phi(X1) - Phi(X2))^T>. W minimises its
    divergence from the prior plus a penalty on similar pairs that are too far apart and dissimilar pairs that are too
    close; `lam` balances the two terms. A certificate proves how close W is to the optimum. `transform` maps the
    examples to vectors whose Euclidean distance is the learned distance.

    Parameters
    ----------
    phi : str or Embedding, default='auto'
        The embedding: 'id', 'log', 'relog', 'veclog', 'tangent', 'tangent-pca', 'sqrt', 'power' or 'chol' for
        matrices, 'vector' for vectors, or an object. 'auto' is 'relog' for matrices and 'vector' for vectors,
        for which the learner is ITML.
    pairs : {'neighbors', 'random'} or PairSelection, default='neighbors'
        The pairs of training examples to learn from.
    budget : int or None, default=None
        The number of pairs. For 'neighbors', it is the number of neighbours of each example in its own class, and also
        in the other classes; None means 5. For 'random', it is the number of pairs per class; None means 100.
    slack : {'is', 'l2', 're'} or Slack, default='is'
        The divergence that penalises violated bounds: Itakura-Saito, squared Euclidean, or relative entropy.
    lam : float, default=1e-2
        The strength of the prior: each of the K pairs has the weight 1 / (lam K). If inf, W is the prior and nothing is
        solved.
    bounds : (float, float), {'absolute', 'quantile'} or Bounds, default='absolute'
        The upper bound on the squared distances of similar pairs and the lower bound on the squared distances of
        dissimilar pairs, in units of `scale`: two numbers, the paper's 0.05 and 0.95 ('absolute'), or the 5th and
        the 95th percentile of the squared distances ('quantile').
    scale : 'median', float or None, default='median'
        The unit of the bounds, a squared distance: the median over the pairs, a number, or 1 if None.
    prior : {'identity', 'covariance', 'within', 'gmml'} or array of shape (n, n), default='identity'
        The metric that W is kept close to, in units of `scale`. 'covariance' is the inverse covariance of the embedded
        examples. 'within' is the inverse within-class scatter of the embedded examples. 'gmml' is the geometric mean
        S^-1 #_t D of GMML, where S and D are the means of F F^T over the similar and the dissimilar pairs that `pairs`
        selects under W = I, F is the difference of the two embedded examples, and t is `prior_t`.
    prior_t : float, default=0.5
        The position t on the geodesic from S^-1 (t = 0) to D (t = 1), from 0 to 1. It is used if `prior` is 'gmml'.
    shrinkage : 'auto' or float, default='auto'
        The shrinkage g of the priors 'within' and 'gmml', from 0 to 1: each scatter matrix S of size n becomes
        (1 - g) S + g tr(S)/n I. 'auto' is the shrinkage of Ledoit and Wolf for the class-centred embedded examples.
    solver : {'auto', 'newton', 'dykstra', 'hybrid', 'interior'} or Solver, default='auto'
        The solver, as in `covmetric.solve`.
    order : {'perm', 'rand', 'cyclic'}, default='perm'
        The order of the projections. It is used if `solver` is 'dykstra'.
    reg : float, default=0.0
        The regularisation for singular matrices: the fraction of its mean eigenvalue that is added to the diagonal of
        each matrix.
    tol : float, default=1e-6
        The tolerance on the relative duality gap.
    max_iter : int or None, default=None
        The maximum number of Newton steps or Dykstra epochs. None means the default of the solver.
    random_state : int, RandomState, Generator or None, default=None
        The source of random pairs and random orders.
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
    W_ : array of shape (n, n)
        The learned matrix.
    components_ : array of shape (n, n)
        A square root of `W_`: W_ = components_.T @ components_. See `LearnedMetric.components`.
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
    classes_ : array of shape (n_classes,)
        The distinct labels.
    n_features_in_ : int
        The number of rows n of a matrix, or of entries d of a vector.

    See Also
    --------
    CovMetricCV : Chooses the embedding, the pairs, the slack and lambda by cross-validation.
    CovMetricClassifier : Adds a decision rule.
    CovMetricPairs : Learns from labelled pairs instead of labelled examples.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import CovMetric
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((60, 3, 12)) * np.array([1.0, 2.0, 1.0])[:, None]
    >>> A[30:, 0] *= 2.0
    >>> X, y = A @ A.swapaxes(1, 2) / 12, np.repeat(["rest", "move"], 30)
    >>> learner = CovMetric(random_state=0).fit(X, y)
    >>> learner.status_.name, learner.transform(X).shape
    ('SOLVED', (60, 9))

    The following example uses the settings of the paper, for one Phi and one lambda:

    >>> from covmetric import PAPER_SETTINGS
    >>> CovMetric(phi="log", lam=1e-2, random_state=0, **PAPER_SETTINGS).fit(X, y).status_.name
    'SOLVED'
    """

    _parts = ("metric_", "result_", "scale_", "classes_", "n_features_in_")

    def __init__(
        self,
        phi: Any = "auto",
        *,
        pairs: Any = "neighbors",
        budget: int | None = None,
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
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        executor: Any = None,
    ) -> None:
        self.phi = phi
        self.pairs = pairs
        self.budget = budget
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.executor = executor

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Symmetric or Hermitian matrices, or vectors.
        y : array of shape (l,)
            The class of each example, of any type.
        groups : array of shape (l,) or None, default=None
            The group of each example: the recording, the session or the object that it belongs to. By default, similar
            pairs are then taken from different groups; see `PairSelection`.

        Returns
        -------
        CovMetric
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y or a parameter is invalid.
        """
        with restored_on_failure(self):
            array, classes, codes = check_labelled(self, X, y)
            require_classes(classes)
            self._learn(array, classes, codes, groups)
        return self

    def _learn(
        self, array: npt.NDArray[Any], classes: npt.NDArray[Any], codes: IntArray, groups: Any = None
    ) -> tuple[FittedProblem, FloatArray]:
        """Learn from checked examples, which may lack some classes; return the problem and the embedded examples."""
        self.n_features_in_ = int(array.shape[1])
        if self.lam != np.inf:
            warn_lone_examples(codes)
        embedding = embedding_for(self.phi, array, self.reg)
        embedded = embedding.fit_transform(array, n_jobs=self.n_jobs)
        rng = generator(self.random_state)
        with progress_callback(self.verbose) as callback, solving_with(self.n_jobs, self.executor):
            start = FittedProblem.at_prior(
                self._settings(callback),
                embedded,
                codes,
                embedding.copies_,
                rng,
                groups=None if groups is None else check_groups(groups, array),
            )
            (fitted,) = fit_path(start, [self.lam], rng)
        self.classes_ = classes
        self._set_fitted(fitted.learned_metric(embedding), fitted)
        return replace(fitted, settings=self._settings()), embedded  # a progress bar cannot be pickled

    def _settings(self, callback: Callback | None = None) -> LearningSettings:
        return settings_from_parameters(self, get_pairs(self.pairs, self.budget), callback)
