"""load_brodatz, on simulated textures and on the real ones."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.datasets import load_brodatz, make_textures
from tests.datasets.images import save_image


@pytest.fixture
def textures(tmp_path):
    data = make_textures(n_classes=3, n_per_class=1, size=64)
    for number, image in zip((1, 14, 112), data.images, strict=True):
        save_image(tmp_path / f"D{number}.gif", image)
    (tmp_path / "README.txt").write_text("not a texture")
    return tmp_path


def test_patches_lie_in_their_quarters(textures):
    data = load_brodatz(textures, patches=3, size=16)
    assert data.X.shape == (2 * 4 * 3, 5, 5) and set(data.y) == {1, 112}  # D14 is excluded
    np.testing.assert_array_equal(np.unique(data.groups, return_counts=True)[1], [6] * 4)
    corner = data.boxes[:, :2] // 32
    np.testing.assert_array_equal(2 * corner[:, 0] + corner[:, 1], data.groups)
    assert (data.boxes[:, :2] % 32 + 16 <= 32).all()  # no patch leaves its quarter
    np.testing.assert_array_equal(load_brodatz(textures, patches=3, size=16, n_jobs=2).X, data.X)
    with pytest.raises(ValueError, match=r"D1.gif has quarters of 32 x 32 pixels, smaller than a patch of 40"):
        load_brodatz(textures, size=40)


def test_feature_names_match_the_matrices(textures):
    data = load_brodatz(textures, patches=1, size=16, features=["I", "|grad|"])
    assert data.X.shape[1:] == (2, 2) and data.feature_names == ["I", "|grad|"]


@pytest.mark.shared
def test_real_textures(data_folder):
    data = load_brodatz(data_folder / "brodatz", patches=2)
    assert data.X.shape == (111 * 8, 5, 5) and len(np.unique(data.y)) == 111
    assert np.linalg.eigvalsh(data.X).min() > 0
