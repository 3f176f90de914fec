"""The Brodatz textures, described as in the paper."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covmetric._utils.validation import check_counts, generator
from covmetric.datasets.folders import find_folder
from covmetric.descriptors import Boxes, ImageCovariances, read_image

_NAME = re.compile(r"D(\d+)\.[A-Za-z]+")
# The paper uses 111 of the 112 textures.
_EXCLUDED = 14


def load_brodatz(
    folder: Any = None,
    patches: int = 50,
    size: int = 128,
    features: Any = "grey",
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Bunch:
    """Load covariance matrices of random patches in the four quarters of the Brodatz textures.

    Parameters
    ----------
    folder : path or None, default=None
        The folder with D1.gif to D112.gif (or .png, .tif, ...), of which D14 is not used. None means the subfolder
        "brodatz" of the folder in the environment variable COVMETRIC_DATA.
    patches : int, default=50
        The number of patches in each quarter.
    size : int, default=128
        The height and width of a patch, in pixels.
    features : str or list, default='grey'
        The features of a pixel; see `ImageCovariances`.
    random_state : None, int, Generator or RandomState, default=0
        The seed of the positions of the patches.
    n_jobs : int or None, default=None
        The number of parallel jobs; see `ImageCovariances`.
    verbose : int, default=0
        Whether to show a progress bar.

    Returns
    -------
    Bunch
        With the fields, where l = textures * 4 * patches (textures = 111 in the full set) and d is the number of
        features (5 by default),

        - ``X``, array of shape (l, d, d): the covariance matrices;
        - ``y``, array of int of shape (l,): the number of the texture, 1 to 112;
        - ``groups``, array of int of shape (l,): the quarter, 0 to 3 for top left, top right, bottom left and bottom
          right. The paper trains on some quarters and tests on the others;
        - ``boxes``, array of int of shape (l, 4): the patches, as rows [top, left, height, width];
        - ``feature_names``, list of d str: the features.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist or contains no textures.
    ValueError
        If a quarter of a texture is smaller than a patch.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from covmetric.datasets import load_brodatz, make_textures
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k, image in enumerate(make_textures(n_classes=2, n_per_class=1, size=64).images):
    ...         Image.fromarray(image.astype("uint8")).save(Path(folder) / f"D{k + 1}.png")
    ...     data = load_brodatz(folder, patches=3, size=16)
    >>> data.X.shape, data.y.tolist()[::12]
    ((24, 5, 5), [1, 2])
    """
    check_counts(patches=patches, size=size)
    root = find_folder(folder, "brodatz", "the Brodatz textures D1.gif to D112.gif")
    files = {int(match[1]): path for path in root.iterdir() if (match := _NAME.fullmatch(path.name))}
    numbers = sorted(number for number in files if number != _EXCLUDED)
    if not numbers:
        raise FileNotFoundError(f"{root} holds no Brodatz textures: D1.gif to D112.gif were expected")
    rng = generator(random_state)
    boxes = [_random_boxes(files[number], patches, size, rng) for number in numbers]
    descriptor = ImageCovariances(features, regions=Boxes(boxes), n_jobs=n_jobs, verbose=verbose)
    paths = [files[number] for number in numbers]
    described = descriptor.fit(paths).describe(paths)
    return Bunch(
        X=described.X,
        y=np.array(numbers)[described.image],
        groups=np.tile(np.repeat(np.arange(4), patches), len(numbers)),
        boxes=described.boxes,
        feature_names=descriptor.feature_names_,
    )


def _random_boxes(path: Any, patches: int, size: int, rng: np.random.Generator) -> Any:
    """Return random boxes, `patches` in each quarter."""
    rows, columns = (side // 2 for side in read_image(path).shape[:2])
    if min(rows, columns) < size:
        raise ValueError(f"{path} has quarters of {rows} x {columns} pixels, smaller than a patch of {size}")
    corners = np.repeat([[0, 0], [0, columns], [rows, 0], [rows, columns]], patches, axis=0)
    inside = rng.integers(0, [rows - size + 1, columns - size + 1], (4 * patches, 2))
    return np.column_stack([corners + inside, np.full((4 * patches, 2), size)])
