"""ETH-80: eight classes, ten objects each, 41 views of each object."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covmetric.datasets.folders import find_folder
from covmetric.descriptors import ImageCovariances, ImageSetCovariances

# The official names, apple1/apple1-035-090.png, also within a folder for each class. Masks end in -map.
_NAME = re.compile(r"(([a-z]+)(\d+))-(\d{3})-(\d{3})\.[A-Za-z]+")
_CONTENT = "the images of ETH-80, as [<class>/]<object>/<object>-<elevation>-<azimuth>.png"


def load_eth80(folder: Any = None, features: Any = "colour", n_jobs: int | None = None, verbose: int = 0) -> Bunch:
    """The covariance of pixel features over each image.

    Parameters
    ----------
    folder : path or None, default=None
        With the images under their official names (apple1/apple1-000-000.png, ..., masks are left aside), or in a
        folder for each class; None: "eth80" under the folder that the environment variable COVMETRIC_DATA names.
    features : see `ImageCovariances`, default="colour"
    n_jobs : int or None, default=None
    verbose : int, default=0

    Returns
    -------
    Bunch
        ``X`` (3280, 9, 9); ``y``, the class; ``groups``, the object: views of one object should stay together in a
        split (in the paper's they do not); ``elevation``, ``azimuth`` in degrees; ``paths``.
    """
    views = _views(folder)
    descriptor = ImageCovariances(features, n_jobs=n_jobs, verbose=verbose)
    X = descriptor.fit_transform([path for path, _ in views])
    return Bunch(
        X=X,
        y=np.array([match[2] for _, match in views]),
        groups=np.array([match[1] for _, match in views]),
        elevation=np.array([int(match[4]) for _, match in views]),
        azimuth=np.array([int(match[5]) for _, match in views]),
        paths=[path for path, _ in views],
        feature_names=descriptor.feature_names_,
    )


def load_eth80_sets(folder: Any = None, size: Any = (20, 20), reg: float = 1e-3, n_jobs: int | None = None) -> Bunch:
    """One covariance of intensities per object, over its views, as image sets are usually described.

    Parameters
    ----------
    folder, n_jobs
        As in `load_eth80`.
    size, reg
        As in `ImageSetCovariances`.

    Returns
    -------
    Bunch
        ``X`` (80, 400, 400); ``y``, the class; ``groups``, the object.
    """
    sets: dict[tuple[str, str], list[Path]] = {}
    for path, match in _views(folder):
        sets.setdefault((match[2], match[1]), []).append(path)
    X = ImageSetCovariances(size, reg=reg, n_jobs=n_jobs).fit_transform(list(sets.values()))
    return Bunch(X=X, y=np.array([c for c, _ in sets]), groups=np.array([name for _, name in sets]))


def _views(folder: Any) -> list[tuple[Path, re.Match[str]]]:
    """The images with what their names say, by class, number and view."""
    place = find_folder(folder, "eth80", _CONTENT)
    found = [(path, match) for path in place.rglob("*") if (match := _NAME.fullmatch(path.name))]
    if not found:
        raise FileNotFoundError(f"{place} holds no images of ETH-80: it should hold {_CONTENT}")
    return sorted(found, key=lambda one: (one[1][2], int(one[1][3]), one[1][4], one[1][5]))
