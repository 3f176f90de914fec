"""The functions `save_model` and `load_model`, for every class of covmetric that can be saved.

Model files may hold the classes that have been imported. This module imports all of them, so that a file can be loaded
in a process that has not used any of them yet.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline

from covmetric._utils.warning import warn
from covmetric.descriptors import DESCRIPTORS, REGIONS, FilterBank
from covmetric.embeddings import EMBEDDINGS
from covmetric.estimators import (
    CovMetric,
    CovMetricClassifier,
    CovMetricCV,
    CovMetricPairs,
    ImagePatchClassifier,
    Recentre,
)
from covmetric.estimators.metadata_requests import get_requests
from covmetric.learning.blend import Blend, BlendedRule
from covmetric.learning.calibration import Calibration
from covmetric.learning.fit import FittedProblem
from covmetric.learning.mean_blend import MeanBlend
from covmetric.learning.rules import RULES
from covmetric.learning.rules.units import Units
from covmetric.learning.scoring import Scoring
from covmetric.metric import LearnedMetric, MetricKernel
from covmetric.metric.weight_matrix import WeightMatrix
from covmetric.model_file import read_model, write_model
from covmetric.model_file.kinds import KINDS

#: The classes whose objects can be saved to a file.
MODELS: tuple[type, ...] = (
    LearnedMetric,
    CovMetric,
    CovMetricCV,
    CovMetricClassifier,
    CovMetricPairs,
    ImagePatchClassifier,
    Recentre,
    Pipeline,
)


def _own_classes() -> set[type]:
    """Return the classes of covmetric whose objects occur in fitted models."""
    registered = {kind.cls for kind in KINDS.values() if kind.cls.__module__.startswith("covmetric.")}
    components = (DESCRIPTORS, EMBEDDINGS, REGIONS, RULES)
    listed = {cls for classes in components for cls in classes.values()}
    rules = {Blend, BlendedRule, Calibration, MeanBlend, Scoring, Units}
    return registered | listed | rules | {FilterBank, FittedProblem, MetricKernel, WeightMatrix}


# pyRiemann takes two seconds to import.
_PYRIEMANN_CLASSES = ("pyriemann.estimation.Covariances",)

#: The names to pass as `trusted` to ``skops.io.load(file, trusted=...)``, to load any model of covmetric, and pipelines
#: that begin with pyRiemann's `Covariances`. skops itself trusts the classes of scikit-learn.
SKOPS_TRUSTED: list[str] = sorted(
    [*_PYRIEMANN_CLASSES, *(f"{cls.__module__}.{cls.__qualname__}" for cls in _own_classes())]
)


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a learned metric, a fitted estimator or a fitted pipeline to a file, without pickle.

    The file is a zip archive of plain arrays and a JSON manifest. The loaded model gives the same results, bit by bit.
    If saving fails, an existing file is left unchanged.

    Parameters
    ----------
    model : LearnedMetric, estimator of covmetric, or Pipeline
        The model. Objects of subclasses cannot be saved. The steps of a pipeline may be descriptors, embeddings and
        estimators of covmetric, pyRiemann's `Covariances`, and scikit-learn's `LogisticRegression`,
        `LinearDiscriminantAnalysis`, `SVC`, `LinearSVC`, `RidgeClassifier`, `GaussianNB`, `KNeighborsClassifier`,
        `StandardScaler` and `PCA`.
    path : path-like
        The file. An existing file is replaced.

    Raises
    ------
    ValueError
        If the model is of another class, is not fitted, or holds objects of other classes. For a pipeline with steps of
        other classes, the message says how skops saves it.
    OSError
        If the folder of the file does not exist, or if the file cannot be written.

    See Also
    --------
    load_model : Load the file.

    Notes
    -----
    A parameter of an estimator that a file cannot hold, such as a `Generator` as `random_state`, is saved as its
    default, with a warning. This does not change the fitted model.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetric, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = CovMetric(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(learner, f"{folder}/iris.npz")
    ...     again = load_model(f"{folder}/iris.npz")
    >>> bool((again.transform(X) == learner.transform(X)).all())
    True
    """
    if type(model) not in MODELS:
        raise ValueError(
            f"model must be a LearnedMetric, an estimator of covmetric or a Pipeline, got a {type(model).__name__}"
        )
    write_model(model, path)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file that `save_model` wrote.

    The file need not be trusted. Nothing in it is executed, and an invalid file is refused before anything large is
    read.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    LearnedMetric, estimator of covmetric, or Pipeline
        The model.

    Raises
    ------
    ValueError
        If the file is not a model, is damaged, was tampered with, or has another format version. The message says
        which.
    OSError
        If the file cannot be read.

    Warns
    -----
    UserWarning
        If a step of a pipeline requests metadata, such as groups, to transform or predict, but scikit-learn's metadata
        routing, which every process has to switch on, is off.

    See Also
    --------
    save_model : Save a model.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from covmetric import LearnedMetric, get_embedding, load_model
    >>> metric = LearnedMetric(get_embedding("id").fit(np.eye(2)[None]), np.diag([4.0, 1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/metric.npz")
    ...     load_model(f"{folder}/metric.npz")
    LearnedMetric(Identity(reg=0.0), W of shape (2, 2))
    """
    model = read_model(path, MODELS)
    if not get_config()["enable_metadata_routing"]:
        _warn_of_requests(model)
    return model


def _warn_of_requests(model: Any) -> None:
    """Warn if a pipeline can pass metadata such as groups to its steps only after routing is switched on."""
    found = [
        f"{name} ({', '.join(values)} in {method})"
        for name, step in _named_steps(model)
        for method, values in get_requests(step).items()
        if method != "fit" and any(values.values())
    ]
    if found:
        warn(
            f"the pipeline has a step that requests metadata, {found[0]}, but metadata routing is off in this process; "
            "call sklearn.set_config(enable_metadata_routing=True) before you pass metadata to it"
        )


def _named_steps(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the estimators of a pipeline, and of the pipelines in it, by name."""
    for name, step in model.steps if isinstance(model, Pipeline) else ():
        if not isinstance(step, str | None):  # 'passthrough' or None
            yield name, step
            yield from _named_steps(step)
