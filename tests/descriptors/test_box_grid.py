"""Means over boxes from integral images, against direct means."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.descriptors.box_grid import BoxGrid, are_evenly_spaced
from covmetric.descriptors.regions import GridPatches, RandomPatches

EVEN, DENSE, UNEVEN = GridPatches(8, 4), GridPatches(3, 1), RandomPatches(30, (5, 7), random_state=0)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("regions", [EVEN, DENSE, UNEVEN])
def test_counts_and_means_agree_with_direct_sums(regions, masked):
    rng = np.random.default_rng(0)
    plane, mask = rng.standard_normal((30, 41)), rng.random((30, 41)) < 0.8 if masked else None
    if mask is not None:
        plane *= mask
    boxes = regions.select(plane.shape, 0)
    grid = BoxGrid.from_boxes(boxes, plane.shape, mask)
    weights = np.ones_like(plane) if mask is None else mask.astype(float)
    counts, sums = (
        np.array([values[top : top + height, left : left + width].sum() for top, left, height, width in boxes])
        for values in (weights, plane)
    )
    np.testing.assert_array_equal(grid.box_counts, counts)
    means, peak = grid.box_means(plane)
    np.testing.assert_allclose(means, sums / counts, rtol=1e-12, atol=1e-14)
    assert peak > 0.0


def test_steps_count_the_cells_across_a_box():
    grid = BoxGrid.from_boxes(np.array([[0, 0, 6, 2], [2, 0, 2, 5]]), (8, 9))
    assert grid.rows.tolist() == [0, 2, 4, 6] and grid.columns.tolist() == [0, 2, 5]
    assert grid.box_steps.tolist() == [3 + 1, 1 + 2]
    assert grid.cell_counts.tolist() == [[4, 6]] * 3


def test_the_mean_of_the_image_does_not_enter_the_integral():
    """A constant image has an integral of zeros, however large the constant."""
    plane = np.full((20, 20), 2.0**40)
    means, peak = BoxGrid.from_boxes(EVEN.select(plane.shape, 0), plane.shape).box_means(plane)
    assert peak == 0.0 and (means == 2.0**40).all()


def test_even_spacing():
    assert are_evenly_spaced(np.array([3, 5, 7]))
    assert not are_evenly_spaced(np.array([3, 5, 8]))
