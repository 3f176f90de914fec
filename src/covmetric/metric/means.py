"""Means of examples in a learned metric, which depend on its embedding only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import Matrices, as_floats, as_numbers, first_index
from covmetric.embeddings import Embedding


def compute_mean(embedding: Embedding, X: Any, sample_weight: Any = None) -> Matrices:
    """Return the mean of examples; see `LearnedMetric.mean`.

    Parameters
    ----------
    embedding : Embedding
        The fitted embedding Phi.
    X : array of shape (l, n, n), or (l, d) for vectors
        The examples.
    sample_weight : array of shape (l,) or None, default=None
        Non-negative weights. None means equal weights.

    Returns
    -------
    array of shape (n, n), or (d,) for vectors
        The mean, in the same form as the examples.

    Raises
    ------
    ValueError
        If X has no examples, or if the weights are invalid.
    """
    embedded = embedding.transform(X)
    if embedded.ndim != 3 or len(embedded) == 0:
        raise ValueError(f"X must hold at least one example, shape (l, ...); got {np.shape(X)}")
    weights = np.ones(len(embedded)) if sample_weight is None else as_floats("sample_weight", sample_weight)
    if weights.shape != (len(embedded),) or not weights.max(initial=0.0) > 0.0:
        raise ValueError(
            f"sample_weight must have {len(embedded)} entries >= 0, not all of them 0; got shape {weights.shape}"
        )
    if (weights < 0.0).any():
        where = first_index(weights < 0.0)
        raise ValueError(f"sample_weight{where} is {weights[tuple(where)]}: every entry must be >= 0")
    weights = weights / weights.max()
    return embedding.inverse_transform(np.tensordot(weights / weights.sum(), embedded, axes=1))


def compute_class_means(embedding: Embedding, X: Any, y: Any) -> tuple[npt.NDArray[Any], Matrices]:
    """Return the mean of the examples of each class; see `LearnedMetric.class_means`.

    Parameters
    ----------
    embedding : Embedding
        The fitted embedding Phi.
    X : array of shape (l, n, n), or (l, d) for vectors
        The examples.
    y : array of shape (l,)
        Their classes.

    Returns
    -------
    classes : array of shape (n_classes,)
        The classes that occur in y, sorted.
    means : array of shape (n_classes, n, n), or (n_classes, d) for vectors
        The mean of the examples of each class.

    Raises
    ------
    ValueError
        If y and X have different lengths, or if y has entries that are not classes.
    """
    labels, array = np.asarray(y), as_numbers("X", X)
    if labels.shape != array.shape[:1] or len(labels) == 0:
        raise ValueError(f"y must have one entry per example, shape {array.shape[:1]}; got {labels.shape}")
    try:
        classes = np.unique(labels)
    except TypeError as error:
        raise ValueError(f"y mixes classes that cannot be sorted: {error}") from None
    if (classes != classes).any():
        raise ValueError("y has NaN entries, which are not classes")
    return classes, np.stack([compute_mean(embedding, array[labels == c]) for c in classes])
