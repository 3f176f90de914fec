"""Images in one folder per class."""

from __future__ import annotations

from typing import Any

from sklearn.utils import Bunch

from covmetric.datasets.class_folders import images_by_class
from covmetric.datasets.folders import find_folder
from covmetric.descriptors import ImageCovariances


def load_image_folder(folder: Any, descriptor: Any = None) -> Bunch:
    """Load covariance matrices of the images in ``folder/<class>/`` and its subfolders.

    Parameters
    ----------
    folder : path
        A folder with one folder per class. Subfolders of a class are groups, such as the views of one object.
    descriptor : ImageCovariances or None, default=None
        None means ``ImageCovariances("colour")``. With ``errors="skip"``, files that are not images are left out
        with a warning. With regions such as patches, there are several matrices per image.

    Returns
    -------
    Bunch
        With the fields, for l images or regions and d features,

        - ``X``, array of shape (l, d, d): the covariance matrices;
        - ``y``, array of str of shape (l,): the class;
        - ``groups``, array of str of shape (l,) or None: the folder of the image, relative to `folder`; None if no
          class has subfolders;
        - ``paths``, list of l pathlib.Path: the files;
        - ``boxes``, array of int of shape (l, 4): the regions, as rows [top, left, height, width];
        - ``skipped``, list of (path, reason): the files that were left out.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist or contains no images.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from covmetric.datasets import load_image_folder
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("cat", "dog"):
    ...         (Path(folder) / name).mkdir()
    ...         image = rng.integers(256, size=(20, 20, 3)).astype(np.uint8)
    ...         Image.fromarray(image).save(Path(folder) / name / "1.png")
    ...     data = load_image_folder(folder)
    >>> data.X.shape, data.y.tolist(), data.groups
    ((2, 9, 9), ['cat', 'dog'], None)
    """
    root = find_folder(folder, "", "one folder of images per class")
    paths, y, groups = images_by_class(root)
    described = (ImageCovariances("colour") if descriptor is None else descriptor).describe(paths)
    return Bunch(
        X=described.X,
        y=y[described.image],
        groups=None if groups is None else groups[described.image],
        paths=[paths[i] for i in described.image],
        boxes=described.boxes,
        skipped=[(paths[i], reason) for i, reason in described.skipped],
    )
