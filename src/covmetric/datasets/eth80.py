"""ETH-80: eight classes of ten objects each, with 41 views per object."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from covmetric.datasets.folders import find_folder
from covmetric.descriptors import ImageCovariances, ImageSetCovariances

# The official names are apple1/apple1-035-090.png and so on. The names of masks end in -map and do not match.
_NAME = re.compile(r"(([a-z]+)(\d+))-(\d{3})-(\d{3})\.[A-Za-z]+")
_CONTENT = "the images of ETH-80, as [<class>/]<object>/<object>-<elevation>-<azimuth>.png"


def load_eth80(folder: Any = None, features: Any = "colour", n_jobs: int | None = None, verbose: int = 0) -> Bunch:
    """Load covariance matrices of pixel features over the images of ETH-80.

    Parameters
    ----------
    folder : path or None, default=None
        The folder with the images under their official names (apple1/apple1-000-000.png, ...), with or without a
        folder per class. Masks are ignored. None means the subfolder "eth80" of the folder in the environment
        variable COVMETRIC_DATA.
    features : str or list, default='colour'
        The features of a pixel; see `ImageCovariances`.
    n_jobs : int or None, default=None
        The number of parallel jobs; see `ImageCovariances`.
    verbose : int, default=0
        Whether to show a progress bar.

    Returns
    -------
    Bunch
        With the fields, for l images (3,280 in the full set) and d features (9 by default),

        - ``X``, array of shape (l, d, d): the covariance matrices;
        - ``y``, array of str of shape (l,): the class;
        - ``groups``, array of str of shape (l,): the object. Keep the views of an object together in a split (the
          paper does not);
        - ``elevation``, array of int of shape (l,): the elevation of the camera, in degrees;
        - ``azimuth``, array of int of shape (l,): the azimuth of the camera, in degrees;
        - ``paths``, list of l pathlib.Path: the files;
        - ``feature_names``, list of d str: the features.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist or contains no images of ETH-80.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from covmetric.datasets import load_eth80
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("apple1-035-000", "apple1-035-090", "car2-090-000"):
    ...         image = rng.integers(256, size=(20, 20, 3)).astype(np.uint8)
    ...         Image.fromarray(image).save(Path(folder) / f"{name}.png")
    ...     data = load_eth80(folder)
    >>> data.X.shape, data.y.tolist(), data.groups.tolist(), data.azimuth.tolist()
    ((3, 9, 9), ['apple', 'apple', 'car'], ['apple1', 'apple1', 'car2'], [0, 90, 0])
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
    """Load one covariance matrix of grey values per object of ETH-80, computed over its views.

    Parameters
    ----------
    folder : path or None, default=None
        The folder with the images; see `load_eth80`.
    size : (rows, columns), default=(20, 20)
        The size to which the images are resized; see `ImageSetCovariances`.
    reg : float, default=1e-3
        The regularisation, relative to the trace; see `ImageSetCovariances`.
    n_jobs : int or None, default=None
        The number of processes.

    Returns
    -------
    Bunch
        With the fields, for l objects (80 in the full set) and n = rows * columns (400 by default),

        - ``X``, array of shape (l, n, n): the covariance matrices;
        - ``y``, array of str of shape (l,): the class;
        - ``groups``, array of str of shape (l,): the object.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist or contains no images of ETH-80.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from covmetric.datasets import load_eth80_sets
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for azimuth in (0, 22, 45):
    ...         image = rng.integers(256, size=(20, 20, 3)).astype(np.uint8)
    ...         Image.fromarray(image).save(Path(folder) / f"apple1-035-{azimuth:03d}.png")
    ...     data = load_eth80_sets(folder, size=(3, 4))
    >>> data.X.shape, data.y.tolist(), data.groups.tolist()
    ((1, 12, 12), ['apple'], ['apple1'])
    """
    sets: dict[tuple[str, str], list[Path]] = {}
    for path, match in _views(folder):
        sets.setdefault((match[2], match[1]), []).append(path)
    X = ImageSetCovariances(size, reg=reg, n_jobs=n_jobs).fit_transform(list(sets.values()))
    return Bunch(X=X, y=np.array([c for c, _ in sets]), groups=np.array([name for _, name in sets]))


def _views(folder: Any) -> list[tuple[Path, re.Match[str]]]:
    """Return the paths with the match of their names, sorted by class, object and view."""
    root = find_folder(folder, "eth80", _CONTENT)
    found = [(path, match) for path in root.rglob("*") if (match := _NAME.fullmatch(path.name))]
    if not found:
        raise FileNotFoundError(f"{root} holds no images of ETH-80: it should hold {_CONTENT}")
    return sorted(found, key=lambda view: (view[1][2], int(view[1][3]), view[1][4], view[1][5]))
