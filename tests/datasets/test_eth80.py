"""load_eth80 and load_eth80_sets, on folders of random images."""

from __future__ import annotations

import pytest

from covmetric.datasets import load_eth80, load_eth80_sets
from tests.datasets.images import random_colours, save_image


@pytest.mark.parametrize("with_class_folders", [True, False])
def test_both_folder_layouts_give_the_same_fields(tmp_path, with_class_folders):
    for name in ("apple", "car"):
        for number in (1, 2, 11):
            for azimuth in (0, 90):
                thing = f"{name}{number}"
                folder = tmp_path / name / thing if with_class_folders else tmp_path / thing
                save_image(folder / f"{thing}-035-{azimuth:03d}.png", random_colours(seed=number + azimuth))
                save_image(folder / "maps" / f"{thing}-035-{azimuth:03d}-map.png", random_colours(seed=1))
    data = load_eth80(tmp_path)
    assert data.X.shape == (12, 9, 9)
    assert data.y.tolist() == ["apple"] * 6 + ["car"] * 6
    assert data.groups[:6].tolist() == ["apple1"] * 2 + ["apple2"] * 2 + ["apple11"] * 2
    assert data.feature_names == ["x", "y", "R", "G", "B", "|Ix|", "|Iy|", "|Ixx|", "|Iyy|"]
    assert [path.stem for path in data.paths[:2]] == ["apple1-035-000", "apple1-035-090"]
    assert set(data.elevation) == {35} and data.azimuth[:2].tolist() == [0, 90]
    sets = load_eth80_sets(tmp_path, size=(4, 5))
    assert sets.X.shape == (6, 20, 20) and sets.groups.tolist() == list(dict.fromkeys(data.groups))
