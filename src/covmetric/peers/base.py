"""What the peers share: they learn from labelled, real matrices, and end with a `metric_`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray, generator
from covmetric.constraints import Constraints, constrain, get_bounds, get_pairs
from covmetric.embeddings import Embedding
from covmetric.estimators.mixin import MetricMixin
from covmetric.learning.examples import check_labelled, require_classes
from covmetric.learning.settings import check_lam
from covmetric.metric import LearnedMetric
from covmetric.problem import MetricProblem
from covmetric.problem.certificate import Certificate
from covmetric.solvers import History, solve


def check_matrices(estimator: Any, X: Any, y: Any) -> tuple[FloatArray, npt.NDArray[Any], IntArray]:
    """X as real matrices (l, n, n), the classes, of which there are two or more, and each example's, as 0..n_c-1."""
    array, classes, codes = check_labelled(estimator, X, y)
    if array.ndim != 3 or np.iscomplexobj(array):
        raise ValueError(
            f"X must hold real matrices, shape (l, n, n), for {type(estimator).__name__}; got shape {array.shape}, "
            f"{array.dtype}. CovMetric takes vectors and complex matrices, too"
        )
    require_classes(classes)
    return array, classes, codes


class PeerMetric(MetricMixin):
    """A transformer that learns a metric from matrices and their classes; `transform` maps to where it is Euclidean."""

    classes_: npt.NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array, shape (l, n, n)
            Symmetric positive definite matrices.
        y : array, shape (l,)
            Classes, of any type.
        """
        array, classes, codes = check_matrices(self, X, y)
        self.metric_ = self._learn(array, codes)
        self.classes_ = classes
        return self

    @abstractmethod
    def _learn(self, X: FloatArray, codes: IntArray) -> LearnedMetric:
        """The metric of matrices (l, n, n) with classes 0..n_c-1."""


class PairPeer(PeerMetric):
    """A peer that learns W from pairs: all of them pose a `MetricProblem` with the LogDet loss, and differ from there.

    Attributes
    ----------
    problem_ : MetricProblem
        What is to be solved, for Phi / sqrt(scale_).
    certificate_ : Certificate
        How far W is, at most, from the optimum of `problem_`.
    history_ : History
    n_iter_ : int
    scale_ : float
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
        asked = constrain(embedded, codes, selection, bounds, self.scale, rng)
        self.problem_ = MetricProblem(
            embedded / np.sqrt(asked.scale), asked.pairs, asked.similar, asked.bounds, self._weights(asked), "is"
        )
        self.scale_ = asked.scale
        return LearnedMetric(embedding, self._solve(self.problem_, rng) / asked.scale)

    @abstractmethod
    def _embedding(self) -> Embedding:
        """An unfitted Phi."""

    def _weights(self, constraints: Constraints) -> FloatArray:
        """The weights c of the pairs, shape (K,): 1/(lam K)."""
        check_lam(self.lam)
        if self.lam == np.inf:
            raise ValueError("lam must be finite: at infinity there is nothing to learn; see FixedDistanceClassifier")
        return constraints.weights / self.lam

    def _solve(self, problem: MetricProblem, rng: np.random.Generator) -> FloatArray:
        """W, shape (n, n), by our solver; sets `certificate_`, `history_` and `n_iter_`."""
        result = solve(problem, tol=self.tol, max_iter=self.max_iter, random_state=rng)
        self.certificate_, self.history_, self.n_iter_ = result.certificate, result.history, result.n_iter
        return result.W
