"""Features of pixels. `FEATURES` lists them by name, `FEATURE_SETS` the lists of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.ndimage import correlate1d

from covmetric._utils.validation import FloatArray, first_index

#: The weights of R, G and B in the intensity: the luma of ITU-R BT.601, which Pillow and OpenCV take as well.
LUMA = (0.299, 0.587, 0.114)

#: A feature of the user's own: from the image (rows, columns) or (rows, columns, 3) to (rows, columns).
OwnFeature = Callable[[FloatArray], Any]
Features = str | Sequence[str | OwnFeature]


class Planes:
    """An image and what its features share; each plane is computed when it is first asked for.

    Derivatives are by the filters of [1]_, [-1 0 1] and [-1 2 -1], with the border pixels repeated outwards.

    References
    ----------
    .. [1] O. Tuzel, F. Porikli, P. Meer, "Region covariance: a fast descriptor for detection and classification",
       ECCV 2006.
    """

    def __init__(self, pixels: FloatArray) -> None:
        self.pixels = pixels

    def channel(self, index: int) -> FloatArray:
        """R, G or B."""
        if self.pixels.ndim == 2:
            raise ValueError(
                f"feature {'RGB'[index]!r} needs a colour image, and this one is grey, of shape {self.pixels.shape}: "
                "leave the colours out, or repeat the grey values in three channels"
            )
        return np.asarray(self.pixels[..., index])

    @cached_property
    def I(self) -> FloatArray:  # noqa: E743 (the paper's letter)
        """The intensity: the grey value, or the luma of a colour."""
        if self.pixels.ndim == 2:
            return self.pixels
        red, green, blue = (weight * self.pixels[..., k] for k, weight in enumerate(LUMA))
        return np.asarray(red + green + blue)

    @cached_property
    def Ix(self) -> FloatArray:
        """I(x + 1) - I(x - 1), along the columns."""
        return _filtered(self.I, (-1.0, 0.0, 1.0), axis=1)

    @cached_property
    def Iy(self) -> FloatArray:
        """I(y + 1) - I(y - 1), along the rows."""
        return _filtered(self.I, (-1.0, 0.0, 1.0), axis=0)

    @cached_property
    def Ixx(self) -> FloatArray:
        """2 I(x) - I(x - 1) - I(x + 1)."""
        return _filtered(self.I, (-1.0, 2.0, -1.0), axis=1)

    @cached_property
    def Iyy(self) -> FloatArray:
        """2 I(y) - I(y - 1) - I(y + 1)."""
        return _filtered(self.I, (-1.0, 2.0, -1.0), axis=0)

    def places(self, axis: int) -> FloatArray:
        """The row (axis 0) or the column (axis 1) of each pixel."""
        shape = self.pixels.shape[:2]
        numbers = np.arange(shape[axis], dtype=np.float64)
        return np.broadcast_to(numbers[:, None] if axis == 0 else numbers, shape)


FEATURES: dict[str, Callable[[Planes], FloatArray]] = {
    "x": lambda image: image.places(axis=1),
    "y": lambda image: image.places(axis=0),
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

FEATURE_SETS: dict[str, list[str | OwnFeature]] = {
    "grey": ["I", "|Ix|", "|Iy|", "|Ixx|", "|Iyy|"],
    "colour": ["x", "y", "R", "G", "B", "|Ix|", "|Iy|", "|Ixx|", "|Iyy|"],
}


def pixel_features(image: Any, features: Features = "grey") -> FloatArray:
    """The features of each pixel of an image.

    Parameters
    ----------
    image : array, shape (rows, columns) or (rows, columns, 3)
        Grey values, or red, green and blue; of any numbers, in any units. What is shared is computed once.
    features : str or list, default="grey"
        A name of `FEATURE_SETS`: "grey" is I, |Ix|, |Iy|, |Ixx|, |Iyy|; "colour" is x, y, R, G, B and the same four
        derivatives. Or a list of names of `FEATURES` and of functions, each from the image in float64 to an array
        (rows, columns). x counts columns and y rows, from 0; |grad| is sqrt(Ix^2 + Iy^2), angle is arctan(|Iy| / |Ix|).

    Returns
    -------
    array, shape (d, rows, columns)

    Raises
    ------
    ValueError
        For an unknown name, an image of another shape or without pixels, or NaN or infinity.

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
    chosen = feature_list(features)
    pixels = check_image(image)
    planes = Planes(pixels)
    result = np.empty((len(chosen), *pixels.shape[:2]))
    for k, feature in enumerate(chosen):
        if isinstance(feature, str):
            result[k] = FEATURES[feature](planes)
        else:
            result[k] = _own(feature, _name(feature, k), pixels)
    return result


def feature_list(features: Any) -> list[str | OwnFeature]:
    """The features of a set, or those of a list, checked."""
    if isinstance(features, str):
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
    """The names of a set or list of features; a function goes by its own name.

    Examples
    --------
    >>> feature_names("grey")
    ['I', '|Ix|', '|Iy|', '|Ixx|', '|Iyy|']
    """
    return [str(f) if isinstance(f, str) else _name(f, k) for k, f in enumerate(feature_list(features))]


def check_image(image: Any) -> FloatArray:
    """A float64 array (rows, columns) or (rows, columns, 3) with finite entries; the user's own where it is one."""
    try:
        array = np.asarray(image)
    except ValueError as error:
        raise ValueError(f"the image must be an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"the image must be an array of numbers, got dtype {array.dtype}")
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] != 3):
        remedy = {1: "; take image[..., 0]", 2: "; take image[..., 0]", 4: "; take image[..., :3]"}
        raise ValueError(
            f"the image must have shape (rows, columns) or (rows, columns, 3), got {array.shape}"
            f"{remedy.get(array.shape[2], '') if array.ndim == 3 else ''}"
        )
    if array.size == 0:
        raise ValueError(f"the image has no pixels: its shape is {array.shape}")
    pixels: FloatArray = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(pixels).all():
        where = first_index(~np.isfinite(pixels))
        raise ValueError(f"the image{where} is {pixels[tuple(where)]}: NaN and infinity are not allowed")
    return pixels


def _own(feature: OwnFeature, name: str, pixels: FloatArray) -> FloatArray:
    """The plane of a user's function, which gets a view that it cannot write to."""
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


def _name(feature: OwnFeature, k: int) -> str:
    """A function's own name; "<lambda>" and objects without one go by their place."""
    name = getattr(feature, "__name__", "<lambda>")
    return f"feature{k}" if name == "<lambda>" else str(name)


def _quoted(names: Any) -> str:
    return " or ".join(repr(name) for name in names) if len(names) < 3 else ", ".join(repr(name) for name in names)
