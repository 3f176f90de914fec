"""CovMetric: learn the metric, transform into it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray, generator
from covmetric.constraints import RandomPairs, get_bounds, get_pairs
from covmetric.estimators.mixin import MetricMixin, SolvedMixin
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.examples import check_labelled, embedding_for, require_classes
from covmetric.learning.fit import FittedProblem, fit_path
from covmetric.learning.progress import solving
from covmetric.learning.settings import LearningSettings
from covmetric.metric import LearnedMetric
from covmetric.orders import get_order
from covmetric.solvers import Dykstra

#: The settings of the paper's recognition experiments; Phi and lambda are still to be chosen.
PAPER_SETTINGS: dict[str, Any] = {
    "pairs": RandomPairs(budget=100, balance=0.5),
    "bounds": (0.05, 0.95),
    "scale": "median",
    "slack": "is",
    "solver": "dykstra",
    "order": "rand",
    "prior": "identity",
}


class CovMetric(SavedEstimator, SolvedMixin, MetricMixin):
    """Learn a distance between covariance matrices from their classes, and map into the space where it is Euclidean.

    The distance is sqrt(D), with D(X1, X2) = <W, (Phi(X1) - Phi(X2)) (Phi(X1) - Phi(X2))^T>. W is the matrix nearest to
    the prior that keeps similar pairs near and dissimilar pairs far, as far as lambda makes it care; it comes with a
    proof of how close to optimal it is.

    Parameters
    ----------
    phi : str or Embedding, default="auto"
        "id", "log", "relog", "veclog", "sqrt", "power", "chol", or an object. "auto": "relog" for matrices, "vector"
        for vectors, for which the learner is ITML.
    pairs : {"neighbors", "random"} or PairSelection, default="neighbors"
        Which pairs of training examples to learn from.
    budget : int or None, default=None
        How many: neighbours of either kind per example (None: 5), or random pairs per class (None: 100).
    slack : {"is", "l2", "re"} or Slack, default="is"
        What missing a bound costs.
    lam : float, default=1e-2
        The strength of the prior: the pairs have weight 1/(lam K) each. inf: W is the prior, without a solve.
    bounds : (near, far), {"absolute", "quantile"} or Bounds, default="absolute"
        Bounds on the squared distances of similar and of dissimilar pairs, in units of `scale`: two numbers, the
        paper's 0.05 and 0.95 ("absolute"), or the 5th and the 95th percentile ("quantile").
    scale : {"median", None} or float, default="median"
        The unit of the bounds, a squared distance: the median of those of the pairs, 1, or a number.
    prior : {"identity", "covariance"} or array of shape (n, n), default="identity"
        The metric that W is kept near to, in units of `scale`; "covariance" is the inverse covariance of the embedded
        examples.
    solver : {"auto", "newton", "dykstra"} or Solver, default="auto"
    order : {"perm", "rand", "cyclic"}, default="perm"
        The order of the projections of solver="dykstra".
    reg : float, default=0.0
        Share of the mean eigenvalue that is added to the diagonal of each matrix: the remedy for singular ones.
    tol : float, default=1e-6
        Bound on the relative duality gap.
    max_iter : int or None, default=None
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None
        Threads that embed matrices. The result does not depend on it.
    verbose : int, default=0
        1 shows the progress of the solve.

    Attributes
    ----------
    metric_ : LearnedMetric
    W_ : array, shape (n, n)
        For the unscaled Phi.
    components_ : array, shape (n, n)
        The symmetric square root of `W_`.
    result_ : SolveResult or None
        The solve, with its certificate, in units of `scale_` (None where lam = inf).
    duality_gap_ : float
        The certified duality gap.
    gap_bound_ : float
        An upper bound on how far the objective is from its optimum: the gap and the rounding error of its computation.
    n_iter_ : int
    status_ : Status
    scale_ : float
    classes_ : array
    n_features_in_ : int

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

    The settings of the paper, for one Phi and one lambda:

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
        solver: Any = "auto",
        order: str = "perm",
        reg: float = 0.0,
        tol: float = 1e-6,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.phi = phi
        self.pairs = pairs
        self.budget = budget
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array, shape (l, n, n), or (l, d) for vectors
        y : array, shape (l,)
            Classes, of any type.
        """
        array, classes, codes = check_labelled(self, X, y)
        require_classes(classes)
        self._learn(array, classes, codes)
        return self

    def _learn(
        self, array: npt.NDArray[Any], classes: npt.NDArray[Any], codes: IntArray
    ) -> tuple[FittedProblem, FloatArray]:
        """Learn from checked examples, which may lack some class; return what `CovMetricClassifier` keeps."""
        self.n_features_in_ = int(array.shape[1])
        embedding = embedding_for(self.phi, array, self.reg)
        embedded = embedding.fit_transform(array, n_jobs=self.n_jobs)
        rng = generator(self.random_state)
        with solving(self.verbose) as callback:
            start = FittedProblem.at_prior(self._settings(callback), embedded, codes, embedding.copies_)
            (fitted,) = fit_path(start, [self.lam], rng)
        self.classes_ = classes
        self._set_fitted(LearnedMetric(embedding, fitted.metric()), fitted)
        return replace(fitted, settings=self._settings()), embedded  # without the progress bar, which is not pickled

    def _settings(self, callback: Any = None) -> LearningSettings:
        return LearningSettings(
            selection=get_pairs(self.pairs, self.budget),
            bounds=get_bounds(self.bounds),
            scale=self.scale,
            slack=self.slack,
            prior=self.prior,
            solver=chosen_solver(self.solver, self.order),
            tol=self.tol,
            max_iter=self.max_iter,
            callback=callback,
        )


def chosen_solver(solver: Any, order: str) -> Any:
    """The solver, with the order of projections where it is Dykstra's."""
    get_order(order)  # refuses unknown names in any case
    return Dykstra(order=order) if isinstance(solver, str) and solver == "dykstra" else solver
