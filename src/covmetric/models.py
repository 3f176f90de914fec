"""The functions `save_model` and `load_model`, for every class of covmetric that can be saved.

Model files may hold the classes that have been imported. This module imports all of them, so that a file can be loaded
in a process that has not used any of them yet.
"""

from __future__ import annotations

import os
from typing import Any

from covmetric.descriptors import DESCRIPTORS, REGIONS, FilterBank
from covmetric.embeddings import EMBEDDINGS
from covmetric.estimators import CovMetric, CovMetricClassifier, CovMetricCV, CovMetricPairs, Recentre
from covmetric.learning.fit import FittedProblem
from covmetric.learning.rules import RULES
from covmetric.learning.rules.units import Units
from covmetric.metric import LearnedMetric, MetricKernel
from covmetric.model_file import read_model, write_model
from covmetric.model_file.kinds import KINDS

#: The classes whose objects can be saved to a file.
MODELS: tuple[type, ...] = (LearnedMetric, CovMetric, CovMetricCV, CovMetricClassifier, CovMetricPairs, Recentre)

#: The names to pass as `trusted` to ``skops.io.load(file, trusted=...)``, to load any model of covmetric.
SKOPS_TRUSTED: list[str] = sorted(
    f"{cls.__module__}.{cls.__qualname__}"
    for cls in {
        *(kind.cls for kind in KINDS.values()),
        *DESCRIPTORS.values(),
        *EMBEDDINGS.values(),
        *REGIONS.values(),
        *RULES.values(),
        FilterBank,
        FittedProblem,
        MetricKernel,
        Units,
    }
)


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a learned metric or a fitted estimator to a file, without pickle.

    The file is a zip archive of plain arrays and a JSON manifest. The loaded model gives the same results, bit by bit.
    If saving fails, an existing file is left unchanged.

    Parameters
    ----------
    model : LearnedMetric, CovMetric, CovMetricCV, CovMetricClassifier, CovMetricPairs or Recentre
        The model. Objects of subclasses cannot be saved.
    path : path-like
        The file. An existing file is replaced.

    Raises
    ------
    ValueError
        If the model is of another class, is not fitted, or holds objects of classes that are not covmetric's.

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
        raise ValueError(f"model must be a LearnedMetric or an estimator of covmetric, got a {type(model).__name__}")
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
    LearnedMetric, CovMetric, CovMetricCV, CovMetricClassifier, CovMetricPairs or Recentre
        The model.

    Raises
    ------
    ValueError
        If the file is not a model, is damaged, was tampered with, or has another format version. The message says
        which.
    OSError
        If the file cannot be read.

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
    return read_model(path, MODELS)
