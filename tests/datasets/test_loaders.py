"""Loaders of images, on folders made here and on the real ones."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.datasets import (
    load_brodatz,
    load_eth80,
    load_eth80_sets,
    load_image_folder,
    load_series,
    load_ssvep,
    make_textures,
)
from covmetric.descriptors import GridPatches, ImageCovariances, ImageSetCovariances

Image = pytest.importorskip("PIL.Image")


def save(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array, dtype=np.uint8)).save(path)
    return path


def colours(rows=24, columns=30, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (rows, columns, 3))


@pytest.fixture
def textures(tmp_path):
    data = make_textures(n_classes=3, n_per_class=1, size=64)
    for number, image in zip((1, 14, 112), data.images, strict=True):
        save(tmp_path / f"D{number}.gif", image)
    (tmp_path / "README.txt").write_text("not a texture")
    return tmp_path


def test_brodatz(textures):
    data = load_brodatz(textures, patches=3, size=16)
    assert data.X.shape == (2 * 4 * 3, 5, 5) and set(data.y) == {1, 112}  # D14 is left out
    np.testing.assert_array_equal(np.unique(data.groups, return_counts=True)[1], [6] * 4)
    corner = data.boxes[:, :2] // 32
    np.testing.assert_array_equal(2 * corner[:, 0] + corner[:, 1], data.groups)
    assert (data.boxes[:, :2] % 32 + 16 <= 32).all()  # no patch leaves its quarter
    np.testing.assert_array_equal(load_brodatz(textures, patches=3, size=16, n_jobs=2).X, data.X)
    with pytest.raises(ValueError, match=r"D1.gif has quarters of 32 x 32 pixels, smaller than a patch of 40"):
        load_brodatz(textures, size=40)


@pytest.mark.parametrize("classes", [True, False])
def test_eth80_under_both_layouts(tmp_path, classes):
    for name in ("apple", "car"):
        for number in (1, 2, 11):
            for azimuth in (0, 90):
                thing = f"{name}{number}"
                folder = tmp_path / name / thing if classes else tmp_path / thing
                save(folder / f"{thing}-035-{azimuth:03d}.png", colours(seed=number + azimuth))
                save(folder / "maps" / f"{thing}-035-{azimuth:03d}-map.png", colours(seed=1))
    data = load_eth80(tmp_path)
    assert data.X.shape == (12, 9, 9)
    assert data.y.tolist() == ["apple"] * 6 + ["car"] * 6
    assert data.groups[:6].tolist() == ["apple1"] * 2 + ["apple2"] * 2 + ["apple11"] * 2
    assert set(data.elevation) == {35} and data.azimuth[:2].tolist() == [0, 90]
    sets = load_eth80_sets(tmp_path, size=(4, 5))
    assert sets.X.shape == (6, 20, 20) and sets.groups.tolist() == list(dict.fromkeys(data.groups))


def test_image_sets_against_numpy():
    views = np.random.default_rng(0).uniform(0, 255, (2, 6, 8, 8))
    matrices = ImageSetCovariances(size=(8, 8), reg=0.01).fit_transform(views)
    for several, matrix in zip(views, matrices, strict=True):
        plain = np.cov(several.reshape(6, 64).T)
        np.testing.assert_allclose(matrix, plain + 0.01 * np.trace(plain) * np.eye(64), rtol=1e-4, atol=1e-2)
    halved = ImageSetCovariances(size=(2, 2), reg=0.0).fit_transform(np.kron(views[:, :, :2, :2], np.ones((4, 4))))
    assert halved.shape == (2, 4, 4) and np.linalg.eigvalsh(halved).min() > -1e-9
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
        ({}, [[np.ones((4, 4))]], r"X\[0\] has 1 images: a covariance needs two at least"),
    ],
)
def test_bad_image_sets(settings, X, message):
    with pytest.raises(ValueError, match=message):
        ImageSetCovariances(**settings).fit_transform(X)


def test_a_folder_of_ones_own(tmp_path):
    for name in ("cat", "dog"):
        for i in range(3):
            save(tmp_path / name / f"{i}.png", colours(seed=i))
    data = load_image_folder(tmp_path)
    assert data.X.shape == (6, 9, 9) and data.y.tolist() == ["cat"] * 3 + ["dog"] * 3 and data.groups is None
    save(tmp_path / "cat" / "tom" / "9.png", colours(seed=9))
    (tmp_path / "dog" / "broken.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"broken.png"):
        load_image_folder(tmp_path)
    descriptor = ImageCovariances("grey", regions=GridPatches(12, 12), errors="skip")
    with pytest.warns(UserWarning, match=r"broken.png"):
        data = load_image_folder(tmp_path, descriptor)
    assert data.X.shape == (7 * 4, 5, 5) and set(data.groups) == {"cat", "cat/tom", "dog"}
    assert [path.name for path, _ in data.skipped] == ["broken.png"]
    assert [path.name for path in data.paths[:5]] == ["0.png"] * 4 + ["1.png"]


@pytest.mark.parametrize("load", [load_brodatz, load_eth80, load_eth80_sets, lambda f: load_series("X", f), load_ssvep])
def test_missing_folders(load, tmp_path, monkeypatch):
    monkeypatch.delenv("COVMETRIC_DATA", raising=False)
    with pytest.raises(
        FileNotFoundError, match="no folder was given, and COVMETRIC_DATA is not set: give the folder that"
    ):
        load(None)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing: it should hold"):
        load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"holds no|there is no file"):
        load(tmp_path)
    monkeypatch.setenv("COVMETRIC_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        load(None)


@pytest.mark.shared
def test_the_real_brodatz(data_folder):
    data = load_brodatz(data_folder / "brodatz", patches=2)
    assert data.X.shape == (111 * 8, 5, 5) and len(np.unique(data.y)) == 111
    assert np.linalg.eigvalsh(data.X).min() > 0


def test_image_sets_keep_their_digits():
    views = np.random.default_rng(0).uniform(0, 255, (2, 6, 8, 8))
    plain = ImageSetCovariances(size=(4, 4)).fit_transform(views)
    np.testing.assert_allclose(ImageSetCovariances(size=(4, 4)).fit_transform(views + 1e6), plain, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ImageSetCovariances(size=(4, 4)).fit_transform(views * 1e-50), plain * 1e-100, rtol=1e-3)
    with pytest.raises(ValueError, match=r"the covariance of X\[0\] overflows: rescale its images"):
        ImageSetCovariances(size=(4, 4)).fit_transform(views * 1e200)
    with pytest.raises(ValueError, match=r"may be one set: write \[X\]"):
        ImageSetCovariances().fit_transform(np.ones((5, 40, 40, 3)))
    with pytest.raises(ValueError, match=r"X\[0\] is 'a.png': each entry must be a set of images"):
        ImageSetCovariances().fit_transform(["a.png", "b.png"])
    views[1, 2, 3, 4] = np.nan
    with pytest.raises(ValueError, match=r"X\[1\], image 2: .*nan"):
        ImageSetCovariances().fit_transform(views)


def test_masks_that_are_none():
    image = colours()
    for mask in (["alhpa"], ["mask.png"], [np.ones(3, dtype=bool)]):
        with pytest.raises(ValueError, match=r"mask\[0\] must be an array of truth values"):
            ImageCovariances(mask=mask).fit([image])
    with pytest.raises(ValueError, match="mask"):  # all of them failed: that is not a matter of single images
        ImageCovariances(mask=np.ones((2, 2), dtype=bool), errors="skip").fit_transform([image, image])


def test_sixteen_bits_per_colour_are_not_cut_silently(tmp_path):
    import struct
    import zlib

    rows = b"".join(b"\0" + np.full(3 * 4, 1000, dtype=">u2").tobytes() for _ in range(4))
    chunks = [(b"IHDR", struct.pack(">2L5B", 4, 4, 16, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">L", len(data)) + name + data + struct.pack(">L", zlib.crc32(name + data)) for name, data in chunks
    )
    (tmp_path / "deep.png").write_bytes(content)
    with pytest.raises(ValueError, match=r"deep.png.*16 bits per colour, of which Pillow keeps 8"):
        ImageCovariances("colour").fit_transform([tmp_path / "deep.png"])
