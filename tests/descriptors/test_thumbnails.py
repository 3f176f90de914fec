"""Thumbnails of images: their size, their values, and images of any range."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from covmetric.descriptors import make_thumbnail


def test_small_images_are_kept():
    colour = np.random.default_rng(0).integers(256, size=(20, 30, 3))
    np.testing.assert_array_equal(make_thumbnail(colour), colour)
    grey = colour[..., 0]
    np.testing.assert_array_equal(make_thumbnail(grey), np.stack([grey] * 3, axis=-1))


@pytest.mark.parametrize("shape", [(200, 100), (100, 200, 3), (1000, 1), (64, 65)])
def test_large_images_keep_their_proportions(shape):
    thumbnail = make_thumbnail(np.full(shape, 7.0), size=32)
    assert thumbnail.dtype == np.uint8 and max(thumbnail.shape[:2]) == 32 and thumbnail.shape[2] == 3
    ratio = shape[0] / shape[1]
    assert abs(thumbnail.shape[0] - ratio * thumbnail.shape[1]) <= max(1.0, ratio)
    assert (thumbnail == 7).all()


def test_files_are_read(tmp_path):
    pixels = np.random.default_rng(0).integers(256, size=(90, 70, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "image.png")
    np.testing.assert_array_equal(make_thumbnail(tmp_path / "image.png"), make_thumbnail(pixels))


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ([[0.0, 0.5], [1.0, 0.25]], [[0, 128], [255, 64]]),
        ([[0, 65535]], [[0, 255]]),
        ([[-1.0, 0.0, 1.0]], [[0, 128, 255]]),
        ([[-1e308, 1e308]], [[0, 255]]),
        ([[7e4, 7e4]], [[0, 0]]),
        ([[0, 0]], [[0, 0]]),
        ([[0, 2]], [[0, 2]]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_values_of_other_ranges_are_stretched(image, expected):
    np.testing.assert_array_equal(make_thumbnail(image)[..., 0], expected)


def test_invalid_sizes_are_refused():
    with pytest.raises(ValueError, match="size must be an integer >= 1, got 0"):
        make_thumbnail(np.zeros((3, 3)), size=0)
