"""CovMetricCV: Phi, pairs, slack and lambda chosen on the training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from tqdm import tqdm

from covmetric._utils.tuning import SHARED_EMBEDDING_BYTES
from covmetric._utils.validation import FloatArray, IntArray, check_tolerance, generator
from covmetric._utils.warning import warn
from covmetric.estimators.cov_metric import CovMetric
from covmetric.estimators.mixin import MetricMixin
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.examples import DEFAULT_PHI, check_entries, check_labelled, embedding_for, require_classes
from covmetric.learning.fit import FittedProblem
from covmetric.learning.rules import get_rule
from covmetric.learning.scoring import INTERRUPTED, CandidatePath, PhiCandidates, Scoring, embed_once, score_candidates
from covmetric.learning.settings import check_lam
from covmetric.learning.splits import Split, make_splits
from covmetric.metric import LearnedMetric
from covmetric.neighbors.votes import check_n_neighbors

_PHIS = ("log", DEFAULT_PHI, "sqrt", "chol")


@dataclass(frozen=True)
class _GridGroup:
    """The candidates with one Phi: their parameters as the user sees them, and what is scored."""

    params: list[dict[str, Any]]
    candidates: PhiCandidates


def _from_best_estimator(name: str, doc: str) -> Any:
    """A property that returns a fitted attribute of the chosen estimator."""
    return property(lambda self: getattr(self.best_estimator_, name), doc=doc)


class CovMetricCV(SavedEstimator, MetricMixin):
    """`CovMetric` with Phi, pairs, slack and lambda chosen by cross-validated neighbours on the training data.

    Each combination of Phi, pairs and slack is solved along a path of falling lambda, each solve from the one before.
    W = I (lam = inf; the prior, where it is another) competes for every Phi, so that by its own estimate the choice is
    never worse than a fixed metric.

    Parameters
    ----------
    phi : str, Embedding or list of them, default="auto"
        "auto": "log", "relog", "sqrt" and "chol" for matrices, "vector" for vectors.
    pairs : str, PairSelection or list of them, default="neighbors"
    slack : str, Slack or list of them, default="is"
    lambdas : list of floats, default=(1e-1, 1e-2, 1e-3, 1e-4)
        inf is always among them.
    bounds, scale, prior, solver, order, reg, tol
        As in `CovMetric`, for the final solve and, but for `tol`, for the search.
    rule : {"neighbors", "mean"}, default="neighbors"
        What is scored: the vote of the nearest neighbours, or the nearest class mean.
    n_neighbors : int, default=3
    cv : int, "loo", splitter or list of splits, default=3
        An integer: so many folds (fewer where no class has as many examples or groups), stratified, and by groups
        where `fit` is given groups. "loo": one metric for all, scored by leave-one-out neighbours outside the example's
        own group; faster, and too kind to small lambda.
    search_tol : float, default=1e-3
        Bound on the relative duality gap during the search.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None
        Processes that share the search. The result does not depend on it.
    verbose : int, default=0
        1 shows the progress of the search.

    Attributes
    ----------
    best_estimator_ : CovMetric
        Fitted on all the examples. `metric_`, `W_`, `result_`, `duality_gap_`, `n_iter_`, `status_` and `scale_` are
        those of this one.
    best_params_ : dict
    best_score_ : float
        The mean accuracy of the choice over the folds.
    cv_results_ : dict of arrays
        As in scikit-learn's GridSearchCV: params, param_*, split*_test_score, mean_, std_ and rank_test_score. A
        candidate that failed has NaN.

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
        solver: Any = "auto",
        order: str = "perm",
        reg: float = 0.0,
        tol: float = 1e-6,
        rule: str = "neighbors",
        n_neighbors: int = 3,
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
        self.solver = solver
        self.order = order
        self.reg = reg
        self.tol = tol
        self.rule = rule
        self.n_neighbors = n_neighbors
        self.cv = cv
        self.search_tol = search_tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    metric_ = _from_best_estimator("metric_", "The learned metric.")
    result_ = _from_best_estimator("result_", "The solve on all the examples.")
    status_ = _from_best_estimator("status_", "How that solve ended.")
    duality_gap_ = _from_best_estimator("duality_gap_", "Its certified duality gap.")
    gap_bound_ = _from_best_estimator("gap_bound_", "The proven bound on its distance to the optimum.")
    n_iter_ = _from_best_estimator("n_iter_", "Its iterations; 0 where W = I was the best choice.")
    scale_ = _from_best_estimator("scale_", "Its scale.")

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Choose and learn.

        Parameters
        ----------
        X : array, shape (l, n, n), or (l, d) for vectors
        y : array, shape (l,)
        groups : array, shape (l,), or None
            Examples of one group (views of one object, trials of one recording) stay together in the folds.
        """
        array, classes, codes = check_labelled(self, X, y)
        require_classes(classes)
        self._learn(array, classes, codes, groups)
        return self

    def _learn(
        self, array: npt.NDArray[Any], classes: npt.NDArray[Any], codes: IntArray, groups: Any = None
    ) -> tuple[FittedProblem, FloatArray]:
        """Choose and learn from checked examples; return what `CovMetricClassifier` keeps."""
        self.n_features_in_ = int(array.shape[1])
        get_rule(self.rule, len(classes))
        check_n_neighbors(self.n_neighbors)
        check_tolerance(self.search_tol)
        grid = self._grid(array)
        check_entries(array)  # with indices into X, not into a fold
        seed = int(generator(self.random_state).integers(2**32))
        splits = make_splits(self.cv, array, codes, groups, seed)
        scores = self._search(array, codes, splits, grid, seed)
        candidates = [candidate for group in grid for candidate in group.params]
        self.cv_results_ = _as_results(candidates, scores)
        best = _choose(candidates, scores)
        self.best_index_ = best
        self.best_params_ = candidates[best]
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])
        self.classes_ = classes
        self.best_estimator_ = self._learner(self.tol, random_state=seed, **self.best_params_)
        if hasattr(self, "feature_names_in_"):
            self.best_estimator_.feature_names_in_ = self.feature_names_in_
        return self.best_estimator_._learn(array, classes, codes)

    def _check_restored(self) -> None:
        if not isinstance(self.best_estimator_, CovMetric):
            raise ValueError("best_estimator_ must be a CovMetric")
        super()._check_restored()

    def _set_fitted(self, metric: LearnedMetric, fitted: FittedProblem) -> None:
        self.best_estimator_._set_fitted(metric, fitted)

    def _learner(self, tol: float, **params: Any) -> CovMetric:
        """A CovMetric with the settings that are not searched."""
        shared = {name: getattr(self, name) for name in ("bounds", "scale", "prior", "solver", "order", "reg")}
        return CovMetric(tol=tol, **shared, **params)

    def _grid(self, X: npt.NDArray[Any]) -> list[_GridGroup]:
        """The candidates, grouped by Phi; unknown names are refused before anything is solved."""
        lambdas = [float(lam) for lam in np.asarray(self.lambdas, dtype=float).ravel()]
        for name in ("phi", "pairs", "slack"):
            if len(_as_list(getattr(self, name))) == 0:
                raise ValueError(f"{name} is empty: at least one is needed")
        for lam in lambdas:
            check_lam(lam)
        decreasing = tuple(lam for lam in sorted(set(lambdas), reverse=True) if lam != np.inf)
        default = ("vector",) if X.ndim == 2 else _PHIS
        phis = default if isinstance(self.phi, str) and self.phi == "auto" else _as_list(self.phi)
        grid = []
        for phi in phis:
            embedding_for(phi, X, self.reg)
            params: list[dict[str, Any]] = [{"phi": phi, "lam": np.inf}]
            paths = [CandidatePath(self._learner(self.search_tol)._settings(), (np.inf,))]
            for pairs in _as_list(self.pairs):
                for slack in _as_list(self.slack):
                    self._learner(self.tol, pairs=pairs, slack=slack)._settings().check()
                    settings = self._learner(self.search_tol, pairs=pairs, slack=slack)._settings()
                    paths.append(CandidatePath(settings, decreasing))
                    params += [{"phi": phi, "pairs": pairs, "slack": slack, "lam": lam} for lam in decreasing]
            grid.append(_GridGroup(params, PhiCandidates(phi, self.reg, tuple(paths))))
        return grid

    def _search(
        self, X: npt.NDArray[Any], codes: IntArray, splits: list[Split], grid: list[_GridGroup], seed: int
    ) -> FloatArray:
        """The accuracy of each candidate on each split, shape (n_candidates, n_splits), NaN where it is missing."""
        ends = np.cumsum([len(group.params) for group in grid])
        rows = [slice(end - len(group.params), end) for end, group in zip(ends, grid, strict=True)]
        scores = np.full((ends[-1], len(splits)), np.nan)
        # Fold by fold, so that a search that is cut short has seen all candidates on the same folds.
        tasks = [(fold, g) for fold in range(len(splits)) for g in range(len(grid))]
        # A Hermitian matrix becomes a real matrix of twice the size.
        bytes_per_phi = 8 * X.size * (4 if np.iscomplexobj(X) else 1)
        share = len(grid) * bytes_per_phi <= SHARED_EMBEDDING_BYTES
        shared = [embed_once(group.candidates.phi, X, self.reg) if share else None for group in grid]
        scoring = Scoring(self.rule, self.n_neighbors)
        work = (
            delayed(score_candidates)(
                grid[g].candidates, X, codes, splits[fold], scoring, np.random.default_rng([seed, fold]), shared[g]
            )
            for fold, g in tasks
        )
        failures: list[str] = []
        cut: BaseException | None = None
        results = iter(Parallel(self.n_jobs, return_as="generator")(work))
        done = 0
        for fold, g in tqdm(tasks, "search", disable=not self.verbose):
            try:
                values, failure = next(results)
            except (KeyboardInterrupt, TerminatedWorkerError) as reason:  # Ctrl-C, or a worker that was killed
                cut = reason
                break
            scores[rows[g], fold] = values
            if failure == INTERRUPTED:
                cut = KeyboardInterrupt()
                break
            done += 1
            if failure:
                failures.append(f"phi {grid[g].candidates.phi!r}: {failure}")
        if cut is not None:
            complete = done // len(grid)
            if complete:  # compare all candidates on the same folds
                scores[:, complete:] = np.nan
            _warn_cut_short(cut, scores)
        self._judge_failures([candidate for group in grid for candidate in group.params], scores, failures)
        return scores

    def _judge_failures(self, candidates: list[dict[str, Any]], scores: FloatArray, failures: list[str]) -> None:
        """Raise where nothing was learned at all; warn where some candidates failed."""
        if not failures:
            return
        learned = np.array([candidate["lam"] != np.inf for candidate in candidates])
        if np.isnan(scores).all() or (learned.any() and np.isnan(scores[learned]).all()):
            raise ValueError(failures[0])
        warn(f"some candidates failed and were left out: {failures[0]}")


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def _warn_cut_short(reason: BaseException, scores: FloatArray) -> None:
    """Warn that the choice is made among what was scored; raise the reason where that is nothing."""
    if np.isnan(scores).all():
        raise reason
    name = "Ctrl-C" if isinstance(reason, KeyboardInterrupt) else f"{type(reason).__name__}: {reason}"
    warn(f"the search was cut short ({name}); the choice is the best of what was scored")


def _choose(candidates: list[dict[str, Any]], scores: FloatArray) -> int:
    """The best mean among those that did not fail in any fold that was scored; among equals the largest lambda."""
    used = ~np.isnan(scores).all(axis=0)
    scored = scores[:, used]
    finished = (~np.isnan(scored)).sum(axis=1)
    eligible = np.flatnonzero(finished == finished.max())
    means = np.where(np.isnan(scored), 0.0, scored).sum(axis=1) / max(1, int(finished.max()))
    return max(eligible.tolist(), key=lambda i: (round(float(means[i]), 12), candidates[i]["lam"], -i))


def _as_results(candidates: list[dict[str, Any]], scores: FloatArray) -> dict[str, Any]:
    results: dict[str, Any] = {"params": list(candidates)}
    for name in ("phi", "pairs", "slack", "lam"):
        values = np.empty(len(candidates), dtype=object)
        values[:] = [candidate.get(name) for candidate in candidates]
        results[f"param_{name}"] = values
    for fold, column in enumerate(scores.T):
        results[f"split{fold}_test_score"] = column
    known = ~np.isnan(scores).all(axis=1)
    mean, std = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    mean[known], std[known] = np.nanmean(scores[known], axis=1), np.nanstd(scores[known], axis=1)
    results["mean_test_score"], results["std_test_score"] = mean, std
    order = np.where(known, -mean, np.inf)
    results["rank_test_score"] = 1 + np.array([(order < value).sum() for value in order])
    return results
