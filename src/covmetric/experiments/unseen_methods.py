"""The methods of a comparison on classes that were not in the training data: each is a distance between matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from pyriemann.tangentspace import FGDA, TangentSpace
from sklearn.base import BaseEstimator, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.estimators import CovMetric, CovMetricCV
from covmetric.experiments.method_results import FIXED, LEARNED, PEER, PYRIEMANN
from covmetric.experiments.methods import METRICS, PHIS
from covmetric.model_selection import get_scorer
from covmetric.peers import FIXED_DISTANCES, GMML

#: The shrinkages of discriminant analysis to choose from: that of Ledoit and Wolf, and that of `CovMetricCV`.
_SHRINKAGES = ["auto", 0.5]


@dataclass(frozen=True)
class UnseenTraining:
    """The training part of a split, for which a method makes an estimator.

    Attributes
    ----------
    reg : float
        The regularisation, as in `compare`.
    seed : int
        The seed of all random numbers.
    inner_splits : sequence of (train, test)
        Splits of the training classes on which settings are tuned. Without any, defaults are used.
    folder : str or None, default=None
        A folder for results that several candidates use. None keeps nothing.
    """

    reg: float
    seed: int
    inner_splits: Sequence[tuple[IntArray, IntArray]]
    folder: str | None = None


@dataclass(frozen=True)
class UnseenMethod:
    """A distance between matrices, fixed or learned.

    Attributes
    ----------
    kind : str
        Where the method comes from: "fixed", "pyRiemann", "peer" or "learned".
    make : function
        Returns an unfitted estimator for an `UnseenTraining`. It has methods ``fit(X, y, groups)`` and `transform`, to
        vectors, or `pairwise`.
    adds_reg : bool
        Whether the estimator regularises the matrices itself.
    slow : bool
        Whether ``covmetric compare --unseen --quick`` leaves the method out.
    """

    kind: str
    make: Callable[[UnseenTraining], Any]
    adds_reg: bool = True
    slow: bool = False


def unseen_methods() -> dict[str, UnseenMethod]:
    """Return the methods that `compare_unseen` offers.

    Returns
    -------
    dict from str to UnseenMethod
        The methods by name.

    Examples
    --------
    >>> methods = unseen_methods()
    >>> methods["log"].kind, methods["covmetriccv-classes"].kind
    ('fixed', 'learned')
    """
    return {
        **{phi: UnseenMethod(FIXED, _fixed(phi)) for phi in PHIS},
        **{
            name: UnseenMethod(FIXED, _distance(name), slow=True)
            for name, distance in FIXED_DISTANCES.items()
            if distance.phi not in PHIS  # otherwise it equals the method with W = I and this Phi
        },
        "fgmdm-filter": UnseenMethod(PYRIEMANN, _fgmdm_filter, adds_reg=False),
        "tangent-lda": UnseenMethod(PYRIEMANN, _tangent_lda, adds_reg=False),
        "peer:gmml": UnseenMethod(PEER, _gmml),
        "covmetriccv": UnseenMethod(LEARNED, _searched(None)),
        "covmetriccv-classes": UnseenMethod(LEARNED, _searched("classes")),
    }


class FixedMatrixDistance(BaseEstimator):
    """A fixed distance between matrices as an estimator, which has nothing to fit.

    Parameters
    ----------
    distance : str
        A name from `FIXED_DISTANCES`.
    reg : float, default=0.0
        The fraction of its mean eigenvalue that is added to the diagonal of each matrix.
    """

    def __init__(self, distance: str, reg: float = 0.0) -> None:
        self.distance = distance
        self.reg = reg

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Do nothing.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        self
            The estimator.
        """
        return self

    def pairwise(self, X: Any) -> FloatArray:
        """Return the distances between all matrices.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.

        Returns
        -------
        array of shape (l, l)
            The distances.
        """
        return FIXED_DISTANCES[self.distance](reg=self.reg).fit(X).pairwise(X)


class TunedDistance(BaseEstimator):
    """An estimator with the settings that have the best mean average precision on given splits.

    It is scikit-learn's `GridSearchCV` with groups: examples of the same class and the same group are not compared.

    Parameters
    ----------
    estimator : estimator
        The estimator, with a method `transform` or `pairwise`.
    grid : dict
        The values of each setting.
    splits : sequence of (train, test)
        The splits. Without any, the estimator is fitted as it is.
    """

    def __init__(self, estimator: Any, grid: Any, splits: Any) -> None:
        self.estimator = estimator
        self.grid = grid
        self.splits = splits

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Choose the settings, and fit the estimator on all examples.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.
        y : array of shape (l,)
            Their classes.
        groups : array of shape (l,) or None, default=None
            Their groups, which only the scores use.

        Returns
        -------
        self
            The fitted estimator.
        """
        candidates = list(ParameterGrid(self.grid)) if len(self.splits) else [{}]
        scores = [self._score(params, X, y, groups) for params in candidates] if len(candidates) > 1 else [0.0]
        self.best_params_ = candidates[int(np.argmax(scores))]
        self.cv_results_ = {"params": candidates, "mean_test_score": np.array(scores)}
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y)
        return self

    def _score(self, params: dict[str, Any], X: Any, y: Any, groups: Any) -> float:
        scorer, scores = get_scorer("mean_average_precision"), []
        for train, test in self.splits:
            fitted = clone(self.estimator).set_params(**params).fit(X[train], y[train])
            scores.append(scorer(fitted, X[test], y[test], None if groups is None else groups[test]))
        return float(np.mean(scores))

    def transform(self, X: Any) -> FloatArray:
        """Return the vectors of the chosen estimator.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.

        Returns
        -------
        array of shape (l, q)
            The vectors.
        """
        return np.asarray(self.best_estimator_.transform(X))


class FilteredDistance(BaseEstimator):
    """The distance of FgMDM: the Riemannian distance between matrices that its discriminant filter has projected.

    Parameters
    ----------
    metric : str, default='riemann'
        The metric of the tangent space in which the filter is learned.
    """

    def __init__(self, metric: str = "riemann") -> None:
        self.metric = metric

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn the filter.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.
        y : array of shape (l,)
            Their classes.
        groups : object, default=None
            Ignored.

        Returns
        -------
        self
            The fitted estimator.
        """
        self.filter_ = FGDA(self.metric).fit(X, y)
        return self

    def pairwise(self, X: Any) -> FloatArray:
        """Return the distances between all filtered matrices.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.

        Returns
        -------
        array of shape (l, l)
            The distances.
        """
        filtered = self.filter_.transform(X)
        return FIXED_DISTANCES["riemann"]().fit(filtered).pairwise(filtered)


def _fixed(phi: str) -> Callable[[UnseenTraining], Any]:
    return lambda training: CovMetric(phi, lam=np.inf, reg=training.reg)


def _distance(name: str) -> Callable[[UnseenTraining], Any]:
    return lambda training: FixedMatrixDistance(name, training.reg)


def _fgmdm_filter(training: UnseenTraining) -> Any:
    return FilteredDistance()


def _tangent_lda(training: UnseenTraining) -> Any:
    steps = [("tangent", TangentSpace()), ("lda", LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"))]
    grid = {"tangent__metric": METRICS, "lda__shrinkage": _SHRINKAGES}
    return TunedDistance(Pipeline(steps, memory=training.folder), grid, training.inner_splits)


def _gmml(training: UnseenTraining) -> Any:
    peer = GMML(reg=training.reg, random_state=training.seed, memory=training.folder)
    return TunedDistance(peer, GMML.grid, training.inner_splits)


def _searched(cv: Any) -> Callable[[UnseenTraining], Any]:
    return lambda training: CovMetricCV(cv=cv, reg=training.reg, random_state=training.seed)
