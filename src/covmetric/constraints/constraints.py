"""Pairs, bounds and weights from labels: all that a learning problem needs beside the examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils import distances
from covmetric._utils.validation import FloatArray, IntArray, is_number
from covmetric._utils.warning import warn
from covmetric.constraints.base import LabelledPairs, PairSelection
from covmetric.constraints.bounds import Bounds
from covmetric.model_file import register_record


@dataclass(frozen=True)
class Constraints:
    """What is asked of the metric.

    Attributes
    ----------
    pairs : array of int, shape (K, 2)
    similar : array, shape (K,)
        +1 or -1.
    bounds : array, shape (K,)
        In squared units, for embedded examples divided by sqrt(scale).
    scale : float
        A squared distance that is typical of the pairs.
    limits : (float, float)
        The bound of all similar pairs and that of all dissimilar ones.
    weights : array, shape (K,)
        At lambda = 1, where they sum up to 1.
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
    factor: FloatArray | None = None,
) -> Constraints:
    """Choose pairs of embedded examples, shape (l, n, m), by their classes 0..n_c-1, and set their bounds.

    Parameters
    ----------
    scale : {"median", None} or float
        The unit of the bounds: the median squared distance of the pairs, 1, or a number.
    factor : array, shape (n, n), or None
        L of a metric L L^T under which neighbours are chosen; None: the identity.
    """
    seen = embedded if factor is None else factor.T @ embedded
    with np.errstate(over="ignore"):
        if not np.isfinite((seen**2).sum()):
            raise ValueError("squared distances of the embedded examples overflow or vanish: rescale X")
    return bounded(embedded, selection.select(seen.reshape(len(embedded), -1), codes, rng), bounds, scale)


def bounded(
    embedded: FloatArray,
    chosen: LabelledPairs,
    bounds: Bounds,
    scale: Any,
    weights: FloatArray | None = None,
    origin: str = "X[{i}] and X[{j}]",
) -> Constraints:
    """The constraints of chosen pairs, of equal weight or with these.

    Dissimilar pairs of equal examples are left out, with a warning: no metric can move them. `origin` says where the
    user finds pair k of the examples i and j.
    """
    weights = np.ones(len(chosen.pairs)) if weights is None else weights
    with np.errstate(over="ignore"):
        squared = squared_distances(embedded, chosen.pairs)
    if not np.isfinite(squared).all() or (squared.max(initial=0.0) < 1e-290 and _differ(embedded, chosen.pairs)):
        raise ValueError("squared distances of the embedded examples overflow or vanish: rescale X")
    coincident = (squared == 0.0) & (chosen.similar < 0.0)
    kept = ~coincident
    if coincident.any():
        k = int(np.flatnonzero(coincident)[0])
        i, j = chosen.pairs[k]
        warn(
            f"{int(coincident.sum())} of {len(kept)} pairs were left out: dissimilar, but their examples are equal, as "
            + origin.format(i=i, j=j, k=k)
        )
    pairs, similar, squared, weights = chosen.pairs[kept], chosen.similar[kept], squared[kept], weights[kept]
    if not (squared > 0.0).any():
        raise ValueError(
            "no pair of distinct examples was found to learn from: the embedded examples of all pairs are equal"
            if len(squared)
            else "no pairs were found to learn from: every class has one example, or all examples are equal"
        )
    unit = _unit(scale, squared)
    near, far = bounds.limits(squared / unit)
    return Constraints(pairs, similar, np.where(similar > 0.0, near, far), unit, (near, far), weights / weights.sum())


def squared_distances(embedded: FloatArray, pairs: IntArray) -> FloatArray:
    """Return ||Phi(X_i) - Phi(X_j)||^2 of index pairs.

    Parameters
    ----------
    embedded : array of shape (l, n, m)
        The embedded examples.
    pairs : array of int, shape (K, 2)
        Indices into `embedded`.

    Returns
    -------
    array of shape (K,)
    """
    vectors = embedded.reshape(len(embedded), -1)
    return distances.squared_distances(vectors, vectors, *pairs.T)


def _differ(embedded: FloatArray, pairs: IntArray) -> bool:
    return any((embedded[i] != embedded[j]).any() for i, j in pairs)


def _unit(scale: Any, squared: FloatArray) -> float:
    check_scale(scale)
    if scale is None:
        return 1.0
    if isinstance(scale, str) and scale == "median":
        middle = float(np.median(squared))
        return middle if middle > 0.0 else float(np.median(squared[squared > 0.0]))
    return float(scale)


def check_scale(scale: Any) -> None:
    """Raise ValueError for a scale that is none."""
    named = scale is None or (isinstance(scale, str) and scale == "median")
    if not (named or (is_number(scale) and scale > 0)):
        raise ValueError(f"scale must be 'median', None or a positive number, got {scale!r}")


register_record(Constraints)
