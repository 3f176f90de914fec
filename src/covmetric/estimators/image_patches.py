"""ImagePatchClassifier: the class of an image from several of its regions."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Bunch
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.descriptors import GridPatches, ImageCovariances, feature_names
from covmetric.estimators.classifier import CovMetricClassifier
from covmetric.estimators.references import Captions, References
from covmetric.estimators.restoring import restored_on_failure
from covmetric.estimators.saving import SavedEstimator
from covmetric.estimators.set_distances import set_distances
from covmetric.learning.examples import require_classes
from covmetric.learning.group_labels import group_labels
from covmetric.learning.out_of_fold import check_counts_by_fold, total_accuracy
from covmetric.metric import LearnedMetric
from covmetric.neighbors.votes import available_neighbors

#: How the regions of an image decide about its class.
DECISIONS = ("vote", "nearest-set")


class ImagePatchClassifier(SavedEstimator, ClassifierMixin, BaseEstimator):
    """Classifier of images that describes several regions of each image.

    Each region is an example of the class of its image. Regions of a single value, whose matrix is all zeros, are left
    out, for example those of a white background. The metric is learned from all regions of the training images;
    regions of one image stay together in the folds of a search.

    Parameters
    ----------
    descriptor : ImageCovariances or None, default=None
        The descriptor with the regions. None means ``ImageCovariances("grey", regions=GridPatches(64))``.
    classifier : CovMetricClassifier or None, default=None
        The classifier of the regions. None means ``CovMetricClassifier(rule="auto", random_state=random_state,
        n_jobs=n_jobs)``.
    decision : {'vote', 'nearest-set'}, default='vote'
        How the class of an image is decided: by the mean of the probabilities of its regions, or as the class of the
        training image whose set of regions is nearest (see `kneighbors`).
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness of the default classifier.
    n_jobs : int or None, default=None
        The number of processes of the default classifier.

    Attributes
    ----------
    classifier_ : CovMetricClassifier
        The fitted classifier of the regions.
    descriptor_ : ImageCovariances
        The descriptor of the regions.
    feature_names_ : list of str
        The names of the features of pixels, one per row of a matrix.
    classes_ : array of shape (n_classes,)
        The distinct labels.
    references_ : References
        The training images: labels, names and thumbnails. `embedded` holds Phi of all their regions.
    out_of_fold_accuracy_ : float or None
        The accuracy of images by the mean of the probabilities of their regions, on the test parts of the folds of the
        search, as in `CovMetricClassifier`; `classifier_` has that of single regions. None unless the rule of the
        classifier is 'auto' and `decision` is 'vote', or if the regions of an image are in several folds.
    out_of_fold_counts_ : array of int of shape (n_folds, 2) or None
        The number of correct predictions and of images in each of these test parts.

    See Also
    --------
    CovMetricClassifier : Classifies matrices; after `ImageCovariances` in a pipeline, images by one matrix each.

    Examples
    --------
    >>> from covmetric import CovMetric, CovMetricClassifier, ImagePatchClassifier
    >>> from covmetric.datasets import make_textures
    >>> from covmetric.descriptors import GridPatches, ImageCovariances
    >>> data = make_textures(n_classes=3, n_per_class=6, size=64)
    >>> regions = ImageCovariances("grey", regions=GridPatches(32))
    >>> classifier = ImagePatchClassifier(regions, CovMetricClassifier(CovMetric(random_state=0)))
    >>> classifier.fit(data.images[::2], data.y[::2]).predict(data.images[1::2]).tolist() == data.y[1::2].tolist()
    True
    """

    _parts = ("classifier_", "classes_", "_codes", "_image", "_captions")
    _counts: IntArray | None = None  # for models that an older version pickled

    def __init__(
        self,
        descriptor: Any = None,
        classifier: Any = None,
        *,
        decision: str = "vote",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.descriptor = descriptor
        self.classifier = classifier
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        tags.no_validation = True
        return tags

    @property
    def metric_(self) -> LearnedMetric:  # type: ignore[override]
        """The learned metric between regions."""
        return self.classifier_.metric_

    @property
    def references_(self) -> References:
        """The training images: labels, names and thumbnails, and Phi of all their regions."""
        check_is_fitted(self)
        captions = self._captions
        embedded = self.classifier_.references_.embedded
        return References(self.classes_[self._codes], embedded, captions.names, captions.thumbnails())

    def fit(self, X: Any, y: Any, groups: Any = None, *, names: Any = None, thumbnails: Any = None) -> Self:
        """Describe the regions of the images, and learn the metric and the rule from them.

        Parameters
        ----------
        X : list of images, or array of shape (l, rows, columns) or (l, rows, columns, 3)
            Images are paths, arrays or PIL images. They may have different sizes.
        y : array of shape (l,)
            The class of each image.
        groups : array of shape (l,) or None, default=None
            The group of each image, as in `CovMetricClassifier`. None means that each image is a group, unless a class
            has a single image.
        names : sequence of l str or path-like, or None, default=None
            The name of each image, which `references_` returns.
        thumbnails : sequence of l arrays of uint8 of shape (rows, columns, 3), or None, default=None
            A small picture of each image, as in `CovMetricClassifier`.

        Returns
        -------
        ImagePatchClassifier
            The fitted classifier.

        Raises
        ------
        ValueError
            If X, y, groups or a parameter is invalid.
        """
        if self.decision not in DECISIONS:
            raise ValueError(f"decision must be one of {', '.join(map(repr, DECISIONS))}, got {self.decision!r}")
        described = self.descriptor_.describe(X)
        check_consistent_length(X, y)
        return self.fit_described(described, y, groups, names=names, thumbnails=thumbnails)

    def fit_described(
        self, described: Any, y: Any, groups: Any = None, *, names: Any = None, thumbnails: Any = None
    ) -> Self:
        """Learn from regions that the descriptor has described already.

        Parameters
        ----------
        described : Bunch
            The result of ``descriptor.describe(images)``.
        y : array of shape (l,)
            The class of each image, also of those that were left out.
        groups : array of shape (l,) or None, default=None
            The group of each image.
        names, thumbnails : sequences of length l, or None, default=None
            The name and a small picture of each image, as in `fit`. Those of images that were left out are not used.

        Returns
        -------
        ImagePatchClassifier
            The fitted classifier.
        """
        described = _without_constant_regions(described)
        labels = np.asarray(y)
        check_classification_targets(labels)
        n_images = len(labels)
        if len(described.image) == 0:
            raise ValueError("the images have no regions: choose other regions")
        if described.image.max() >= n_images:
            raise ValueError(f"y must have one label per image, but it has {n_images}, and there are more images")
        for given in (names, thumbnails):
            if given is not None:
                check_consistent_length(labels, given)
        kept, image = np.unique(described.image, return_inverse=True)
        classes, codes = np.unique(labels[kept], return_inverse=True)
        require_classes(classes)
        if groups is not None:
            of_regions = np.array(group_labels(groups, n_images))[kept][image]
        else:  # a class with one image has to be split, or no fold could train on it
            of_regions = image if np.bincount(codes).min() > 1 else None
        with restored_on_failure(self):
            self.classifier_ = self._classifier().fit(
                described.X, classes[codes][image], of_regions, names=_region_names(names, described)
            )
            self.classes_ = classes
            self._captions = Captions.from_user(_at(names, kept), _at(thumbnails, kept), len(kept))
            self._codes, self._image = codes.astype(np.int64), image.astype(np.int64)
            self._counts = None
        return self

    @property
    def out_of_fold_accuracy_(self) -> float | None:
        """The accuracy of the votes for images outside the training folds, if the classifier has rule='auto'."""
        return total_accuracy(self.out_of_fold_counts_)

    @property
    def out_of_fold_counts_(self) -> IntArray | None:
        """The number of correct predictions and of images in the test part of each fold."""
        check_is_fitted(self)
        if self._counts is None and self.decision == "vote":
            regions = self.classifier_._out_of_fold()
            images = None if regions is None else regions.of_sets(self._image)
            self._counts = None if images is None else images.count_right(self._codes)
        return self._counts

    def _fitted_parts(self) -> dict[str, Any]:
        counts = self.out_of_fold_counts_
        return {**super()._fitted_parts(), **({} if counts is None else {"out_of_fold_counts_": counts})}

    def _restore(self, state: dict[str, Any]) -> None:
        self._counts = check_counts_by_fold(state.pop("out_of_fold_counts_", None))
        super()._restore(state)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class of each image.

        Parameters
        ----------
        X : list of images, or array of shape (l, rows, columns) or (l, rows, columns, 3)
            The images.

        Returns
        -------
        array of shape (l,)
            Entries of `classes_`.
        """
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the estimated probability of each class.

        Parameters
        ----------
        X : list of images, or array of shape (l, rows, columns) or (l, rows, columns, 3)
            The images.

        Returns
        -------
        array of shape (l, n_classes)
            The mean of the probabilities of the regions of each image; with decision='nearest-set', 1 for the class of
            the nearest training image.
        """
        matrices, image, n_images = self._describe(X)
        if self.decision == "nearest-set":
            nearest = self._set_distances(matrices, image, n_images).argmin(axis=1)
            return np.asarray(np.eye(len(self.classes_))[self._codes[nearest]])
        regions = self.classifier_.predict_proba(matrices)
        return np.stack([regions[image == i].mean(axis=0) for i in range(n_images)])

    def kneighbors(
        self, X: Any, n_neighbors: int = 5, return_distance: bool = True
    ) -> tuple[FloatArray, IntArray] | IntArray:
        """Return the training images whose sets of regions are nearest.

        Parameters
        ----------
        X : list of images, or array of shape (l, rows, columns) or (l, rows, columns, 3)
            The images.
        n_neighbors : int, default=5
            The number of training images k.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        distances : array of shape (l, k)
            The modified Hausdorff distances of the sets of regions in the learned metric, in ascending order. They are
            returned only if `return_distance` is True.
        indices : array of int of shape (l, k)
            The indices of the training images, as in `references_`.

        Raises
        ------
        ValueError
            If there are fewer than k training images.
        """
        check_is_fitted(self)
        k = available_neighbors(n_neighbors, len(self._codes))
        distances = self._set_distances(*self._describe(X))
        indices = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return (np.take_along_axis(distances, indices, axis=1), indices) if return_distance else indices

    def reference_distances(self, indices: Any) -> FloatArray:
        """Return the distances from some training images to all of them.

        Parameters
        ----------
        indices : sequence of k int
            The indices of training images.

        Returns
        -------
        array of shape (k, l)
            The modified Hausdorff distances of their sets of regions, as in `kneighbors`.
        """
        check_is_fitted(self)
        vectors, starts = self._reference_vectors()
        return np.stack([set_distances(vectors[self._image == i], vectors, starts) for i in indices])

    @property
    def descriptor_(self) -> ImageCovariances:
        """The descriptor of the regions."""
        if self.descriptor is None:
            return ImageCovariances("grey", regions=GridPatches(64))
        if not isinstance(self.descriptor, ImageCovariances):
            raise ValueError(f"descriptor must be an ImageCovariances or None, got {self.descriptor!r}")
        return self.descriptor

    @property
    def feature_names_(self) -> list[str]:
        """The names of the features of pixels, one per row of a matrix."""
        return feature_names(self.descriptor_.features)

    def _classifier(self) -> CovMetricClassifier:
        if self.classifier is None:
            return CovMetricClassifier(rule="auto", random_state=self.random_state, n_jobs=self.n_jobs)
        if not isinstance(self.classifier, CovMetricClassifier):
            raise ValueError(f"classifier must be a CovMetricClassifier or None, got {self.classifier!r}")
        classifier: CovMetricClassifier = clone(self.classifier)
        return classifier

    def describe(self, X: Any) -> Bunch:
        """Return the matrices of the regions of images that the classifier uses.

        Parameters
        ----------
        X : list of images, or array of shape (l, rows, columns) or (l, rows, columns, 3)
            The images.

        Returns
        -------
        Bunch
            As `ImageCovariances.describe`, without regions of a single value.

        Raises
        ------
        ValueError
            If an image has no such regions.
        """
        described = _without_constant_regions(self.descriptor_.describe(X))
        n_images = len(X)
        missing = np.setdiff1d(np.arange(n_images), described.image)
        if len(missing):
            raise ValueError(
                f"X[{missing[0]}] has no regions, or only regions of a single value: leave it out or choose others"
            )
        return described

    def _describe(self, X: Any) -> tuple[FloatArray, IntArray, int]:
        """Return the matrices of all regions, the image of each, and the number of images."""
        check_is_fitted(self)
        described = self.describe(X)
        return described.X, described.image, len(X)

    def _set_distances(self, matrices: FloatArray, image: IntArray, n_images: int) -> FloatArray:
        vectors = self.metric_.transform(matrices, n_jobs=self.n_jobs)
        references, starts = self._reference_vectors()
        return np.stack([set_distances(vectors[image == i], references, starts) for i in range(n_images)])

    def _reference_vectors(self) -> tuple[FloatArray, IntArray]:
        """Return the vectors of all regions of the training images, and the first region of each image."""
        vectors = self.metric_.map(self.classifier_.references_.embedded)
        return vectors, np.flatnonzero(np.diff(self._image, prepend=-1))

    def _check_restored(self) -> None:
        if not isinstance(self.classifier_, CovMetricClassifier):
            raise ValueError("classifier_ must be a CovMetricClassifier")
        if not np.array_equal(self.classifier_.classes_, self.classes_):
            raise ValueError("classes_ differ from the classes_ of classifier_")
        codes, image = self._codes, self._image
        for name, array in (("_codes", codes), ("_image", image)):
            if not (isinstance(array, np.ndarray) and array.dtype == np.int64 and array.ndim == 1 and len(array)):
                raise ValueError(f"{name} must be an array of integers")
        steps = np.diff(image, prepend=-1)
        n_regions = len(self.classifier_.references_)
        if not (
            np.isin(steps, (0, 1)).all() and image[0] == 0 and image[-1] == len(codes) - 1 and len(image) == n_regions
        ):
            raise ValueError("the regions do not belong to the images")
        if codes.min() < 0 or codes.max() >= len(self.classes_):
            raise ValueError("the images must belong to the classes")
        if not isinstance(self._captions, Captions):
            raise ValueError("the names and thumbnails of the images are invalid")
        self._captions.check(len(codes))


def _without_constant_regions(described: Any) -> Any:
    """Leave out the regions whose matrix is all zeros, which has no logarithm and no scale."""
    varied = np.trace(described.X, axis1=1, axis2=2) > 0.0
    return Bunch(
        X=described.X[varied], image=described.image[varied], boxes=described.boxes[varied], skipped=described.skipped
    )


def _region_names(names: Any, described: Any) -> list[str] | None:
    """Return the name of the image and the box [top, left, height, width] of each region."""
    if names is None:
        return None
    pairs = zip(described.image.tolist(), described.boxes.tolist(), strict=True)
    return [f"{os.fspath(names[i])} {box}" for i, box in pairs]


def _at(values: Any, indices: IntArray) -> list[Any] | None:
    return None if values is None else [values[i] for i in indices.tolist()]
