"""From images to covariance matrices: features, files, regions, integral images, the estimator."""

from __future__ import annotations

import pickle
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn.base import clone

from covmetric.descriptors import integral
from covmetric.descriptors.features import FEATURE_SETS, FEATURES, feature_names, pixel_features
from covmetric.descriptors.images import ImageCovariances
from covmetric.descriptors.integral import (
    box_covariances,
    direct_covariances,
    integral_covariances,
    predicted_costs,
)
from covmetric.descriptors.reading import UnreadableImage, read_image, read_image_and_mask
from covmetric.descriptors.regions import REGIONS, Boxes, GridPatches, RandomPatches, Regions, Whole, get_regions
from tests import naive

GREY = np.random.default_rng(0).integers(256, size=(12, 15)).astype(np.uint8)
COLOUR = np.random.default_rng(1).integers(256, size=(12, 15, 3)).astype(np.uint8)


def of_boxes(features, boxes, mask=None):
    """np.cov, box by box."""
    result = []
    for top, left, height, width in np.asarray(boxes).tolist():
        part = features[:, top : top + height, left : left + width]
        kept = slice(None) if mask is None else mask[top : top + height, left : left + width].ravel()
        result.append(np.cov(part.reshape(len(features), -1)[:, kept]).reshape(len(features), -1))
    return np.array(result)


def assert_like_numpy(features, boxes, mask=None):
    """Both ways and the chosen one: np.cov to 1e-10 of the image's variances, and none more indefinite than it."""
    expected = of_boxes(features, boxes, mask)
    kept = features.reshape(len(features), -1) if mask is None else features[:, mask]
    deviations = kept.std(axis=1)
    deviations[deviations == 0.0] = 1.0
    units = deviations[:, None] * deviations
    by_integral, trusted = integral_covariances(features, np.asarray(boxes), mask)
    direct = direct_covariances(features, np.asarray(boxes), mask)
    repaired = np.where(trusted[:, None, None], by_integral, direct)
    for result in (by_integral[trusted], direct, repaired, box_covariances(features, boxes, mask)):
        same = expected[trusted] if len(result) == trusted.sum() else expected
        assert np.abs((result - same) / units).max(initial=0.0) <= 1e-10
        np.testing.assert_array_equal(result, np.swapaxes(result, 1, 2))
    ours, theirs = (np.linalg.eigvalsh(matrices / units)[:, 0] for matrices in (repaired, expected))
    assert (ours >= np.minimum(theirs, 0.0) - 1e-14 * np.abs(expected / units).max(axis=(1, 2))).all()
    return trusted


# Features


@pytest.mark.parametrize("name", FEATURES)
def test_each_feature_is_the_literal_one(name):
    image = COLOUR if name in "RGB" else GREY
    names, box = [name, "I", "x"], [2, 3, 5, 7]
    ours = box_covariances(pixel_features(image, names), [box, [0, 0, *image.shape[:2]]])
    np.testing.assert_allclose(ours[0], naive.region_covariance(image, names, box), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(
        ours[1], naive.region_covariance(image, names, [0, 0, *image.shape[:2]]), rtol=1e-12, atol=1e-9
    )


@pytest.mark.parametrize(("name", "image"), [("grey", GREY), ("grey", COLOUR), ("colour", COLOUR)])
def test_feature_sets(name, image):
    ours = ImageCovariances(name).fit_transform([image])[0]
    expected = naive.region_covariance(image, FEATURE_SETS[name], [0, 0, *image.shape[:2]])
    np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-9)


def test_features_of_the_users_own():
    def root(image):
        return np.sqrt(image)

    features = pixel_features(GREY, [root, "I", lambda image: image > 100])
    np.testing.assert_array_equal(features[0], np.sqrt(GREY.astype(float)))
    np.testing.assert_array_equal(features[2], GREY > 100)
    assert feature_names([root, "I", lambda image: image]) == ["root", "I", "feature2"]

    def rude(image):
        image += 1.0

    with pytest.raises(ValueError, match="read-only"):
        pixel_features(GREY, [rude])
    with pytest.raises(ValueError, match=r"feature 'sum' must return real numbers of shape \(12, 15\), got"):
        pixel_features(GREY, [np.sum])
    hole = np.zeros((12, 15))
    hole[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"feature 'feature0' is nan at pixel \[2, 3\]"):
        pixel_features(GREY, [lambda image: image + hole])


def test_the_image_is_left_alone():
    image = GREY.astype(float)
    image.flags.writeable = False
    pixel_features(image, [*FEATURE_SETS["grey"], "|grad|"])
    np.testing.assert_array_equal(image, GREY)


@pytest.mark.parametrize(
    ("image", "features", "message"),
    [
        (GREY, "gray", "features must be 'grey' or 'colour', or a list of features; got 'gray'"),
        (GREY, "Ix", r"for the single feature write \['Ix'\]"),
        (GREY, [], r"got \[\]"),
        (GREY, ["I", "Iz"], r"features\[1\] must be a function or one of 'x', 'y', 'I', .*'angle'; got 'Iz'"),
        (GREY, 3, "got 3"),
        (GREY, "colour", r"feature 'R' needs a colour image, and this one is grey, of shape \(12, 15\)"),
        (GREY[0], "grey", r"must have shape \(rows, columns\) or \(rows, columns, 3\), got \(15,\)"),
        (np.zeros((4, 5, 4)), "grey", r"got \(4, 5, 4\); take image\[..., :3\]"),
        (np.zeros((4, 5, 1)), "grey", r"take image\[..., 0\]"),
        (np.zeros((0, 5)), "grey", r"no pixels: its shape is \(0, 5\)"),
        (np.array([[1.0, 2.0], [np.nan, 3.0]]), "grey", r"image\[1, 0\] is nan"),
        (np.array([["a"]]), "grey", "array of numbers, got dtype <U1"),
        ([[1.0], [1.0, 2.0]], "grey", "array of numbers"),
        (GREY + 1j, "grey", "dtype complex128"),
    ],
)
def test_bad_features_and_images(image, features, message):
    with pytest.raises(ValueError, match=message):
        pixel_features(image, features)


# Integral images


def smooth(rows, columns, noise):
    """Waves, a ramp, and a feature that is their sum but for some noise."""
    y, x = np.mgrid[:rows, :columns].astype(float)
    rng = np.random.default_rng(0)
    wave, ramp = np.sin(x / 9) * np.cos(y / 7), x + 2 * y
    return np.stack([wave, ramp, wave + ramp / 50 + noise * rng.standard_normal(wave.shape)])


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
@pytest.mark.parametrize("regions", [GridPatches(8, 2), GridPatches(9, 5), RandomPatches(400, (5, 17), 0)])
def test_integral_with_offsets(offset, regions):
    features = np.random.default_rng(0).standard_normal((4, 90, 110)) * [[[1.0]], [[1e3]], [[1e-3]], [[7.0]]]
    boxes = regions.for_images(1)[0].select((90, 110), 0)
    assert assert_like_numpy(features + offset * features.std(axis=(1, 2), keepdims=True), boxes).all()


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_integral_of_smooth_images(noise, offset):
    trusted = assert_like_numpy(smooth(80, 70, noise) + offset, GridPatches(12, 3).select((80, 70), 0))
    assert trusted.all() if noise == 1.0 else noise > 1e-6 or not trusted.any()


def test_integral_of_constant_patches():
    """A black half: exactly zero there; and a feature that is constant everywhere."""
    features = np.random.default_rng(0).standard_normal((3, 60, 60))
    features[0, :, :30] = 0.1
    features[2] = 0.3
    boxes = GridPatches(10, 2).select((60, 60), 0)
    trusted = assert_like_numpy(features, boxes)
    ours = box_covariances(features, boxes)
    flat = boxes[:, 1] <= 20
    assert not trusted[flat].any() and trusted[~flat & (boxes[:, 1] > 21)].all()
    assert (ours[flat, 0] == 0.0).all() and (ours[flat, :, 0] == 0.0).all()
    assert (ours[:, 2] == 0.0).all() and (ours[:, :, 2] == 0.0).all()
    assert (ours[:, 1, 1] > 0.0).all()


def test_integral_of_a_faint_patch_beside_a_bright_one():
    """A part whose contrast is a billionth of the rest: np.cov's digits, not the integral's."""
    features = np.random.default_rng(0).standard_normal((2, 64, 64))
    features[:, :, :40] *= 1e-9
    boxes = GridPatches(8, 1).select((64, 64), 0)
    assert_like_numpy(features, boxes)
    np.testing.assert_allclose(box_covariances(features, boxes), of_boxes(features, boxes), rtol=1e-5, atol=1e-22)


def test_integral_of_singular_features():
    grey = np.random.default_rng(0).integers(256, size=(64, 64))
    features = pixel_features(np.stack([grey] * 3, axis=-1), "colour")
    assert not assert_like_numpy(features, GridPatches(8, 2).select((64, 64), 0)).any()


def test_one_bright_pixel():
    """Far from the mean in units of the image's deviation, which is where the products cancel."""
    features = np.random.default_rng(0).standard_normal((2, 200, 200))
    features[:, 7, 9] = 1e7
    assert_like_numpy(features, GridPatches(6, 3).select((200, 200), 0))


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_masks(share):
    rng = np.random.default_rng(0)
    features, mask = rng.standard_normal((3, 50, 60)) + 1e6, rng.random((50, 60)) < share
    features[:, ~mask] = 1e9
    assert assert_like_numpy(features, GridPatches(12, 2).select((50, 60), 0), mask).all()


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 4), st.integers(2, 40), st.integers(2, 40)),
    offset=st.sampled_from([0.0, 1.0, -1e6]),
    scale=st.sampled_from([1e-100, 1e-6, 1.0, 1e100]),
    levels=st.integers(2, 50),
    masked=st.booleans(),
)
def test_integral_is_numpys_covariance(seed, shape, offset, scale, levels, masked):
    """Few levels make constant patches and dependent features likely."""
    rng = np.random.default_rng(seed)
    features = scale * (rng.integers(levels, size=shape) + offset)
    mask = rng.random(shape[1:]) < 0.7 if masked else None
    tops, lefts = rng.integers(shape[1] - 1, size=30), rng.integers(shape[2] - 1, size=30)
    heights, widths = rng.integers(2, shape[1] - tops + 1), rng.integers(2, shape[2] - lefts + 1)
    boxes = np.stack([tops, lefts, heights, widths], axis=1)
    if mask is not None:
        boxes = boxes[[mask[t : t + h, left : left + w].sum() > 1 for t, left, h, w in boxes]]
    if len(boxes):
        assert_like_numpy(features, boxes, mask)


def test_small_patches_of_a_large_image():
    """Small sums out of large ones; with a step in the image too large ones, which the bound of the error notices."""
    features = np.abs(np.random.default_rng(0).standard_normal((1, 2000, 1500))) + 1e6
    boxes = RandomPatches(200, 2, 0).for_images(1)[0].select((2000, 1500), 0)
    assert assert_like_numpy(features, boxes).sum() > 190
    features[:, :, 700:] += 3.0
    assert not assert_like_numpy(features, boxes).any()


def test_the_cheaper_way_is_taken(monkeypatch):
    features = np.random.default_rng(0).standard_normal((2, 64, 64))
    taken = []
    monkeypatch.setattr(integral, "integral_covariances", lambda *a: taken.append(a) or integral_covariances(*a))
    box_covariances(features, [[0, 0, 64, 64]])
    assert not taken
    box_covariances(features, GridPatches(16, 1).select((64, 64), 0))
    assert taken
    assert predicted_costs((5, 640, 640), np.empty((0, 4), dtype=int)) == (0.0, 0.0)
    assert box_covariances(features, np.empty((0, 4), dtype=int)).shape == (0, 2, 2)


@pytest.mark.parametrize(
    ("features", "boxes", "mask", "message"),
    [
        (np.zeros((4, 4)), [[0, 0, 2, 2]], None, r"shape \(d, rows, columns\), got \(4, 4\)"),
        (np.full((1, 4, 4), np.inf), [[0, 0, 2, 2]], None, r"features\[0, 0, 0\] is inf"),
        (np.zeros((1, 4, 4)), [[0, 0, 1, 1]], None, r"boxes\[0\] = \[0, 0, 1, 1\] has 1 pixel\(s\): a covariance"),
        (np.zeros((1, 4, 4)), [[0, 0, 2, 2]], np.zeros((4, 4), dtype=bool), r"has 0 pixel\(s\) of the mask"),
        (np.zeros((1, 4, 4)), [[0, 0, 2, 2]], np.zeros((4, 5), dtype=bool), r"mask has shape \(4, 5\), but the image"),
        (np.zeros((1, 4, 4)), [[0, 0, 2, 2]], np.zeros((4, 4)), "must hold truth values, got float64"),
        (np.zeros((1, 4, 4)), [[0, 3, 2, 2]], None, r"boxes\[0\] = \[0, 3, 2, 2\] .* not inside the image of 4 x 4"),
        (np.zeros((1, 4, 4)), [[0, 0, 0, 2]], None, r"boxes\[0\]"),
        (np.zeros((1, 4, 4)), [[2**62, 0, 2**62, 2]], None, "not inside"),
        (np.zeros((1, 4, 4)), [[0.0, 0.0, 2.0, 2.0]], None, "integers of shape"),
        (np.zeros((1, 4, 4)), [[0, 0], [1]], None, "integers"),
        (np.eye(4)[None] * 1e200, [[0, 0, 4, 4]], None, "overflows: rescale the features"),
    ],
)
def test_bad_boxes(features, boxes, mask, message):
    with pytest.raises(ValueError, match=message):
        box_covariances(features, boxes, mask)


# Files


ALPHA = np.where(np.indices((12, 15)).sum(axis=0) % 3 == 0, 0, 255).astype(np.uint8)
DEEP = np.random.default_rng(2).integers(65536, size=(12, 15)).astype(np.uint16)
REAL = np.random.default_rng(3).standard_normal((12, 15)).astype(np.float32) * 1e6


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("grey.png", GREY),
        ("colour.png", COLOUR),
        ("deep.png", DEEP),
        ("deep.tiff", DEEP),
        ("swapped.tiff", DEEP.astype(">u2")),
        ("long.tiff", DEEP.astype(np.int32) * 1000 - 5),
        ("real.tiff", REAL),
    ],
)
def test_files_keep_their_values(tmp_path, name, array):
    Image.fromarray(array).save(tmp_path / name)
    for source in (tmp_path / name, str(tmp_path / name), array):
        np.testing.assert_array_equal(read_image(source), array.astype(float))
    assert read_image_and_mask(tmp_path / name)[1].all()


@pytest.mark.parametrize(
    ("mode", "name"), [("RGBA", "a.png"), ("LA", "a.png"), ("RGBA", "a.webp"), ("PA", "a.png"), ("RGBa", None)]
)
def test_alpha_is_dropped_or_a_mask(tmp_path, mode, name):
    values = GREY if mode == "LA" else COLOUR // 64 * 64
    image = Image.fromarray(np.concatenate([np.atleast_3d(values), ALPHA[..., None]], axis=2))
    if name is None:
        path, image = None, image.convert(mode)
        values = np.where(ALPHA[..., None] > 0, values, 0)  # colours of premultiplied transparent pixels are lost
    elif mode == "PA":
        path = tmp_path / name
        image.quantize(256, method=Image.Quantize.FASTOCTREE).save(path)
        with Image.open(path) as opened:
            assert opened.mode == "P" and isinstance(opened.info["transparency"], bytes)
            values = np.asarray(opened.convert("RGBA"))[..., :3]
    else:
        path = tmp_path / name
        image.save(path, **({"lossless": True, "exact": True} if name.endswith("webp") else {}))
    source = image if path is None else path
    pixels, mask = read_image_and_mask(source)
    np.testing.assert_array_equal(pixels, values)
    np.testing.assert_array_equal(mask, ALPHA > 0)
    np.testing.assert_array_equal(read_image(source), values)


def test_masked_by_alpha(tmp_path):
    Image.fromarray(np.concatenate([COLOUR, ALPHA[..., None]], axis=2)).save(tmp_path / "a.png")
    for mask in ("alpha", ALPHA > 0, [ALPHA > 0]):
        ours = ImageCovariances(["R", "G", "|Ix|"], mask=mask).fit_transform([tmp_path / "a.png"])[0]
        np.testing.assert_allclose(ours, np.cov(pixel_features(COLOUR, ["R", "G", "|Ix|"])[:, ALPHA > 0]), rtol=1e-12)


def test_transparent_colour_of_grey_and_rgb(tmp_path):
    """PNG can declare a single value transparent."""
    Image.fromarray(GREY).save(tmp_path / "grey.png", transparency=int(GREY[3, 4]))
    pixels, mask = read_image_and_mask(tmp_path / "grey.png")
    np.testing.assert_array_equal(pixels, GREY)
    np.testing.assert_array_equal(mask, GREY[3, 4] != GREY)
    Image.fromarray(COLOUR).save(tmp_path / "rgb.png", transparency=tuple(COLOUR[3, 4].tolist()))
    pixels, mask = read_image_and_mask(tmp_path / "rgb.png")
    np.testing.assert_array_equal(pixels, COLOUR)
    assert not mask[3, 4] and mask.sum() >= mask.size - 2


@pytest.mark.parametrize(
    ("mode", "name"),
    [("P", "p.gif"), ("P", "p.png"), ("CMYK", "c.tiff"), ("YCbCr", "y.tiff"), ("LAB", "l.tiff"), ("1", "b.png")],
)
def test_modes_are_converted(tmp_path, mode, name):
    image = Image.fromarray(COLOUR).convert("RGB")
    image = image.quantize(256) if mode == "P" else image
    if mode == "LAB":
        from PIL import ImageCms

        lab = ImageCms.createProfile("LAB")
        image = ImageCms.profileToProfile(image, ImageCms.createProfile("sRGB"), lab, outputMode="LAB")
    else:
        image = image.convert(mode)
    image.save(tmp_path / name)
    with Image.open(tmp_path / name) as opened:
        assert opened.mode == mode
        expected = np.asarray(opened.convert("L" if mode == "1" else "RGB"), dtype=float)
    np.testing.assert_array_equal(read_image(tmp_path / name), expected)
    np.testing.assert_array_equal(read_image(image), expected)
    # Conversions of 8 bits round; what is read is the image that was written.
    if mode in ("P", "CMYK"):
        assert np.abs(expected - COLOUR).mean() < (1.0 if mode == "CMYK" else 12.0)
    if mode == "1":
        assert set(np.unique(expected)) == {0.0, 255.0}


def test_hsv_image():
    np.testing.assert_allclose(read_image(Image.fromarray(COLOUR).convert("HSV")), COLOUR, atol=8)


def broken(folder):
    """Files that are no images, with what is said of them."""
    Image.fromarray(COLOUR.repeat(20, 0).repeat(20, 1)).save(folder / "good.png")
    Image.fromarray(COLOUR.repeat(20, 0).repeat(20, 1)).save(folder / "good.jpg")
    for kind in ("png", "jpg"):
        data = (folder / f"good.{kind}").read_bytes()
        (folder / f"truncated.{kind}").write_bytes(data[: len(data) // 2])
        (folder / f"header.{kind}").write_bytes(data[:10])
        (folder / f"corrupt.{kind}").write_bytes(data[:60] + bytes(200) + data[260:])
    (folder / "empty.png").write_bytes(b"")
    (folder / "text.png").write_text("not an image at all")
    return {
        "truncated.png": "", "truncated.jpg": "truncated", "header.png": "", "header.jpg": "", "corrupt.png": "",
        "empty.png": "the file is empty", "text.png": r"none of the image formats that Pillow knows \(19 bytes\)",
    }  # fmt: skip


def test_broken_files(tmp_path):
    for name, reason in broken(tmp_path).items():
        with pytest.raises(UnreadableImage, match=rf"cannot read '.*{name}': .*{reason}"):
            read_image(tmp_path / name)
        with pytest.raises(UnreadableImage, match=rf"images\[1\]: cannot read '.*{name}'"):
            ImageCovariances().transform([tmp_path / "good.png", tmp_path / name])
    assert issubclass(UnreadableImage, ValueError)


def test_missing_files_stay_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.png"):
        ImageCovariances().transform([tmp_path / "nowhere.png"])
    with pytest.raises(IsADirectoryError):
        read_image(tmp_path)


def test_bombs(tmp_path, monkeypatch):
    Image.fromarray(GREY).save(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50)
    with pytest.raises(UnreadableImage, match=r"bomb.png': Image size \(180 pixels\) exceeds limit of 100 pixels"):
        read_image(tmp_path / "bomb.png")


def test_unknown_modes():
    image = Image.fromarray(GREY)
    image._mode = "XYZ"
    with pytest.raises(UnreadableImage, match="mode 'XYZ' is unknown here; convert it to 'RGB'"):
        read_image(image)


def test_without_pillow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    np.testing.assert_array_equal(read_image(GREY), GREY)
    with pytest.raises(ImportError, match=r'needs the package pillow: pip install "covmetric\[images\]"'):
        ImageCovariances().transform([tmp_path / "a.png"])


# Regions


@pytest.mark.parametrize("name", REGIONS)
def test_regions_are_inside(name):
    settings = {"random": {"count": 200, "size": (3, 5)}, "grid": {"size": 3, "stride": (2, 1)}}
    regions = get_regions(name, **settings.get(name, {"boxes": [[1, 2, 3, 4]]} if name == "boxes" else {}))
    assert regions.name == name and isinstance(regions, Regions)
    boxes = regions.for_images(1)[0].select((7, 9), 0)
    assert boxes.dtype == np.int64 and boxes.shape[1] == 4
    assert (boxes[:, :2] >= 0).all() and (boxes[:, :2] + boxes[:, 2:] <= [7, 9]).all()
    assert repr(regions).startswith(type(regions).__name__)
    assert repr(pickle.loads(pickle.dumps(regions))) == repr(regions)


def test_random_patches_reach_every_place_and_keep_to_their_seed():
    regions = RandomPatches(500, (6, 8), random_state=3).for_images(2)[0]
    boxes = regions.select((8, 9), 0)
    assert {tuple(box[:2]) for box in boxes.tolist()} == {(top, left) for top in range(3) for left in range(2)}
    np.testing.assert_array_equal(boxes, regions.select((8, 9), 0))
    assert not np.array_equal(boxes, regions.select((8, 9), 1))
    assert not np.array_equal(boxes, RandomPatches(500, (6, 8), random_state=4).for_images(1)[0].select((8, 9), 0))
    fresh = RandomPatches(500, (6, 8))
    assert not np.array_equal(fresh.for_images(1)[0].select((8, 9), 0), fresh.for_images(1)[0].select((8, 9), 0))
    drawn = RandomPatches(5, 3, np.random.default_rng(0)).for_images(1)[0].select((8, 9), 0)
    np.testing.assert_array_equal(
        drawn, RandomPatches(5, 3, np.random.default_rng(0)).for_images(1)[0].select((8, 9), 0)
    )


def test_grid_patches_are_all_that_fit():
    boxes = GridPatches((2, 3), stride=(2, 4)).select((5, 11), 0)
    np.testing.assert_array_equal(boxes[:, :2], [[t, left] for t in (0, 2) for left in (0, 4, 8)])
    assert len(GridPatches(5).select((11, 5), 0)) == 2


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ("tiles", "regions must be one of 'whole', 'random', 'grid', 'boxes', or an object of the class Regions"),
        ("boxes", "regions 'boxes' does not take these settings"),
        (RandomPatches(0), "count must be an integer >= 1, got 0"),
        (RandomPatches(3, 2.5), "size must be an integer >= 1, or two of them"),
        (RandomPatches(3, 2, "seed"), "random_state must be"),
        (GridPatches(0), "size must be an integer >= 1"),
        (GridPatches(3, (1, 0)), r"stride must be an integer >= 1, or two of them \(height, width\); got \(1, 0\)"),
        (GridPatches(13), r"images\[0\]: the image of 12 x 15 pixels is smaller than a patch of 13 x 13"),
        (RandomPatches(2, (3, 16), 0), "the image of 12 x 15 pixels is smaller than a patch of 3 x 16"),
        (Boxes([[0, 0, 12, 15], [10, 0, 3, 3]]), r"images\[0\]: boxes\[1\] = \[10, 0, 3, 3\] .* of 12 x 15 pixels"),
        (Boxes([[[0, 0, 2, 2]], [[0, 0, 3, 3]]]), "entry for each of 2 images, but there are 1"),
        (Boxes(7), r"boxes must be an array \(k, 4\), or a list of such arrays; got 7"),
        (Boxes([[0, 0, 1, 1]]), r"has 1 pixel\(s\)"),
    ],
)
def test_bad_regions(regions, message):
    with pytest.raises(ValueError, match=message):
        ImageCovariances(regions=regions).describe([GREY])


# The estimator


def test_describe_says_where_each_matrix_comes_from():
    boxes = [np.array([[0, 0, 4, 4], [2, 3, 5, 6]]), np.empty((0, 4), dtype=int), [[1, 1, 3, 3]]]
    found = ImageCovariances(["I", "Ix"], regions=Boxes(boxes)).describe([GREY, GREY, GREY[:8]])
    np.testing.assert_array_equal(found.image, [0, 0, 2])
    np.testing.assert_array_equal(found.boxes, [[0, 0, 4, 4], [2, 3, 5, 6], [1, 1, 3, 3]])
    assert found.skipped == []
    for matrix, image, box in zip(found.X, found.image, found.boxes, strict=True):
        expected = naive.region_covariance([GREY, GREY, GREY[:8]][image], ["I", "Ix"], box)
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)


def test_images_of_all_kinds_agree(tmp_path):
    Image.fromarray(COLOUR).save(tmp_path / "a.png")
    expected = ImageCovariances("colour").fit_transform([COLOUR, COLOUR])
    path = tmp_path / "a.png"
    for images in (
        np.stack([COLOUR, COLOUR]),
        [path, str(path)],
        np.array([str(path)] * 2),
        [Image.fromarray(COLOUR), COLOUR.tolist()],
        (image for image in (COLOUR, path)),
    ):
        np.testing.assert_array_equal(ImageCovariances("colour").transform(images), expected)
    assert ImageCovariances().fit_transform(np.stack([GREY] * 3)).shape == (3, 5, 5)


def test_one_colour_is_zero():
    assert (ImageCovariances("grey").transform([np.full((6, 7), 0.1)]) == 0.0).all()
    dense = ImageCovariances(regions=GridPatches(4, 1)).describe([np.full((40, 40), 0.1)])
    assert (dense.X == 0.0).all() and len(dense.X) == 37**2


@pytest.mark.parametrize("kind", ["files", "arrays"])
def test_the_same_bits_for_any_number_of_jobs(tmp_path, kind):
    images = [np.random.default_rng(k).integers(256, size=(40, 30 + k)).astype(np.uint8) for k in range(20)]
    if kind == "files":
        for k, image in enumerate(images):
            Image.fromarray(image).save(tmp_path / f"{k}.png")
        images = [tmp_path / f"{k}.png" for k in range(20)]
    for regions in (RandomPatches(30, 9, random_state=0), GridPatches(8, 2)):
        one, two = (ImageCovariances(regions=regions, n_jobs=n).describe(images) for n in (1, 2))
        for key in ("X", "image", "boxes"):
            np.testing.assert_array_equal(one[key], two[key])
    few = ImageCovariances(regions=RandomPatches(30, 9, random_state=0)).describe(images[:3])
    many = ImageCovariances(regions=RandomPatches(30, 9, random_state=0)).describe(images)
    np.testing.assert_array_equal(few.X, many.X[:90])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_skipped_images(tmp_path, n_jobs):
    names = broken(tmp_path)
    images = [tmp_path / name for name in ("good.png", *names, "good.jpg", "nowhere.png")]
    with pytest.warns(UserWarning, match=rf"left out {len(names) + 1} of {len(images)} images, .*truncated.png"):
        found = ImageCovariances(errors="skip", n_jobs=n_jobs).describe(images)
    np.testing.assert_array_equal(found.image, [0, len(names) + 1])
    assert [index for index, _ in found.skipped] == [*range(1, len(names) + 1), len(names) + 2]
    assert "none of the image formats" in dict(found.skipped)[list(names).index("text.png") + 1]
    with pytest.warns(UserWarning, match="fewer matrices than there are images"):
        assert ImageCovariances(errors="skip", n_jobs=n_jobs).transform(images).shape == (2, 5, 5)
    with pytest.raises(UnreadableImage, match=r"images\[1\]"):
        ImageCovariances(n_jobs=n_jobs).transform(images * 10)
    with pytest.raises(FileNotFoundError):  # where nothing is left, it is not a matter of single images
        ImageCovariances(errors="skip").describe(images[-1:])


def test_names_of_images_in_messages(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "small.png")
    with pytest.raises(ValueError, match=r"images\[1\] \('.*small.png'\): the image of 12 x 15 .* patch of 13 x 13"):
        ImageCovariances(regions=GridPatches(13)).describe([np.ones((20, 20)), tmp_path / "small.png"])
    with pytest.raises(ValueError, match=r"images\[0\] \('.*small.png'\): feature 'R' needs a colour image"):
        ImageCovariances("colour").transform([tmp_path / "small.png"])


@pytest.mark.parametrize(
    ("settings", "images", "message"),
    [
        ({}, "a.png", r"images must be a list of paths or arrays, got 'a.png'; write \[image\]"),
        ({}, GREY, r"\(l, rows, columns, 3\), got \(12, 15\); write \[image\]"),
        ({}, COLOUR, r"got \(12, 15, 3\); write \[image\]"),
        ({}, [], "images is empty"),
        ({}, 3, "got 3"),
        ({}, [np.full((3, 3), np.nan)], r"images\[0\]: the image\[0, 0\] is nan"),
        ({}, [np.ones((1, 1))], r"images\[0\]: boxes\[0\] = \[0, 0, 1, 1\] has 1 pixel"),
        (
            {"regions": GridPatches(5)},
            [GREY],
            r"needs one region of each image, and images\[0\] has 6 .* call describe",
        ),
        ({"errors": "ignore"}, [GREY], "errors must be 'raise' or 'skip', got 'ignore'"),
        ({"mask": "opaque"}, [GREY], "mask must be None, 'alpha', .*; got 'opaque'"),
        ({"mask": [GREY > 3] * 2}, [GREY], "mask has an entry for each of 2 images, but there are 1"),
        ({"mask": [GREY > 300]}, [GREY], r"images\[0\]: boxes\[0\] .* has 0 pixel\(s\) of the mask"),
        ({"mask": [GREY]}, [GREY], "must hold truth values, got uint8"),
    ],
)
def test_bad_settings(settings, images, message):
    with pytest.raises(ValueError, match=message):
        ImageCovariances(**settings).transform(images)


def test_scikit_learns_conventions():
    estimator = ImageCovariances(["I", np.sqrt], regions=GridPatches(4, 2), errors="skip", n_jobs=2)
    copy = clone(estimator)
    assert copy.get_params()["regions"].size == 4 and copy.get_params()["errors"] == "skip"
    assert copy.set_params(regions=Whole()).fit([GREY]) is copy
    assert copy.feature_names_ == ["I", "sqrt"]
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again.transform([GREY]), copy.fit_transform([GREY]))
    assert "GridPatches" in repr(estimator)
    ImageCovariances("nonsense", regions=7, mask=3, errors=None)  # what is wrong is said by fit
    with pytest.raises(ValueError, match="got 'nonsense'"):
        ImageCovariances("nonsense").fit([GREY])


def test_in_a_pipeline():
    from sklearn.pipeline import make_pipeline

    from covmetric import CovMetricClassifier

    rng = np.random.default_rng(0)
    rough, fine = rng.standard_normal((10, 20, 20)).cumsum(axis=2), rng.standard_normal((10, 20, 20))
    model = make_pipeline(ImageCovariances(["I", "Ix", "Iy"]), CovMetricClassifier())
    labels = np.repeat(["rough", "fine"], 10)
    assert model.fit(np.concatenate([rough, fine]), labels).score(np.concatenate([rough, fine]), labels) == 1.0


def test_progress(capsys):
    ImageCovariances(verbose=1).transform([GREY] * 3)
    assert "3/3" in capsys.readouterr().err
    ImageCovariances().transform([GREY] * 3)
    assert capsys.readouterr().err == ""


def test_no_warnings_of_unfinished_jobs():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"images\[9\]"):
            ImageCovariances(n_jobs=2).transform([GREY] * 9 + [GREY[:0]] + [GREY] * 200)


@pytest.mark.shared
def test_brodatz(data_folder):
    paths = [data_folder / "brodatz" / f"D{k}.gif" for k in (1, 20, 43, 112)]
    images = [read_image(path) for path in paths]
    assert all(image.shape == (640, 640) for image in images)
    found = ImageCovariances(regions=RandomPatches(60, 64, 0), n_jobs=2).describe(paths)
    for k, image in enumerate(images):
        features = pixel_features(image, "grey")
        of_image = found.image == k
        np.testing.assert_allclose(found.X[of_image], of_boxes(features, found.boxes[of_image]), rtol=1e-9, atol=1e-9)
        assert_like_numpy(features + 1e6, GridPatches(32, 16).select((640, 640), 0))
    top = [6, 7, 9, 11]
    expected = naive.region_covariance(images[0][:30, :30], FEATURE_SETS["grey"], top)
    patch = ImageCovariances(regions=Boxes([top])).transform([images[0][:30, :30]])[0]
    np.testing.assert_allclose(patch, expected, rtol=1e-12)


@pytest.mark.shared
def test_eth80(data_folder):
    paths = sorted((data_folder / "eth80").glob("*/*/*.webp"))[::300]
    X = ImageCovariances("colour").fit_transform(paths)
    expected = naive.region_covariance(read_image(paths[0]), FEATURE_SETS["colour"], [0, 0, 128, 128])
    np.testing.assert_allclose(X[0], expected, rtol=1e-10, atol=1e-9)
    assert (np.linalg.eigvalsh(X) > 0.0).all()
