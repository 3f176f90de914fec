"""ImageSetCovariances, against np.cov."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.descriptors import ImageSetCovariances


def test_covariances_agree_with_numpy():
    views = np.random.default_rng(0).uniform(0, 255, (2, 6, 8, 8))
    matrices = ImageSetCovariances(size=(8, 8), reg=0.01).fit_transform(views)
    for images, matrix in zip(views, matrices, strict=True):
        plain = np.cov(images.reshape(6, 64).T)
        np.testing.assert_allclose(matrix, plain + 0.01 * np.trace(plain) * np.eye(64), rtol=1e-4, atol=1e-2)
    downsized = ImageSetCovariances(size=(2, 2), reg=0.0).fit_transform(np.kron(views[:, :, :2, :2], np.ones((4, 4))))
    assert downsized.shape == (2, 4, 4) and np.linalg.eigvalsh(downsized).min() > -1e-9
    np.testing.assert_array_equal(
        ImageSetCovariances((4, 4), n_jobs=2).fit_transform(views), ImageSetCovariances((4, 4)).fit_transform(views)
    )


@pytest.mark.parametrize(
    ("settings", "X", "message"),
    [
        ({"size": 20}, [[1]], r"size must be \(rows, columns\), got 20"),
        ({"size": (0, 3)}, [[1]], r"size\[0\] must be an integer >= 1, got 0"),
        ({"reg": -1}, [[1]], "reg must be a number >= 0, got -1"),
        ({}, [], "X is empty"),
        ({}, None, "X must be a list of sets of images, .*; got None"),
        ({}, "a.png", "X must be a list of sets of images, .*; got 'a.png'"),
        ({}, [1, 2], r"X\[0\] is 1: each entry must be a set of images"),
        ({}, [[np.ones((4, 4))]], r"X\[0\] has 1 image\(s\): a covariance needs at least two"),
    ],
)
def test_invalid_settings_and_sets_are_refused(settings, X, message):
    with pytest.raises(ValueError, match=message):
        ImageSetCovariances(**settings).fit_transform(X)


def test_offsets_and_scales_do_not_cost_digits():
    views = np.random.default_rng(0).uniform(0, 255, (2, 6, 8, 8))
    plain = ImageSetCovariances(size=(4, 4)).fit_transform(views)
    np.testing.assert_allclose(ImageSetCovariances(size=(4, 4)).fit_transform(views + 1e6), plain, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ImageSetCovariances(size=(4, 4)).fit_transform(views * 1e-50), plain * 1e-100, rtol=1e-3)


def test_overflow_single_sets_paths_and_nan_are_refused():
    views = np.random.default_rng(0).uniform(0, 255, (2, 6, 8, 8))
    with pytest.raises(ValueError, match=r"the covariance of X\[0\] overflows: rescale its images"):
        ImageSetCovariances(size=(4, 4)).fit_transform(views * 1e200)
    with pytest.raises(ValueError, match=r"may be one set: write \[X\]"):
        ImageSetCovariances().fit_transform(np.ones((5, 40, 40, 3)))
    with pytest.raises(ValueError, match=r"X\[0\] is 'a.png': each entry must be a set of images"):
        ImageSetCovariances().fit_transform(["a.png", "b.png"])
    views[1, 2, 3, 4] = np.nan
    with pytest.raises(ValueError, match=r"X\[1\], image 2: .*nan"):
        ImageSetCovariances().fit_transform(views)
