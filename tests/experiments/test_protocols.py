"""The splits of the recognition experiments."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import Bunch

from covmetric.experiments.protocols import brodatz_splits, eth80_by_image, eth80_by_object, region_size
from covmetric.learning.splits import make_splits


@pytest.fixture
def patches():
    """Ten patches in each quarter of each of five textures."""
    return Bunch(y=np.repeat(np.arange(5), 40), groups=np.tile(np.repeat(np.arange(4), 10), 5))


@pytest.mark.parametrize("n_train", [2, 3])
def test_brodatz_splits_have_whole_quarters(patches, n_train):
    y, quarter = patches.y, patches.groups
    split = brodatz_splits(patches, 0, n_train)
    assert len(split.train) == 5 * 10 * n_train and len(split.test) == 5 * 10 * (4 - n_train)
    assert len(np.intersect1d(split.train, split.test)) == 0
    assert {len(set(quarter[split.train][y[split.train] == c])) for c in range(5)} == {n_train}
    drawn = {tuple(sorted(set(quarter[split.train][y[split.train] == c]))) for c in range(5)}
    assert len(drawn) > 1  # each texture has its own quarters


@pytest.mark.parametrize("n_train", [2, 3])
def test_folds_of_brodatz_are_one_training_quarter_of_every_texture(patches, n_train):
    split = brodatz_splits(patches, 0, n_train)
    y, quarter = patches.y[split.train], patches.groups[split.train]
    folds = make_splits(3, np.zeros((len(y), 1)), y, split.groups, seed=0)
    assert len(folds) == n_train
    for fold in folds:
        for texture in range(5):
            tested = set(quarter[fold.test][y[fold.test] == texture])
            trained = set(quarter[fold.train][y[fold.train] == texture])
            assert len(tested) == 1 and len(trained) == n_train - 1 and not tested & trained


@pytest.fixture
def views():
    """41 views of each of ten objects of two classes."""
    names = np.array([f"{c}{i}" for c in "ab" for i in range(10) for _ in range(41)])
    return Bunch(y=np.array([name[0] for name in names]), groups=names)


def test_split_by_image_has_20_views_of_each_object(views):
    split = eth80_by_image(views, 0)
    assert set(np.unique(views.groups[split.train], return_counts=True)[1]) == {20}
    assert len(split.test) == 20 * 21 and len(np.intersect1d(split.train, split.test)) == 0


def test_split_by_object_has_whole_objects(views):
    split = eth80_by_object(views, 0)
    train, test = set(views.groups[split.train]), set(views.groups[split.test])
    assert not train & test
    assert len(train) == len(test) == 10 and sum(name.startswith("a") for name in train) == 5
    np.testing.assert_array_equal(split.groups, views.groups[split.train])


def test_region_size_is_that_of_the_patches_or_of_the_first_image(tmp_path):
    assert region_size(Bunch(boxes=np.array([[5, 6, 32, 48]]))) == "32 x 48"
    image = pytest.importorskip("PIL.Image").new("RGB", (7, 5))
    image.save(tmp_path / "a.png")
    assert region_size(Bunch(paths=[tmp_path / "a.png"])) == "5 x 7"
