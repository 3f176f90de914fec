"""From sets of images, such as the views of an object, to one covariance matrix each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin

from covmetric._utils.validation import FloatArray, check_counts, is_number
from covmetric.descriptors.features import pixel_features
from covmetric.descriptors.reading import read_image


class ImageSetCovariances(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The covariance, over the images of a set, of their grey values at a small size.

    Parameters
    ----------
    size : (rows, columns), default=(20, 20)
        Images are brought to this size; the matrices are n x n with n = rows columns.
    reg : float, default=1e-3
        This share of the trace is added to the diagonal: sets have far fewer images than pixels, and their covariance
        is singular.
    n_jobs : int or None, default=None
        Processes that share the sets, with the same result.

    Examples
    --------
    >>> import numpy as np
    >>> views = np.random.default_rng(0).uniform(0, 255, (3, 10, 40, 40))
    >>> ImageSetCovariances(size=(4, 4)).fit_transform(views).shape
    (3, 16, 16)
    """

    def __init__(self, size: tuple[int, int] = (20, 20), *, reg: float = 1e-3, n_jobs: int | None = None) -> None:
        self.size = size
        self.reg = reg
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Check the settings. Returns self."""
        if not (isinstance(self.size, tuple | list) and len(self.size) == 2):
            raise ValueError(f"size must be (rows, columns), got {self.size!r}")
        check_counts(**{"size[0]": self.size[0], "size[1]": self.size[1]})
        if not (is_number(self.reg) and self.reg >= 0):
            raise ValueError(f"reg must be a number >= 0, got {self.reg!r}")
        if isinstance(X, np.ndarray) and (X.ndim not in (4, 5) or (X.ndim == 4 and X.shape[3] == 3)):
            raise ValueError(
                f"X must hold sets of images, shape (l, images, rows, columns[, 3]); got {X.shape}, which may be one "
                "set: write [X]"
            )
        if len(X) == 0:
            raise ValueError("X is empty: at least one set of images is needed")
        for i, images in enumerate(X):
            if isinstance(images, str | os.PathLike):
                raise ValueError(f"X[{i}] is {images!r}: each entry must be a set of images, a list of paths or arrays")
        return self

    def transform(self, X: Any) -> FloatArray:
        """The covariance matrices, shape (l, n, n).

        Parameters
        ----------
        X : sequence of sets, each a sequence of two or more images: paths or arrays (rows, columns[, 3])
        """
        self.fit(X)
        work = (delayed(_covariance)(images, i, tuple(self.size), self.reg) for i, images in enumerate(X))
        return np.stack(Parallel(self.n_jobs)(work))


def _covariance(images: Sequence[Any], index: int, size: tuple[int, int], reg: float) -> FloatArray:
    if len(images) < 2:
        raise ValueError(f"X[{index}] has {len(images)} images: a covariance needs two at least")
    small = []
    for j, image in enumerate(images):
        try:
            small.append(_small(image, size).ravel())
        except ValueError as error:
            raise ValueError(f"X[{index}], image {j}: {error}") from error
    vectors = np.stack(small)
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = np.cov(vectors.T).reshape(vectors.shape[1], vectors.shape[1])
    if not np.isfinite(matrix).all():
        raise ValueError(f"the covariance of X[{index}] overflows: rescale its images")
    return np.asarray(matrix + reg * np.trace(matrix) * np.eye(len(matrix)))


def _small(image: Any, size: tuple[int, int]) -> FloatArray:
    """The grey values at a small size, each a weighted mean of the pixels that it stands for."""
    from PIL import Image

    grey = pixel_features(read_image(image), ["I"])[0]
    # Pillow resizes in single precision: without the mean, and at a spread of 1, little is lost.
    mean = float(grey.mean())
    spread = float(np.abs(grey - mean).max()) or 1.0
    scaled = Image.fromarray(((grey - mean) / spread).astype(np.float32))
    small = scaled.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    return mean + spread * np.asarray(small, dtype=np.float64)
