"""The Brodatz textures, as the paper describes them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covmetric._utils.validation import check_counts, generator
from covmetric.datasets.folders import find_folder
from covmetric.descriptors import Boxes, ImageCovariances, read_image

_NAME = re.compile(r"D(\d+)\.[A-Za-z]+")
# The paper has 111 textures of the 112.
_LEFT_OUT = 14


def load_brodatz(
    folder: Any = None,
    patches: int = 50,
    size: int = 128,
    features: Any = "grey",
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Bunch:
    """Covariances of random patches in the four quarters of each of 111 textures.

    Parameters
    ----------
    folder : path or None, default=None
        With D1.gif to D112.gif (or .png, .tif, ...), of which D14 is left out; None: "brodatz" under the folder that
        the environment variable COVMETRIC_DATA names.
    patches : int, default=50
        In each quarter.
    size : int, default=128
        Of a patch, in pixels.
    features : see `ImageCovariances`, default="grey"
    random_state : int, Generator or None, default=0
    n_jobs : int or None, default=None
    verbose : int, default=0

    Returns
    -------
    Bunch
        ``X`` (111 x 4 x patches, 5, 5); ``y``, the number of the texture; ``groups``, the quarter, 0 to 3 (top left,
        top right, bottom left, bottom right): the paper trains on some and tests on others; ``boxes`` (l, 4).
    """
    check_counts(patches=patches, size=size)
    place = find_folder(folder, "brodatz", "the Brodatz textures D1.gif to D112.gif")
    found = {int(match[1]): path for path in place.iterdir() if (match := _NAME.fullmatch(path.name))}
    numbers = sorted(number for number in found if number != _LEFT_OUT)
    if not numbers:
        raise FileNotFoundError(f"{place} holds no Brodatz textures: D1.gif to D112.gif should be there")
    rng = generator(random_state)
    boxes = [_boxes(found[number], patches, size, rng) for number in numbers]
    descriptor = ImageCovariances(features, regions=Boxes(boxes), n_jobs=n_jobs, verbose=verbose)
    paths = [found[number] for number in numbers]
    described = descriptor.fit(paths).describe(paths)
    return Bunch(
        X=described.X,
        y=np.array(numbers)[described.image],
        groups=np.tile(np.repeat(np.arange(4), patches), len(numbers)),
        boxes=described.boxes,
        feature_names=descriptor.feature_names_,
    )


def _boxes(path: Any, patches: int, size: int, rng: np.random.Generator) -> Any:
    """Random boxes, `patches` in each quarter."""
    rows, columns = (side // 2 for side in read_image(path).shape[:2])
    if min(rows, columns) < size:
        raise ValueError(f"{path} has quarters of {rows} x {columns} pixels, smaller than a patch of {size}")
    corners = np.repeat([[0, 0], [0, columns], [rows, 0], [rows, columns]], patches, axis=0)
    inside = rng.integers(0, [rows - size + 1, columns - size + 1], (4 * patches, 2))
    return np.column_stack([corners + inside, np.full((4 * patches, 2), size)])
