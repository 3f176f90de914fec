"""Regions of images, as boxes [top, left, height, width]. `REGIONS` lists the ways to choose them by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from covmetric._utils.registry import resolve
from covmetric._utils.validation import IntArray, first_index, generator, is_count
from covmetric._utils.warning import warn

Shape = tuple[int, int]


class Regions(ABC):
    """Which regions of an image are described. A subclass writes `select`, and `for_images` where images differ."""

    name: ClassVar[str]

    def for_images(self, n_images: int) -> list[Regions]:
        """The regions of each of so many images, with the settings checked and all chance settled."""
        return [self] * n_images

    @abstractmethod
    def select(self, shape: Shape, index: int) -> IntArray:
        """The boxes (k, 4) of the image with this index and (rows, columns)."""

    def of(self, shape: Shape, index: int) -> IntArray:
        """Deprecated alias of `select`.

        Parameters
        ----------
        shape, index
            As in `select`.

        Returns
        -------
        array of int, shape (k, 4)
        """
        warn("Regions.of is deprecated, use Regions.select", FutureWarning)
        return self.select(shape, index)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Whole(Regions):
    """The whole image, as one region."""

    name = "whole"

    def select(self, shape: Shape, index: int) -> IntArray:  # noqa: ARG002, D102
        return np.array([[0, 0, *shape]], dtype=np.int64)


class RandomPatches(Regions):
    """Patches at random places, all equally likely; they may overlap.

    Each image draws from a generator of its own, made of the seed and the image's index, so that the patches of an
    image do not depend on the others, nor on jobs or batches.

    Parameters
    ----------
    count : int, default=50
        Patches of each image.
    size : int or (int, int), default=128
        Height and width.
    random_state : None, int, Generator or RandomState, default=None

    Examples
    --------
    >>> RandomPatches(2, 8, random_state=0).for_images(1)[0].select((100, 100), 0)
    array([[74,  0,  8,  8],
           [87, 29,  8,  8]])
    """

    name = "random"

    def __init__(self, count: int = 50, size: int | Shape = 128, random_state: Any = None) -> None:
        self.count = count
        self.size = size
        self.random_state = random_state

    def for_images(self, n_images: int) -> list[Regions]:  # noqa: D102
        if not (is_count(self.count) and self.count > 0):
            raise ValueError(f"count must be an integer >= 1, got {self.count!r}")
        _pair("size", self.size)
        seed = self.random_state
        if not is_count(seed):
            seed = int(generator(seed).integers(2**63))
        return [RandomPatches(self.count, self.size, int(seed))] * n_images

    def select(self, shape: Shape, index: int) -> IntArray:  # noqa: D102
        height, width = _fitting(self.size, shape)
        rng = np.random.default_rng(np.random.SeedSequence(self.random_state, spawn_key=(index,)))
        tops = rng.integers(shape[0] - height + 1, size=self.count)
        lefts = rng.integers(shape[1] - width + 1, size=self.count)
        return _patches(tops, lefts, height, width)


class GridPatches(Regions):
    """Patches on a grid from the upper left corner, row by row: all that fit.

    Parameters
    ----------
    size : int or (int, int), default=32
        Height and width.
    stride : int, (int, int) or None, default=None
        Steps down and to the right. None: the size, so that patches touch.

    Examples
    --------
    >>> GridPatches(4, stride=3).select((8, 5), 0)
    array([[0, 0, 4, 4],
           [3, 0, 4, 4]])
    """

    name = "grid"

    def __init__(self, size: int | Shape = 32, stride: int | Shape | None = None) -> None:
        self.size = size
        self.stride = stride

    def for_images(self, n_images: int) -> list[Regions]:  # noqa: D102
        _pair("size", self.size)
        _pair("stride", self.size if self.stride is None else self.stride)
        return [self] * n_images

    def select(self, shape: Shape, index: int) -> IntArray:  # noqa: ARG002, D102
        height, width = _fitting(self.size, shape)
        down, right = _pair("stride", self.size if self.stride is None else self.stride)
        tops, lefts = np.arange(0, shape[0] - height + 1, down), np.arange(0, shape[1] - width + 1, right)
        return _patches(np.repeat(tops, len(lefts)), np.tile(lefts, len(tops)), height, width)


class Boxes(Regions):
    """Given boxes.

    Parameters
    ----------
    boxes : array of int, shape (k, 4), or list of such arrays
        Rows [top, left, height, width]: the same for all images; or one array for each image, also as an array
        (l, k, 4). The arrays of a list may have different lengths, zero included.

    Examples
    --------
    >>> Boxes([[0, 0, 2, 3]]).select((2, 4), 0)
    array([[0, 0, 2, 3]])
    """

    name = "boxes"

    def __init__(self, boxes: Any) -> None:
        self.boxes = boxes

    def for_images(self, n_images: int) -> list[Regions]:  # noqa: D102
        if not hasattr(self.boxes, "__len__"):
            raise ValueError(f"boxes must be an array (k, 4), or a list of such arrays; got {self.boxes!r}")
        if _is_table(self.boxes):
            return [self] * n_images
        if len(self.boxes) != n_images:
            raise ValueError(f"boxes has an entry for each of {len(self.boxes)} images, but there are {n_images}")
        return [Boxes(boxes) for boxes in self.boxes]

    def select(self, shape: Shape, index: int) -> IntArray:  # noqa: ARG002, D102
        return check_boxes(self.boxes, shape)


REGIONS: dict[str, type[Regions]] = {
    "whole": Whole,
    "random": RandomPatches,
    "grid": GridPatches,
    "boxes": Boxes,
}


def get_regions(regions: str | Regions, **settings: Any) -> Regions:
    """The regions of that name, with these settings, or the object itself.

    Examples
    --------
    >>> get_regions("grid", size=16)
    GridPatches(size=16, stride=None)
    """
    return resolve("regions", regions, REGIONS, Regions, settings=settings)


def check_boxes(boxes: Any, shape: Shape) -> IntArray:
    """Boxes (k, 4) of integers, each with a pixel at least, inside an image of that shape."""
    try:
        array = np.asarray(boxes)
    except ValueError as error:
        raise ValueError(f"boxes must be an array of integers, shape (k, 4): {error}") from None
    if array.size == 0:
        return np.empty((0, 4), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 4 or array.dtype.kind not in "iu":
        raise ValueError(f"boxes must be integers of shape (k, 4), got {array.dtype} of shape {array.shape}")
    checked = array.astype(np.int64)
    corner, size = checked[:, :2], checked[:, 2:]
    # The sum might overflow; the difference of two numbers >= 0 does not.
    bad = np.any((corner < 0) | (size < 1) | (size > np.array(shape) - corner), axis=1)
    if bad.any():
        k = first_index(bad)[0]
        raise ValueError(
            f"boxes[{k}] = {checked[k].tolist()} (top, left, height, width) is not inside the image of "
            f"{shape[0]} x {shape[1]} pixels"
        )
    return checked


def _is_table(boxes: Any) -> bool:
    """Whether boxes have the shape (k, 4), rather than being a list of tables."""
    try:
        return np.ndim(boxes) == 2 and np.shape(boxes)[1] == 4
    except ValueError:  # tables of different lengths
        return False


def _pair(name: str, value: Any) -> Shape:
    """An integer >= 1, or two of them, as two."""
    pair = (value, value) if is_count(value) else value
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(is_count(v) and v > 0 for v in pair)):
        raise ValueError(f"{name} must be an integer >= 1, or two of them (height, width); got {value!r}")
    return int(pair[0]), int(pair[1])


def _fitting(size: Any, shape: Shape) -> Shape:
    """The size of a patch, which must not exceed that of the image."""
    height, width = _pair("size", size)
    if height > shape[0] or width > shape[1]:
        raise ValueError(f"the image of {shape[0]} x {shape[1]} pixels is smaller than a patch of {height} x {width}")
    return height, width


def _patches(tops: IntArray, lefts: IntArray, height: int, width: int) -> IntArray:
    sizes = np.broadcast_to(np.array([height, width]), (len(tops), 2))
    return np.concatenate([tops[:, None], lefts[:, None], sizes], axis=1).astype(np.int64)
