"""Covariances by strips: those of the whole image, in bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from covmetric.descriptors import ImageCovariances, box_covariances, pixel_features
from covmetric.descriptors.features import FEATURES, feature_list, features_of_rows
from covmetric.descriptors.regions import GridPatches
from covmetric.descriptors.strips import image_covariances
from tests.naive import region_covariance

RNG = np.random.default_rng(0)
GREY = RNG.integers(256, size=(70, 23), dtype=np.uint8)
COLOUR = RNG.integers(256, size=(70, 23, 3), dtype=np.uint8)
# Whole, tall, flat, single columns, at the edges, and many small ones.
BOXES = np.array([[0, 0, 70, 23], [3, 2, 60, 5], [69, 0, 1, 23], [0, 22, 70, 1], [10, 4, 9, 9], [1, 1, 2, 2]])
PATCHES = GridPatches(6, 2).select((70, 23), 0)


def bytes_of(rows, d):
    return rows * 23 * 8 * d


@pytest.mark.parametrize("rows", [1, 2, 5, 33, 69])
@pytest.mark.parametrize("boxes", [BOXES, PATCHES, np.concatenate([PATCHES, BOXES])[::-1]])
@pytest.mark.parametrize("masked", [False, True])
def test_strips_give_the_covariances_of_the_whole_image(rows, boxes, masked):
    mask = np.ones((70, 23), dtype=bool)
    if masked:
        mask[20:24, 3:] = mask[::3, ::2] = False
    whole = box_covariances(pixel_features(COLOUR, "colour"), boxes, mask if masked else None)
    by_strips = image_covariances(COLOUR, "colour", boxes, mask if masked else None, max_bytes=bytes_of(rows, 9))
    np.testing.assert_allclose(by_strips, whole, rtol=0, atol=2e-10 * np.abs(whole).max())


@pytest.mark.parametrize("rows", [1, 7])
def test_strips_agree_with_pixel_by_pixel_covariances(rows):
    names = ["x", "y", "I", "|Ix|", "|Iyy|", "Iy"]
    for box in BOXES.tolist():
        ours = image_covariances(GREY, names, [box], max_bytes=bytes_of(rows, len(names)))[0]
        np.testing.assert_allclose(ours, region_covariance(GREY.astype(float), names, box), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("name", FEATURES)
def test_features_of_rows_have_the_bits_of_the_whole_image(name):
    whole = pixel_features(COLOUR, [name])
    for top, bottom in ((0, 1), (17, 18), (30, 55), (69, 70), (0, 70)):
        part = features_of_rows(COLOUR, feature_list([name]), {}, top, bottom)
        np.testing.assert_array_equal(part, whole[:, top:bottom])


def test_images_that_fit_have_the_bits_of_box_covariances():
    expected = box_covariances(pixel_features(GREY, "grey"), PATCHES)
    np.testing.assert_array_equal(image_covariances(GREY, "grey", PATCHES), expected)


def test_functions_are_given_the_whole_image():
    def from_the_mean(image):
        return image - image.mean()

    features = ["I", from_the_mean, "Ix"]
    expected = box_covariances(pixel_features(GREY, features), BOXES)
    np.testing.assert_allclose(image_covariances(GREY, features, BOXES, max_bytes=1), expected, rtol=1e-11, atol=1e-9)


def test_large_offsets_cost_no_digits_and_constants_have_no_variance():
    image = GREY.astype(float)
    shifted = image_covariances(image + 1e9, ["I", "Ix", "x"], BOXES, max_bytes=1)
    expected = image_covariances(image, ["I", "Ix", "x"], BOXES, max_bytes=1)
    np.testing.assert_allclose(shifted, expected, rtol=1e-9, atol=1e-7)
    assert not image_covariances(np.full((70, 23), 0.1), ["I", "Ix"], BOXES[:1], max_bytes=1).any()


@pytest.mark.parametrize(
    ("image", "boxes", "masked", "message"),
    [
        (GREY, [[0, 0, 70, 23], [60, 0, 20, 5]], False, r"boxes\[1\] = \[60, 0, 20, 5\] .* is not inside the image"),
        (GREY, [[0, 0, 4, 4], [33, 7, 1, 1]], False, r"boxes\[1\] = \[33, 7, 1, 1\] has 1 pixel\(s\): a covariance"),
        (GREY, [[0, 0, 4, 4], [5, 0, 60, 2]], True, r"boxes\[1\] = \[5, 0, 60, 2\] has 0 pixel\(s\) in the mask"),
        (GREY * 1e160, [[50, 0, 9, 9]], False, r"boxes\[0\] = \[50, 0, 9, 9\] overflows: rescale the features"),
        (np.where(GREY[40, 9] == GREY, np.nan, GREY), [[0, 0, 70, 23]], False, r"is nan: NaN and infinity"),
    ],
)
def test_errors_name_the_box_and_the_pixel_of_the_image(image, boxes, masked, message):
    mask = np.zeros((70, 23), dtype=bool) if masked else None
    if masked:
        mask[:4] = True
    with pytest.raises(ValueError, match=message):
        image_covariances(image, ["I", "Ix"], boxes, mask, max_bytes=bytes_of(10, 2))


def test_infinite_features_are_named_by_their_row_of_the_image():
    image = np.zeros((70, 23))
    image[50, 3], image[50, 5] = 1.5e308, -1.5e308
    with pytest.raises(ValueError, match=r"features\[0, 50, 4\] is -inf"):
        image_covariances(image, ["Ix"], [[0, 0, 70, 23]], max_bytes=bytes_of(10, 1))


@pytest.mark.parametrize("boxes", [[[0, 0, 2400, 1000]], GridPatches(100).select((2400, 1000), 0)])
def test_memory_is_bounded(boxes):
    """The features of this image take 173 MB, and were held several times; the image itself takes 7 MB."""
    image = np.random.default_rng(0).integers(256, size=(2400, 1000, 3), dtype=np.uint8)
    tracemalloc.start()
    try:
        image_covariances(image, "colour", boxes, max_bytes=2**23)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * 2**23


def test_lack_of_memory_is_an_error_that_names_the_image(monkeypatch):
    def fail(*arguments, **settings):
        raise MemoryError

    monkeypatch.setattr("covmetric.descriptors.images.image_covariances", fail)
    with pytest.raises(ValueError, match=r"images\[0\]: there is not enough memory to describe its 70 x 23 pixels"):
        ImageCovariances().transform([GREY])
