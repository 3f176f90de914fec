"""Features of pixels, against a naive implementation."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from covmetric.descriptors.features import FEATURE_SETS, FEATURES, feature_names, pixel_features
from covmetric.descriptors.images import ImageCovariances
from covmetric.descriptors.integral import box_covariances
from tests import naive
from tests.descriptors.images import COLOUR, GREY


@pytest.mark.parametrize("name", FEATURES)
def test_each_feature_agrees_with_the_naive_implementation(name):
    image = COLOUR if name in "RGB" else GREY
    names, box = [name, "I", "x"], [2, 3, 5, 7]
    ours = box_covariances(pixel_features(image, names), [box, [0, 0, *image.shape[:2]]])
    np.testing.assert_allclose(ours[0], naive.region_covariance(image, names, box), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(
        ours[1], naive.region_covariance(image, names, [0, 0, *image.shape[:2]]), rtol=1e-12, atol=1e-9
    )


@pytest.mark.parametrize(("name", "image"), [("grey", GREY), ("grey", COLOUR), ("colour", COLOUR)])
def test_feature_sets_agree_with_the_naive_implementation(name, image):
    ours = ImageCovariances(name).fit_transform([image])[0]
    expected = naive.region_covariance(image, FEATURE_SETS[name], [0, 0, *image.shape[:2]])
    np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-9)


def test_user_functions_as_features():
    def root(image):
        return np.sqrt(image)

    features = pixel_features(GREY, [root, "I", lambda image: image > 100])
    np.testing.assert_array_equal(features[0], np.sqrt(GREY.astype(float)))
    np.testing.assert_array_equal(features[2], GREY > 100)
    assert feature_names([root, "I", lambda image: image]) == ["root", "I", "feature2"]

    def modifies_its_input(image):
        image += 1.0

    with pytest.raises(ValueError, match="read-only"):
        pixel_features(GREY, [modifies_its_input])
    with pytest.raises(ValueError, match=r"feature 'sum' must return real numbers of shape \(12, 15\), got"):
        pixel_features(GREY, [np.sum])
    one_nan = np.zeros((12, 15))
    one_nan[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"feature 'feature0' is nan at pixel \[2, 3\]"):
        pixel_features(GREY, [lambda image: image + one_nan])


def test_the_image_is_not_modified():
    image = GREY.astype(float)
    image.flags.writeable = False
    pixel_features(image, [*FEATURE_SETS["grey"], "|grad|"])
    np.testing.assert_array_equal(image, GREY)


@pytest.mark.parametrize(
    ("image", "features", "message"),
    [
        (GREY, "red", "features must be 'grey' or 'colour', or a list of features; got 'red'"),
        (GREY, "Ix", r"for the single feature write \['Ix'\]"),
        (GREY, [], r"got \[\]"),
        (GREY, ["I", "Iz"], r"features\[1\] must be a function or one of 'x', 'y', 'I', .*'angle'; got 'Iz'"),
        (GREY, 3, "got 3"),
        (GREY, "colour", r"feature 'R' needs a colour image, but this image is grey, of shape \(12, 15\)"),
        (GREY[0], "grey", r"must have shape \(rows, columns\) or \(rows, columns, 3\), got \(15,\)"),
        (np.zeros((4, 5, 4)), "grey", r"got \(4, 5, 4\); use image\[..., :3\]"),
        (np.zeros((4, 5, 1)), "grey", r"use image\[..., 0\]"),
        (np.zeros((0, 5)), "grey", r"no pixels: its shape is \(0, 5\)"),
        (np.array([[1.0, 2.0], [np.nan, 3.0]]), "grey", r"image\[1, 0\] is nan"),
        (np.array([["a"]]), "grey", "array of numbers, got dtype <U1"),
        ([[1.0], [1.0, 2.0]], "grey", "array of numbers"),
        (GREY + 1j, "grey", "dtype complex128"),
    ],
)
def test_invalid_features_and_images_are_refused(image, features, message):
    with pytest.raises(ValueError, match=message):
        pixel_features(image, features)


@pytest.mark.parametrize(("american", "british"), [("gray", "grey"), ("color", "colour")])
def test_both_spellings_are_accepted(american, british):
    image = np.random.default_rng(0).random((6, 7, 3))
    np.testing.assert_array_equal(pixel_features(image, american), pixel_features(image, british))
    assert feature_names(american) == feature_names(british)


def test_grey_images_name_the_grey_features():
    with pytest.raises(ValueError, match=r"this image is grey.*use features='grey'") as raised:
        pixel_features(np.zeros((6, 7)), "color")
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # as from a worker
