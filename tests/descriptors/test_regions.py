"""Regions of images."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from covmetric.descriptors.images import ImageCovariances
from covmetric.descriptors.regions import REGIONS, Boxes, GridPatches, RandomPatches, Regions, get_regions
from tests.descriptors.images import GREY


@pytest.mark.parametrize("name", REGIONS)
def test_regions_are_inside_the_image(name):
    settings = {"random": {"count": 200, "size": (3, 5)}, "grid": {"size": 3, "stride": (2, 1)}}
    regions = get_regions(name, **settings.get(name, {"boxes": [[1, 2, 3, 4]]} if name == "boxes" else {}))
    assert regions.name == name and isinstance(regions, Regions)
    boxes = regions.for_images(1)[0].select((7, 9), 0)
    assert boxes.dtype == np.int64 and boxes.shape[1] == 4
    assert (boxes[:, :2] >= 0).all() and (boxes[:, :2] + boxes[:, 2:] <= [7, 9]).all()
    assert repr(regions).startswith(type(regions).__name__)
    assert repr(pickle.loads(pickle.dumps(regions))) == repr(regions)


def test_random_patches_are_uniform_and_reproducible():
    regions = RandomPatches(500, (6, 8), random_state=3).for_images(2)[0]
    boxes = regions.select((8, 9), 0)
    assert {tuple(box[:2]) for box in boxes.tolist()} == {(top, left) for top in range(3) for left in range(2)}
    np.testing.assert_array_equal(boxes, regions.select((8, 9), 0))
    assert not np.array_equal(boxes, regions.select((8, 9), 1))
    assert not np.array_equal(boxes, RandomPatches(500, (6, 8), random_state=4).for_images(1)[0].select((8, 9), 0))
    unseeded = RandomPatches(500, (6, 8))
    draws = [unseeded.for_images(1)[0].select((8, 9), 0) for _ in range(2)]
    assert not np.array_equal(*draws)
    drawn = RandomPatches(5, 3, np.random.default_rng(0)).for_images(1)[0].select((8, 9), 0)
    np.testing.assert_array_equal(
        drawn, RandomPatches(5, 3, np.random.default_rng(0)).for_images(1)[0].select((8, 9), 0)
    )


def test_grid_contains_all_patches_that_fit():
    boxes = GridPatches((2, 3), stride=(2, 4)).select((5, 11), 0)
    np.testing.assert_array_equal(boxes[:, :2], [[t, left] for t in (0, 2) for left in (0, 4, 8)])
    assert len(GridPatches(5).select((11, 5), 0)) == 2


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ("tiles", "regions must be one of 'whole', 'random', 'grid', 'boxes', or an object of the class Regions"),
        ("boxes", "regions 'boxes' does not take these settings"),
        (RandomPatches(0), "count must be an integer >= 1, got 0"),
        (RandomPatches(3, 2.5), "size must be an integer >= 1 or a pair"),
        (RandomPatches(3, 2, "seed"), "random_state must be"),
        (GridPatches(0), "size must be an integer >= 1"),
        (
            GridPatches(3, (1, 0)),
            r"stride must be an integer >= 1 or a pair \(height, width\) of such integers; got \(1, 0\)",
        ),
        (GridPatches(13), r"images\[0\]: the image of 12 x 15 pixels is smaller than a patch of 13 x 13"),
        (RandomPatches(2, (3, 16), 0), "the image of 12 x 15 pixels is smaller than a patch of 3 x 16"),
        (Boxes([[0, 0, 12, 15], [10, 0, 3, 3]]), r"images\[0\]: boxes\[1\] = \[10, 0, 3, 3\] .* of 12 x 15 pixels"),
        (Boxes([[[0, 0, 2, 2]], [[0, 0, 3, 3]]]), "one entry per image: it has 2, and there are 1 images"),
        (Boxes(7), r"boxes must be an array of shape \(k, 4\) or a list of such arrays; got 7"),
        (Boxes([[0, 0, 1, 1]]), r"has 1 pixel\(s\)"),
    ],
)
def test_invalid_regions_are_refused(regions, message):
    with pytest.raises(ValueError, match=message):
        ImageCovariances(regions=regions).describe([GREY])


def test_of_is_a_deprecated_alias_of_select():
    regions = GridPatches(4, stride=3)
    with pytest.warns(FutureWarning, match=r"Regions\.of is deprecated, use Regions\.select"):
        boxes = regions.of((8, 5), 0)
    np.testing.assert_array_equal(boxes, regions.select((8, 5), 0))


def test_subclasses_that_define_of_still_work():
    with pytest.warns(FutureWarning, match=r"the method Corner\.of is deprecated: rename it to select"):

        class Corner(Regions):
            name = "corner"

            def of(self, shape, index):
                return np.array([[0, 0, 2 + index, 3]])

    np.testing.assert_array_equal(Corner().select((8, 5), 1), [[0, 0, 3, 3]])
    assert ImageCovariances(regions=Corner()).transform([GREY]).shape == (1, 5, 5)


def test_subclasses_that_override_of_still_work():
    with pytest.warns(FutureWarning, match="rename it to select"):

        class FirstTwo(GridPatches):
            def of(self, shape, index):
                return super().of(shape, index)[:2]

    with pytest.warns(FutureWarning, match=r"use Regions\.select"):
        boxes = FirstTwo(4).select((12, 12), 0)
    np.testing.assert_array_equal(boxes, GridPatches(4).select((12, 12), 0)[:2])


def test_a_subclass_without_select_cannot_be_instantiated():
    class Nothing(Regions):
        name = "nothing"

    with pytest.raises(TypeError, match="select"):
        Nothing()
