"""Distances between labelled examples, by blocks of rows, and which of them a score compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from covmetric._utils.distances import cross_distances
from covmetric._utils.tuning import DISTANCE_BLOCK_BYTES
from covmetric._utils.validation import FloatArray, IntArray, as_floats, first_index

_METRICS = ("euclidean", "precomputed")


def class_codes(y: Any, name: str = "y") -> tuple[npt.NDArray[Any], IntArray]:
    """Return the distinct classes, and the class of each example as a number.

    Parameters
    ----------
    y : array of shape (l,)
        The class of each example, of any type.
    name : str, default='y'
        The name of the argument, for messages.

    Returns
    -------
    classes : array of shape (n_classes,)
        The distinct classes, sorted.
    codes : array of int of shape (l,)
        The class of each example, 0..n_classes-1.

    Raises
    ------
    ValueError
        If y is empty, has several columns, or holds numbers that are not classes.
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(f"{name} must have one class per example, shape (l,); got shape {labels.shape}")
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int64)


@dataclass(frozen=True)
class LabelledDistances:
    """Examples with classes and groups, whose distances are computed in blocks of rows.

    Two examples of the same class and the same group are not compared: where the groups are the views of an object or
    the patches of a source, such a pair would be too easy. This is the usual rule of re-identification, where images of
    a person from the camera of the query are left out. Without groups, only an example and itself are not compared.

    Attributes
    ----------
    points : array of shape (l, q) or (l, l)
        Vectors, or squared distances.
    codes : array of int of shape (l,)
        The classes, 0..n_classes-1.
    groups : array of int of shape (l,)
        The groups.
    precomputed : bool
        Whether `points` holds squared distances.
    """

    points: FloatArray
    codes: IntArray
    groups: IntArray
    precomputed: bool

    def __len__(self) -> int:
        return len(self.codes)

    def blocks(self, columns: IntArray | None = None) -> Iterator[tuple[IntArray, FloatArray]]:
        """Iterate over the matrix of squared distances, so that a block needs little memory.

        Parameters
        ----------
        columns : array of int or None, default=None
            The examples that the columns belong to. None means all examples.

        Yields
        ------
        rows : array of int of shape (n_rows,)
            The examples that the rows of the block belong to.
        squared : array of shape (n_rows, n_columns)
            Their squared distances, up to a common factor. Those that agree to nine digits are equal.
        """
        chosen = np.arange(len(self)) if columns is None else columns
        size = max(1, DISTANCE_BLOCK_BYTES // (8 * max(1, len(chosen))))
        references = None if self.precomputed else self.points[chosen]
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            if references is None:
                yield rows, _without_rounding(self.points[np.ix_(rows, chosen)])
            else:
                yield rows, _without_rounding(cross_distances(self.points[rows], references))

    def between(self, chosen: IntArray) -> FloatArray:
        """Return the squared distances between some examples.

        Parameters
        ----------
        chosen : array of int of shape (k,)
            The examples.

        Returns
        -------
        array of shape (k, k)
            The squared distances, up to the factor of `blocks`.
        """
        if self.precomputed:
            return self.points[np.ix_(chosen, chosen)]
        return cross_distances(self.points[chosen], self.points[chosen])

    def same_class(self, rows: IntArray) -> npt.NDArray[np.bool_]:
        """Return whether examples have the class of each example in `rows`.

        Parameters
        ----------
        rows : array of int of shape (n_rows,)
            Examples.

        Returns
        -------
        array of bool of shape (n_rows, l)
            True where the classes are equal.
        """
        return np.asarray(self.codes[rows, None] == self.codes)

    def left_out(self, rows: IntArray) -> npt.NDArray[np.bool_]:
        """Return which examples are not compared with each example in `rows`.

        Parameters
        ----------
        rows : array of int of shape (n_rows,)
            Examples.

        Returns
        -------
        array of bool of shape (n_rows, l)
            True where class and group are equal.
        """
        return np.asarray(self.same_class(rows) & (self.groups[rows, None] == self.groups))


def labelled_distances(X: Any, y: Any, groups: Any = None, metric: str = "euclidean") -> LabelledDistances:
    """Check the arguments that all scores share.

    Parameters
    ----------
    X : array of shape (l, q) or (l, l)
        Vectors, or distances if `metric` is 'precomputed'.
    y : array of shape (l,)
        The class of each example, of any type.
    groups : array of shape (l,) or None, default=None
        The group of each example. None means that each example is a group of its own.
    metric : {'euclidean', 'precomputed'}, default='euclidean'
        Whether X holds vectors or distances.

    Returns
    -------
    LabelledDistances
        The examples.

    Raises
    ------
    ValueError
        If an argument is invalid, or if there is only one class.
    """
    if metric not in _METRICS:
        raise ValueError(f"metric must be one of {', '.join(map(repr, _METRICS))}, got {metric!r}")
    points = as_floats("X", X)
    classes, codes = class_codes(y)
    if points.ndim != 2:
        raise ValueError(f"X must hold vectors, shape (l, q), or distances, shape (l, l); got shape {points.shape}")
    if len(points) != len(codes):
        raise ValueError(f"X and y must have the same length, got {len(points)} and {len(codes)}")
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}: at least two classes are needed")
    numbers = np.arange(len(codes)) if groups is None else class_codes(groups, "groups")[1]
    if len(numbers) != len(codes):
        raise ValueError(f"groups must have one entry per example, {len(codes)}; got {len(numbers)}")
    precomputed = metric == "precomputed"
    if precomputed:
        _check_precomputed(points)
    # In units of a power of two, which does not round, squares neither overflow nor underflow.
    points = np.ldexp(points, -int(np.frexp(np.abs(points).max(initial=0.0))[1]))
    return LabelledDistances(points**2 if precomputed else points, codes, numbers, precomputed)


def _without_rounding(squared: FloatArray) -> FloatArray:
    """Return squared distances rounded to 30 bits, because rounding errors must not decide between equal distances."""
    mantissa, exponent = np.frexp(squared)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, 30)), exponent - 30))


def _check_precomputed(distances: FloatArray) -> None:
    if distances.shape[0] != distances.shape[1]:
        raise ValueError(f"X must be square, shape (l, l), if metric is 'precomputed'; got shape {distances.shape}")
    if (distances < 0.0).any():
        index = first_index(distances < 0.0)
        raise ValueError(f"X holds distances, but X{index} is {distances[tuple(index)]:.3g}, which is negative")
