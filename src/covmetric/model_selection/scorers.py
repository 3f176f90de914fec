"""Scorers of distances in the form of scikit-learn's: ``scorer(estimator, X, y)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric.model_selection.few_shot import few_shot_accuracy
from covmetric.model_selection.retrieval import mean_average_precision, recall_at_1
from covmetric.model_selection.verification import verification_auc, verification_eer


@dataclass(frozen=True)
class DistanceScorer:
    """A score of the distances that a fitted estimator computes between examples, which may be of new classes.

    A scorer is called as ``scorer(estimator, X, y)``, so that it can be the `scoring` of scikit-learn's
    `cross_val_score` and `GridSearchCV`. The estimator is a transformer to vectors, such as `CovMetric`, a
    `LearnedMetric` or a pipeline that ends with one of them, or it has a method ``pairwise(X)`` that returns distances.
    Nothing is predicted, so that the classes of y need not be in the training data.

    Attributes
    ----------
    name : str
        The name in `SCORERS`.
    function : callable
        A score of vectors or distances, such as `mean_average_precision`.
    sign : int, default=1
        -1 if less is better. The scorer then returns the negative value, as in scikit-learn.
    options : dict, default={}
        Further arguments of the function.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from covmetric import CovMetric
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.model_selection import ClassKFold, get_scorer
    >>> data = make_spd_classes(n_classes=4, n_per_class=10, n=3)
    >>> scorer = get_scorer("mean_average_precision")
    >>> cross_val_score(CovMetric(lam=1.0), data.X, data.y, scoring=scorer, cv=ClassKFold(2)).shape
    (2,)
    """

    name: str
    function: Callable[..., float] = field(repr=False)
    sign: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, estimator: Any, X: Any, y: Any, groups: Any = None) -> float:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : object
            A fitted estimator with a method `transform` or `pairwise`.
        X : array of shape (l, ...)
            The examples.
        y : array of shape (l,)
            Their classes, which need not be those of the training data.
        groups : array of shape (l,) or None, default=None
            Their groups. Examples of the same class and the same group are not compared.

        Returns
        -------
        float
            The score. More is better.

        Raises
        ------
        ValueError
            If the estimator has no distances, or if the score is not defined for y.
        """
        points, metric = vectors_or_distances(estimator, X)
        return self.score(points, y, groups, metric)

    def score(self, X: Any, y: Any, groups: Any = None, metric: str = "euclidean") -> float:
        """Score vectors or distances.

        Parameters
        ----------
        X : array of shape (l, q) or (l, l)
            Vectors, or distances if `metric` is 'precomputed'.
        y : array of shape (l,)
            Their classes.
        groups : array of shape (l,) or None, default=None
            Their groups.
        metric : {'euclidean', 'precomputed'}, default='euclidean'
            Whether X holds vectors or distances.

        Returns
        -------
        float
            The score. More is better.
        """
        return self.sign * self.function(X, y, groups=groups, metric=metric, **self.options)


def vectors_or_distances(estimator: Any, X: Any) -> tuple[Any, str]:
    """Return what a fitted estimator says about the distances between examples.

    Parameters
    ----------
    estimator : object
        A fitted estimator with a method `transform` or `pairwise`.
    X : array of shape (l, ...)
        The examples.

    Returns
    -------
    points : array of shape (l, q) or (l, l)
        Vectors, or distances if the estimator has no method `transform`.
    metric : {'euclidean', 'precomputed'}
        Which of the two.

    Raises
    ------
    ValueError
        If the estimator has neither of the two methods.
    """
    if hasattr(estimator, "transform"):
        return np.asarray(estimator.transform(X)), "euclidean"
    if hasattr(estimator, "pairwise"):
        return estimator.pairwise(X), "precomputed"
    remedy = "a metric learner or another transformer, without a classifier at the end"
    if hasattr(estimator, "learner_"):
        remedy = "its metric learner, the attribute learner_"
    raise ValueError(
        f"{type(estimator).__name__} has no method transform or pairwise, so that it has no distances; pass {remedy}"
    )


#: The scorers by name. As in scikit-learn, more is better for all of them.
SCORERS: dict[str, DistanceScorer] = {
    scorer.name: scorer
    for scorer in (
        DistanceScorer("mean_average_precision", mean_average_precision),
        DistanceScorer("recall_at_1", recall_at_1),
        DistanceScorer("one_shot_accuracy", few_shot_accuracy, options={"n_shots": 1}),
        DistanceScorer("five_shot_accuracy", few_shot_accuracy, options={"n_shots": 5}),
        DistanceScorer("verification_auc", verification_auc),
        DistanceScorer("neg_verification_eer", verification_eer, sign=-1),
    )
}


def get_scorer(scoring: Any) -> DistanceScorer:
    """Return the scorer with the given name.

    Parameters
    ----------
    scoring : str or DistanceScorer
        A name from `SCORERS`, or an object, which is returned unchanged.

    Returns
    -------
    DistanceScorer
        The scorer.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> get_scorer("recall_at_1")
    DistanceScorer(name='recall_at_1', sign=1, options={})
    """
    if isinstance(scoring, DistanceScorer):
        return scoring
    if isinstance(scoring, str) and scoring in SCORERS:
        return SCORERS[scoring]
    names = ", ".join(map(repr, SCORERS))
    raise ValueError(f"scoring must be one of {names}, or a DistanceScorer; got {scoring!r}")
