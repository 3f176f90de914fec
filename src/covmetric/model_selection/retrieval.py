"""Retrieval: each example is a query among all the others, and those of its own class should come first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray
from covmetric.model_selection.distances import LabelledDistances, labelled_distances


def mean_average_precision(X: Any, y: Any, *, groups: Any = None, metric: str = "euclidean") -> float:
    """Compute the mean average precision of retrieval.

    Each example is a query. The other examples are ordered by their distance from it. The precision at an example is
    the fraction of the examples up to it that have the class of the query; the average precision is the mean over the
    examples of this class. Examples at the same distance are retrieved together, as in scikit-learn's
    `average_precision_score`. Queries without any other example of their class are left out.

    Parameters
    ----------
    X : array of shape (l, q) or (l, l)
        Vectors, or distances from the example of each row if `metric` is 'precomputed'.
    y : array of shape (l,)
        The class of each example, of any type.
    groups : array of shape (l,) or None, default=None
        The group of each example. Examples of the class and the group of a query are not retrieved.
    metric : {'euclidean', 'precomputed'}, default='euclidean'
        Whether X holds vectors or distances.

    Returns
    -------
    float
        The mean over the queries, from 0 to 1.

    Raises
    ------
    ValueError
        If an argument is invalid, or if no query has another example of its class.

    Examples
    --------
    >>> from covmetric.model_selection import mean_average_precision
    >>> mean_average_precision([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    1.0
    >>> round(mean_average_precision([[0.0], [1.0], [2.5], [6.0]], ["a", "a", "b", "b"]), 3)
    0.833
    """
    examples = labelled_distances(X, y, groups, metric)
    return _mean([_average_precisions(*block) for block in _ranked(examples)])


def recall_at_1(X: Any, y: Any, *, groups: Any = None, metric: str = "euclidean") -> float:
    """Compute how often the nearest other example has the class of the query.

    If several examples are nearest, the fraction of them that have the class of the query counts. Queries without any
    other example of their class are left out.

    Parameters
    ----------
    X : array of shape (l, q) or (l, l)
        Vectors, or distances from the example of each row if `metric` is 'precomputed'.
    y : array of shape (l,)
        The class of each example, of any type.
    groups : array of shape (l,) or None, default=None
        The group of each example. Examples of the class and the group of a query are not retrieved.
    metric : {'euclidean', 'precomputed'}, default='euclidean'
        Whether X holds vectors or distances.

    Returns
    -------
    float
        The mean over the queries, from 0 to 1.

    Raises
    ------
    ValueError
        If an argument is invalid, or if no query has another example of its class.

    Examples
    --------
    >>> from covmetric.model_selection import recall_at_1
    >>> recall_at_1([[0.0], [1.0], [2.5], [6.0]], ["a", "a", "b", "b"])
    0.75
    """
    examples = labelled_distances(X, y, groups, metric)
    return _mean([share_of_smallest(*block) for block in _ranked(examples)])


def share_of_smallest(values: FloatArray, wanted: npt.NDArray[np.bool_]) -> FloatArray:
    """Return which fraction of the smallest entries of each row is wanted.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        The values.
    wanted : array of bool of shape (n_rows, n_columns)
        The wanted entries.

    Returns
    -------
    array of shape (n_rows,)
        1 if the smallest entry is wanted, 0 if it is not, and a fraction if several entries are smallest.
    """
    smallest = values == values.min(axis=1, keepdims=True)
    return np.asarray((smallest & wanted).sum(axis=1) / smallest.sum(axis=1))


def _ranked(examples: LabelledDistances) -> Iterator[tuple[FloatArray, npt.NDArray[np.bool_]]]:
    """Iterate over squared distances of queries, infinite where left out, and the relevant examples of the queries."""
    for rows, squared in examples.blocks():
        left_out = examples.left_out(rows)
        squared[left_out] = np.inf
        relevant = examples.same_class(rows) & ~left_out
        answerable = relevant.any(axis=1)
        yield squared[answerable], relevant[answerable]


def _average_precisions(squared: FloatArray, relevant: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the average precision of each row."""
    order = np.argsort(squared, axis=1, kind="stable")
    ranked = np.take_along_axis(squared, order, axis=1)
    hits = np.take_along_axis(relevant, order, axis=1)
    # Examples at the same distance are retrieved together: each has the precision at the last one of them.
    columns = np.arange(squared.shape[1])
    is_last = np.ones(squared.shape, dtype=bool)
    is_last[:, :-1] = ranked[:, :-1] != ranked[:, 1:]
    last = np.minimum.accumulate(np.where(is_last, columns, len(columns))[:, ::-1], axis=1)[:, ::-1]
    precision = np.take_along_axis(hits.cumsum(axis=1) / (columns + 1.0), last, axis=1)
    return np.asarray((precision * hits).sum(axis=1) / hits.sum(axis=1))


def _mean(parts: list[FloatArray]) -> float:
    values = np.concatenate(parts)
    if len(values) == 0:
        raise ValueError(
            "no example can be a query, because no class has examples in two groups (or two examples, if there are no "
            "groups)"
        )
    return float(values.mean())
