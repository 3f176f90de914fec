"""The parts of a fitted estimator that displays show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from covmetric.metric import LearnedMetric
from covmetric.metric.channel_names import names_in_pipeline
from covmetric.metric.pipeline_steps import without_empty_steps
from covmetric.solvers import SolveResult


def find_learner(estimator: Any) -> tuple[Any, list[Any]]:
    """Return the part of an estimator that holds the metric, and the steps that come before it in a pipeline.

    Parameters
    ----------
    estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
        The estimator.

    Returns
    -------
    learner : object
        The first part with an attribute `metric_`, or the learned metric itself. For a classifier, it is the learner of
        the classifier.
    steps : list of transformers
        The steps before it, for example a descriptor.

    Raises
    ------
    ValueError
        If no part of the estimator is a fitted estimator of covmetric.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from covmetric import CovMetricClassifier
    >>> pipeline = make_pipeline(StandardScaler(), CovMetricClassifier(random_state=0)).fit(*load_iris(return_X_y=True))
    >>> find_learner(pipeline)
    (CovMetric(random_state=0), [StandardScaler()])
    """
    steps = _steps(estimator)
    for place, whole in enumerate(steps):
        step = getattr(whole, "classifier_", whole)  # a classifier of regions holds a classifier of matrices
        if isinstance(step, LearnedMetric) or hasattr(step, "metric_"):
            return getattr(step, "learner_", step), without_empty_steps(steps[:place])
    raise ValueError(
        "estimator must be a LearnedMetric, a fitted estimator of covmetric or a pipeline with one; got "
        f"{type(estimator).__name__}, which has no metric_: call fit first"
    )


def find_metric(estimator: Any) -> LearnedMetric:
    """Return the learned metric of an estimator.

    Parameters
    ----------
    estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
        The estimator.

    Returns
    -------
    LearnedMetric
        The metric.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetric
    >>> find_metric(CovMetric(random_state=0).fit(*load_iris(return_X_y=True))).W.shape
    (4, 4)
    """
    learner, _ = find_learner(estimator)
    metric: LearnedMetric = learner if isinstance(learner, LearnedMetric) else learner.metric_
    return metric


def find_result(estimator: Any) -> SolveResult:
    """Return the solution of the learning problem of an estimator.

    Parameters
    ----------
    estimator : fitted estimator of covmetric, or Pipeline with one
        The estimator.

    Returns
    -------
    SolveResult
        The solution with its certificate.

    Raises
    ------
    ValueError
        If nothing was solved, because a fixed metric (lam = inf) was chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetric
    >>> find_result(CovMetric(random_state=0).fit(*load_iris(return_X_y=True))).status.name
    'SOLVED'
    """
    learner, _ = find_learner(estimator)
    result: SolveResult | None = getattr(learner, "result_", None)
    if result is None:
        raise ValueError("estimator has no solution to show: its metric is fixed (lam = inf), so nothing was solved")
    return result


def describe_examples(estimator: Any, X: Any) -> Any:
    """Return examples as the learner receives them: after the steps before it in a pipeline.

    Parameters
    ----------
    estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
        The estimator.
    X : array or list
        The examples, as the estimator takes them.

    Returns
    -------
    array
        Matrices or vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import LearnedMetric, get_embedding
    >>> X = np.stack([np.eye(2), 2 * np.eye(2)])
    >>> describe_examples(LearnedMetric(get_embedding("id").fit(X), np.eye(2)), X).shape
    (2, 2, 2)
    """
    for step in find_learner(estimator)[1]:
        X = step.transform(X)
    return X


def find_names(estimator: Any, names: Sequence[str] | None = None) -> list[str]:
    """Return the names of the channels or features.

    Parameters
    ----------
    estimator : LearnedMetric, fitted estimator of covmetric, or Pipeline with one
        The estimator.
    names : sequence of str or None, default=None
        The names that the user passed. None means those of the descriptor or of the data frame that the estimator was
        fitted on, otherwise x0, x1, ...

    Returns
    -------
    list of str
        One name per channel.

    Raises
    ------
    ValueError
        If the number of names differs from the number of channels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetric
    >>> data = load_iris(as_frame=True)
    >>> find_names(CovMetric(random_state=0).fit(data.data, data.target))[0]
    'sepal length (cm)'
    """
    embedding = find_metric(estimator).embedding
    return embedding.channel_names(names_in_pipeline(_steps(estimator), embedding) if names is None else names)


def _steps(estimator: Any) -> list[Any]:
    return [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
