"""Constraints: the pairs, bounds and weights that a learning problem consists of, besides the examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils import distances
from covmetric._utils.validation import FloatArray, IntArray, is_number
from covmetric._utils.warning import warn
from covmetric.constraints.base import LabelledPairs, PairSelection, select_pairs
from covmetric.constraints.bounds import Bounds
from covmetric.model_file import register_record

# Below this, squares of differences are close to underflow and have no correct digits left.
_SMALLEST_SQUARE = 1e-290


@dataclass(frozen=True)
class Constraints:
    """The constraints on the metric.

    Attributes
    ----------
    pairs : array of int of shape (K, 2)
        The indices of the two examples of each pair.
    similar : array of shape (K,)
        +1 for similar pairs, -1 for dissimilar pairs.
    bounds : array of shape (K,)
        The bound on the squared distance of each pair, for embedded examples divided by sqrt(scale).
    scale : float
        A typical squared distance of the pairs, the unit of the bounds.
    limits : (float, float)
        The bound of all similar pairs, and the bound of all dissimilar pairs.
    weights : array of shape (K,)
        The weights of the losses at lambda = 1. They sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.constraints import LabelledPairs, bounded, get_bounds
    >>> pairs = LabelledPairs(np.array([[0, 1], [0, 2]]), np.array([1.0, -1.0]))
    >>> bounded(np.array([[[0.0]], [[1.0]], [[3.0]]]), pairs, get_bounds("absolute"), "median").bounds
    array([0.05, 0.95])
    """

    pairs: IntArray
    similar: FloatArray
    bounds: FloatArray
    scale: float
    limits: tuple[float, float]
    weights: FloatArray


def constrain(
    embedded: FloatArray,
    codes: IntArray,
    selection: PairSelection,
    bounds: Bounds,
    scale: Any,
    rng: np.random.Generator,
    mapped: FloatArray | None = None,
    groups: IntArray | None = None,
) -> Constraints:
    """Select pairs of labelled examples and set their bounds.

    Parameters
    ----------
    embedded : array of shape (l, n, m)
        The embedded examples.
    codes : array of int of shape (l,)
        The class of each example, from 0 to n_c - 1.
    selection : PairSelection
        How to select the pairs.
    bounds : Bounds
        How to set the bounds.
    scale : 'median', None or float
        The unit of the bounds: the median squared distance of the pairs, 1, or a number.
    rng : numpy.random.Generator
        The source of randomness of the selection.
    mapped : array of shape (l, n, m) or None, default=None
        The examples L^T Phi(X) in a metric W = L L^T, under which neighbours are selected. None means the identity.
    groups : array of int of shape (l,) or None, default=None
        The group of each example, for the selection. None means that there are no groups.

    Returns
    -------
    Constraints
        The constraints, with equal weights.

    Raises
    ------
    ValueError
        If squared distances overflow or vanish, or if no pair of distinct examples is found.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.constraints import get_bounds, get_pairs
    >>> embedded = np.array([0.0, 1.0, 4.0, 6.0])[:, None, None]
    >>> codes = np.array([0, 0, 1, 1])
    >>> rng = np.random.default_rng(0)
    >>> constraints = constrain(embedded, codes, get_pairs("neighbors", 1), get_bounds("absolute"), "median", rng)
    >>> constraints.pairs.tolist(), constraints.scale
    ([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]], 9.0)
    """
    vectors = (embedded if mapped is None else mapped).reshape(len(embedded), -1)
    return bounded(embedded, select_pairs(selection, vectors, codes, rng, groups), bounds, scale)


def bounded(
    embedded: FloatArray,
    chosen: LabelledPairs,
    bounds: Bounds,
    scale: Any,
    weights: FloatArray | None = None,
    origin: str = "X[{i}] and X[{j}]",
) -> Constraints:
    """Set the bounds of given pairs.

    Dissimilar pairs of equal examples are left out, with a warning, because no metric can separate them.

    Parameters
    ----------
    embedded : array of shape (l, n, m)
        The embedded examples.
    chosen : LabelledPairs
        The pairs.
    bounds : Bounds
        How to set the bounds.
    scale : 'median', None or float
        The unit of the bounds: the median squared distance of the pairs, 1, or a number.
    weights : array of shape (K,) or None, default=None
        The relative weights of the pairs. None weights all pairs equally.
    origin : str, default="X[{i}] and X[{j}]"
        How the warning names the two examples i and j of pair k.

    Returns
    -------
    Constraints
        The constraints on the remaining pairs.

    Raises
    ------
    ValueError
        If squared distances overflow or vanish, or if there is no pair of distinct examples.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.constraints import LabelledPairs, get_bounds
    >>> pairs = LabelledPairs(np.array([[0, 1], [0, 2]]), np.array([1.0, -1.0]))
    >>> constraints = bounded(np.array([[[0.0]], [[1.0]], [[3.0]]]), pairs, get_bounds("quantile"), None)
    >>> constraints.scale, constraints.weights
    (1.0, array([0.5, 0.5]))
    """
    weights = np.ones(len(chosen.pairs)) if weights is None else weights
    with np.errstate(over="ignore"):
        squared = squared_distances(embedded, chosen.pairs)
    underflow = squared.max(initial=0.0) < _SMALLEST_SQUARE and _any_different(embedded, chosen.pairs)
    if underflow or not np.isfinite(squared).all():
        raise ValueError("squared distances of the embedded examples overflow or vanish: rescale X")
    coincident = (squared == 0.0) & (chosen.similar < 0.0)
    if coincident.any():
        _warn_of_coincident_pairs(coincident, chosen.pairs, origin)
    kept = ~coincident
    pairs, similar, squared, weights = chosen.pairs[kept], chosen.similar[kept], squared[kept], weights[kept]
    if not (squared > 0.0).any():
        raise ValueError(
            "no pair of distinct examples was found to learn from: the embedded examples of all pairs are equal"
            if len(squared)
            else "no pairs were found to learn from: every class has one example, or all examples are equal"
        )
    unit = _unit_of_bounds(scale, squared)
    near, far = bounds.limits(squared / unit)
    return Constraints(pairs, similar, np.where(similar > 0.0, near, far), unit, (near, far), weights / weights.sum())


def squared_distances(embedded: FloatArray, pairs: IntArray) -> FloatArray:
    """Return the squared distances ||Phi(X_i) - Phi(X_j)||^2 of index pairs, for the metric W = I.

    Parameters
    ----------
    embedded : array of shape (l, n, m)
        The embedded examples.
    pairs : array of int of shape (K, 2)
        Indices into `embedded`.

    Returns
    -------
    array of shape (K,)
        The squared distances.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[[0.0], [0.0]], [[3.0], [4.0]]]), np.array([[0, 1]]))
    array([25.])
    """
    vectors = embedded.reshape(len(embedded), -1)
    return distances.squared_distances(vectors, vectors, *pairs.T)


def check_scale(scale: Any) -> None:
    """Raise ValueError unless a scale is 'median', None or a positive number.

    Parameters
    ----------
    scale : object
        The scale.

    Examples
    --------
    >>> check_scale(0)
    Traceback (most recent call last):
        ...
    ValueError: scale must be 'median', None or a positive number, got 0
    """
    is_name = scale is None or (isinstance(scale, str) and scale == "median")
    if not (is_name or (is_number(scale) and scale > 0)):
        raise ValueError(f"scale must be 'median', None or a positive number, got {scale!r}")


def _any_different(embedded: FloatArray, pairs: IntArray) -> bool:
    return any((embedded[i] != embedded[j]).any() for i, j in pairs)


def _warn_of_coincident_pairs(coincident: Any, pairs: IntArray, origin: str) -> None:
    k = int(np.flatnonzero(coincident)[0])
    i, j = pairs[k]
    warn(
        f"{int(coincident.sum())} of {len(coincident)} pairs were left out, because they are dissimilar but their "
        f"examples are equal, for example {origin.format(i=i, j=j, k=k)}"
    )


def _unit_of_bounds(scale: Any, squared: FloatArray) -> float:
    """Return the squared distance that the bounds are relative to."""
    check_scale(scale)
    if scale is None:
        return 1.0
    if isinstance(scale, str):
        median = float(np.median(squared))
        # If more than half of the pairs are duplicates, the median is 0, which cannot be a unit.
        return median if median > 0.0 else float(np.median(squared[squared > 0.0]))
    return float(scale)


register_record(Constraints)
