"""Images from files, by Pillow."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray
from covmetric.descriptors.features import check_image

# What Pillow converts the modes to. Modes of 16 or 32 bits keep their values; those of 8 bits run from 0 to 255.
_GREY = {"1", "L", "LA", "La"}
_DEEP = {"I", "F", "I;16", "I;16L", "I;16B", "I;16N"}
_COLOUR = {"P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV", "LAB"}

# Alpha runs from 0 to 255; a pixel belongs to the object where it is at least half opaque.
_OPAQUE = 128


class UnreadableImage(ValueError):
    """A file that is no image, or a broken one, or one beyond Pillow's limit of pixels."""


def read_image(source: Any) -> FloatArray:
    """An image as an array of float64.

    Parameters
    ----------
    source : path, PIL.Image.Image or array
        A file of any format that Pillow reads: grey images, also those of 1, 16 or 32 bits, give their values in two
        dimensions; palettes, CMYK, YCbCr, HSV and Lab are converted to RGB. Transparency is dropped, not blended;
        see `read_image_and_mask`. Of animations and stacks the first frame is taken, and the orientation that EXIF may
        note is not applied. Files need the package pillow: ``pip install "covmetric[images]"``.

    Returns
    -------
    array, shape (rows, columns) or (rows, columns, 3)

    Raises
    ------
    UnreadableImage
        A ValueError: the file is no image, broken, cut off, empty, or larger than Pillow's limit
        (``PIL.Image.MAX_IMAGE_PIXELS``), which guards against decompression bombs and stays on.
    OSError
        The file is not there, or may not be read.

    Examples
    --------
    >>> read_image([[0, 255], [255, 0]])
    array([[  0., 255.],
           [255.,   0.]])
    """
    return _read(source, with_mask=False)[0]


def read_image_and_mask(source: Any) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """As `read_image`, and where the image is at least half opaque, shape (rows, columns); all of it without alpha."""
    pixels, mask = _read(source, with_mask=True)
    return pixels, np.ones(pixels.shape[:2], dtype=bool) if mask is None else mask


def _read(source: Any, with_mask: bool) -> tuple[FloatArray, npt.NDArray[np.bool_] | None]:
    if _is_pillow(source):
        return _converted(source, "this image", with_mask)
    if not isinstance(source, str | os.PathLike):
        return check_image(source), None
    pillow = _pillow()
    # Opened here, so that a missing file stays an OSError, and what Pillow says is about its content.
    with open(source, "rb") as file:
        try:
            with pillow.open(file) as image:
                if image.mode not in _DEEP and any("16" in str(tile[3]) for tile in image.tile):
                    raise UnreadableImage(
                        f"cannot read {os.fspath(source)!r}: it has 16 bits per colour, of which Pillow keeps 8; read "
                        "it by another library, and give the array"
                    )
                image.load()
                return _converted(image, os.fspath(source), with_mask)
        except UnreadableImage:
            raise
        except Exception as error:  # decoders raise OSError, SyntaxError, EOFError, struct.error, IndexError, ...
            raise UnreadableImage(f"cannot read {os.fspath(source)!r}: {_reason(error, source)}") from error


def _converted(image: Any, name: str, with_mask: bool) -> tuple[FloatArray, npt.NDArray[np.bool_] | None]:
    """The values of a Pillow image, and its mask where it has transparency and one is asked for."""
    mode = image.mode
    if mode in _DEEP:
        return np.asarray(image, dtype=np.float64), None
    if mode not in _GREY | _COLOUR:
        raise UnreadableImage(f"cannot read {name!r}: Pillow's mode {mode!r} is unknown here; convert it to 'RGB'")
    if mode == "La":  # Pillow converts premultiplied grey to nothing but LA
        image = image.convert("LA")
    # By way of alpha, also where it is dropped: Pillow warns of palettes that lose theirs.
    transparent = image.has_transparency_data
    target = ("LA" if transparent else "L") if mode in _GREY else ("RGBA" if transparent else "RGB")
    values = np.asarray(image if image.mode == target else image.convert(target))
    mask = values[..., -1] >= _OPAQUE if transparent and with_mask else None
    if transparent:
        values = values[..., 0] if mode in _GREY else values[..., :3]
    return np.ascontiguousarray(values, dtype=np.float64), mask


def _is_pillow(source: Any) -> bool:
    """Whether it is an image of Pillow, which then is loaded."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(source, module.Image)


def _pillow() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError as error:
        raise ImportError('reading image files needs the package pillow: pip install "covmetric[images]"') from error


def _reason(error: Exception, source: Any) -> str:
    """What Pillow says, in words where it says no more than that."""
    if type(error).__name__ == "UnidentifiedImageError":
        size = os.stat(source).st_size
        return "the file is empty" if size == 0 else f"none of the image formats that Pillow knows ({size} bytes)"
    return str(error) or type(error).__name__
