"""Images of other sizes than those that a model was trained on, which have other features."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric._utils.warning import warn

#: The ratio of rows, or of columns, from which on a warning is given.
_RATIO = 2.0


def warn_of_sizes(sizes: IntArray, images: Any, kept: IntArray, trained: tuple[int, int]) -> None:
    """Warn if images have far more or fewer rows or columns than the training images.

    Parameters
    ----------
    sizes : array of int of shape (l, 2)
        The rows and columns of each image that was described.
    images : list of images
        All images, of which the first one with another size is named.
    kept : array of int of shape (l,)
        The index of each image that was described.
    trained : tuple of (int, int)
        The median numbers of rows and columns of the training images.
    """
    ratios = sizes / np.array(trained)
    others = np.flatnonzero((np.maximum(ratios, 1.0 / ratios) >= _RATIO).any(axis=1))
    if len(others) == 0:
        return
    index = int(kept[others[0]])
    source = images[index]
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else f"images[{index}]"
    has = "1 image has" if len(others) == 1 else f"{len(others)} of {len(sizes)} images have"
    rows, columns = sizes[others[0]]
    example = f"{name}, {rows} x {columns}"
    warn(
        f"{has} at least twice or at most half as many rows or columns as the training images, {trained[0]} x "
        f"{trained[1]} in the median ({example if len(others) == 1 else f'the first is {example}'}): the features "
        "depend on the scale; resize images to the size of the training images"
    )
