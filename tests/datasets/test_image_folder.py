"""load_image_folder, on folders of random images."""

from __future__ import annotations

import pytest

from covmetric.datasets import load_image_folder
from covmetric.descriptors import GridPatches, ImageCovariances
from tests.datasets.images import random_colours, save_image


def test_classes_groups_and_damaged_files(tmp_path):
    for name in ("cat", "dog"):
        for i in range(3):
            save_image(tmp_path / name / f"{i}.png", random_colours(seed=i))
    data = load_image_folder(tmp_path)
    assert data.X.shape == (6, 9, 9) and data.y.tolist() == ["cat"] * 3 + ["dog"] * 3 and data.groups is None
    save_image(tmp_path / "cat" / "tom" / "9.png", random_colours(seed=9))
    (tmp_path / "dog" / "broken.png").write_bytes(b"not an image")
    with pytest.raises(ValueError, match=r"broken.png"):
        load_image_folder(tmp_path)
    descriptor = ImageCovariances("grey", regions=GridPatches(12, 12), errors="skip")
    with pytest.warns(UserWarning, match=r"broken.png"):
        data = load_image_folder(tmp_path, descriptor)
    assert data.X.shape == (7 * 4, 5, 5) and set(data.groups) == {"cat", "cat/tom", "dog"}
    assert [path.name for path, _ in data.skipped] == ["broken.png"]
    assert [path.name for path in data.paths[:5]] == ["0.png"] * 4 + ["1.png"]


def test_messages_name_no_option_of_the_command(tmp_path):
    save_image(tmp_path / "0.png", random_colours(seed=0))
    with pytest.raises(FileNotFoundError, match=r"put the images of each class into a folder of its own$"):
        load_image_folder(tmp_path)
