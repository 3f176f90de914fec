"""Features of pixels: `FEATURES` lists them by name, and `FEATURE_SETS` lists the two sets of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import correlate1d

from covmetric._utils.validation import FloatArray, first_index

#: Weights of R, G and B in the intensity: the luma of ITU-R BT.601, as in Pillow and OpenCV.
LUMA = (0.299, 0.587, 0.114)

#: A function from an image of shape (rows, columns) or (rows, columns, 3) to a feature of shape (rows, columns).
FeatureFunction = Callable[[FloatArray], Any]
#: A name from `FEATURES`, or a function.
Feature = str | FeatureFunction
#: A name from `FEATURE_SETS`, or a list of features.
Features = str | Sequence[Feature]
#: The features in `FEATURES` of a pixel depend on pixels that are at most so many rows away.
REACH = 16


class GreyImage(ValueError):
    """A grey image, where a feature needs colours.

    Parameters
    ----------
    feature : str
        The feature.
    shape : tuple of int
        The shape of the pixels.
    mode : str or None, default=None
        Pillow's mode of the image, if it is known.

    Examples
    --------
    >>> str(GreyImage("R", (40, 60), "L")).partition(":")[0]
    "feature 'R' needs a colour image, but this image is grey, of shape (40, 60) and mode 'L'"
    """

    def __init__(self, feature: str, shape: tuple[int, ...], mode: str | None = None) -> None:
        self.feature, self.shape, self.mode = feature, shape, mode
        known_mode = "" if mode is None else f" and mode {mode!r}"
        super().__init__(
            f"feature {feature!r} needs a colour image, but this image is grey, of shape {shape}{known_mode}: use "
            "features='grey', remove R, G and B from the features, or leave the image out"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.feature, self.shape, self.mode)


class Planes:
    """An image and the planes that several features use, each computed on first access.

    Derivatives use the filters of [1]_, [-1 0 1] and [-1 2 -1], and repeat the border pixels outwards.

    Parameters
    ----------
    pixels : array of shape (rows, columns) or (rows, columns, 3)
        The image, or some rows of it, in float64.
    first_row : int, default=0
        The row of the image that `pixels` begin with.

    References
    ----------
    .. [1] O. Tuzel, F. Porikli, P. Meer, "Region covariance: a fast descriptor for detection and classification",
       ECCV 2006.
    """

    def __init__(self, pixels: FloatArray, first_row: int = 0) -> None:
        self.pixels = pixels
        self.first_row = first_row

    def channel(self, index: int) -> FloatArray:
        """Return a colour channel.

        Parameters
        ----------
        index : {0, 1, 2}
            The index of R, G or B.

        Returns
        -------
        array of shape (rows, columns)
            The values of the channel.

        Raises
        ------
        GreyImage
            If the image is grey.
        """
        if self.pixels.ndim == 2:
            raise GreyImage("RGB"[index], self.pixels.shape)
        return np.asarray(self.pixels[..., index])

    @cached_property
    def I(self) -> FloatArray:  # noqa: E743 (the paper's letter)
        """Intensity: the grey value, or the luma of a colour."""
        if self.pixels.ndim == 2:
            return self.pixels
        red, green, blue = (weight * self.pixels[..., k] for k, weight in enumerate(LUMA))
        return np.asarray(red + green + blue)

    @cached_property
    def Ix(self) -> FloatArray:
        """First derivative along the columns, I(x + 1) - I(x - 1)."""
        return _filtered(self.I, (-1.0, 0.0, 1.0), axis=1)

    @cached_property
    def Iy(self) -> FloatArray:
        """First derivative along the rows, I(y + 1) - I(y - 1)."""
        return _filtered(self.I, (-1.0, 0.0, 1.0), axis=0)

    @cached_property
    def Ixx(self) -> FloatArray:
        """Second derivative along the columns with its sign reversed, 2 I(x) - I(x - 1) - I(x + 1)."""
        return _filtered(self.I, (-1.0, 2.0, -1.0), axis=1)

    @cached_property
    def Iyy(self) -> FloatArray:
        """Second derivative along the rows with its sign reversed, 2 I(y) - I(y - 1) - I(y + 1)."""
        return _filtered(self.I, (-1.0, 2.0, -1.0), axis=0)

    def coordinates(self, axis: int) -> FloatArray:
        """Return a coordinate of each pixel.

        Parameters
        ----------
        axis : {0, 1}
            0 for the row, 1 for the column.

        Returns
        -------
        array of shape (rows, columns)
            The coordinates, counted from 0.
        """
        shape = self.pixels.shape[:2]
        first = self.first_row if axis == 0 else 0
        numbers = np.arange(first, first + shape[axis], dtype=np.float64)
        return np.broadcast_to(numbers[:, None] if axis == 0 else numbers, shape)


FEATURES: dict[str, Callable[[Planes], FloatArray]] = {
    "x": lambda image: image.coordinates(axis=1),
    "y": lambda image: image.coordinates(axis=0),
    "I": lambda image: image.I,
    "R": lambda image: image.channel(0),
    "G": lambda image: image.channel(1),
    "B": lambda image: image.channel(2),
    "Ix": lambda image: image.Ix,
    "Iy": lambda image: image.Iy,
    "Ixx": lambda image: image.Ixx,
    "Iyy": lambda image: image.Iyy,
    "|Ix|": lambda image: np.abs(image.Ix),
    "|Iy|": lambda image: np.abs(image.Iy),
    "|Ixx|": lambda image: np.abs(image.Ixx),
    "|Iyy|": lambda image: np.abs(image.Iyy),
    "|grad|": lambda image: np.hypot(image.Ix, image.Iy),
    "angle": lambda image: np.arctan2(np.abs(image.Iy), np.abs(image.Ix)),
}

FEATURE_SETS: dict[str, list[Feature]] = {
    "grey": ["I", "|Ix|", "|Iy|", "|Ixx|", "|Iyy|"],
    "colour": ["x", "y", "R", "G", "B", "|Ix|", "|Iy|", "|Ixx|", "|Iyy|"],
}

#: Other spellings of the names in `FEATURE_SETS`.
SPELLINGS = {"gray": "grey", "color": "colour"}


def pixel_features(image: Any, features: Features = "grey") -> FloatArray:
    """Compute the features of each pixel of an image.

    Parameters
    ----------
    image : array of shape (rows, columns) or (rows, columns, 3)
        Grey values, or red, green and blue, of any real dtype and in any units.
    features : str or list, default='grey'
        A name from `FEATURE_SETS`, which may also be spelled "gray" and "color", or a list. "grey" stands for I, |Ix|,
        |Iy|, |Ixx|, |Iyy|, and "colour" for x, y, R, G, B and the same four derivatives. A list may contain names from
        `FEATURES` and functions, each of which maps the image in float64 to an array of shape (rows, columns). x is the
        column and y the row, counted from 0; |grad| is sqrt(Ix^2 + Iy^2), and angle is arctan(|Iy| / |Ix|).

    Returns
    -------
    array of shape (d, rows, columns)
        The d features, in the order of `features`.

    Raises
    ------
    ValueError
        If a feature is unknown, or if the image has the wrong shape, has no pixels, or contains NaN or infinity.

    Examples
    --------
    >>> import numpy as np
    >>> pixel_features(np.array([[1.0, 2.0, 4.0]]), ["I", "Ix", np.sqrt]).round(3)
    array([[[1.   , 2.   , 4.   ]],
    <BLANKLINE>
           [[1.   , 3.   , 2.   ]],
    <BLANKLINE>
           [[1.   , 1.414, 2.   ]]])
    """
    selected = feature_list(features)
    pixels = check_image(image)
    return features_of_rows(pixels, selected, evaluate_functions(pixels, selected), 0, len(pixels))


def features_of_rows(
    pixels: npt.NDArray[Any], features: list[Feature], evaluated: dict[int, FloatArray], top: int, bottom: int
) -> FloatArray:
    """Compute the features of some rows of an image.

    Parameters
    ----------
    pixels : array of shape (rows, columns) or (rows, columns, 3)
        The whole image, as returned by `check_pixels`.
    features : list
        Names from `FEATURES` and functions.
    evaluated : dict
        The results of the functions, as returned by `evaluate_functions`.
    top, bottom : int
        The first row, and the row after the last.

    Returns
    -------
    array of shape (d, bottom - top, columns)
        The features, which have the same bits as those rows of the features of the whole image.
    """
    first, last = max(0, top - REACH), min(len(pixels), bottom + REACH)
    planes = Planes(np.ascontiguousarray(pixels[first:last], dtype=np.float64), first)
    result = np.empty((len(features), bottom - top, pixels.shape[1]))
    for k, feature in enumerate(features):
        if isinstance(feature, str):
            result[k] = FEATURES[feature](planes)[top - first : bottom - first]
        else:
            result[k] = evaluated[k][top:bottom]
    return result


def evaluate_functions(pixels: npt.NDArray[Any], features: list[Feature]) -> dict[int, FloatArray]:
    """Call the functions among the features with the whole image.

    Parameters
    ----------
    pixels : array of shape (rows, columns) or (rows, columns, 3)
        The image, as returned by `check_pixels`.
    features : list
        Names from `FEATURES` and functions.

    Returns
    -------
    dict of int to array of shape (rows, columns)
        The results by the positions of the functions.

    Raises
    ------
    ValueError
        If a result is not real and finite, or has the wrong shape.
    """
    functions = {k: feature for k, feature in enumerate(features) if not isinstance(feature, str)}
    if not functions:
        return {}
    floats: FloatArray = np.ascontiguousarray(pixels, dtype=np.float64)
    return {k: _evaluate(function, _function_name(function, k), floats) for k, function in functions.items()}


def feature_list(features: Any) -> list[Feature]:
    """Return a list of features, or the list that belongs to a name in `FEATURE_SETS`.

    Parameters
    ----------
    features : str or list
        See `pixel_features`.

    Returns
    -------
    list of str and functions
        The features.

    Raises
    ------
    ValueError
        If a feature is unknown or the list is empty.
    """
    if isinstance(features, str):
        features = SPELLINGS.get(features, features)
        if features not in FEATURE_SETS:
            hint = f"; for the single feature write [{features!r}]" if features in FEATURES else ""
            raise ValueError(f"features must be {_quoted(FEATURE_SETS)}, or a list of features; got {features!r}{hint}")
        return list(FEATURE_SETS[features])
    if not isinstance(features, Sequence | np.ndarray) or len(features) == 0:
        raise ValueError(f"features must be {_quoted(FEATURE_SETS)}, or a list of features; got {features!r}")
    for k, feature in enumerate(features):
        if not callable(feature) and not (isinstance(feature, str) and feature in FEATURES):
            raise ValueError(f"features[{k}] must be a function or one of {_quoted(FEATURES)}; got {feature!r}")
    return list(features)


def feature_names(features: Features) -> list[str]:
    """Return the names of a set or list of features.

    Parameters
    ----------
    features : str or list
        See `pixel_features`.

    Returns
    -------
    list of str
        The names. A function is named by its ``__name__``; a lambda at position k is named "feature<k>".

    Raises
    ------
    ValueError
        If a feature is unknown or the list is empty.

    Examples
    --------
    >>> feature_names("grey")
    ['I', '|Ix|', '|Iy|', '|Ixx|', '|Iyy|']
    """
    return [str(f) if isinstance(f, str) else _function_name(f, k) for k, f in enumerate(feature_list(features))]


def check_image(image: Any) -> FloatArray:
    """Return an image as a C-contiguous array of float64, without a copy if it is one already.

    Parameters
    ----------
    image : array of shape (rows, columns) or (rows, columns, 3)
        The image, of any real dtype.

    Returns
    -------
    array of shape (rows, columns) or (rows, columns, 3)
        The same values in float64.

    Raises
    ------
    ValueError
        If the image has the wrong shape, has no pixels, is not numeric, or contains NaN or infinity.
    """
    pixels: FloatArray = np.ascontiguousarray(check_pixels(image), dtype=np.float64)
    return pixels


def check_pixels(image: Any) -> npt.NDArray[Any]:
    """Return an image as an array of its own type, without a copy if it is one already.

    Parameters
    ----------
    image : array of shape (rows, columns) or (rows, columns, 3)
        The image, of any real dtype.

    Returns
    -------
    array of shape (rows, columns) or (rows, columns, 3)
        The image.

    Raises
    ------
    ValueError
        If the image has the wrong shape, has no pixels, is not numeric, or contains NaN or infinity.
    """
    try:
        array = np.asarray(image)
    except ValueError as error:
        raise ValueError(f"the image must be an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"the image must be an array of numbers, got dtype {array.dtype}")
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] != 3):
        remedy = {1: "; use image[..., 0]", 2: "; use image[..., 0]", 4: "; use image[..., :3]"}
        raise ValueError(
            f"the image must have shape (rows, columns) or (rows, columns, 3), got {array.shape}"
            f"{remedy.get(array.shape[2], '') if array.ndim == 3 else ''}"
        )
    if array.size == 0:
        raise ValueError(f"the image has no pixels: its shape is {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        where = first_index(~np.isfinite(array))
        raise ValueError(f"the image{where} is {array[tuple(where)]}: NaN and infinity are not allowed")
    return array


def _evaluate(feature: FeatureFunction, name: str, pixels: FloatArray) -> FloatArray:
    """Call a user's function with a read-only view of the image, and check the result."""
    view = pixels.view()
    view.flags.writeable = False
    plane = np.asarray(feature(view))
    if plane.shape != pixels.shape[:2] or plane.dtype.kind not in "biuf":
        raise ValueError(
            f"feature {name!r} must return real numbers of shape {pixels.shape[:2]}, got {plane.dtype} of {plane.shape}"
        )
    if not np.isfinite(plane).all():
        where = first_index(~np.isfinite(plane))
        raise ValueError(f"feature {name!r} is {plane[tuple(where)]} at pixel {where}")
    return plane


def _filtered(plane: FloatArray, weights: tuple[float, ...], axis: int) -> FloatArray:
    return np.asarray(correlate1d(plane, weights, axis=axis, mode="nearest"))


def _function_name(feature: FeatureFunction, k: int) -> str:
    name = getattr(feature, "__name__", "<lambda>")
    return f"feature{k}" if name == "<lambda>" else str(name)


def _quoted(names: Any) -> str:
    return " or ".join(repr(name) for name in names) if len(names) < 3 else ", ".join(repr(name) for name in names)
