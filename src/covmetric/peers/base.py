"""The base classes of the peers: transformers that learn a `metric_` from real matrices and their classes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from covmetric._utils.validation import FloatArray, IntArray, generator
from covmetric.constraints import Constraints, constrain, get_bounds, get_pairs
from covmetric.embeddings import Embedding
from covmetric.estimators.mixin import MetricMixin
from covmetric.estimators.restoring import restored_on_failure
from covmetric.learning.examples import check_labelled, require_classes
from covmetric.learning.settings import check_lam
from covmetric.metric import LearnedMetric
from covmetric.problem import MetricProblem
from covmetric.problem.certificate import Certificate
from covmetric.solvers import History, solve


def check_matrices(estimator: Any, X: Any, y: Any) -> tuple[FloatArray, npt.NDArray[Any], IntArray]:
    """Check the training data of a peer.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted; its `n_features_in_` is set.
    X : array of shape (l, n, n)
        Real symmetric matrices.
    y : array of shape (l,)
        Their classes.

    Returns
    -------
    X : array of shape (l, n, n)
        The matrices.
    classes : array of shape (n_classes,)
        The distinct classes.
    codes : array of int of shape (l,)
        The class of each matrix, 0..n_classes-1.

    Raises
    ------
    ValueError
        If X does not hold real matrices, or if y has fewer than two classes.
    """
    array, classes, codes = check_labelled(estimator, X, y)
    if array.ndim != 3 or np.iscomplexobj(array):
        raise ValueError(
            f"X must hold real matrices, shape (l, n, n), for {type(estimator).__name__}; got shape {array.shape}, "
            f"{array.dtype}; for vectors and complex matrices, use CovMetric"
        )
    require_classes(classes)
    return array, classes, codes


class MatrixClassifier(ClassifierMixin, BaseEstimator):
    """Base class of classifiers that take matrices only. A subclass implements `_fit` and `predict_proba`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The distinct classes.
    """

    classes_: npt.NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array of shape (l, n, n)
            Real symmetric positive definite matrices.
        y : array of shape (l,)
            The class of each matrix, of any type.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If the data or a setting is invalid.
        """
        with restored_on_failure(self):
            array, classes, codes = check_matrices(self, X, y)
            self._fit(array, codes)
            self.classes_ = classes
        return self

    @abstractmethod
    def _fit(self, X: FloatArray, codes: IntArray) -> None:
        """Learn from checked matrices (l, n, n) with classes 0..n_classes-1."""

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the estimated probability of each class.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.

        Returns
        -------
        array of shape (l, n_classes)
            The probabilities; each row sums to 1.
        """

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each matrix.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.

        Returns
        -------
        array of shape (l,)
            The most probable classes. If several classes tie, the first one is returned.
        """
        winners = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])


class PeerMetric(MetricMixin):
    """Base class of transformers that learn a metric from matrices and their classes.

    `transform` maps matrices to vectors whose Euclidean distance is the learned distance. A subclass implements
    `_learn`.

    Attributes
    ----------
    metric_ : LearnedMetric
        The learned metric.
    classes_ : array of shape (n_classes,)
        The distinct classes.
    n_features_in_ : int
        The number of rows of the training matrices.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.peers import PEERS
    >>> data = make_spd_classes(n=3, n_per_class=10)
    >>> all(isinstance(peer().fit(data.X, data.y), PeerMetric) for peer in PEERS.values())
    True
    """

    #: The settings that `compare` tunes, with their values. Without any, `compare` uses the default settings.
    grid: ClassVar[dict[str, list[Any]]] = {}
    classes_: npt.NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array of shape (l, n, n)
            Real symmetric positive definite matrices.
        y : array of shape (l,)
            The class of each matrix, of any type.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If the data or a setting is invalid.
        """
        with restored_on_failure(self):
            array, classes, codes = check_matrices(self, X, y)
            self.metric_ = self._learn(array, codes)
            self.classes_ = classes
        return self

    @abstractmethod
    def _learn(self, X: FloatArray, codes: IntArray) -> LearnedMetric:
        """Return the metric of checked matrices (l, n, n) with classes 0..n_classes-1."""


class PairPeer(PeerMetric):
    """Base class of peers that learn W from pairs of examples.

    All of them pose a `MetricProblem` with the slack "is" (LogDet); they differ in Phi, in the weights of the pairs and
    in the solver.

    Attributes
    ----------
    problem_ : MetricProblem
        The problem, for Phi / sqrt(scale_).
    certificate_ : Certificate
        A proven bound on how far W is from the optimum of `problem_`.
    history_ : History
        The history of the iteration.
    n_iter_ : int
        The number of iterations.
    scale_ : float
        The unit of the bounds, a squared distance.
    """

    lam: float
    tol: float
    max_iter: int | None
    pairs: Any
    budget: int | None
    bounds: Any
    scale: Any
    random_state: Any
    problem_: MetricProblem
    certificate_: Certificate
    history_: History
    n_iter_: int
    scale_: float

    def _learn(self, X: FloatArray, codes: IntArray) -> LearnedMetric:
        embedding, rng = self._embedding(), generator(self.random_state)
        embedded = embedding.fit_transform(X, n_jobs=self.n_jobs)
        selection, bounds = get_pairs(self.pairs, self.budget), get_bounds(self.bounds)
        constraints = constrain(embedded, codes, selection, bounds, self.scale, rng)
        self.scale_ = constraints.scale
        self.problem_ = MetricProblem(
            embedded / np.sqrt(self.scale_),
            constraints.pairs,
            constraints.similar,
            constraints.bounds,
            self._weights(constraints),
            "is",
        )
        return LearnedMetric(embedding, self._solve(self.problem_, rng) / self.scale_)

    @abstractmethod
    def _embedding(self) -> Embedding:
        """Return an unfitted Phi."""

    def _weights(self, constraints: Constraints) -> FloatArray:
        """Return the weights c of the pairs, shape (K,): 1/(lam K)."""
        check_lam(self.lam)
        if self.lam == np.inf:
            raise ValueError(
                "lam must be finite, since lam = inf learns nothing; for fixed distances use FixedDistanceClassifier"
            )
        return constraints.weights / self.lam

    def _solve(self, problem: MetricProblem, rng: np.random.Generator) -> FloatArray:
        """Return W, shape (n, n), from our solver, and set `certificate_`, `history_` and `n_iter_`."""
        result = solve(problem, tol=self.tol, max_iter=self.max_iter, random_state=rng)
        self.certificate_, self.history_, self.n_iter_ = result.certificate, result.history, result.n_iter
        return result.W
