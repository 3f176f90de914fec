"""Covariance matrices of pixel features over images or regions of images."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import Bunch
from tqdm import tqdm

from covmetric._utils.parallel import run_calls
from covmetric._utils.threads import limited_threads
from covmetric._utils.tuning import IMAGES_PER_JOB
from covmetric._utils.validation import FloatArray, IntArray, check_n_jobs
from covmetric._utils.warning import warn
from covmetric.descriptors.base import Descriptor
from covmetric.descriptors.features import Feature, Features, GreyImage, feature_list, feature_names
from covmetric.descriptors.image_sizes import warn_of_sizes
from covmetric.descriptors.reading import UnreadableImage, image_mode, read_pixels
from covmetric.descriptors.regions import Regions, Whole, get_regions
from covmetric.descriptors.strips import image_covariances

#: Bytes of a block that is allocated and freed before a batch of images. glibc's malloc returns large freed blocks to
#: the system, but once a block of up to 32 MiB (DEFAULT_MMAP_THRESHOLD_MAX, header included) was freed, it keeps blocks
#: of that size, so that an image reuses the memory of the one before. ``python -m benchmarks.descriptors`` measures the
#: effect: 1.7 times as many ETH-80 images per second in one job.
MALLOC_KEPT_BYTES = 31 * 2**20


class ImageCovariances(Descriptor):
    """Covariance matrices of pixel features over images or regions of images [1]_.

    Parameters
    ----------
    features : str or list, default='grey'
        The features of a pixel. "grey" stands for I, |Ix|, |Iy|, |Ixx|, |Iyy|, and "colour" for x, y, R, G, B and the
        same four derivatives. A list may contain names of features and functions; see `pixel_features`.
    regions : str or Regions, default='whole'
        The regions of an image. `transform` needs exactly one region per image, such as "whole". `describe` also takes
        ``RandomPatches(count, size, random_state)``, ``GridPatches(size, stride)`` and ``Boxes(boxes)``; "random" and
        "grid" select the first two with their default settings.
    mask : None, 'alpha', array of bool of shape (rows, columns) or list of such arrays, default=None
        The pixels that count: all pixels (None), pixels that are at least half opaque ("alpha"), or pixels where the
        array is true. A list has one array, or None, per image. Derivatives next to the edge of the mask depend on
        pixels outside of it.
    errors : {'raise', 'skip'}, default='raise'
        Whether an image that cannot be read or described raises an error or is left out. A single warning reports all
        images that were left out.
    n_jobs : int or None, default=None
        The number of parallel jobs, as in joblib: processes for files, threads for arrays. The result does not depend
        on it.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    feature_names_ : list of str
        The names of the features, in the order of the rows and columns of the matrices.
    median_rows_, median_columns_ : int
        The median numbers of rows and columns of the training images. Only after `set_sizes`, which `covmetric fit`
        calls.

    See Also
    --------
    ImageSetCovariances : One covariance matrix per set of images.

    Notes
    -----
    Derivatives are differences of neighbouring pixels, so that the matrices depend on the scale of an image: the same
    picture with twice as many rows and columns has smaller derivatives. Images that are to be compared should have the
    same scale; resize new images to the size of the training images.

    References
    ----------
    .. [1] O. Tuzel, F. Porikli, P. Meer, "Region covariance: a fast descriptor for detection and classification",
       ECCV 2006.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(256, size=(3, 40, 60))
    >>> ImageCovariances().fit_transform(images).shape
    (3, 5, 5)
    >>> from covmetric.descriptors.regions import GridPatches
    >>> patches = ImageCovariances(["I", "Ix", "Iy"], regions=GridPatches(20)).describe(images)
    >>> patches.X.shape, patches.boxes.shape, patches.image
    ((18, 3, 3), (18, 4), array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]))
    """

    input_kind = "images"
    fitted_counts = ("median_rows_", "median_columns_")
    median_rows_: int
    median_columns_: int

    def __init__(
        self,
        features: Features = "grey",
        *,
        regions: str | Regions = "whole",
        mask: Any = None,
        errors: Literal["raise", "skip"] = "raise",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.features = features
        self.regions = regions
        self.mask = mask
        self.errors = errors
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        tags.no_validation = True
        return tags

    @property
    def matrix_size_(self) -> int:
        return len(self.feature_names_)

    def check_settings(self) -> None:
        self.feature_names_ = feature_names(self.features)
        if self.errors not in ("raise", "skip"):
            raise ValueError(f"errors must be 'raise' or 'skip', got {self.errors!r}")
        check_n_jobs(self.n_jobs)
        get_regions(self.regions).for_images(1)
        _one_mask_per_image(self.mask, len(self.mask) if isinstance(self.mask, list) else 1)

    def check_blocks(self) -> None:
        remedy = "describe the images with ImageCovariances itself, which takes the whole list"
        if isinstance(self.mask, list):
            raise ValueError(f"mask must not be a list: a block of images does not know its entries; {remedy}")
        if get_regions(self.regions).by_position:
            raise ValueError(f"regions={self.regions!r} depend on the position of an image in the list; {remedy}")
        if self.errors == "skip":
            raise ValueError("errors must be 'raise': matrices of skipped images would be missing in unknown places")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the settings, and that X is a list of images, without reading any file.

        Parameters
        ----------
        X : list of images or array
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
            If a setting is invalid, or if X is empty or is not a list of images.
        """
        self._jobs(X)
        self.feature_names_ = feature_names(self.features)
        for name in self.fitted_counts:
            self.__dict__.pop(name, None)
        return self

    def set_sizes(self, sizes: Any) -> Self:
        """Note the median size of the training images; `transform` then warns of images of very different sizes.

        Parameters
        ----------
        sizes : array of int of shape (l, 2)
            The rows and columns of the training images.

        Returns
        -------
        self
            The descriptor.

        Examples
        --------
        >>> import numpy as np
        >>> images = np.zeros((3, 40, 60))
        >>> ImageCovariances().fit(images).set_sizes([(40, 60)] * 3).median_rows_
        40
        """
        self.median_rows_, self.median_columns_ = (round(size) for size in np.median(sizes, axis=0).tolist())
        return self

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        descriptor = super().from_state(state)
        if hasattr(descriptor, "median_rows_") != hasattr(descriptor, "median_columns_"):
            raise ValueError(f"median_rows_ and median_columns_ of {cls.__name__} belong together, but one is missing")
        return descriptor

    def transform(self, X: Any) -> FloatArray:
        """Compute the covariance matrix of each image.

        Parameters
        ----------
        X : list of images, or array of shape (l, rows, columns) or (l, rows, columns, 3)
            Images are paths, arrays or PIL images. They may have different sizes.

        Returns
        -------
        array of shape (l, d, d)
            The covariance matrices of the d features. With ``errors="skip"`` there may be fewer than l.

        Raises
        ------
        ValueError
            If an image does not have exactly one region (use `describe` instead), contains NaN or infinity, or is
            not an image.
        OSError
            If a file does not exist or may not be read.
        """
        images = _as_list(X)  # an iterator has them once only
        described = self._describe(images, single_region=True)
        if hasattr(self, "median_rows_") and isinstance(get_regions(self.regions), Whole):
            trained = (self.median_rows_, self.median_columns_)
            warn_of_sizes(described.boxes[:, 2:], images, described.image, trained)
        matrices: FloatArray = described.X
        return matrices

    def describe(self, images: Any) -> Bunch:
        """Compute the covariance matrices of all regions of the images.

        Parameters
        ----------
        images : list of images, or array of shape (l, rows, columns) or (l, rows, columns, 3)
            Images are paths, arrays or PIL images. They may have different sizes.

        Returns
        -------
        Bunch
            With the fields

            - ``X``, array of shape (P, d, d): the covariance matrices of the d features over P regions;
            - ``image``, array of int of shape (P,): the index of the image that each region belongs to;
            - ``boxes``, array of int of shape (P, 4): the regions, as rows [top, left, height, width];
            - ``skipped``, list of (index, reason): the images that were left out.

        Raises
        ------
        ValueError
            If a setting is invalid, or if an image contains NaN or infinity, is smaller than a region, or is not an
            image.
        OSError
            If a file does not exist or may not be read.
        """
        return self._describe(images, single_region=False)

    def _describe(self, images: Any, single_region: bool) -> Bunch:
        jobs, features = self._jobs(images)
        described: list[_Described] = []
        failures: list[_Failure] = []
        for outcome in self._outcomes(jobs, features, single_region, failures):
            if isinstance(outcome, _Described):
                described.append(outcome)
            else:
                failures.append(outcome)
        if failures and (self.errors == "raise" or not described):
            raise failures[0].error
        if failures:
            fewer = "; the result has fewer matrices than there are images" if single_region else ""
            warn(f"left out {len(failures)} of {len(jobs)} images, the first because {failures[0].error}{fewer}")
        d = len(features)
        return Bunch(
            X=np.concatenate([one.covariances for one in described] or [np.empty((0, d, d))]),
            image=np.repeat([one.index for one in described], [len(one.boxes) for one in described]).astype(np.int64),
            boxes=np.concatenate([one.boxes for one in described] or [np.empty((0, 4), dtype=np.int64)]),
            skipped=[(failure.index, str(failure.error)) for failure in failures],
        )

    def _jobs(self, images: Any) -> tuple[list[_Job], list[Feature]]:
        """Return one job per image, and the features; check all settings."""
        sources, features = _as_list(images), feature_list(self.features)
        if self.errors not in ("raise", "skip"):
            raise ValueError(f"errors must be 'raise' or 'skip', got {self.errors!r}")
        check_n_jobs(self.n_jobs)
        regions = get_regions(self.regions).for_images(len(sources))
        masks = _one_mask_per_image(self.mask, len(sources))
        parts = zip(range(len(sources)), sources, masks, regions, strict=True)
        return [_Job(*part) for part in parts], features

    def _outcomes(
        self, jobs: list[_Job], features: list[Feature], single_region: bool, failures: list[_Failure]
    ) -> Iterator[_Described | _Failure]:
        """Yield one outcome per image, in order; start no new batch after a failure that will be raised.

        Leaving the loop immediately would be simpler, but joblib warns about jobs whose results are not collected.
        """

        def batches() -> Iterator[tuple[Any, ...]]:
            for start in range(0, len(jobs), IMAGES_PER_JOB):
                if failures and self.errors == "raise":
                    return
                yield jobs[start : start + IMAGES_PER_JOB], features, single_region

        # Measured with two jobs against one. Files: processes are 1.5 to 1.8 times as fast, threads 0.9 to 1.4 times.
        # Arrays, which threads need not copy: processes are 0.7 to 1.2 times as fast, threads 1.0 to 1.5 times.
        files = all(isinstance(job.source, str | os.PathLike) for job in jobs)
        with limited_threads(1), tqdm(total=len(jobs), unit=" images", disable=not self.verbose) as bar:
            for batch in run_calls(_describe_batch, batches(), self.n_jobs, "processes" if files else "threads"):
                yield from batch
                bar.update(len(batch))


@dataclass(frozen=True)
class _Job:
    """An image, its mask and its regions."""

    index: int
    source: Any
    mask: Any  # None, "alpha", or an array
    regions: Regions


@dataclass(frozen=True)
class _Described:
    """The regions of an image and their covariance matrices."""

    index: int
    covariances: FloatArray
    boxes: IntArray


@dataclass(frozen=True)
class _Failure:
    """The reason why an image could not be described."""

    index: int
    error: Exception


def _describe_batch(jobs: list[_Job], features: list[Feature], single_region: bool) -> list[_Described | _Failure]:
    with suppress(MemoryError):  # which the images themselves may not need
        np.empty(MALLOC_KEPT_BYTES, dtype=np.uint8)  # freed immediately; see MALLOC_KEPT_BYTES
    # The last bits of a matrix product depend on the number of BLAS threads, which each worker process has to set.
    with limited_threads(1):
        return [_describe_image(job, features, single_region) for job in jobs]


def _describe_image(job: _Job, features: list[Feature], single_region: bool) -> _Described | _Failure:
    """Describe the regions of an image; return errors of the image, but raise errors of the settings."""
    try:
        if isinstance(job.mask, str):
            pixels, mask = read_pixels(job.source, with_mask=True)
        else:
            pixels, mask = read_pixels(job.source)[0], job.mask
        boxes = job.regions.select((pixels.shape[0], pixels.shape[1]), job.index)
    except (ValueError, OSError) as error:
        return _Failure(job.index, _with_image_name(error, job))
    if single_region and len(boxes) != 1:
        raise ValueError(
            f"transform needs one region per image, but images[{job.index}] has {len(boxes)} with "
            f"{type(job.regions).__name__}: call describe, which returns the image of each matrix"
        )
    try:
        return _Described(job.index, image_covariances(pixels, features, boxes, mask), boxes)
    except GreyImage as error:
        named = GreyImage(error.feature, pixels.shape, image_mode(job.source))
        return _Failure(job.index, _with_image_name(named, job))
    except ValueError as error:
        return _Failure(job.index, _with_image_name(error, job))
    except MemoryError:
        rows, columns = pixels.shape[:2]
        reason = f"there is not enough memory to describe its {rows} x {columns} pixels: use smaller images"
        return _Failure(job.index, _with_image_name(ValueError(reason), job))


def _with_image_name(error: Exception, job: _Job) -> Exception:
    """Return the same error with the name of the image in its message, and without the frames that hold its pixels."""
    _drop_frames(error)
    if isinstance(error, OSError):  # its message contains the path already
        return error
    path = repr(os.fspath(job.source)) if isinstance(job.source, str | os.PathLike) else ""
    name = f"images[{job.index}] ({path})" if path and path not in str(error) else f"images[{job.index}]"
    error_type = UnreadableImage if isinstance(error, UnreadableImage) else ValueError
    renamed = error_type(f"{name}: {error}")
    renamed.__cause__ = error
    return renamed


def _drop_frames(error: BaseException | None) -> None:
    """Let go of the local variables of an error and of its causes, which would stay in memory as long as the error."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _as_list(images: Any) -> list[Any]:
    """Return the images as a list; refuse a single image."""
    if isinstance(images, str | bytes | os.PathLike) or not hasattr(images, "__iter__"):
        remedy = "write [image] for a single image"
        if isinstance(images, str | os.PathLike) and os.path.isdir(images):
            remedy = "list the images of the folder, or use covmetric.datasets.load_image_folder"
        raise ValueError(f"images must be a list of paths or arrays, got {images!r}; {remedy}")
    is_numeric = isinstance(images, np.ndarray) and images.dtype.kind in "biufc"
    # An array of shape (rows, columns, 3) is more likely a colour image than a list of images with three columns.
    if is_numeric and (images.ndim not in (3, 4) or (images.ndim == 3 and images.shape[2] == 3)):
        raise ValueError(
            f"images must have shape (l, rows, columns) or (l, rows, columns, 3), got {images.shape}; write "
            "[image] for a single image"
        )
    listed = list(images)
    if not listed:
        raise ValueError("images is empty: at least one image is needed")
    return listed


def _one_mask_per_image(mask: Any, n_images: int) -> list[Any]:
    """Return the mask of each image: None, "alpha" or an array."""
    if mask is None or (isinstance(mask, str) and mask == "alpha"):
        return [mask] * n_images
    if isinstance(mask, str) or not hasattr(mask, "__len__"):
        raise ValueError(f"mask must be None, 'alpha', a Boolean array, or a list of Boolean arrays; got {mask!r}")
    if isinstance(mask, np.ndarray) and mask.ndim == 2:
        return [mask] * n_images
    if len(mask) != n_images:
        raise ValueError(f"mask must have one entry per image: it has {len(mask)}, and there are {n_images} images")
    for i, entry in enumerate(mask):
        if entry is not None and np.ndim(entry) != 2:
            expected = "a Boolean array of shape (rows, columns) or None"
            raise ValueError(f"mask[{i}] must be {expected}; got {entry!r:.60}")
    return list(mask)
