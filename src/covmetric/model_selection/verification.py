"""Verification: do two examples belong to the same class? Their distance answers, with a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.model_selection.distances import LabelledDistances, labelled_distances


def verification_auc(X: Any, y: Any, *, groups: Any = None, metric: str = "euclidean") -> float:
    """Compute the area under the ROC curve of verification.

    It is the probability that a pair of examples of one class has a smaller distance than a pair of examples of
    different classes, where equal distances count one half. All pairs are compared; the memory grows with the number of
    pairs of one class only.

    Parameters
    ----------
    X : array of shape (l, q) or (l, l)
        Vectors, or distances if `metric` is 'precomputed', of which those above the diagonal are used.
    y : array of shape (l,)
        The class of each example, of any type.
    groups : array of shape (l,) or None, default=None
        The group of each example. Pairs of the same class and the same group are left out.
    metric : {'euclidean', 'precomputed'}, default='euclidean'
        Whether X holds vectors or distances.

    Returns
    -------
    float
        The area, from 0 to 1.

    Raises
    ------
    ValueError
        If an argument is invalid, or if there is no pair of one class.

    Examples
    --------
    >>> from covmetric.model_selection import verification_auc
    >>> verification_auc([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    1.0
    """
    curve = _roc_curve(labelled_distances(X, y, groups, metric))
    return float(np.trapezoid(curve.accepted, curve.falsely_accepted))


def verification_eer(X: Any, y: Any, *, groups: Any = None, metric: str = "euclidean") -> float:
    """Compute the equal error rate of verification.

    It is the error rate at the threshold at which as many pairs of one class are rejected as pairs of different classes
    are accepted. Between two points of the ROC curve, the curve is a line.

    Parameters
    ----------
    X : array of shape (l, q) or (l, l)
        Vectors, or distances if `metric` is 'precomputed', of which those above the diagonal are used.
    y : array of shape (l,)
        The class of each example, of any type.
    groups : array of shape (l,) or None, default=None
        The group of each example. Pairs of the same class and the same group are left out.
    metric : {'euclidean', 'precomputed'}, default='euclidean'
        Whether X holds vectors or distances.

    Returns
    -------
    float
        The rate, from 0 to 1. Less is better.

    Raises
    ------
    ValueError
        If an argument is invalid, or if there is no pair of one class.

    Examples
    --------
    >>> from covmetric.model_selection import verification_eer
    >>> verification_eer([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    0.0
    """
    curve = _roc_curve(labelled_distances(X, y, groups, metric))
    # Along the curve, false acceptances minus false rejections increase from -1 to 1.
    excess = curve.falsely_accepted - (1.0 - curve.accepted)
    after = int(np.argmax(excess >= 0.0))
    before = after - 1
    t = -excess[before] / (excess[after] - excess[before])
    return float((1.0 - t) * curve.falsely_accepted[before] + t * curve.falsely_accepted[after])


@dataclass(frozen=True)
class _RocCurve:
    """The corners of the ROC curve, from (0, 0) to (1, 1).

    Attributes
    ----------
    falsely_accepted : array of shape (p,)
        The fraction of the pairs of different classes that are accepted.
    accepted : array of shape (p,)
        The fraction of the pairs of one class that are accepted.
    """

    falsely_accepted: FloatArray
    accepted: FloatArray


def _roc_curve(examples: LabelledDistances) -> _RocCurve:
    """Return the ROC curve. Pairs of different classes are only counted, block by block."""
    thresholds, counts = np.unique(_similar_distances(examples), return_counts=True)
    below, up_to = np.zeros((2, len(thresholds)), dtype=np.int64)
    total = 0
    for rows, squared in examples.blocks():
        later = np.arange(len(examples)) > rows[:, None]
        different = np.sort(squared[later & ~examples.same_class(rows)])
        below += np.searchsorted(different, thresholds, "left")
        up_to += np.searchsorted(different, thresholds, "right")
        total += len(different)
    # At each threshold, the curve first passes the pairs of different classes below it, then all pairs at it.
    accepted = np.concatenate([[0], np.cumsum(counts)])
    falsely = np.concatenate([[0], np.column_stack([below, up_to]).ravel(), [total]])
    truly = np.concatenate([[0], np.column_stack([accepted[:-1], accepted[1:]]).ravel(), [accepted[-1]]])
    return _RocCurve(falsely / total, truly / accepted[-1])


def _similar_distances(examples: LabelledDistances) -> FloatArray:
    """Return the squared distances of the pairs of one class."""
    parts = []
    for rows, squared in examples.blocks():
        later = np.arange(len(examples)) > rows[:, None]
        parts.append(squared[later & examples.same_class(rows) & ~examples.left_out(rows)])
    similar = np.concatenate(parts)
    if len(similar) == 0:
        raise ValueError(
            "there is no pair of one class, because no class has examples in two groups (or two examples, if there are "
            "no groups)"
        )
    return similar
