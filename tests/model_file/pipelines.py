"""Fitted pipelines of every kind, for the tests of saving."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from pyriemann.estimation import Covariances
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, ImagePatchClassifier, get_embedding
from covmetric.descriptors import (
    Boxes,
    FilterBank,
    GridPatches,
    ImageCovariances,
    ImageSetCovariances,
    SeriesCovariances,
    make_thumbnail,
)


@cache
def images():
    """Images of two classes: fine and coarse noise."""
    rng = np.random.default_rng(0)
    fine, coarse = rng.integers(256, size=(16, 20, 20)), rng.integers(256, size=(8, 5, 5)).repeat(4, 1).repeat(4, 2)
    return np.concatenate([fine[:8], (fine[8:] + 3 * coarse) // 4]), np.repeat(["fine", "coarse"], 8)


@cache
def series(n_classes=3):
    """Series whose class is the loudest channel."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8 * n_classes, 3, 60)), np.arange(8 * n_classes) % n_classes
    X[np.arange(len(X)), y] *= 3.0
    return X, np.array(["left", "right", "up"])[y]


@cache
def image_sets():
    rng = np.random.default_rng(0)
    return rng.integers(256, size=(10, 4, 8, 8)) // (1 + np.arange(10) % 2)[:, None, None, None], np.arange(10) % 2


def of_vectors(*last, first=None):
    return lambda: make_pipeline(first or SeriesCovariances(), CovMetric(random_state=0), *last)


PIPELINES = {
    "images": (
        lambda: make_pipeline(ImageCovariances(["I", "Ix", "Iy"]), CovMetricClassifier(random_state=0)),
        images,
    ),
    "boxes": (
        lambda: make_pipeline(ImageCovariances(regions=Boxes([[0, 0, 9, 9]])), CovMetricClassifier(random_state=0)),
        images,
    ),
    "masks": (
        lambda: make_pipeline(ImageCovariances(mask=np.tri(20) > 0), CovMetricClassifier(random_state=0)),
        images,
    ),
    "image sets": (
        lambda: make_pipeline(ImageSetCovariances((2, 3)), CovMetricClassifier(random_state=0)),
        image_sets,
    ),
    "series": (lambda: make_pipeline(SeriesCovariances("lwf"), CovMetricClassifier(random_state=0)), series),
    "search": (
        lambda: make_pipeline(SeriesCovariances(), CovMetricCV("log", lambdas=[0.1], cv=2, random_state=0)),
        series,
    ),
    "filter bank": (
        lambda: make_pipeline(
            FilterBank([(8.0, 12.0), (15.0, 30.0)], 100.0), SeriesCovariances(), CovMetricClassifier(random_state=0)
        ),
        series,
    ),
    "embedding": (
        lambda: make_pipeline(SeriesCovariances(), get_embedding("log"), CovMetric("id", random_state=0)),
        series,
    ),
    "passthrough": (lambda: make_pipeline(SeriesCovariances(), "passthrough", CovMetric(random_state=0)), series),
    "nested": (lambda: make_pipeline(SeriesCovariances(), of_vectors(first="passthrough")()), series),
    "pyriemann": (of_vectors(first=Covariances("lwf", block_size=10)), series),
    "logistic": (of_vectors(LogisticRegression(), first=Covariances("oas")), series),
    "logistic, two classes": (of_vectors(LogisticRegression(fit_intercept=False)), lambda: series(2)),
    "logistic, pandas": (
        of_vectors(StandardScaler().set_output(transform="pandas"), LogisticRegression()),
        series,
    ),
    "lda": (of_vectors(LinearDiscriminantAnalysis()), series),
    "lda, eigen": (of_vectors(LinearDiscriminantAnalysis("eigen", shrinkage=0.3)), series),
    "lda, lsqr": (of_vectors(LinearDiscriminantAnalysis("lsqr", shrinkage="auto")), lambda: series(2)),
    "knn": (of_vectors(KNeighborsClassifier(3, weights="distance")), series),
    "knn, tree": (of_vectors(PCA(2), KNeighborsClassifier(3, algorithm="kd_tree", p=1)), series),
    "svc": (of_vectors(StandardScaler(), SVC(class_weight={"left": 2.0})), series),
    "svc, two classes": (of_vectors(SVC(gamma=0.1, decision_function_shape="ovo")), lambda: series(2)),
    "svc, linear": (of_vectors(SVC(kernel="linear", break_ties=True)), series),
    "svc, polynomial": (of_vectors(SVC(kernel="poly", degree=2, coef0=1.0, class_weight="balanced")), series),
    "svc, probabilities": (of_vectors(SVC(probability=True, random_state=0)), series),
    "linear svc": (of_vectors(LinearSVC(random_state=0)), series),
    "linear svc, two classes": (of_vectors(LinearSVC(fit_intercept=False, random_state=0)), lambda: series(2)),
    "ridge": (of_vectors(RidgeClassifier(0.1)), series),
    "ridge, two classes": (of_vectors(RidgeClassifier(fit_intercept=False, solver="lsqr")), lambda: series(2)),
    "naive bayes": (of_vectors(GaussianNB()), series),
    "scaler and pca": (of_vectors(StandardScaler(with_mean=False), PCA(4, whiten=True)), series),
    "pca and metric": (of_vectors(PCA(4), CovMetricClassifier(random_state=0)), series),
}


@cache
def fitted(name):
    """Return a fitted pipeline and its examples."""
    make, data = PIPELINES[name]
    X, y = data()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The `probability` parameter", FutureWarning)
        return make().fit(X, y), X


@cache
def named_pipeline():
    """Return a fitted pipeline on images, with names and thumbnails of the references."""
    X, y = images()
    pipeline = make_pipeline(ImageCovariances(["I", "Ix", "Iy"]), CovMetricClassifier(random_state=0))
    names = [f"textures/{i}.png" for i in range(len(X))]
    thumbnails = [make_thumbnail(image, 8) for image in X]
    return pipeline.fit(X, y, covmetricclassifier__names=names, covmetricclassifier__thumbnails=thumbnails)


@cache
def patch_classifier():
    """Return a fitted classifier of images by patches, with names and thumbnails of the images."""
    X, y = images()
    names, thumbnails = [f"textures/{i}.png" for i in range(len(X))], [make_thumbnail(image, 8) for image in X]
    regions = ImageCovariances(["I", "Ix", "Iy"], regions=GridPatches(10))
    classifier = ImagePatchClassifier(regions, CovMetricClassifier(CovMetric(random_state=0)), decision="nearest-set")
    return classifier.fit(X, y, names=names, thumbnails=thumbnails)


#: Models whose references have names and thumbnails.
NAMED = {"names": named_pipeline, "patches": patch_classifier}
