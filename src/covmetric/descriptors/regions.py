"""Regions of images, as boxes [top, left, height, width]. `REGIONS` lists the classes by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from covmetric._utils.registry import resolve
from covmetric._utils.validation import IntArray, first_index, generator, is_count
from covmetric._utils.warning import warn

Shape = tuple[int, int]


class Regions(ABC):
    """Base class of the rules that select the regions of an image.

    A subclass implements `select`. It overrides `for_images` if its settings need a check, or if the regions of two
    images of the same size differ.

    Examples
    --------
    >>> class LeftHalf(Regions):
    ...     name = "left half"
    ...
    ...     def select(self, shape, index):
    ...         return np.array([[0, 0, shape[0], shape[1] // 2]])
    >>> LeftHalf().select((40, 60), 0)
    array([[ 0,  0, 40, 30]])
    """

    name: ClassVar[str]

    @property
    def by_position(self) -> bool:
        """Whether the regions of an image depend on its position in the list of images."""
        return False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "of" in vars(cls) and "select" not in vars(cls):
            warn(f"the method {cls.__name__}.of is deprecated: rename it to select", FutureWarning)
            cls.select = vars(cls)["of"]  # type: ignore[method-assign]

    def for_images(self, n_images: int) -> list[Regions]:
        """Check the settings and return the regions of each image.

        Parameters
        ----------
        n_images : int
            The number of images.

        Returns
        -------
        list of Regions
            One object per image, whose `select` is deterministic.

        Raises
        ------
        ValueError
            If a setting is invalid.
        """
        return [self] * n_images

    @abstractmethod
    def select(self, shape: Shape, index: int) -> IntArray:
        """Return the regions of one image.

        Parameters
        ----------
        shape : (rows, columns)
            The size of the image.
        index : int
            The index of the image.

        Returns
        -------
        array of int of shape (k, 4)
            The regions, as rows [top, left, height, width].

        Raises
        ------
        ValueError
            If a region does not fit into the image.
        """

    def of(self, shape: Shape, index: int) -> IntArray:
        """Return the regions of one image; deprecated in favour of `select`.

        Parameters
        ----------
        shape : (rows, columns)
            The size of the image.
        index : int
            The index of the image.

        Returns
        -------
        array of int of shape (k, 4)
            The regions, as rows [top, left, height, width].
        """
        warn("Regions.of is deprecated, use Regions.select", FutureWarning)
        # A subclass that defines `of` instead of `select` reaches this line by super().of(...): skip its method.
        for cls in type(self).__mro__:
            if "select" in vars(cls) and vars(cls)["select"] is not vars(cls).get("of"):
                break
        boxes: IntArray = vars(cls)["select"](self, shape, index)
        return boxes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Whole(Regions):
    """The whole image as a single region.

    Examples
    --------
    >>> Whole().select((40, 60), 0)
    array([[ 0,  0, 40, 60]])
    """

    name = "whole"

    def select(self, shape: Shape, index: int) -> IntArray:
        return np.array([[0, 0, *shape]], dtype=np.int64)


class RandomPatches(Regions):
    """Patches at uniformly random positions, which may overlap.

    Each image has a separate random generator, seeded by `random_state` and the index of the image. The patches of an
    image therefore depend neither on the other images nor on the number of jobs.

    Parameters
    ----------
    count : int, default=50
        The number of patches per image.
    size : int or (height, width), default=128
        The size of a patch, in pixels.
    random_state : None, int, Generator or RandomState, default=None
        The seed of the positions. With None, each call of `for_images` draws new positions.

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

    @property
    def by_position(self) -> bool:
        return True

    def for_images(self, n_images: int) -> list[Regions]:
        if not (is_count(self.count) and self.count > 0):
            raise ValueError(f"count must be an integer >= 1, got {self.count!r}")
        _pair("size", self.size)
        seed = self.random_state
        if not is_count(seed):
            seed = int(generator(seed).integers(2**63))
        return [RandomPatches(self.count, self.size, int(seed))] * n_images

    def select(self, shape: Shape, index: int) -> IntArray:
        height, width = _patch_size(self.size, shape)
        rng = np.random.default_rng(np.random.SeedSequence(self.random_state, spawn_key=(index,)))
        tops = rng.integers(shape[0] - height + 1, size=self.count)
        lefts = rng.integers(shape[1] - width + 1, size=self.count)
        return _as_boxes(tops, lefts, height, width)


class GridPatches(Regions):
    """All patches that fit on a regular grid, which starts at the upper left corner and runs row by row.

    Parameters
    ----------
    size : int or (height, width), default=32
        The size of a patch, in pixels.
    stride : int, (down, right) or None, default=None
        The distance between the corners of adjacent patches. None means `size`, so that the patches touch.

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

    def for_images(self, n_images: int) -> list[Regions]:
        _pair("size", self.size)
        _pair("stride", self.size if self.stride is None else self.stride)
        return [self] * n_images

    def select(self, shape: Shape, index: int) -> IntArray:
        height, width = _patch_size(self.size, shape)
        down, right = _pair("stride", self.size if self.stride is None else self.stride)
        tops, lefts = np.arange(0, shape[0] - height + 1, down), np.arange(0, shape[1] - width + 1, right)
        return _as_boxes(np.repeat(tops, len(lefts)), np.tile(lefts, len(tops)), height, width)


class Boxes(Regions):
    """Boxes that the user provides.

    Parameters
    ----------
    boxes : array of int of shape (k, 4) or (l, k, 4), or list of l arrays of int of shape (k_i, 4)
        The boxes, as rows [top, left, height, width]: one array for all images, or one array per image, which may be
        empty.

    Examples
    --------
    >>> Boxes([[0, 0, 2, 3]]).select((2, 4), 0)
    array([[0, 0, 2, 3]])
    """

    name = "boxes"

    def __init__(self, boxes: Any) -> None:
        self.boxes = boxes

    @property
    def by_position(self) -> bool:
        return not _is_table(self.boxes)

    def for_images(self, n_images: int) -> list[Regions]:
        if not hasattr(self.boxes, "__len__"):
            raise ValueError(f"boxes must be an array of shape (k, 4) or a list of such arrays; got {self.boxes!r}")
        if _is_table(self.boxes):
            return [self] * n_images
        if len(self.boxes) != n_images:
            raise ValueError(
                f"boxes must have one entry per image: it has {len(self.boxes)}, and there are {n_images} images"
            )
        return [Boxes(boxes) for boxes in self.boxes]

    def select(self, shape: Shape, index: int) -> IntArray:
        return check_boxes(self.boxes, shape)


REGIONS: dict[str, type[Regions]] = {
    "whole": Whole,
    "random": RandomPatches,
    "grid": GridPatches,
    "boxes": Boxes,
}


def get_regions(regions: str | Regions, **settings: Any) -> Regions:
    """Return the regions with the given name, or the object itself.

    Parameters
    ----------
    regions : {'whole', 'random', 'grid', 'boxes'} or Regions
        The name of a class of `REGIONS`, or an object.
    **settings : Any
        Arguments of the class, if a name is given.

    Returns
    -------
    Regions
        The object.

    Raises
    ------
    ValueError
        If the name is unknown or the class does not take the settings.

    Examples
    --------
    >>> get_regions("grid", size=16)
    GridPatches(size=16, stride=None)
    """
    return resolve("regions", regions, REGIONS, Regions, settings=settings)


def check_boxes(boxes: Any, shape: Shape) -> IntArray:
    """Return boxes as an array of int64.

    Parameters
    ----------
    boxes : array of int of shape (k, 4)
        The boxes, as rows [top, left, height, width].
    shape : (rows, columns)
        The size of the image.

    Returns
    -------
    array of int64 of shape (k, 4)
        The boxes.

    Raises
    ------
    ValueError
        If the boxes have the wrong shape or dtype, or if a box is empty or not inside the image.
    """
    try:
        array = np.asarray(boxes)
    except ValueError as error:
        raise ValueError(f"boxes must be integers of shape (k, 4): {error}") from None
    if array.size == 0:
        return np.empty((0, 4), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 4 or array.dtype.kind not in "iu":
        raise ValueError(f"boxes must be integers of shape (k, 4), got {array.dtype} of shape {array.shape}")
    checked = array.astype(np.int64)
    corner, size = checked[:, :2], checked[:, 2:]
    # corner + size might overflow; the difference of two non-negative numbers cannot.
    bad = np.any((corner < 0) | (size < 1) | (size > np.array(shape) - corner), axis=1)
    if bad.any():
        k = first_index(bad)[0]
        raise ValueError(
            f"boxes[{k}] = {checked[k].tolist()} (top, left, height, width) is not inside the image of "
            f"{shape[0]} x {shape[1]} pixels"
        )
    return checked


def _is_table(boxes: Any) -> bool:
    """Return whether boxes are a single array of shape (k, 4) rather than a list of arrays."""
    try:
        return np.ndim(boxes) == 2 and np.shape(boxes)[1] == 4
    except ValueError:  # arrays of different lengths
        return False


def _pair(name: str, value: Any) -> Shape:
    """Return two integers >= 1, given two integers, or one integer for both."""
    pair = (value, value) if is_count(value) else value
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(is_count(v) and v > 0 for v in pair)):
        raise ValueError(f"{name} must be an integer >= 1 or a pair (height, width) of such integers; got {value!r}")
    return int(pair[0]), int(pair[1])


def _patch_size(size: Any, shape: Shape) -> Shape:
    """Return the height and width of a patch; raise ValueError if it does not fit into the image."""
    height, width = _pair("size", size)
    if height > shape[0] or width > shape[1]:
        raise ValueError(f"the image of {shape[0]} x {shape[1]} pixels is smaller than a patch of {height} x {width}")
    return height, width


def _as_boxes(tops: IntArray, lefts: IntArray, height: int, width: int) -> IntArray:
    sizes = np.broadcast_to(np.array([height, width]), (len(tops), 2))
    return np.concatenate([tops[:, None], lefts[:, None], sizes], axis=1).astype(np.int64)
