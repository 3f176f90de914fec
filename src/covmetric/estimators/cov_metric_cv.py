"""CovMetricCV: choose Phi, pairs, slack and lambda by cross-validation on the training data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray, check_positive, check_tolerance, generator
from covmetric.estimators.cov_metric import CovMetric
from covmetric.estimators.mixin import MetricMixin, SolvedMixin
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.examples import DEFAULT_PHI, check_entries, check_labelled, embedding_for, require_classes
from covmetric.learning.fit import FittedProblem
from covmetric.learning.prior import prior_uses_pairs
from covmetric.learning.rules import RULES, get_rule
from covmetric.learning.scoring import CandidatePath, PhiCandidates, Scoring, out_of_fold, require_vote
from covmetric.learning.search import best_candidate, search_candidates
from covmetric.learning.settings import check_lam
from covmetric.learning.splits import make_splits
from covmetric.metric import LearnedMetric
from covmetric.neighbors.votes import check_n_neighbors
from covmetric.solvers import SolveResult

_DEFAULT_PHIS = ("log", DEFAULT_PHI, "sqrt", "chol")
# The parameters of decision rules among the parameters of candidates.
_RULE_PARAMS = ("rule", "n_neighbors", "C")


@dataclass(frozen=True)
class _GridGroup:
    """The candidates with one Phi: their parameters for `CovMetric`, and the settings that are scored."""

    params: list[dict[str, Any]]
    candidates: PhiCandidates


class CovMetricCV(SavedEstimator, SolvedMixin, MetricMixin):
    """`CovMetric` with Phi, pairs, slack and lambda chosen by cross-validation on the training data.

    The score is the accuracy of a decision rule in the learned metric. Each combination of Phi, pairs and slack is
    solved along a path of decreasing lambda with warm starts. The prior itself (lam = inf), which is a fixed metric,
    is a candidate for every Phi. The cross-validated accuracy of the chosen candidate is therefore never below the
    accuracy of a fixed metric.

    Parameters
    ----------
    phi : str, Embedding or list of them, default='auto'
        The embeddings to choose from, as in `CovMetric`. 'auto' is 'log', 'relog', 'sqrt' and 'chol' for matrices, and
        'vector' for vectors.
    pairs : str, PairSelection or list of them, default='neighbors'
        The selections of pairs to choose from, as in `CovMetric`.
    slack : str, Slack or list of them, default='is'
        The slack divergences to choose from, as in `CovMetric`.
    lambdas : float or list of floats, default=(1e-1, 1e-2, 1e-3, 1e-4)
        The strengths of the prior to choose from; inf is always added.
    bounds : (float, float), {'absolute', 'quantile'} or Bounds, default='absolute'
        The upper bound on the squared distances of similar pairs and the lower bound on the squared distances of
        dissimilar pairs, in units of `scale`, as in `CovMetric`.
    scale : 'median', float or None, default='median'
        The unit of the bounds, a squared distance: the median over the pairs, a number, or 1 if None.
    prior : {'identity', 'covariance', 'within', 'gmml'} or array of shape (n, n), default='identity'
        The metric that W is kept close to, as in `CovMetric`.
    prior_t : float, default=0.5
        The position on the geodesic from S^-1 to D, as in `CovMetric`. It is used if `prior` is 'gmml'.
    shrinkage : 'auto' or float, default='auto'
        The shrinkage of the priors 'within' and 'gmml', as in `CovMetric`.
    solver : {'auto', 'newton', 'dykstra', 'hybrid', 'interior'} or Solver, default='auto'
        The solver.
    order : {'perm', 'rand', 'cyclic'}, default='perm'
        The order of the projections, for solver='dykstra'.
    reg : float, default=0.0
        The regularisation for singular matrices: the fraction of its mean eigenvalue that is added to the diagonal of
        each matrix.
    tol : float, default=1e-6
        The tolerance on the relative duality gap of the final solve.
    rule : {'neighbors', 'mean', 'logistic', 'svm', 'auto'} or list of rules, default='neighbors'
        The decision rule that is scored: the vote of the nearest neighbours, the nearest class mean, logistic
        regression, or a support vector machine with the Gaussian kernel of the metric. If there are several rules
        ('auto' means all), the metric and the rule are chosen together, and each metric is solved once for all rules.
    n_neighbors : int or list of int, default=3
        The numbers of neighbours to choose from, for rule='neighbors'.
    C : float or list of floats, default=(1.0, 10.0, 100.0)
        The inverse strengths of the regularisation to choose from, for rule='logistic' and rule='svm'. The unit is that
        of `CovMetricClassifier`.
    cv : int, 'loo', splitter or list of splits, default=3
        An integer is the number of stratified folds, which is reduced if no class has as many examples or groups. 'loo'
        learns one metric per candidate from all examples, and scores it by the neighbours of each example outside its
        own group. It is faster, but overestimates the accuracy for small lambda. A splitter is an object such as
        scikit-learn's StratifiedKFold. A split is a tuple of the training and the test indices.
    search_tol : float, default=1e-3
        The tolerance on the relative duality gap during the search.
    random_state : int, RandomState, Generator or None, default=None
        The source of random folds, random pairs and random orders.
    n_jobs : int or None, default=None
        The number of processes that search. The result does not depend on it.
    verbose : int, default=0
        If not 0, a progress bar is shown.

    Attributes
    ----------
    best_estimator_ : CovMetric
        The estimator with the chosen parameters, fitted on all the examples.
    best_params_ : dict
        The chosen parameters, including those of the rule if there are several candidates for it.
    best_rule_ : dict
        The rule that was scored with the chosen parameters: its name 'rule', and 'n_neighbors' or 'C'.
    best_score_ : float
        The mean accuracy of the chosen candidate over the folds.
    best_index_ : int
        The index of the chosen candidate in `cv_results_`.
    cv_results_ : dict of arrays
        The scores as in scikit-learn's GridSearchCV: params, param_*, split*_test_score, mean_test_score,
        std_test_score and rank_test_score. Candidates that failed have NaN.
    metric_ : LearnedMetric
        The learned metric of `best_estimator_`.
    W_ : array of shape (n, n)
        The learned matrix.
    components_ : array of shape (n, n)
        A square root of `W_`: W_ = components_.T @ components_. See `LearnedMetric.components`.
    result_ : SolveResult or None
        The solution on all the examples; None if a fixed metric was chosen.
    duality_gap_ : float
        The certified duality gap: the objective minus the dual objective.
    gap_bound_ : float
        The proven bound on the distance of the objective from its optimum: the duality gap plus a bound on the rounding
        error of its computation.
    n_iter_ : int
        The number of Newton steps or Dykstra epochs.
    status_ : Status
        How the final solve ended.
    scale_ : float
        The unit of the bounds, a squared distance.
    classes_ : array of shape (n_classes,)
        The distinct labels.
    n_features_in_ : int
        The number of rows n of a matrix, or of entries d of a vector.

    See Also
    --------
    CovMetric : Learns a metric with given parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetricCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = CovMetricCV(random_state=0).fit(X, y)
    >>> search.best_params_["phi"], search.best_score_ > 0.9
    ('vector', True)
    """

    _parts = (
        "best_estimator_", "best_params_", "best_score_", "best_index_", "cv_results_", "classes_", "n_features_in_",
    )  # fmt: skip

    def __init__(
        self,
        phi: Any = "auto",
        *,
        pairs: Any = "neighbors",
        slack: Any = "is",
        lambdas: Any = (1e-1, 1e-2, 1e-3, 1e-4),
        bounds: Any = "absolute",
        scale: Any = "median",
        prior: Any = "identity",
        prior_t: float = 0.5,
        shrinkage: Any = "auto",
        solver: Any = "auto",
        order: str = "perm",
        reg: float = 0.0,
        tol: float = 1e-6,
        rule: Any = "neighbors",
        n_neighbors: Any = 3,
        C: Any = (1.0, 10.0, 100.0),
        cv: Any = 3,
        search_tol: float = 1e-3,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.phi = phi
        self.pairs = pairs
        self.slack = slack
        self.lambdas = lambdas
        self.bounds = bounds
        self.scale = scale
        self.prior = prior
        self.prior_t = prior_t
        self.shrinkage = shrinkage
        self.solver = solver
        self.order = order
        self.reg = reg
        self.tol = tol
        self.rule = rule
        self.n_neighbors = n_neighbors
        self.C = C
        self.cv = cv
        self.search_tol = search_tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def metric_(self) -> LearnedMetric:  # type: ignore[override]
        """The learned metric of `best_estimator_`."""
        return self.best_estimator_.metric_

    @property
    def result_(self) -> SolveResult | None:  # type: ignore[override]
        """The solution on all the examples; None if a fixed metric was chosen."""
        return self.best_estimator_.result_

    @property
    def scale_(self) -> float:  # type: ignore[override]
        """The unit of the bounds, a squared distance."""
        return self.best_estimator_.scale_

    @property
    def best_rule_(self) -> dict[str, Any]:
        """The rule that was scored with the chosen parameters."""
        if "rule" in self.best_params_:
            return {name: self.best_params_[name] for name in _RULE_PARAMS if name in self.best_params_}
        (scoring,) = self._scorings()
        return scoring.params

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Choose the parameters, and learn the metric from all the examples.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Symmetric or Hermitian matrices, or vectors.
        y : array of shape (l,)
            The class of each example, of any type.
        groups : array of shape (l,) or None, default=None
            The group of each example. Examples of one group (views of one object, trials of one recording) stay
            together in the folds.

        Returns
        -------
        CovMetricCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y, groups or a parameter is invalid, or if all candidates fail.
        """
        array, classes, codes = check_labelled(self, X, y)
        require_classes(classes)
        self._learn(array, classes, codes, groups)
        return self

    def _learn(
        self, array: npt.NDArray[Any], classes: npt.NDArray[Any], codes: IntArray, groups: Any = None
    ) -> tuple[FittedProblem, FloatArray]:
        """Choose the parameters and learn from checked examples; return the problem and the embedded examples."""
        self.n_features_in_ = int(array.shape[1])
        scorings = self._scorings()
        check_tolerance(self.search_tol)
        grid = self._grid(array)
        check_entries(array)  # before the splits, so that messages contain indices into X and not into a fold
        seed = int(generator(self.random_state).integers(2**32))
        splits = make_splits(self.cv, array, codes, groups, seed)
        scores = search_candidates(
            [group.candidates for group in grid],
            array,
            codes,
            splits,
            scorings,
            seed,
            self.n_jobs,
            self.verbose,
        )
        # The parameters of the rule are among the results only if there is a choice.
        rules = [scoring.params if len(scorings) > 1 else {} for scoring in scorings]
        params = [{**candidate, **rule} for group in grid for candidate in group.params for rule in rules]
        self.cv_results_ = _cv_results(params, scores)
        self.best_index_ = best_candidate([candidate["lam"] for candidate in params], scores)
        self.best_params_ = params[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.classes_ = classes
        of_metric = {name: value for name, value in self.best_params_.items() if name not in _RULE_PARAMS}
        self.best_estimator_ = self._learner(self.tol, random_state=seed, **of_metric)
        if hasattr(self, "feature_names_in_"):
            self.best_estimator_.feature_names_in_ = self.feature_names_in_
        return self.best_estimator_._learn(array, classes, codes)

    def _out_of_fold(self, array: npt.NDArray[Any], codes: IntArray, groups: Any) -> tuple[FloatArray, IntArray]:
        """Return the probabilities that the chosen metric and rule predict in the folds of the search, and classes."""
        seed = self.best_estimator_.random_state
        splits = make_splits(self.cv, array, codes, groups, seed)
        settings = replace(self.best_estimator_._settings(), tol=self.search_tol)
        path = CandidatePath(settings, (self.best_params_["lam"],))
        candidates = PhiCandidates(self.best_params_["phi"], self.reg, (path,))
        return out_of_fold(candidates, array, codes, splits, Scoring(**self.best_rule_), seed)

    def _scorings(self) -> list[Scoring]:
        """Return the rules to choose from, each with its parameter; raise ValueError for invalid ones."""
        rules = list(RULES) if isinstance(self.rule, str) and self.rule == "auto" else _as_list(self.rule)
        if len(rules) == 0:
            raise ValueError("rule is empty: at least one value is needed")
        scorings = []
        for rule in rules:
            get_rule(rule, 1)
            tuned = RULES[rule].tuned
            values = [] if tuned is None else _as_list(getattr(self, tuned))
            if tuned is not None and len(values) == 0:
                raise ValueError(f"{tuned} is empty: at least one value is needed")
            scorings += [Scoring(rule, **{tuned: value}) for value in values] if tuned else [Scoring(rule)]
        for scoring in scorings:
            check_n_neighbors(scoring.n_neighbors)
            check_positive("C", scoring.C)
            if isinstance(self.cv, str) and self.cv == "loo":
                require_vote(scoring.rule)
        return scorings

    def _check_restored(self) -> None:
        if not isinstance(self.best_estimator_, CovMetric):
            raise ValueError("best_estimator_ must be a CovMetric")
        super()._check_restored()

    def _set_fitted(self, metric: LearnedMetric, fitted: FittedProblem) -> None:
        self.best_estimator_._set_fitted(metric, fitted)

    def _learner(self, tol: float, **params: Any) -> CovMetric:
        """Return a CovMetric with the parameters that are not searched."""
        names = ("bounds", "scale", "prior", "prior_t", "shrinkage", "solver", "order", "reg")
        return CovMetric(tol=tol, **{name: getattr(self, name) for name in names}, **params)

    def _grid(self, X: npt.NDArray[Any]) -> list[_GridGroup]:
        """Return the candidates, grouped by Phi; raise ValueError for invalid settings before anything is solved."""
        lambdas = [float(lam) for lam in np.asarray(self.lambdas, dtype=float).ravel()]
        for name in ("phi", "pairs", "slack"):
            if len(_as_list(getattr(self, name))) == 0:
                raise ValueError(f"{name} is empty: at least one value is needed")
        for lam in lambdas:
            check_lam(lam)
        decreasing = tuple(lam for lam in sorted(set(lambdas), reverse=True) if lam != np.inf)
        default = ("vector",) if X.ndim == 2 else _DEFAULT_PHIS
        phis = default if isinstance(self.phi, str) and self.phi == "auto" else _as_list(self.phi)
        grid = []
        for phi in phis:
            embedding_for(phi, X, self.reg)
            # The prior is one candidate, or one for each selection of pairs if it depends on them.
            fixed = [{"pairs": pairs} for pairs in _as_list(self.pairs)] if prior_uses_pairs(self.prior) else [{}]
            params: list[dict[str, Any]] = [{"phi": phi, **choice, "lam": np.inf} for choice in fixed]
            paths = [CandidatePath(self._learner(self.search_tol, **choice)._settings(), (np.inf,)) for choice in fixed]
            for pairs in _as_list(self.pairs):
                for slack in _as_list(self.slack):
                    self._learner(self.tol, pairs=pairs, slack=slack)._settings().check()
                    settings = self._learner(self.search_tol, pairs=pairs, slack=slack)._settings()
                    paths.append(CandidatePath(settings, decreasing))
                    params += [{"phi": phi, "pairs": pairs, "slack": slack, "lam": lam} for lam in decreasing]
            grid.append(_GridGroup(params, PhiCandidates(phi, self.reg, tuple(paths))))
        return grid


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def _cv_results(params: list[dict[str, Any]], scores: FloatArray) -> dict[str, Any]:
    """Return the scores in the format of scikit-learn's GridSearchCV."""
    results: dict[str, Any] = {"params": list(params)}
    names = ["phi", "pairs", "slack", "lam", *(name for name in _RULE_PARAMS if any(name in p for p in params))]
    for name in names:
        values = np.empty(len(params), dtype=object)
        values[:] = [candidate.get(name) for candidate in params]
        results[f"param_{name}"] = values
    for fold, column in enumerate(scores.T):
        results[f"split{fold}_test_score"] = column
    scored = ~np.isnan(scores).all(axis=1)
    mean, std = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    mean[scored], std[scored] = np.nanmean(scores[scored], axis=1), np.nanstd(scores[scored], axis=1)
    results["mean_test_score"], results["std_test_score"] = mean, std
    order = np.where(scored, -mean, np.inf)
    results["rank_test_score"] = 1 + np.array([(order < value).sum() for value in order])
    return results
