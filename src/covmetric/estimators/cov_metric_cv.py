"""CovMetricCV: choose Phi, prior, pairs, slack and lambda by cross-validation on the training data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray, check_nonnegative, check_tolerance, generator
from covmetric.estimators.cov_metric import CovMetric
from covmetric.estimators.grid import (
    RULE_PARAMS,
    distance_scorer,
    make_grid,
    make_scorings,
    prior_choices,
    scoring_to_save,
)
from covmetric.estimators.mixin import MetricMixin, SolvedMixin
from covmetric.estimators.restoring import restored_on_failure
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.candidates import CandidatePath, PhiCandidates, predict_out_of_fold
from covmetric.learning.examples import check_entries, check_labelled, require_classes
from covmetric.learning.fit import FittedProblem
from covmetric.learning.scoring import Scoring
from covmetric.learning.search import choose_candidate, search_candidates
from covmetric.learning.splits import make_splits
from covmetric.metric import LearnedMetric
from covmetric.solvers import SolveResult


class CovMetricCV(SavedEstimator, SolvedMixin, MetricMixin):
    """`CovMetric` with Phi, pairs, slack and lambda chosen by cross-validation on the training data.

    The score is the accuracy of a decision rule in the learned metric. Each combination of Phi, pairs and slack is
    solved along a path of decreasing lambda with warm starts. The prior itself (lam = inf), which is a fixed metric,
    is a candidate for every Phi.

    Cross-validated accuracies are uncertain, so candidates that differ by less than `n_std_errors` standard errors from
    the best one count as equally good. Among them, the values that are listed first are chosen: the first rule and
    value of its parameter, then the first Phi, prior, pairs, slack and lambda. The choice therefore depends little on
    the folds. With ``n_std_errors=0``, the best candidate is chosen.

    With ``cv='classes'``, the metric is chosen for classes that are not in the training data: classes are held out, and
    the score is the mean average precision with which their examples retrieve each other. Nothing is classified.

    Parameters
    ----------
    phi : str, Embedding or list of them, default='auto'
        The embeddings to choose from, as in `CovMetric`. 'auto' is 'tangent-pca', 'relog', 'log', 'sqrt' and 'chol'
        for matrices ('tangent-pca', 'relog', 'sqrt' and 'chol' if distances are scored), and 'vector' for vectors.
    pairs : str, PairSelection or list of them, default='auto'
        The selections of pairs to choose from, as in `CovMetric`. 'auto' is ``NeighborPairs(10)``, or 'neighbors' if
        distances are scored.
    slack : str, Slack or list of them, default='is'
        The slack divergences to choose from, as in `CovMetric`.
    lambdas : 'auto', float or list of floats, default='auto'
        The strengths of the prior to choose from; inf is added at the end if it is not listed. 'auto' is 1e-2, 1e-1 and
        1e-3, or 1e-1, inf and 1e-2 if distances are scored.
    bounds : (float, float), {'absolute', 'quantile'} or Bounds, default='absolute'
        The upper bound on the squared distances of similar pairs and the lower bound on the squared distances of
        dissimilar pairs, in units of `scale`, as in `CovMetric`.
    scale : 'median', float or None, default='median'
        The unit of the bounds, a squared distance: the median over the pairs, a number, or 1 if None.
    prior : {'auto', 'identity', 'covariance', 'within', 'gmml'}, array of shape (n, n) or list, default='auto'
        The metrics that W is kept close to, from which one is chosen, as in `CovMetric`. 'auto' is 'identity', or
        'within' and 'identity' if distances are scored.
    prior_t : float, default=0.5
        The position on the geodesic from S^-1 to D, as in `CovMetric`. It is used if `prior` is 'gmml'.
    shrinkage : 'auto', float or list of them, default='auto'
        The shrinkages of the priors 'within' and 'gmml' to choose from, as in `CovMetric`. If distances are scored,
        'auto' alone is 0.5; ['auto'] is the shrinkage of Ledoit and Wolf.
    solver : {'auto', 'newton', 'dykstra', 'hybrid', 'interior'} or Solver, default='auto'
        The solver.
    order : {'perm', 'rand', 'cyclic'}, default='perm'
        The order of the projections, for solver='dykstra'.
    reg : float, default=0.0
        The regularisation for singular matrices: the fraction of its mean eigenvalue that is added to the diagonal of
        each matrix.
    tol : float, default=1e-6
        The tolerance on the relative duality gap of the final solve.
    rule : {'neighbors', 'mean', 'lda', 'logistic', 'svm', 'auto'} or list of rules, default='neighbors'
        The decision rule that is scored: the vote of the nearest neighbours, the nearest class mean, linear
        discriminant analysis, logistic regression, or a support vector machine with the Gaussian kernel of the metric.
        If there are several rules, the metric and the rule are chosen together, and each metric is solved once for all
        rules. 'auto' means 'svm', 'lda', 'logistic', 'mean' and 'neighbors', in this order of preference.
    n_neighbors : int or list of int, default=3
        The numbers of neighbours to choose from, for rule='neighbors'.
    C : float or list of floats, default=(1.0, 10.0)
        The inverse strengths of the regularisation to choose from, for rule='logistic' and rule='svm'. The unit is that
        of `CovMetricClassifier`.
    cv : int, None, 'loo', 'classes', splitter or list of splits, default=None
        An integer is the number of random stratified folds, which is reduced if no class has as many examples or
        groups. None means 5 stratified folds that are not random: consecutive examples of each class form a fold, as in
        scikit-learn. If there are 5 to 10 groups and each has all classes, each group is a fold. 'loo' learns one
        metric per candidate from all examples, and scores it by the neighbours of each example outside its own group.
        It is faster, but overestimates the accuracy for small lambda. 'classes' holds out classes: five folds of the
        classes or, if there are fewer than ten, five draws of two classes. A splitter is an object such as
        scikit-learn's StratifiedKFold or `ClassKFold`. A split is a tuple of the training and the test indices.
    scoring : str, DistanceScorer or None, default=None
        A scorer of the distances between the test examples instead of a decision rule: 'mean_average_precision',
        'recall_at_1', 'one_shot_accuracy', 'five_shot_accuracy', 'verification_auc' or 'neg_verification_eer'. None
        means the accuracy of `rule`, but 'mean_average_precision' if `cv` holds out classes.
    n_std_errors : float, default=1.5
        How many standard errors below the best mean accuracy a candidate may be and still count as equally good. The
        standard error is that of the differences from the best candidate on the same folds, pooled over the candidates.
    search_tol : float, default=1e-3
        The tolerance on the relative duality gap during the search.
    random_state : int, RandomState, Generator or None, default=None
        The source of random folds (if `cv` is an integer or 'classes'), random pairs and random orders. The default
        search uses none of them, so that its choice does not depend on `random_state`.
    n_jobs : int or None, default=None
        The number of processes that search. The result does not depend on it.
    verbose : int, default=0
        If not 0, a progress bar is shown.

    Attributes
    ----------
    best_estimator_ : CovMetric
        The estimator with the chosen parameters, fitted on all the examples.
    best_params_ : dict
        The chosen parameters: phi, pairs, slack and lam, and the prior and rule, n_neighbors and C if there are several
        candidates for them. A parameter that the chosen rule does not have is None; pairs and slack have no effect if
        lam is inf.
    best_rule_ : dict
        The rule that was scored with the chosen parameters: its name 'rule', and 'n_neighbors' or 'C'. It is empty if
        distances were scored.
    best_score_ : float
        The mean score of the chosen candidate over the folds.
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
        pairs: Any = "auto",
        slack: Any = "is",
        lambdas: Any = "auto",
        bounds: Any = "absolute",
        scale: Any = "median",
        prior: Any = "auto",
        prior_t: float = 0.5,
        shrinkage: Any = "auto",
        solver: Any = "auto",
        order: str = "perm",
        reg: float = 0.0,
        tol: float = 1e-6,
        rule: Any = "neighbors",
        n_neighbors: Any = 3,
        C: Any = (1.0, 10.0),
        cv: Any = None,
        scoring: Any = None,
        n_std_errors: float = 1.5,
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
        self.scoring = scoring
        self.n_std_errors = n_std_errors
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
            chosen = {name: self.best_params_.get(name) for name in RULE_PARAMS}
            return {name: value for name, value in chosen.items() if value is not None}
        (scoring,) = make_scorings(self)
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
            together in the folds. By default, similar pairs are taken from different groups; see `PairSelection`. If
            distances are scored, examples of the same class and the same group are not compared.

        Returns
        -------
        CovMetricCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y, groups or a parameter is invalid, or if all candidates fail.
        """
        with restored_on_failure(self):
            array, classes, codes = check_labelled(self, X, y)
            require_classes(classes)
            self._learn(array, classes, codes, groups)
        return self

    def _learn(
        self, array: npt.NDArray[Any], classes: npt.NDArray[Any], codes: IntArray, groups: Any = None
    ) -> tuple[FittedProblem, FloatArray]:
        """Choose the parameters and learn from checked examples; return the problem and the embedded examples."""
        self.n_features_in_ = int(array.shape[1])
        check_tolerance(self.search_tol)
        check_nonnegative("n_std_errors", self.n_std_errors)
        grid = make_grid(self, array)
        check_entries(array)  # before the splits, so that messages contain indices into X and not into a fold
        seed = int(generator(self.random_state).integers(2**32))
        scores_distances = distance_scorer(self) is not None
        splits = make_splits(self.cv, array, codes, groups, seed, new_classes=scores_distances)
        scores = search_candidates(grid.metrics, array, codes, splits, grid.scorings, seed, self.n_jobs, self.verbose)
        self.cv_results_ = _cv_results(grid.params, scores)
        self.best_index_ = choose_candidate(grid.preference, scores, self.n_std_errors)
        self.best_params_ = grid.params[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.classes_ = classes
        of_metric = {name: value for name, value in self.best_params_.items() if name not in RULE_PARAMS}
        self.best_estimator_ = self._learner(self.tol, random_state=seed, **of_metric)
        if hasattr(self, "feature_names_in_"):
            self.best_estimator_.feature_names_in_ = self.feature_names_in_
        return self.best_estimator_._learn(array, classes, codes, groups)

    def _out_of_fold(
        self, array: npt.NDArray[Any], codes: IntArray, groups: Any
    ) -> tuple[list[Scoring], list[FloatArray], IntArray, list[IntArray]]:
        """Return all rules, what they predict with the chosen metric in the folds of the search, classes and folds."""
        seed = self.best_estimator_.random_state
        splits = make_splits(self.cv, array, codes, groups, seed)
        settings = replace(self.best_estimator_._settings(), tol=self.search_tol)
        path = CandidatePath(settings, (self.best_params_["lam"],))
        candidates = PhiCandidates(self.best_params_["phi"], self.reg, (path,))
        scorings = [scoring for scoring in make_scorings(self) if isinstance(scoring, Scoring)]
        found = predict_out_of_fold(candidates, array, codes, splits, scorings, seed)
        return scorings, *found, [split.test for split in splits]

    def get_state(self) -> dict[str, Any]:
        scoring = scoring_to_save(self)
        return {**super().get_state(), **({} if scoring is None else {"scoring": scoring})}

    def _check_restored(self) -> None:
        if not isinstance(self.best_estimator_, CovMetric):
            raise ValueError("best_estimator_ must be a CovMetric")
        super()._check_restored()

    def _set_fitted(self, metric: LearnedMetric, fitted: FittedProblem) -> None:
        self.best_estimator_._set_fitted(metric, fitted)

    def _learner(self, tol: float, **params: Any) -> CovMetric:
        """Return a CovMetric with the given parameters, and with those that are not searched."""
        names = ("bounds", "scale", "prior_t", "solver", "order", "reg")
        fixed = {name: getattr(self, name) for name in names}
        return CovMetric(tol=tol, **{**fixed, **prior_choices(self)[0], **params})


def _cv_results(params: list[dict[str, Any]], scores: FloatArray) -> dict[str, Any]:
    """Return the scores in the format of scikit-learn's GridSearchCV."""
    results: dict[str, Any] = {"params": list(params)}
    optional = [name for name in ("prior", "shrinkage", *RULE_PARAMS) if any(name in candidate for candidate in params)]
    names = ["phi", "pairs", "slack", "lam", *optional]
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
