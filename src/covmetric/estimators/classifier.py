"""CovMetricClassifier: the metric and the decision in a single object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from covmetric._utils.validation import FloatArray, IntArray, as_floats
from covmetric.estimators.cov_metric import CovMetric
from covmetric.estimators.cov_metric_cv import CovMetricCV
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.examples import check_examples, check_labelled, require_classes
from covmetric.learning.fit import FittedProblem
from covmetric.learning.incremental import extend
from covmetric.learning.restore import restore_fitted
from covmetric.learning.rules import NeighborsRule, get_rule
from covmetric.metric import LearnedMetric
from covmetric.neighbors.votes import available_neighbors, check_n_neighbors


class CovMetricClassifier(SavedEstimator, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify covariance matrices, or vectors, by their neighbours or the class means in a learned metric.

    ``make_pipeline(CovMetric(), KNeighborsClassifier())``, or any other classifier in place of the last, does the same;
    this class adds `kneighbors` and `partial_fit`.

    Parameters
    ----------
    learner : CovMetric, CovMetricCV or None, default=None
        What learns the metric; None: ``CovMetric(random_state=random_state)``.
    rule : {"neighbors", "mean"}, default="neighbors"
        The vote of the nearest training examples, or the nearest class mean.
    n_neighbors : int, default=3
    algorithm : {"auto", "brute", "pruned", "faiss"} or Search, default="auto"
        How neighbours are found; all are exact. "auto": "pruned" where the examples are many and large, else "brute".
        "faiss" needs the extra of that name.
    random_state : int, RandomState, Generator or None, default=None
        For the learner, where `learner` is None.
    n_jobs : int or None, default=None
        For the search of neighbours, and for the learner where `learner` is None.

    Attributes
    ----------
    learner_ : CovMetric or CovMetricCV
        Fitted; `learner_.metric_` is the metric, `learner_.result_` the certified solve.
    classes_ : array
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetricClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> CovMetricClassifier(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    _parts = ("learner_", "classes_", "n_features_in_", "_embedded", "_codes")

    def __init__(
        self,
        learner: Any = None,
        *,
        rule: str = "neighbors",
        n_neighbors: int = 3,
        algorithm: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.learner = learner
        self.rule = rule
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    @property
    def metric_(self) -> LearnedMetric:  # type: ignore[override]
        """The learned metric."""
        metric: LearnedMetric = self.learner_.metric_
        return metric

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn the metric and remember the training examples; `groups` are for a `CovMetricCV` as the learner."""
        array, classes, codes = check_labelled(self, X, y)
        require_classes(classes)
        if self.learner is not None and not isinstance(self.learner, CovMetric | CovMetricCV):
            raise ValueError(f"learner must be a CovMetric, a CovMetricCV or None, got {self.learner!r}")
        if groups is not None and not isinstance(self.learner, CovMetricCV):
            raise ValueError(
                f"groups are for a CovMetricCV as the learner, which chooses by folds; got {self.learner!r}"
            )
        return self._start(array, classes, codes, {} if groups is None else {"groups": groups})

    def _start(self, X: npt.NDArray[Any], classes: npt.NDArray[Any], codes: IntArray, given: dict[str, Any]) -> Self:
        check_n_neighbors(self.n_neighbors)
        learner = (
            CovMetric(random_state=self.random_state, n_jobs=self.n_jobs)
            if self.learner is None
            else clone(self.learner)
        )
        self._fitted: FittedProblem
        self._embedded: FloatArray
        self._fitted, self._embedded = learner._learn(X, classes, codes, **given)
        if hasattr(self, "feature_names_in_"):
            learner.feature_names_in_ = self.feature_names_in_
        self.learner_ = learner
        self.classes_ = classes
        self._remember(codes)
        return self

    def _remember(self, codes: IntArray, rule: str | None = None) -> None:
        self._codes = codes
        vectors = self.metric_.map(self._embedded)
        name = self.rule if rule is None else rule
        chosen = get_rule(name, len(self.classes_), self.n_neighbors, self.n_jobs, self.algorithm)
        self._rule = chosen.fit(vectors, codes)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from more labelled examples, starting from what is known: the embedding, the scale, the multipliers.

        Pairs with the new examples are added to the old ones. What was chosen stays: where lam is inf, or a
        `CovMetricCV` found that to be best, only the references grow.

        Parameters
        ----------
        X : array, shape (l, n, n), or (l, d) for vectors
        y : array, shape (l,)
        classes : array or None
            All the classes that will ever come; needed in the first call only, and only where its y lacks some.
        """
        first_call = not hasattr(self, "learner_")
        array, seen, codes = check_labelled(self, X, y, reset=first_call)
        named = seen if classes is None else np.unique(classes)
        expected = named if first_call else self.classes_
        missing = ~np.isin(seen, expected)
        if missing.any():
            raise ValueError(
                f"y has the class {seen[missing].tolist()[0]!r}, which is not among the classes {expected.tolist()}"
            )
        require_classes(expected)
        codes = np.searchsorted(expected, seen)[codes]
        if first_call:
            return self._start(array, expected, codes, {})
        learner, embedding = self.learner_, self.metric_.embedding
        embedded = embedding.transform(array, n_jobs=learner.n_jobs)
        self._fitted = extend(self._fitted, embedded, codes, learner.random_state)
        self._embedded = np.concatenate([self._embedded, embedded])
        if self._fitted.result is not None:
            learner._set_fitted(LearnedMetric(embedding, self._fitted.metric()), self._fitted)
        self._remember(self._fitted.codes)
        return self

    def _fitted_parts(self) -> dict[str, Any]:
        fitted = self._fitted
        return {
            **super()._fitted_parts(),
            "_recipe": replace(fitted.settings, prior="identity"),  # the root below says what the prior was
            "_root": fitted.root,
            "_lam": fitted.lam,
            "_constraints": fitted.constraints,
            "_rule_name": self._rule.name,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        parts = [state.pop(name) for name in ("_recipe", "_root", "_lam", "_constraints")]
        rule = state.pop("_rule_name")
        super()._restore(state)
        learner = self.learner_
        self._fitted = restore_fitted(
            learner.metric_, learner.result_, learner.scale_, self._embedded, self._codes, *parts
        )
        self._remember(self._codes, rule)

    def _check_restored(self) -> None:
        if not isinstance(self.learner_, CovMetric | CovMetricCV):
            raise ValueError("learner_ must be a CovMetric or a CovMetricCV")
        if not np.array_equal(self.learner_.classes_, self.classes_):
            raise ValueError("classes_ are not those of learner_")
        super()._check_restored()
        self._embedded = as_floats("the references", self._embedded)
        shape, codes = self.metric_.embedding.shape_out_, self._codes
        if self._embedded.ndim != 3 or self._embedded.shape[1:] != shape:
            raise ValueError(f"the references must have shape (l, {shape}), got {self._embedded.shape}")
        if not (isinstance(codes, np.ndarray) and codes.dtype == np.int64 and codes.shape == self._embedded.shape[:1]):
            raise ValueError("the references must have one class each")
        if len(codes) == 0 or codes.min() < 0 or codes.max() >= len(self.classes_):
            raise ValueError("the references must belong to the classes")

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each example."""
        winners = self._probabilities(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def predict_proba(self, X: Any) -> FloatArray:
        """How much speaks for each class, shape (l, n_classes): votes of the neighbours, or by squared distances."""
        return self._probabilities(X)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[FloatArray, IntArray] | IntArray:
        """The nearest training examples, as in scikit-learn: distances sqrt(D) and indices, each of shape (l, k).

        X = None: those of each training example among the others.
        """
        check_is_fitted(self)
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        k = available_neighbors(wanted, len(self._codes) - (X is None))
        rule = self._rule
        if not isinstance(rule, NeighborsRule):
            rule = NeighborsRule(len(self.classes_), k, self.n_jobs, self.algorithm)
            rule.fit(self.metric_.map(self._embedded), self._codes)
        distances, indices = rule.nearest(None if X is None else self._vectors(X), k)
        return (distances, indices) if return_distance else indices

    def _vectors(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self.metric_.transform(check_examples(self, X), n_jobs=self.n_jobs)

    def _probabilities(self, X: Any) -> FloatArray:
        vectors = self._vectors(X)
        check_n_neighbors(self.n_neighbors)
        self._rule.n_neighbors = self.n_neighbors  # as in scikit-learn, it may be set after fit
        return self._rule.probabilities(vectors)
