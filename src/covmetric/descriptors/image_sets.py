"""Covariance matrices of sets of images, such as the views of an object."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from covmetric._utils.parallel import run_calls
from covmetric._utils.validation import FloatArray, check_counts, check_n_jobs, is_number
from covmetric.descriptors.base import Descriptor
from covmetric.descriptors.features import pixel_features
from covmetric.descriptors.reading import read_image


class ImageSetCovariances(Descriptor):
    """Covariance matrices of the grey values of downsized images, over the images of each set.

    Parameters
    ----------
    size : (rows, columns), default=(20, 20)
        The size to which the images are resized. The matrices have rows * columns rows.
    reg : float, default=1e-3
        The regularisation: reg times the trace is added to the diagonal. Sets have far fewer images than pixels, so
        their covariance matrices would be singular otherwise.
    n_jobs : int or None, default=None
        The number of processes, as in joblib. The result does not depend on it.

    See Also
    --------
    ImageCovariances : One covariance matrix per image.

    Examples
    --------
    >>> import numpy as np
    >>> views = np.random.default_rng(0).uniform(0, 255, (3, 10, 40, 40))
    >>> ImageSetCovariances(size=(4, 4)).fit_transform(views).shape
    (3, 16, 16)
    """

    input_kind = "image sets"

    def __init__(self, size: tuple[int, int] = (20, 20), *, reg: float = 1e-3, n_jobs: int | None = None) -> None:
        self.size = size
        self.reg = reg
        self.n_jobs = n_jobs

    @property
    def matrix_size_(self) -> int:
        return int(self.size[0] * self.size[1])

    def check_settings(self) -> None:
        check_n_jobs(self.n_jobs)
        if not (isinstance(self.size, tuple | list) and len(self.size) == 2):
            raise ValueError(f"size must be (rows, columns), got {self.size!r}")
        check_counts(**{"size[0]": self.size[0], "size[1]": self.size[1]})
        if not (is_number(self.reg) and self.reg >= 0):
            raise ValueError(f"reg must be a number >= 0, got {self.reg!r}")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the settings, and that X is a list of sets of images, without reading any file.

        Parameters
        ----------
        X : sequence of sets of images
            See `transform`.
        y : ignored
            Not used; present for scikit-learn's API.

        Returns
        -------
        self
            The descriptor.

        Raises
        ------
        ValueError
            If a setting is invalid, or if X is empty or is not a list of sets of images.
        """
        self.check_settings()
        _check_sets(X)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Compute the covariance matrix of each set of images.

        Parameters
        ----------
        X : sequence of sets of images, or array of shape (l, images, rows, columns) or (l, images, rows, columns, 3)
            A set is a sequence of at least two images, which are paths or arrays and may have different sizes.

        Returns
        -------
        array of shape (l, n, n)
            The covariance matrices, with n = rows * columns of `size`.

        Raises
        ------
        ValueError
            If a set has fewer than two images, or if an image cannot be read or contains NaN or infinity.
        """
        self.fit(X)
        calls = ((images, i, tuple(self.size), self.reg) for i, images in enumerate(X))
        return np.stack(list(run_calls(_set_covariance, calls, self.n_jobs)))


def _check_sets(X: Any) -> None:
    """Raise ValueError if X is not a list of sets of images; the images are checked when they are read."""
    if isinstance(X, str | os.PathLike) or not hasattr(X, "__len__"):
        raise ValueError(f"X must be a list of sets of images, each a list of paths or arrays; got {X!r}")
    if isinstance(X, np.ndarray) and (X.ndim not in (4, 5) or (X.ndim == 4 and X.shape[3] == 3)):
        raise ValueError(
            f"X must hold sets of images, shape (l, images, rows, columns[, 3]); got {X.shape}, which may be one "
            "set: write [X]"
        )
    if len(X) == 0:
        raise ValueError("X is empty: at least one set of images is needed")
    for i, images in enumerate(X):
        if isinstance(images, str | os.PathLike) or not hasattr(images, "__len__"):
            raise ValueError(f"X[{i}] is {images!r}: each entry must be a set of images, a list of paths or arrays")


def _set_covariance(images: Sequence[Any], index: int, size: tuple[int, int], reg: float) -> FloatArray:
    if len(images) < 2:
        raise ValueError(f"X[{index}] has {len(images)} image(s): a covariance needs at least two")
    resized = []
    for j, image in enumerate(images):
        try:
            resized.append(_resized_grey_values(image, size).ravel())
        except ValueError as error:
            raise ValueError(f"X[{index}], image {j}: {error}") from error
    vectors = np.stack(resized)
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        matrix = np.cov(vectors.T).reshape(vectors.shape[1], vectors.shape[1])
    if not np.isfinite(matrix).all():
        raise ValueError(f"the covariance of X[{index}] overflows: rescale its images")
    return np.asarray(matrix + reg * np.trace(matrix) * np.eye(len(matrix)))


def _resized_grey_values(image: Any, size: tuple[int, int]) -> FloatArray:
    from PIL import Image

    grey = pixel_features(read_image(image), ["I"])[0]
    # Pillow resizes in single precision. Subtracting the mean and dividing by the spread keeps the significant digits
    # of images with a large offset, and avoids overflow and underflow.
    mean = float(grey.mean())
    spread = float(np.abs(grey - mean).max()) or 1.0
    scaled = Image.fromarray(((grey - mean) / spread).astype(np.float32))
    resized = scaled.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    return mean + spread * np.asarray(resized, dtype=np.float64)
