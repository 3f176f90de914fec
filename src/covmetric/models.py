"""`save_model` and `load_model`, for every class of covmetric that can be saved.

The codec below `metric/` knows the classes that have been imported. This module imports them all, so that a file can be
loaded in a process that has not used any of them yet.
"""

from __future__ import annotations

import os
from typing import Any

from covmetric.descriptors import DESCRIPTORS, REGIONS, FilterBank
from covmetric.embeddings import EMBEDDINGS
from covmetric.estimators import CovMetric, CovMetricClassifier, CovMetricCV, CovMetricPairs
from covmetric.learning.fit import FittedProblem
from covmetric.learning.rules import RULES
from covmetric.metric import LearnedMetric, MetricKernel
from covmetric.model_file import read_model, write_model
from covmetric.model_file.kinds import KINDS

#: The classes that can be saved to a file of their own.
MODELS: tuple[type, ...] = (LearnedMetric, CovMetric, CovMetricCV, CovMetricClassifier, CovMetricPairs)

#: The classes that ``skops.io.load(file, trusted=...)`` has to trust to load any model of covmetric.
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
    }
)


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a `LearnedMetric` or a fitted estimator of covmetric; loaded again, it gives the same bits.

    The file is written whole or not at all. It is a zip of plain arrays and a JSON manifest, without pickle.

    Parameters
    ----------
    model : LearnedMetric, CovMetric, CovMetricCV, CovMetricClassifier or CovMetricPairs
        The model.
    path : path-like
        An existing file is replaced.

    Raises
    ------
    ValueError
        If the model is of another class, is not fitted, or holds objects of classes that are not covmetric's.

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
    """Load what `save_model` saved.

    The file may come from anywhere: nothing in it is executed, and what does not make sense is refused before anything
    large is read.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    LearnedMetric, CovMetric, CovMetricCV, CovMetricClassifier or CovMetricPairs

    Raises
    ------
    ValueError
        If the file is not a model, is damaged, was tampered with, or has another format version; the message says
        which.
    OSError
        If the file cannot be read.

    Examples
    --------
    See `save_model`.
    """
    return read_model(path, MODELS)
