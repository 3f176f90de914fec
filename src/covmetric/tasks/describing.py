"""From examples as they were read to covariance matrices."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from covmetric._utils.warning import warn
from covmetric.datasets.inputs import Inputs
from covmetric.descriptors import ImageCovariances, SeriesCovariances, has_colours
from covmetric.tasks.naming import example_names

_CONSTANT = "has the same value everywhere, so that its covariance matrix is all zeros"


@dataclass(frozen=True)
class DescribedInputs:
    """The covariance matrices of examples.

    Attributes
    ----------
    X : array of shape (l, n, n), or (l, d) for vectors
        The matrices.
    y : array of shape (l,) or None
        Their labels.
    groups : array of shape (l,) or None
        Their groups.
    names : array of str of shape (l,)
        The names of the examples.
    content : str
        What the matrices are, for people.
    descriptor : ImageCovariances, SeriesCovariances or None
        The fitted descriptor, with the default number of jobs; None if the examples are matrices.
    kept : array of int of shape (l,)
        The indices of the examples that could be described.
    skipped : tuple of (str, str)
        The name of each example that was left out, and the reason.
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[Any] | None
    groups: npt.NDArray[Any] | None
    names: npt.NDArray[np.str_]
    content: str
    descriptor: Any
    kept: npt.NDArray[np.int64]
    skipped: tuple[tuple[str, str], ...] = ()


def choose_features(paths: Any, features: str | None) -> str:
    """Return the features of images.

    Parameters
    ----------
    paths : list of paths
        The images.
    features : str or None
        The features that the user asked for. None means "colour", or "grey" if an image has no colours; a warning says
        so if others have colours.

    Returns
    -------
    str
        A name from `covmetric.descriptors.FEATURE_SETS`.
    """
    if features is not None:
        return features
    coloured = [has_colours(path) for path in paths]
    n_grey, n_coloured = coloured.count(False), coloured.count(True)
    if n_grey == 0:
        return "colour"
    if n_coloured:
        first = paths[coloured.index(False)]
        are_grey = f"is grey ({first})" if n_grey == 1 else f"are grey (the first is {first})"
        others = "the other one" if n_coloured == 1 else f"the other {n_coloured}"
        warn(
            f"{n_grey} of {n_grey + n_coloured} images {are_grey}, so that the colours of {others} are not used: to "
            "use them, leave the grey images out; if grey features are what you want, set features='grey'"
        )
    return "grey"


def describe_inputs(
    inputs: Inputs,
    features: str | None = None,
    *,
    skip_broken: bool = False,
    n_jobs: int | None = None,
    progress: bool = False,
) -> DescribedInputs:
    """Return one covariance matrix per example.

    Parameters
    ----------
    inputs : Inputs
        Images, series, matrices or vectors, which are returned as they are.
    features : str or None, default=None
        The features of images; see `choose_features`. It must be None for other examples.
    skip_broken : bool, default=False
        Whether files that are not images are left out, instead of raising an error.
    n_jobs : int or None, default=None
        The number of processes.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    DescribedInputs
        The matrices.

    Raises
    ------
    ValueError
        If an example cannot be described, or features are given for examples that are not images.

    Examples
    --------
    >>> from covmetric.datasets.inputs import Inputs
    >>> rng = np.random.default_rng(0)
    >>> trials = Inputs("series", list(rng.standard_normal((4, 3, 50))), np.array(list("abcd")))
    >>> described = describe_inputs(trials)
    >>> described.X.shape, described.content
    ((4, 3, 3), 'shrunk covariances (OAS) of series')
    """
    if features is not None and inputs.kind != "images":
        raise ValueError(f"features are for images, but the examples are {inputs.kind}")
    everything = np.arange(len(inputs))
    if inputs.kind == "vectors":
        return _described(inputs, inputs.examples, "vectors", None, everything)
    if inputs.kind == "matrices":
        _require_variation(inputs, inputs.examples, "is all zeros")
        return _described(inputs, inputs.examples, "matrices", None, everything)
    if inputs.kind == "series":
        with example_names(inputs.names):
            X = SeriesCovariances(n_jobs=n_jobs).fit_transform(inputs.examples)
        _require_variation(inputs, X, _CONSTANT)
        descriptor = SeriesCovariances().fit(inputs.examples).set_names(inputs.channels)
        return _described(inputs, X, "shrunk covariances (OAS) of series", descriptor, everything)
    chosen = choose_features(inputs.examples, features)
    found = ImageCovariances(
        chosen, errors="skip" if skip_broken else "raise", n_jobs=n_jobs, verbose=progress
    ).describe(inputs.examples)
    descriptor = ImageCovariances(chosen).fit(inputs.examples).set_sizes(found.boxes[:, 2:])
    skipped = [(str(inputs.names[i]), reason) for i, reason in found.skipped]
    constant = np.trace(found.X, axis1=1, axis2=2) == 0.0
    names = inputs.names[found.image[constant]].tolist()
    if names and not skip_broken:
        raise ValueError(f"{names[0]} {_CONSTANT}: leave it out (--skip-broken)")
    if constant.all():
        raise ValueError(f"no image is left: {names[0]} {_CONSTANT}")
    skipped += [(name, f"it {_CONSTANT}") for name in names]
    content = f"covariances of {chosen} features of images"
    return _described(inputs, found.X[~constant], content, descriptor, found.image[~constant], tuple(skipped))


def _require_variation(inputs: Inputs, X: npt.NDArray[Any], reason: str) -> None:
    """Raise ValueError that names the first example whose matrix is all zeros."""
    zero = np.flatnonzero(~X.reshape(len(X), -1).any(axis=1))
    if len(zero):
        raise ValueError(f"example {inputs.names[zero[0]]!s} {reason}: leave it out")


def without_broken_images(descriptor: ImageCovariances, inputs: Inputs) -> tuple[Inputs, tuple[tuple[str, str], ...]]:
    """Leave out images that cannot be read or described.

    Parameters
    ----------
    descriptor : ImageCovariances
        The descriptor of the images.
    inputs : Inputs
        The images.

    Returns
    -------
    inputs : Inputs
        The images that can be described.
    skipped : tuple of (str, str)
        The names of the others, and the reasons.

    Examples
    --------
    >>> from covmetric.datasets.inputs import Inputs
    >>> inputs = Inputs("images", [np.zeros((8, 8)), np.full((8, 8), np.nan)], np.array(["good", "bad"]))
    >>> kept, skipped = without_broken_images(ImageCovariances(), inputs)
    >>> kept.names.tolist(), skipped[0][0]
    (['good'], 'bad')
    """
    tolerant = clone(descriptor).set_params(errors="skip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the caller reports what was left out
        try:
            described = tolerant.describe(inputs.examples)
        except ValueError as error:  # no image is left
            return _chosen(inputs, np.array([], dtype=np.int64)), tuple(
                (str(name), str(error)) for name in inputs.names
            )
    skipped = tuple((str(inputs.names[i]), reason) for i, reason in described.skipped)
    return _chosen(inputs, np.unique(described.image)), skipped


def _chosen(inputs: Inputs, kept: npt.NDArray[np.int64]) -> Inputs:
    """Return some of the examples."""
    return replace(
        inputs,
        examples=[inputs.examples[i] for i in kept.tolist()],
        names=inputs.names[kept],
        y=None if inputs.y is None else inputs.y[kept],
        groups=None if inputs.groups is None else inputs.groups[kept],
    )


def _described(
    inputs: Inputs,
    X: npt.NDArray[Any],
    content: str,
    descriptor: Any,
    kept: npt.NDArray[np.int64],
    skipped: tuple[tuple[str, str], ...] = (),
) -> DescribedInputs:
    y = None if inputs.y is None else inputs.y[kept]
    groups = None if inputs.groups is None else inputs.groups[kept]
    return DescribedInputs(X, y, groups, inputs.names[kept], content, descriptor, kept, skipped)
