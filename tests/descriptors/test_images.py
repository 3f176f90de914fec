"""ImageCovariances: images of all kinds, masks, jobs, skipped images, settings."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from covmetric import CovMetricClassifier
from covmetric.descriptors.features import FEATURE_SETS, pixel_features
from covmetric.descriptors.images import ImageCovariances, _describe_batch, _Job
from covmetric.descriptors.reading import UnreadableImage, read_image
from covmetric.descriptors.regions import Boxes, GridPatches, RandomPatches, Whole, get_regions
from tests import naive
from tests.descriptors.images import COLOUR, GREY, numpy_covariances, write_damaged_files

ALPHA = np.where(np.indices((12, 15)).sum(axis=0) % 3 == 0, 0, 255).astype(np.uint8)


def test_describe_returns_the_image_and_the_box_of_each_matrix():
    boxes = [np.array([[0, 0, 4, 4], [2, 3, 5, 6]]), np.empty((0, 4), dtype=int), [[1, 1, 3, 3]]]
    found = ImageCovariances(["I", "Ix"], regions=Boxes(boxes)).describe([GREY, GREY, GREY[:8]])
    np.testing.assert_array_equal(found.image, [0, 0, 2])
    np.testing.assert_array_equal(found.boxes, [[0, 0, 4, 4], [2, 3, 5, 6], [1, 1, 3, 3]])
    assert found.skipped == []
    for matrix, image, box in zip(found.X, found.image, found.boxes, strict=True):
        expected = naive.region_covariance([GREY, GREY, GREY[:8]][image], ["I", "Ix"], box)
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)


def test_paths_arrays_and_pillow_images_agree(tmp_path):
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


def test_constant_images_have_zero_covariance():
    assert (ImageCovariances("grey").transform([np.full((6, 7), 0.1)]) == 0.0).all()
    dense = ImageCovariances(regions=GridPatches(4, 1)).describe([np.full((40, 40), 0.1)])
    assert (dense.X == 0.0).all() and len(dense.X) == 37**2


@pytest.mark.parametrize("kind", ["files", "arrays"])
def test_results_do_not_depend_on_the_number_of_jobs(tmp_path, kind):
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
def test_unreadable_images_are_skipped_on_request(tmp_path, n_jobs):
    names = write_damaged_files(tmp_path)
    images = [tmp_path / name for name in ("good.png", *names, "good.jpg", "nowhere.png")]
    with pytest.warns(UserWarning, match=rf"left out {len(names) + 1} of {len(images)} images, .*truncated.png"):
        found = ImageCovariances(errors="skip", n_jobs=n_jobs).describe(images)
    np.testing.assert_array_equal(found.image, [0, len(names) + 1])
    assert [index for index, _ in found.skipped] == [*range(1, len(names) + 1), len(names) + 2]
    assert "does not recognise the format" in dict(found.skipped)[list(names).index("text.png") + 1]
    with pytest.warns(UserWarning, match="fewer matrices than there are images"):
        assert ImageCovariances(errors="skip", n_jobs=n_jobs).transform(images).shape == (2, 5, 5)
    with pytest.raises(UnreadableImage, match=r"images\[1\]"):
        ImageCovariances(n_jobs=n_jobs).transform(images * 10)
    with pytest.raises(FileNotFoundError):  # no image is left
        ImageCovariances(errors="skip").describe(images[-1:])


def test_messages_name_the_image(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "small.png")
    with pytest.raises(ValueError, match=r"images\[1\] \('.*small.png'\): the image of 12 x 15 .* patch of 13 x 13"):
        ImageCovariances(regions=GridPatches(13)).describe([np.ones((20, 20)), tmp_path / "small.png"])
    with pytest.raises(
        ValueError, match=r"images\[0\] \('.*small.png'\): feature 'R' needs a colour image, .* mode 'L'"
    ):
        ImageCovariances("colour").transform([tmp_path / "small.png"])


@pytest.mark.parametrize(
    ("settings", "images", "message"),
    [
        ({}, "a.png", r"images must be a list of paths or arrays, got 'a.png'; write \[image\]"),
        ({}, Path(__file__).parent, "list the images of the folder, or use covmetric.datasets.load_image_folder"),
        ({}, GREY, r"\(l, rows, columns, 3\), got \(12, 15\); write \[image\]"),
        ({}, COLOUR, r"got \(12, 15, 3\); write \[image\]"),
        ({}, [], "images is empty"),
        ({}, 3, "got 3"),
        ({}, [np.full((3, 3), np.nan)], r"images\[0\]: the image\[0, 0\] is nan"),
        ({}, [np.ones((1, 1))], r"images\[0\]: boxes\[0\] = \[0, 0, 1, 1\] has 1 pixel"),
        (
            {"regions": GridPatches(5)},
            [GREY],
            r"needs one region per image, but images\[0\] has 6 .* call describe",
        ),
        ({"errors": "ignore"}, [GREY], "errors must be 'raise' or 'skip', got 'ignore'"),
        ({"mask": "opaque"}, [GREY], "mask must be None, 'alpha', a Boolean array, .*; got 'opaque'"),
        ({"mask": [GREY > 3] * 2}, [GREY], "mask must have one entry per image: it has 2, and there are 1 images"),
        ({"mask": [GREY > 300]}, [GREY], r"images\[0\]: boxes\[0\] .* has 0 pixel\(s\) in the mask"),
        ({"mask": [GREY]}, [GREY], "must be Boolean, got uint8"),
    ],
)
def test_invalid_settings_and_images_are_refused(settings, images, message):
    with pytest.raises(ValueError, match=message):
        ImageCovariances(**settings).transform(images)


def test_scikit_learn_conventions():
    estimator = ImageCovariances(["I", np.sqrt], regions=GridPatches(4, 2), errors="skip", n_jobs=2)
    copy = clone(estimator)
    assert copy.get_params()["regions"].size == 4 and copy.get_params()["errors"] == "skip"
    assert copy.set_params(regions=Whole()).fit([GREY]) is copy
    assert copy.feature_names_ == ["I", "sqrt"]
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again.transform([GREY]), copy.fit_transform([GREY]))
    assert "GridPatches" in repr(estimator)
    ImageCovariances("nonsense", regions=7, mask=3, errors=None)  # errors are raised by fit, not here
    with pytest.raises(ValueError, match="got 'nonsense'"):
        ImageCovariances("nonsense").fit([GREY])


def test_pipeline_with_a_classifier():
    rng = np.random.default_rng(0)
    rough, fine = rng.standard_normal((10, 20, 20)).cumsum(axis=2), rng.standard_normal((10, 20, 20))
    model = make_pipeline(ImageCovariances(["I", "Ix", "Iy"]), CovMetricClassifier())
    labels = np.repeat(["rough", "fine"], 10)
    assert model.fit(np.concatenate([rough, fine]), labels).score(np.concatenate([rough, fine]), labels) == 1.0


def test_verbose_shows_progress(capsys):
    ImageCovariances(verbose=1).transform([GREY] * 3)
    assert "3/3" in capsys.readouterr().err
    ImageCovariances().transform([GREY] * 3)
    assert capsys.readouterr().err == ""


def test_an_error_leaves_no_unfinished_jobs():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"images\[9\]"):
            ImageCovariances(n_jobs=2).transform([GREY] * 9 + [GREY[:0]] + [GREY] * 200)


def test_masks_select_pixels(tmp_path):
    Image.fromarray(np.concatenate([COLOUR, ALPHA[..., None]], axis=2)).save(tmp_path / "a.png")
    for mask in ("alpha", ALPHA > 0, [ALPHA > 0]):
        ours = ImageCovariances(["R", "G", "|Ix|"], mask=mask).fit_transform([tmp_path / "a.png"])[0]
        np.testing.assert_allclose(ours, np.cov(pixel_features(COLOUR, ["R", "G", "|Ix|"])[:, ALPHA > 0]), rtol=1e-12)


def test_invalid_masks_are_refused():
    for mask in (["alhpa"], ["mask.png"], [np.ones(3, dtype=bool)]):
        with pytest.raises(ValueError, match=r"mask\[0\] must be a Boolean array of shape \(rows, columns\) or None"):
            ImageCovariances(mask=mask).fit([COLOUR])
    with pytest.raises(ValueError, match="mask"):  # errors="skip" raises if no image is left
        ImageCovariances(mask=np.ones((2, 2), dtype=bool), errors="skip").fit_transform([COLOUR, COLOUR])


def test_unreadable_files_raise_with_their_index(tmp_path):
    for name in write_damaged_files(tmp_path):
        with pytest.raises(UnreadableImage, match=rf"images\[1\]: cannot read '.*{name}'"):
            ImageCovariances().transform([tmp_path / "good.png", tmp_path / name])
    with pytest.raises(FileNotFoundError, match=r"nowhere\.png"):
        ImageCovariances().transform([tmp_path / "nowhere.png"])


@pytest.mark.shared
def test_brodatz_textures(data_folder):
    paths = [data_folder / "brodatz" / f"D{k}.gif" for k in (1, 20, 43, 112)]
    images = [read_image(path) for path in paths]
    assert all(image.shape == (640, 640) for image in images)
    found = ImageCovariances(regions=RandomPatches(60, 64, 0), n_jobs=2).describe(paths)
    for k, image in enumerate(images):
        features = pixel_features(image, "grey")
        in_image = found.image == k
        np.testing.assert_allclose(
            found.X[in_image], numpy_covariances(features, found.boxes[in_image]), rtol=1e-9, atol=1e-9
        )
    box = [6, 7, 9, 11]
    expected = naive.region_covariance(images[0][:30, :30], FEATURE_SETS["grey"], box)
    patch = ImageCovariances(regions=Boxes([box])).transform([images[0][:30, :30]])[0]
    np.testing.assert_allclose(patch, expected, rtol=1e-12)


@pytest.mark.shared
def test_eth80_images(data_folder):
    paths = sorted((data_folder / "eth80").glob("*/*/*.webp"))[::300]
    X = ImageCovariances("colour").fit_transform(paths)
    expected = naive.region_covariance(read_image(paths[0]), FEATURE_SETS["colour"], [0, 0, 128, 128])
    np.testing.assert_allclose(X[0], expected, rtol=1e-10, atol=1e-9)
    assert (np.linalg.eigvalsh(X) > 0.0).all()


def test_failures_do_not_keep_the_pixels_of_their_images(tmp_path):
    Image.fromarray(np.zeros((20, 20), dtype=np.uint8)).save(tmp_path / "small.png")
    (tmp_path / "damaged.png").write_bytes((tmp_path / "small.png").read_bytes()[:40])
    regions = get_regions("grid", size=30)
    jobs = [_Job(i, tmp_path / name, None, regions) for i, name in enumerate(("small.png", "damaged.png"))]
    for failure in _describe_batch(jobs, ["I"], single_region=False):
        error = failure.error
        while error is not None:
            assert error.__traceback__ is None
            error = error.__cause__ or error.__context__


def test_lack_of_memory_for_the_allocation_hint_is_ignored(monkeypatch):
    monkeypatch.setattr("covmetric.descriptors.images.MALLOC_KEPT_BYTES", 2**60)
    assert ImageCovariances().transform([GREY]).shape == (1, 5, 5)
