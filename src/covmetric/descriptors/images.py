"""From images to covariance matrices of pixel features: the estimator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Bunch
from tqdm import tqdm

from covmetric._utils.threads import limited_threads
from covmetric._utils.tuning import IMAGES_PER_JOB
from covmetric._utils.validation import FloatArray, IntArray
from covmetric._utils.warning import warn
from covmetric.descriptors.features import Features, OwnFeature, feature_list, feature_names, pixel_features
from covmetric.descriptors.integral import box_covariances
from covmetric.descriptors.reading import UnreadableImage, read_image, read_image_and_mask
from covmetric.descriptors.regions import Regions, get_regions

# The largest block, but for its header, that teaches glibc's malloc to keep freed blocks up to its size.
_KEPT_BYTES = 31 * 2**20


class ImageCovariances(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The covariance matrices of pixel features over images, or over regions of them [1]_.

    Parameters
    ----------
    features : str or list, default="grey"
        "grey" is I, |Ix|, |Iy|, |Ixx|, |Iyy|; "colour" is x, y, R, G, B and the same derivatives; or a list of names
        and functions, see `pixel_features`.
    regions : str or Regions, default="whole"
        `transform` takes the whole image; `describe` also `RandomPatches(count, size, random_state)`,
        `GridPatches(size, stride)` and `Boxes(boxes)`, or "random" and "grid" for their defaults.
    mask : None, "alpha", array of bool (rows, columns), or list of such arrays, default=None
        Which pixels count: all; those at least half opaque; or those of one mask for all images, or of one for each.
        The derivatives next to its edge see pixels outside.
    errors : "raise" or "skip", default="raise"
        What to do with an image that cannot be read or described. "skip" leaves it out, with one warning.
    n_jobs : int or None, default=None
        Jobs that share the images, to the same bits: processes for files, threads for arrays.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    feature_names_ : list of str
        The features, in the order of rows and columns of the matrices.

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
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        tags.requires_fit = False
        tags.no_validation = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Check the settings, and that there is a list of images; none is read. Returns self."""
        self._jobs(X)
        self.feature_names_ = feature_names(self.features)
        return self

    def transform(self, X: Any) -> FloatArray:
        """The covariance matrices of the images, shape (l, d, d).

        Parameters
        ----------
        X : list of paths, of arrays or of PIL images, or array (l, rows, columns) or (l, rows, columns, 3)
            They may have different sizes.

        Raises
        ------
        ValueError
            Where an image has not exactly one region: `describe` is for that.
        """
        matrices: FloatArray = self._describe(X, single=True).X
        return matrices

    def describe(self, images: Any) -> Bunch:
        """The covariance matrices of all regions of the images.

        Parameters
        ----------
        images : list of paths, of arrays or of PIL images, or array (l, rows, columns) or (l, rows, columns, 3)

        Returns
        -------
        Bunch
            X, the matrices, shape (P, d, d); image, the index (P,) of the image of each; boxes, shape (P, 4), rows
            [top, left, height, width]; skipped, a list of (index, reason) of the images that were left out.
        """
        return self._describe(images, single=False)

    def _describe(self, images: Any, single: bool) -> Bunch:
        jobs, chosen = self._jobs(images)
        done: list[_Described] = []
        failures: list[_Failure] = []
        for outcome in self._outcomes(jobs, chosen, single, failures):
            if isinstance(outcome, _Described):
                done.append(outcome)
            else:
                failures.append(outcome)
        if failures and (self.errors == "raise" or not done):
            raise failures[0].error
        if failures:
            fewer = "; the result has fewer matrices than there are images" if single else ""
            warn(f"left out {len(failures)} of {len(jobs)} images, the first because {failures[0].error}{fewer}")
        d = len(chosen)
        return Bunch(
            X=np.concatenate([one.covariances for one in done] or [np.empty((0, d, d))]),
            image=np.repeat([one.index for one in done], [len(one.boxes) for one in done]).astype(np.int64),
            boxes=np.concatenate([one.boxes for one in done] or [np.empty((0, 4), dtype=np.int64)]),
            skipped=[(failure.index, str(failure.error)) for failure in failures],
        )

    def _jobs(self, images: Any) -> tuple[list[_Job], list[str | OwnFeature]]:
        """A job for each image, and the features, checked."""
        sources, chosen = _listed(images), feature_list(self.features)
        if self.errors not in ("raise", "skip"):
            raise ValueError(f"errors must be 'raise' or 'skip', got {self.errors!r}")
        regions, masks = get_regions(self.regions).for_images(len(sources)), _masks(self.mask, len(sources))
        parts = zip(range(len(sources)), sources, masks, regions, strict=True)
        return [_Job(*part) for part in parts], chosen

    def _outcomes(
        self, jobs: list[_Job], features: list[str | OwnFeature], single: bool, failures: list[_Failure]
    ) -> Iterator[_Described | _Failure]:
        """One outcome for each image, in order, as the batches get done; no new batch after a failure that is raised.

        To leave the loop at once would be simpler, but joblib warns of jobs that nobody waits for.
        """

        def batches() -> Iterator[Any]:
            for start in range(0, len(jobs), IMAGES_PER_JOB):
                if failures and self.errors == "raise":
                    return
                yield delayed(_describe_batch)(jobs[start : start + IMAGES_PER_JOB], features, single)

        # Measured with two jobs: processes for files (1.5 to 1.8 times as fast as one, threads 0.9 to 1.4), threads for
        # arrays, which then need not be copied (1.0 to 1.5 times, processes 0.7 to 1.2).
        prefer = "processes" if all(isinstance(job.source, str | os.PathLike) for job in jobs) else "threads"
        with limited_threads(1), tqdm(total=len(jobs), unit=" images", disable=not self.verbose) as bar:
            for batch in Parallel(self.n_jobs, prefer=prefer, return_as="generator")(batches()):
                yield from batch
                bar.update(len(batch))


@dataclass(frozen=True)
class _Job:
    """An image, and what is special about it."""

    index: int
    source: Any
    mask: Any  # None, "alpha", or an array
    regions: Regions


@dataclass(frozen=True)
class _Described:
    index: int
    covariances: FloatArray
    boxes: IntArray


@dataclass(frozen=True)
class _Failure:
    index: int
    error: Exception


def _describe_batch(jobs: list[_Job], features: list[str | OwnFeature], single: bool) -> list[_Described | _Failure]:
    # Once such a block was freed, glibc uses the memory of an image again for the next, instead of fetching 540 pages
    # anew: 650 to 700 images of ETH-80 a second instead of 330 to 400. Not measured with other allocators.
    np.empty(_KEPT_BYTES, dtype=np.uint8)
    # One thread for BLAS, in a process of its own too: the bits of a product depend on how many there are.
    with limited_threads(1):
        return [_describe_one(job, features, single) for job in jobs]


def _describe_one(job: _Job, features: list[str | OwnFeature], single: bool) -> _Described | _Failure:
    """The regions of one image; what is wrong with it is handed back, and with the settings raised."""
    try:
        if isinstance(job.mask, str):
            pixels, mask = read_image_and_mask(job.source)
        else:
            pixels, mask = read_image(job.source), job.mask
        boxes = job.regions.select((pixels.shape[0], pixels.shape[1]), job.index)
    except (ValueError, OSError) as error:
        return _Failure(job.index, _named(error, job))
    if single and len(boxes) != 1:
        raise ValueError(
            f"transform needs one region of each image, and images[{job.index}] has {len(boxes)} with "
            f"{type(job.regions).__name__}: call describe, which says which image each matrix belongs to"
        )
    try:
        return _Described(job.index, box_covariances(pixel_features(pixels, features), boxes, mask), boxes)
    except ValueError as error:
        return _Failure(job.index, _named(error, job))


def _named(error: Exception, job: _Job) -> Exception:
    """The error, with the image that it is about."""
    path = repr(os.fspath(job.source)) if isinstance(job.source, str | os.PathLike) else ""
    name = f"images[{job.index}] ({path})" if path and path not in str(error) else f"images[{job.index}]"
    if isinstance(error, OSError):  # has the path, and its number
        return error
    kind = UnreadableImage if isinstance(error, UnreadableImage) else ValueError
    named = kind(f"{name}: {error}")
    named.__cause__ = error
    return named


def _listed(images: Any) -> list[Any]:
    """The images as a list, which must not be a single one."""
    if isinstance(images, str | bytes | os.PathLike) or not hasattr(images, "__iter__"):
        raise ValueError(f"images must be a list of paths or arrays, got {images!r}; write [image] for a single one")
    numbers = isinstance(images, np.ndarray) and images.dtype.kind in "biufc"
    # (l, rows, 3) would be images of three columns: rather a single colour image.
    if numbers and (images.ndim not in (3, 4) or (images.ndim == 3 and images.shape[2] == 3)):
        raise ValueError(
            f"images must have shape (l, rows, columns) or (l, rows, columns, 3), got {images.shape}; write "
            "[image] for a single one"
        )
    listed = list(images)
    if not listed:
        raise ValueError("images is empty: there is nothing to describe")
    return listed


def _masks(mask: Any, n_images: int) -> list[Any]:
    """The mask of each image: None, "alpha" or an array."""
    if mask is None or (isinstance(mask, str) and mask == "alpha"):
        return [mask] * n_images
    if isinstance(mask, str) or not hasattr(mask, "__len__"):
        raise ValueError(f"mask must be None, 'alpha', an array of truth values, or a list of them; got {mask!r}")
    if isinstance(mask, np.ndarray) and mask.ndim == 2:
        return [mask] * n_images
    if len(mask) != n_images:
        raise ValueError(f"mask has an entry for each of {len(mask)} images, but there are {n_images}")
    for i, one in enumerate(mask):
        if one is not None and np.ndim(one) != 2:
            what = "an array of truth values, shape (rows, columns), or None"
            raise ValueError(f"mask[{i}] must be {what}; got {one!r:.60}")
    return list(mask)
