"""Labelled examples that a model was trained on, by their names."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from covmetric.estimators import ImagePatchClassifier
from covmetric.tasks.model_view import ModelView


def count_training_names(view: ModelView, names: Any, examples: Any, groups: Any = None) -> int:
    """Return how many examples have the names of training examples.

    A name is the path of an image, or a file and a name or number there, such as `trials.npz[3]`. It is the same for
    every file of this path, also in another working directory: such an example has to equal the training example.
    Of images that are described by patches, only the names are compared.

    Parameters
    ----------
    view : ModelView
        The model.
    names : sequence of l str
        The names of the examples.
    examples : list or array of length l
        Examples of the kind that the model takes.
    groups : array of shape (l,) or None, default=None
        The groups of the examples, which a step `Recentre` uses and other models ignore.

    Returns
    -------
    int
        The number of examples; 0 if the model has no names of training examples.

    Examples
    --------
    >>> from covmetric import CovMetric, CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=2, n=3)
    >>> names = ["a.npz[0]", "a.npz[1]", "a.npz[2]", "a.npz[3]"]
    >>> view = ModelView(CovMetricClassifier(CovMetric("log", lam=np.inf)).fit(data.X, data.y, names=names))
    >>> count_training_names(view, names[2:], data.X[2:]), count_training_names(view, names[2:], data.X[:2])
    (2, 0)
    """
    references = None if view.classifier is None else view.last_step.references_
    if references is None or references.names is None:
        return 0
    numbers = {str(name): i for i, name in enumerate(references.names.tolist()) if name}
    found = np.array([numbers.get(str(name), -1) for name in names])
    named = np.flatnonzero(found >= 0)
    if isinstance(view.last_step, ImagePatchClassifier) or view.metric is None or len(named) == 0:
        return len(named)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the predictions gave the same ones
        embedded = view.metric.embedding.transform(view.matrices(examples, groups))[named]
    trained = references.embedded[found[named]]
    axes = tuple(range(1, embedded.ndim))
    differences = np.abs(embedded - trained).max(axis=axes)
    return int(np.sum(differences <= 1e-6 * np.abs(trained).max(axis=axes)))


def training_names_in_words(count: int, total: int) -> str:
    """Return what it means that examples have the names of training examples, as a sentence.

    Parameters
    ----------
    count : int
        The number of examples with such names.
    total : int
        The number of all examples.

    Returns
    -------
    str
        The sentence; "" if there are none.

    Examples
    --------
    >>> training_names_in_words(96, 192).partition(":")[0]
    '96 of the 192 examples have the names of training examples'
    """
    if count == 0:
        return ""
    which = f"All {total} examples have" if count == total else f"{count} of the {total} examples have"
    what = "the names of training examples"
    if count == 1:
        which, what = f"1 of the {total} examples has", "the name of a training example"
    return f"{which} {what}: an accuracy on training examples says nothing about new ones."
