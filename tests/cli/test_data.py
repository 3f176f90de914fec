"""The data of `covmetric compare`."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.cli.data import read_data
from covmetric.datasets import load_series, make_textures


@pytest.fixture
def series():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 3, 20)), np.arange(24) % 2
    X[y == 1, 0] *= 3.0
    return X, y


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_matrices_are_read_unchanged(series, tmp_path):
    X, y = series
    matrices, groups = (X @ X.transpose(0, 2, 1)).astype(np.float32), np.arange(24) // 4
    data = read_data(save(tmp_path / "a.npz", X=matrices, y=y, groups=groups))
    assert data.content == "matrices"
    for found, expected in ((data.X, matrices), (data.y, y), (data.groups, groups)):
        np.testing.assert_array_equal(found, expected)


def test_series_become_covariances(series, tmp_path):
    X, y = series
    files = {
        "one": save(tmp_path / "one.npz", X=X, y=y),
        "two": save(tmp_path / "two.npz", X_train=X[:10], y_train=y[:10], X_test=X[10:], y_test=y[10:]),
    }
    expected = load_series(files["one"]).X
    for path in files.values():
        data = read_data(path)
        assert data.content == "shrunk covariances (OAS) of series" and data.groups is None
        np.testing.assert_array_equal(data.X, expected)
        np.testing.assert_array_equal(data.y, y)


def test_square_series_are_not_taken_for_matrices(series, tmp_path):
    X, y = series
    data = read_data(save(tmp_path / "square.npz", X=X[:, :, :3], y=y))
    assert data.X.shape == (24, 3, 3) and "series" in data.content


def test_kind_overrides_the_detection(series, tmp_path):
    X, y = series
    path = save(tmp_path / "a.npz", X=X @ X.transpose(0, 2, 1), y=y)
    assert "series" in read_data(path, "series").content
    path = save(tmp_path / "b.npz", X=X[:, :, :3], y=y)
    assert read_data(path, "matrices").content == "matrices"


@pytest.fixture
def images(tmp_path):
    """Grey and colour images of two classes with three objects each."""
    Image = pytest.importorskip("PIL.Image")
    textures = make_textures(n_classes=2, n_per_class=6, size=24)
    rng = np.random.default_rng(0)
    for i, (image, c) in enumerate(zip(textures.images.astype(np.uint8), textures.y, strict=True)):
        for kind in ("grey", "colour"):
            folder = tmp_path / kind / f"class {c}" / f"object {i % 3}"
            folder.mkdir(parents=True, exist_ok=True)
            coloured = np.clip(image[..., None] + rng.integers(0, 30, (24, 24, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(image if kind == "grey" else coloured).save(folder / f"{i}.png")
    return tmp_path


@pytest.mark.parametrize(("kind", "size"), [("grey", 5), ("colour", 9)])
def test_images_become_covariances_of_their_features(images, kind, size):
    data = read_data(images / kind)
    assert data.X.shape == (12, size, size) and data.content == f"covariances of {kind} features of images"
    assert set(data.y) == {"class 0", "class 1"} and len(set(data.groups)) == 6


def test_features_override_the_detection(images):
    assert read_data(images / "colour", features="grey").X.shape == (12, 5, 5)
    with pytest.raises(ValueError, match="needs a colour image"):
        read_data(images / "grey", features="colour")


def test_unreadable_image_is_named(images):
    (images / "grey" / "class 0" / "note.txt").write_text("not an image")
    with pytest.raises(ValueError, match=r"note\.txt"):
        read_data(images / "grey")


def test_missing_path_is_reported_with_the_expected_data(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"there is no file or folder .*; it must be a folder with one folder of images"
    ):
        read_data(tmp_path / "nothing.npz")


def test_folder_holds_images_only(tmp_path):
    with pytest.raises(ValueError, match=r"kind 'series': .* is a folder"):
        read_data(tmp_path, "series")
    with pytest.raises(FileNotFoundError, match="holds no images"):
        read_data(tmp_path)


def test_file_holds_no_images(series, tmp_path):
    path = save(tmp_path / "a.npz", X=series[0], y=series[1])
    with pytest.raises(ValueError, match="is a file, but images are read from a folder"):
        read_data(path, kind="images")
    with pytest.raises(ValueError, match="features are for images, but the examples are series"):
        read_data(path, features="grey")


@pytest.mark.parametrize("name", ["text.npz", "text.csv"])
def test_other_files_are_refused(name, tmp_path):
    (tmp_path / name).write_text("hello")
    with pytest.raises(ValueError, match=r"is not an \.npz"):
        read_data(tmp_path / name)
