"""The data sets of the recognition experiments, and how they are split into training and test parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covmetric.datasets import load_brodatz, load_eth80
from covmetric.descriptors import read_image
from covmetric.learning.splits import Split


def brodatz_splits(data: Bunch, seed: int, n_train: int) -> Split:
    """Draw quarters of each texture for training.

    Parameters
    ----------
    data : Bunch
        The result of `load_brodatz`.
    seed : int
        The seed of the draw.
    n_train : int
        The number of quarters, of four, for training.

    Returns
    -------
    Split
        The training part and the test part. The groups are the training quarters of each texture, numbered from 0, so
        that a fold holds one quarter of every texture, and each texture of the fold is also in the other folds.
    """
    rng = np.random.default_rng(seed)
    number = np.full(len(data.y), -1)
    for texture in np.unique(data.y):
        for k, quarter in enumerate(rng.permutation(4)[:n_train]):
            number[(data.y == texture) & (data.groups == quarter)] = k
    train = np.flatnonzero(number >= 0)
    return Split(train, np.flatnonzero(number < 0), number[train])


def eth80_by_image(data: Bunch, seed: int) -> Split:
    """Draw 20 images of each object for training, as in the paper; both parts then hold views of the same objects.

    Parameters
    ----------
    data : Bunch
        The result of `load_eth80`.
    seed : int
        The seed of the draw.

    Returns
    -------
    Split
        The training part and the test part.
    """
    rng = np.random.default_rng(seed)
    train = np.concatenate([rng.permutation(np.flatnonzero(data.groups == g))[:20] for g in np.unique(data.groups)])
    return Split(np.sort(train), np.setdiff1d(np.arange(len(data.y)), train))


def eth80_by_object(data: Bunch, seed: int) -> Split:
    """Draw five objects of each class for training, with all their images.

    Parameters
    ----------
    data : Bunch
        The result of `load_eth80`.
    seed : int
        The seed of the draw.

    Returns
    -------
    Split
        The training part and the test part, with the objects as groups.
    """
    rng = np.random.default_rng(seed)
    objects: list[Any] = []
    for c in np.unique(data.y):
        objects += rng.permutation(np.unique(data.groups[data.y == c]))[:5].tolist()
    train = np.flatnonzero(np.isin(data.groups, objects))
    return Split(train, np.flatnonzero(~np.isin(data.groups, objects)), data.groups[train])


#: The data set of each protocol, and the function that splits it.
PROTOCOLS: dict[str, tuple[str, Callable[[Bunch, int], Split]]] = {
    "brodatz 3/1": ("brodatz", lambda data, seed: brodatz_splits(data, seed, 3)),
    "brodatz 2/2": ("brodatz", lambda data, seed: brodatz_splits(data, seed, 2)),
    "eth80 by image": ("eth80", eth80_by_image),
    "eth80 by object": ("eth80", eth80_by_object),
}
LOADERS: dict[str, Callable[..., Bunch]] = {"brodatz": load_brodatz, "eth80": load_eth80}


def region_size(data: Bunch) -> str:
    """Return the size of the image regions that the matrices describe.

    Parameters
    ----------
    data : Bunch
        The result of `load_brodatz` or `load_eth80`.

    Returns
    -------
    str
        The height and the width of the patches, or of the first image, for example "128 x 128".
    """
    height, width = data.boxes[0, 2:] if "boxes" in data else read_image(data.paths[0]).shape[:2]
    return f"{height} x {width}"
