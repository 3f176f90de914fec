"""Covariance matrices of boxes from integral images, against np.cov."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric.descriptors import integral
from covmetric.descriptors.features import pixel_features
from covmetric.descriptors.integral import box_covariances, integral_covariances, predicted_costs
from covmetric.descriptors.reading import read_image
from covmetric.descriptors.regions import GridPatches, RandomPatches
from tests.descriptors.images import assert_agrees_with_numpy, numpy_covariances


def smooth_features(rows, columns, noise):
    """Return waves, a ramp, and the sum of both plus noise, which is nearly dependent on the other two."""
    y, x = np.mgrid[:rows, :columns].astype(float)
    rng = np.random.default_rng(0)
    wave, ramp = np.sin(x / 9) * np.cos(y / 7), x + 2 * y
    return np.stack([wave, ramp, wave + ramp / 50 + noise * rng.standard_normal(wave.shape)])


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
@pytest.mark.parametrize("regions", [GridPatches(8, 2), GridPatches(9, 5), RandomPatches(400, (5, 17), 0)])
def test_large_offsets(offset, regions):
    features = np.random.default_rng(0).standard_normal((4, 90, 110)) * [[[1.0]], [[1e3]], [[1e-3]], [[7.0]]]
    boxes = regions.for_images(1)[0].select((90, 110), 0)
    assert assert_agrees_with_numpy(features + offset * features.std(axis=(1, 2), keepdims=True), boxes).all()


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_smooth_images(noise, offset):
    accurate = assert_agrees_with_numpy(smooth_features(80, 70, noise) + offset, GridPatches(12, 3).select((80, 70), 0))
    assert accurate.all() if noise == 1.0 else noise > 1e-6 or not accurate.any()


def test_constant_patches_have_zero_variance():
    """One feature is constant in the left half, another one everywhere."""
    features = np.random.default_rng(0).standard_normal((3, 60, 60))
    features[0, :, :30] = 0.1
    features[2] = 0.3
    boxes = GridPatches(10, 2).select((60, 60), 0)
    accurate = assert_agrees_with_numpy(features, boxes)
    ours = box_covariances(features, boxes)
    constant = boxes[:, 1] <= 20
    assert not accurate[constant].any() and accurate[~constant & (boxes[:, 1] > 21)].all()
    assert (ours[constant, 0] == 0.0).all() and (ours[constant, :, 0] == 0.0).all()
    assert (ours[:, 2] == 0.0).all() and (ours[:, :, 2] == 0.0).all()
    assert (ours[:, 1, 1] > 0.0).all()


def test_faint_patches_beside_bright_ones():
    """The contrast of one part is a billionth of that of the rest, where the integral would have no digits left."""
    features = np.random.default_rng(0).standard_normal((2, 64, 64))
    features[:, :, :40] *= 1e-9
    boxes = GridPatches(8, 1).select((64, 64), 0)
    assert_agrees_with_numpy(features, boxes)
    np.testing.assert_allclose(
        box_covariances(features, boxes), numpy_covariances(features, boxes), rtol=1e-5, atol=1e-22
    )


def test_dependent_features_are_computed_directly():
    grey = np.random.default_rng(0).integers(256, size=(64, 64))
    features = pixel_features(np.stack([grey] * 3, axis=-1), "colour")
    assert not assert_agrees_with_numpy(features, GridPatches(8, 2).select((64, 64), 0)).any()


def test_an_outlier_pixel():
    """The products cancel if a pixel is many standard deviations away from the mean."""
    features = np.random.default_rng(0).standard_normal((2, 200, 200))
    features[:, 7, 9] = 1e7
    assert_agrees_with_numpy(features, GridPatches(6, 3).select((200, 200), 0))


@pytest.mark.parametrize("fraction", [0.2, 0.9])
def test_masks(fraction):
    rng = np.random.default_rng(0)
    features, mask = rng.standard_normal((3, 50, 60)) + 1e6, rng.random((50, 60)) < fraction
    features[:, ~mask] = 1e9
    assert assert_agrees_with_numpy(features, GridPatches(12, 2).select((50, 60), 0), mask).all()


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 4), st.integers(2, 40), st.integers(2, 40)),
    offset=st.sampled_from([0.0, 1.0, -1e6]),
    scale=st.sampled_from([1e-100, 1e-6, 1.0, 1e100]),
    levels=st.integers(2, 50),
    masked=st.booleans(),
)
def test_random_boxes_agree_with_numpy(seed, shape, offset, scale, levels, masked):
    """With few grey levels, constant patches and dependent features are likely."""
    rng = np.random.default_rng(seed)
    features = scale * (rng.integers(levels, size=shape) + offset)
    mask = rng.random(shape[1:]) < 0.7 if masked else None
    tops, lefts = rng.integers(shape[1] - 1, size=30), rng.integers(shape[2] - 1, size=30)
    heights, widths = rng.integers(2, shape[1] - tops + 1), rng.integers(2, shape[2] - lefts + 1)
    boxes = np.stack([tops, lefts, heights, widths], axis=1)
    if mask is not None:
        boxes = boxes[[mask[t : t + h, left : left + w].sum() > 1 for t, left, h, w in boxes]]
    if len(boxes):
        assert_agrees_with_numpy(features, boxes, mask)


def test_small_patches_of_a_large_image():
    """A step in the image makes the integral large, so that the error bound rejects the small patches."""
    features = np.abs(np.random.default_rng(0).standard_normal((1, 2000, 1500))) + 1e6
    boxes = RandomPatches(200, 2, 0).for_images(1)[0].select((2000, 1500), 0)
    assert assert_agrees_with_numpy(features, boxes).sum() > 190
    features[:, :, 700:] += 3.0
    assert not assert_agrees_with_numpy(features, boxes).any()


def test_the_cheaper_algorithm_is_chosen(monkeypatch):
    features = np.random.default_rng(0).standard_normal((2, 64, 64))
    calls = []
    monkeypatch.setattr(integral, "integral_covariances", lambda *a: calls.append(a) or integral_covariances(*a))
    box_covariances(features, [[0, 0, 64, 64]])
    assert not calls
    box_covariances(features, GridPatches(16, 1).select((64, 64), 0))
    assert calls
    assert predicted_costs((5, 640, 640), np.empty((0, 4), dtype=int)) == (0.0, 0.0)
    assert box_covariances(features, np.empty((0, 4), dtype=int)).shape == (0, 2, 2)


@pytest.mark.parametrize(
    ("features", "boxes", "mask", "message"),
    [
        (np.zeros((4, 4)), [[0, 0, 2, 2]], None, r"shape \(d, rows, columns\), got \(4, 4\)"),
        (np.full((1, 4, 4), np.inf), [[0, 0, 2, 2]], None, r"features\[0, 0, 0\] is inf"),
        (np.zeros((1, 4, 4)), [[0, 0, 1, 1]], None, r"boxes\[0\] = \[0, 0, 1, 1\] has 1 pixel\(s\): a covariance"),
        (np.zeros((1, 4, 4)), [[0, 0, 2, 2]], np.zeros((4, 4), dtype=bool), r"has 0 pixel\(s\) in the mask"),
        (np.zeros((1, 4, 4)), [[0, 0, 2, 2]], np.zeros((4, 5), dtype=bool), r"mask has shape \(4, 5\), but the image"),
        (np.zeros((1, 4, 4)), [[0, 0, 2, 2]], np.zeros((4, 4)), "must be Boolean, got float64"),
        (np.zeros((1, 4, 4)), [[0, 3, 2, 2]], None, r"boxes\[0\] = \[0, 3, 2, 2\] .* not inside the image of 4 x 4"),
        (np.zeros((1, 4, 4)), [[0, 0, 0, 2]], None, r"boxes\[0\]"),
        (np.zeros((1, 4, 4)), [[2**62, 0, 2**62, 2]], None, "not inside"),
        (np.zeros((1, 4, 4)), [[0.0, 0.0, 2.0, 2.0]], None, "integers of shape"),
        (np.zeros((1, 4, 4)), [[0, 0], [1]], None, "integers"),
        (np.eye(4)[None] * 1e200, [[0, 0, 4, 4]], None, "overflows: rescale the features"),
    ],
)
def test_invalid_boxes_are_refused(features, boxes, mask, message):
    with pytest.raises(ValueError, match=message):
        box_covariances(features, boxes, mask)


@pytest.mark.shared
@pytest.mark.parametrize("number", [1, 20, 43, 112])
def test_brodatz_textures_with_an_offset(data_folder, number):
    features = pixel_features(read_image(data_folder / "brodatz" / f"D{number}.gif"), "grey")
    assert_agrees_with_numpy(features + 1e6, GridPatches(32, 16).select((640, 640), 0))
