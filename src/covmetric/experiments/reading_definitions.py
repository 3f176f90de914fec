"""Readings of the paper, to see whether its claims on recognition depend on the choices that it leaves open.

The paper gives the features, the number of pairs, the bounds 0.05 and 0.95, and 3-NN. It gives neither lambda, nor the
filters of the derivatives, nor the unit of the distances to which the bounds apply, nor how the pairs are drawn. Each
reading changes one of our choices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import correlate1d
from sklearn.utils import Bunch

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.constraints import QuantileBounds, RandomPairs
from covmetric.descriptors.features import FEATURE_SETS, Feature, Planes
from covmetric.experiments.evaluation import Learner
from covmetric.experiments.protocols import LOADERS
from covmetric.experiments.recognition import BALANCED, VARIANTS

_FEATURE_SETS = {"brodatz": "grey", "eth80": "colour"}


@dataclass(frozen=True)
class Filters:
    """The filters of the derivatives of an image.

    Attributes
    ----------
    first, second : tuple of float
        The weights of the first and of the second derivative, along the axis of the derivative.
    across : tuple of float
        The weights along the other axis.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]
    across: tuple[float, ...] = (1.0,)


#: Filters by name; "tuzel" are the filters of `ImageCovariances`.
FILTERS: dict[str, Filters] = {
    "tuzel": Filters((-1.0, 0.0, 1.0), (-1.0, 2.0, -1.0)),
    "central": Filters((-0.5, 0.0, 0.5), (0.25, 0.0, -0.5, 0.0, 0.25)),
    "sobel": Filters((-1.0, 0.0, 1.0), (1.0, -2.0, 1.0), (1.0, 2.0, 1.0)),
}


def grey_from_0_to_1(X: FloatArray, features: Sequence[str], train: IntArray) -> FloatArray:
    """Return the covariance matrices of images whose values range from 0 to 1 instead of 0 to 255.

    Parameters
    ----------
    X : array of shape (l, d, d)
        The covariance matrices.
    features : sequence of d str
        The names of the features. All but the coordinates x and y are linear in the values of the image.
    train : array of int
        Not used.

    Returns
    -------
    array of shape (l, d, d)
        The covariance matrices.
    """
    factors = np.array([1.0 if name in ("x", "y") else 1.0 / 255.0 for name in features])
    return np.asarray(X * factors[:, None] * factors)


def features_of_unit_variance(X: FloatArray, features: Sequence[str], train: IntArray) -> FloatArray:
    """Return the covariance matrices of features that are divided by their standard deviations.

    Parameters
    ----------
    X : array of shape (l, d, d)
        The covariance matrices.
    features : sequence of d str
        Not used.
    train : array of int
        The examples over which the variance of each feature is averaged.

    Returns
    -------
    array of shape (l, d, d)
        The covariance matrices.
    """
    factors = 1.0 / np.sqrt(np.einsum("lii->li", X[train]).mean(axis=0))
    return np.asarray(X * factors[:, None] * factors)


def correlations(X: FloatArray, features: Sequence[str], train: IntArray) -> FloatArray:
    """Return the correlation matrices of the features.

    Parameters
    ----------
    X : array of shape (l, d, d)
        The covariance matrices.
    features : sequence of d str
        Not used.
    train : array of int
        Not used.

    Returns
    -------
    array of shape (l, d, d)
        The correlation matrices.

    Raises
    ------
    ValueError
        If the variance of a feature is zero.
    """
    deviations = np.sqrt(np.einsum("lii->li", X))
    if (deviations == 0.0).any():
        example, feature = np.argwhere(deviations == 0.0)[0]
        raise ValueError(f"X[{example}] has no variance in feature {feature}: its correlations are undefined")
    return np.asarray(X / (deviations[:, :, None] * deviations[:, None, :]))


@dataclass(frozen=True)
class Reading:
    """A reading of the paper.

    Attributes
    ----------
    description : str
        What differs from our choices.
    learner : Learner
        How W is learned.
    filters : str, default='tuzel'
        A key of `FILTERS`.
    adapt : function or None, default=None
        Maps the covariance matrices, the names of the features and the training indices to other matrices.
    """

    description: str
    learner: Learner = field(default=VARIANTS[BALANCED])
    filters: str = "tuzel"
    adapt: Callable[[FloatArray, Sequence[str], IntArray], FloatArray] | None = None


#: The readings. The first one is ours, and each of the others changes what its description says.
READINGS: dict[str, Reading] = {
    "ours": Reading(
        "half of the pairs are similar; squared distances are divided by their median over the pairs; the bounds are "
        "0.05 and 0.95; grey values range from 0 to 255; derivatives by [-1 0 1] and [-1 2 -1]; covariance matrices"
    ),
    "raw distances": Reading(
        "the bounds apply to the squared distances themselves", replace(VARIANTS[BALANCED], scale=None)
    ),
    "grey 0..1": Reading(
        "grey values and colours range from 0 to 1. On Brodatz this multiplies all matrices by one number, which the "
        "median cancels",
        adapt=grey_from_0_to_1,
    ),
    "raw distances, grey 0..1": Reading(
        "both of the above", replace(VARIANTS[BALANCED], scale=None), adapt=grey_from_0_to_1
    ),
    "uniform pairs": Reading("pairs are drawn uniformly from all pairs", Learner(RandomPairs(100, None), (0.05, 0.95))),
    "quantile bounds": Reading(
        "the bounds are the 5th and the 95th percentile of the squared distances",
        Learner(RandomPairs(100, 0.5), QuantileBounds(0.05, 0.95)),
    ),
    "central differences": Reading(
        "derivatives by [-1 0 1] / 2, applied once for the first and twice for the second derivative",
        filters="central",
    ),
    "Sobel": Reading(
        "derivatives by the 3 x 3 Sobel filters: [-1 0 1] or [1 -2 1], smoothed by [1 2 1] along the other axis",
        filters="sobel",
    ),
    "scaled features": Reading(
        "each feature is divided by its standard deviation, averaged over the training part",
        adapt=features_of_unit_variance,
    ),
    "correlations": Reading("correlation matrices instead of covariance matrices", adapt=correlations),
}


def load_filtered(name: str, filters: str, folder: Any = None, n_jobs: int | None = None) -> Bunch:
    """Load a data set, with the derivatives computed by given filters.

    Parameters
    ----------
    name : {'brodatz', 'eth80'}
        The data set.
    filters : str
        A key of `FILTERS`.
    folder : path or None, default=None
        As in `readings`.
    n_jobs : int or None, default=None
        The number of processes.

    Returns
    -------
    Bunch
        The result of `load_brodatz` or `load_eth80`, with the additional field ``names``, the names of the features.
    """
    names = [str(feature) for feature in FEATURE_SETS[_FEATURE_SETS[name]]]
    derivatives = {
        f"|I{axis_name * order}|": partial(_derivative, filters=FILTERS[filters], order=order, axis=axis)
        for axis, axis_name in ((1, "x"), (0, "y"))
        for order in (1, 2)
    }
    features: list[Feature] = [derivatives.get(feature, feature) for feature in names]
    images = None if folder is None else Path(folder) / name
    data = LOADERS[name](images, features=names if filters == "tuzel" else features, n_jobs=n_jobs)
    data.names = names
    return data


def _derivative(pixels: FloatArray, filters: Filters, order: int, axis: int) -> FloatArray:
    """Return the absolute value of a derivative of the intensity."""
    weights = filters.first if order == 1 else filters.second
    along = correlate1d(Planes(pixels).I, weights, axis=axis, mode="nearest")
    return np.asarray(np.abs(correlate1d(along, filters.across, axis=1 - axis, mode="nearest")))
