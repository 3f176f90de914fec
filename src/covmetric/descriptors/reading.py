"""Reading images from files with Pillow."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, check_counts
from covmetric.descriptors.features import check_pixels

# Pillow's modes, grouped by how they are read: as grey values from 0 to 255, as values of 16 or 32 bits without
# conversion, and as RGB from 0 to 255.
_GREY = {"1", "L", "LA", "La"}
_DEEP = {"I", "F", "I;16", "I;16L", "I;16B", "I;16N"}
_COLOUR = {"P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "HSV", "LAB"}

# What Pillow says about damaged files, where it does not say that they are damaged.
_CLEARER = {"could not create decoder object": "the file is damaged or truncated"}  # of WebP

# Alpha runs from 0 to 255. A pixel belongs to the mask if it is at least half opaque.
_HALF_OPAQUE = 128


class UnreadableImage(ValueError):
    """A file that is not an image, is damaged, or exceeds Pillow's limit on the number of pixels.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".png") as file:
    ...     try:
    ...         read_image(file.name)
    ...     except UnreadableImage as error:
    ...         print(str(error).split(": ")[1])
    the file is empty
    """


def read_image(source: Any) -> FloatArray:
    """Read an image as an array of float64.

    Parameters
    ----------
    source : path, PIL.Image.Image or array
        The image. Files may have any format that Pillow reads, and need the package pillow
        (``pip install pillow``). Grey images of 1, 8, 16 or 32 bits give two-dimensional arrays. Palettes,
        CMYK, YCbCr, HSV and Lab are converted to RGB. Transparency is dropped without blending; see
        `read_image_and_mask`. Only the first frame of animations and stacks is read. The EXIF orientation
        is applied, so that the image is upright as in an image viewer.

    Returns
    -------
    array of shape (rows, columns) or (rows, columns, 3)
        Grey values, or red, green and blue.

    Raises
    ------
    UnreadableImage
        If the file is not an image, is damaged or empty, or exceeds ``PIL.Image.MAX_IMAGE_PIXELS``, Pillow's protection
        against decompression bombs. This is a subclass of ValueError.
    ValueError
        If the array is not an image or contains NaN or infinity.
    OSError
        If the file does not exist or cannot be accessed.

    Examples
    --------
    >>> read_image([[0, 255], [255, 0]])
    array([[  0., 255.],
           [255.,   0.]])
    """
    pixels: FloatArray = np.ascontiguousarray(read_pixels(source)[0], dtype=np.float64)
    return pixels


def read_image_and_mask(source: Any) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Read an image and the mask of its pixels that are at least half opaque.

    Parameters
    ----------
    source : path, PIL.Image.Image or array
        The image; see `read_image`.

    Returns
    -------
    pixels : array of shape (rows, columns) or (rows, columns, 3)
        Grey values, or red, green and blue.
    mask : array of bool of shape (rows, columns)
        Whether a pixel is at least half opaque; true everywhere if the image has no alpha channel.

    Raises
    ------
    UnreadableImage
        If the file is not an image, is damaged or empty, or exceeds ``PIL.Image.MAX_IMAGE_PIXELS``.
    ValueError
        If the array is not an image or contains NaN or infinity.
    OSError
        If the file does not exist or cannot be accessed.

    Examples
    --------
    >>> pixels, mask = read_image_and_mask([[0, 255], [255, 0]])
    >>> mask
    array([[ True,  True],
           [ True,  True]])
    """
    pixels, mask = read_pixels(source, with_mask=True)
    return np.ascontiguousarray(pixels, dtype=np.float64), np.ones(pixels.shape[:2], bool) if mask is None else mask


def read_pixels(source: Any, with_mask: bool = False) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Read an image as an array of the type that it is stored in, which takes up to eight times less memory.

    Parameters
    ----------
    source : path, PIL.Image.Image or array
        The image; see `read_image`.
    with_mask : bool, default=False
        Whether to return the mask of an image that has an alpha channel.

    Returns
    -------
    pixels : array of shape (rows, columns) or (rows, columns, 3)
        Grey values, or red, green and blue.
    mask : array of bool of shape (rows, columns) or None
        Whether a pixel is at least half opaque. None if this holds for all pixels, or was not asked for.

    Raises
    ------
    UnreadableImage
        If the file is not an image, is damaged or empty, or exceeds ``PIL.Image.MAX_IMAGE_PIXELS``.
    ValueError
        If the array is not an image or contains NaN or infinity.
    OSError
        If the file does not exist or cannot be accessed.
    """
    if _is_pillow_image(source):
        try:
            source.load()
            return _converted(source, "this image", with_mask)
        except UnreadableImage:
            raise
        except Exception as error:  # the file that Pillow reads lazily is damaged or gone, or the image was closed
            raise UnreadableImage(f"cannot read this image: {_reason(error)}") from error
    if not isinstance(source, str | os.PathLike):
        return check_pixels(source), None
    return _read_file(source, with_mask)


def make_thumbnail(source: Any, size: int = 64) -> npt.NDArray[np.uint8]:
    """Return a small picture of an image, for people.

    Parameters
    ----------
    source : path, PIL.Image.Image or array
        The image; see `read_image`. Values from 0 to 255 are kept as they are. Values from 0 to 1 and values beyond 255
        are stretched to the range from 0 to 255.
    size : int, default=64
        The largest number of rows and columns. A smaller image keeps its size.

    Returns
    -------
    array of uint8 of shape (rows, columns, 3)
        Red, green and blue.

    Raises
    ------
    ValueError
        If the image cannot be read, or if `size` is not a positive integer.
    OSError
        If the file does not exist or cannot be accessed.

    Examples
    --------
    >>> import numpy as np
    >>> make_thumbnail(np.zeros((200, 100))).shape
    (64, 32, 3)
    """
    check_counts(size=size)
    pixels = read_pixels(source)[0]
    low, high = float(pixels.min()), float(pixels.max())
    if low < 0.0 or high > 255.0:
        pixels = _stretched(pixels.astype(np.float64), low, high)
    elif 0.0 < high <= 1.0:
        pixels = 255.0 * pixels
    values = pixels if pixels.dtype == np.uint8 else np.rint(pixels).astype(np.uint8)
    colour = np.broadcast_to(values if values.ndim == 3 else values[..., None], (*values.shape[:2], 3))
    picture = _import_pillow().fromarray(np.ascontiguousarray(colour))
    picture.thumbnail((size, size))
    return np.array(picture)


def _stretched(pixels: FloatArray, low: float, high: float) -> FloatArray:
    """Map the range from low to high to the range from 0 to 255; halves, because high - low might overflow."""
    spread = high / 2.0 - low / 2.0
    return 255.0 * ((pixels / 2.0 - low / 2.0) / spread) if spread > 0.0 else np.zeros_like(pixels)


def has_colours(source: Any) -> bool | None:
    """Return whether an image file is read in colour, from its header alone.

    Parameters
    ----------
    source : path
        The file.

    Returns
    -------
    bool or None
        True for colour images, False for grey images, and None for files that are not images.

    Raises
    ------
    OSError
        If the file does not exist or cannot be accessed.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.NamedTemporaryFile(suffix=".png") as file:
    ...     Image.new("L", (4, 4)).save(file.name)
    ...     has_colours(file.name)
    False
    """
    mode = image_mode(source)
    return None if mode is None else mode not in _GREY | _DEEP


def image_mode(source: Any) -> str | None:
    """Return Pillow's mode of an image, of a file from its header alone.

    Parameters
    ----------
    source : path, PIL.Image.Image or array
        The image.

    Returns
    -------
    str or None
        The mode, such as "L" for grey values and "RGB" for colours. None for arrays, and for files that are not images.

    Raises
    ------
    OSError
        If the file does not exist or cannot be accessed.

    Examples
    --------
    >>> from PIL import Image
    >>> image_mode(Image.new("L", (4, 4)))
    'L'
    """
    if _is_pillow_image(source):
        return str(source.mode)
    if not isinstance(source, str | os.PathLike):
        return None
    pillow = _import_pillow()
    with open(source, "rb") as file:
        try:
            with pillow.open(file) as image:
                return str(image.mode)
        except Exception:  # reading the image explains what is wrong
            return None


def _read_file(
    source: str | os.PathLike[str], with_mask: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    pillow = _import_pillow()
    # A missing file raises OSError here. Any later error concerns the content of the file.
    with open(source, "rb") as file:
        try:
            with pillow.open(file) as image:
                if image.mode not in _DEEP and any("16" in str(tile[3]) for tile in image.tile):
                    raise UnreadableImage(
                        f"cannot read {os.fspath(source)!r}: it has 16 bits per colour, of which Pillow keeps 8; read "
                        "it with another library and pass the array"
                    )
                image.load()
                return _converted(image, os.fspath(source), with_mask)
        except UnreadableImage:
            raise
        except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, EOFError, struct.error, ...
            raise UnreadableImage(f"cannot read {os.fspath(source)!r}: {_reason(error, source)}") from error


def _converted(image: Any, name: str, with_mask: bool) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Return the values of a Pillow image, and its mask if it is requested and the image has transparency."""
    mode = image.mode
    if mode not in _DEEP | _GREY | _COLOUR:
        raise UnreadableImage(
            f"cannot read {name!r}: Pillow's mode {mode!r} is not supported; convert the image to 'RGB'"
        )
    image = _upright(image)
    if mode in _DEEP:
        return np.asarray(image), None
    if mode == "La":  # Pillow converts premultiplied grey to LA only
        image = image.convert("LA")
    # The alpha channel is converted even if it is dropped later, because Pillow warns when a palette loses it.
    transparent = image.has_transparency_data
    target = ("LA" if transparent else "L") if mode in _GREY else ("RGBA" if transparent else "RGB")
    values = np.asarray(image if image.mode == target else image.convert(target))
    mask = values[..., -1] >= _HALF_OPAQUE if transparent and with_mask else None
    if transparent:
        values = values[..., 0] if mode in _GREY else values[..., :3]
    return values, mask


def _upright(image: Any) -> Any:
    """Return the image turned or mirrored as its EXIF orientation says, or the image itself if it says nothing."""
    return import_module("PIL.ImageOps").exif_transpose(image)


def _is_pillow_image(source: Any) -> bool:
    module = sys.modules.get("PIL.Image")  # Pillow has been imported already if this is one of its images
    return module is not None and isinstance(source, module.Image)


def _import_pillow() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError as error:
        raise ImportError("reading image files needs the package pillow: pip install pillow") from error


def _reason(error: Exception, source: Any = None) -> str:
    """Return Pillow's message, or a clearer one if the format was not recognised."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for its pixels"
    if source is not None and type(error).__name__ == "UnidentifiedImageError":
        size = os.stat(source).st_size
        if size and os.fspath(source).lower().endswith(".csv"):
            return "it is a CSV file, and images are files that Pillow reads, such as PNG, JPEG or TIFF"
        return "the file is empty" if size == 0 else f"Pillow does not recognise the format ({size} bytes)"
    return _CLEARER.get(str(error), str(error)) or type(error).__name__
