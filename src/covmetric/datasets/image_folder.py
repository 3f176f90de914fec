"""Images of one's own, in a folder for each class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covmetric.datasets.folders import find_folder
from covmetric.descriptors import ImageCovariances


def load_image_folder(folder: Any, descriptor: Any = None) -> Bunch:
    """Covariances of the images in ``folder/<class>/``, at any depth.

    Parameters
    ----------
    folder : path
        With a folder for each class. Folders within a class are groups: the views of an object, say.
    descriptor : ImageCovariances or None, default=None
        None: ``ImageCovariances("colour", errors="raise")``. With ``errors="skip"`` files that are no images, or are
        broken, are left out with a warning; with regions such as patches there are several matrices per image.

    Returns
    -------
    Bunch
        ``X`` (l, d, d); ``y``, the class; ``groups``, the folder that an image lies in, or None where there are none
        below the classes; ``paths``, of each matrix; ``boxes``; ``skipped``, paths and reasons.
    """
    place = find_folder(folder, "", "a folder of images for each class")
    classes = sorted(path for path in place.iterdir() if path.is_dir() and not path.name.startswith("."))
    files = [(file, c.name) for c in classes for file in sorted(c.rglob("*")) if _is_wanted(file)]
    if not files:
        raise FileNotFoundError(f"{place} holds no images: it should hold a folder of images for each class")
    chosen = ImageCovariances("colour") if descriptor is None else descriptor
    paths, names = [path for path, _ in files], np.array([name for _, name in files])
    described = chosen.describe(paths)
    folders = np.array([str(path.parent.relative_to(place)) for path in paths])
    return Bunch(
        X=described.X,
        y=names[described.image],
        groups=folders[described.image] if (folders != names).any() else None,
        paths=[paths[i] for i in described.image],
        boxes=described.boxes,
        skipped=[(paths[i], reason) for i, reason in described.skipped],
    )


def _is_wanted(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")
