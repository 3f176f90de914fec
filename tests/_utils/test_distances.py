"""Squared distances by blocks."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric._utils import distances as d


def vectors(count, q=6, seed=0):
    return np.random.default_rng(seed).standard_normal((count, q))


def literal(first, second):
    return np.array([[float(((a - b) ** 2).sum()) for b in second] for a in first])


@pytest.mark.parametrize("chunk", [1, 20, 2**16])
def test_squared_distances_of_pairs(chunk, monkeypatch):
    monkeypatch.setattr(d, "DIFFERENCE_ENTRIES", chunk)
    first, second = vectors(9), vectors(7, seed=1)
    i, j = np.array([0, 8, 3, 3]), np.array([6, 0, 2, 2])
    np.testing.assert_allclose(d.squared_distances(first, second, i, j), literal(first, second)[i, j], rtol=1e-14)


@pytest.mark.parametrize("rows_per_block", [1, 4, 100])
@pytest.mark.parametrize("start", [0, 5])
def test_distance_blocks_cover_the_rows_from_the_start_on(rows_per_block, start, monkeypatch):
    monkeypatch.setattr(d, "DISTANCE_BLOCK_BYTES", 8 * 11 * rows_per_block)
    X = 1e3 + vectors(11)
    blocks = list(d.distance_blocks(X, start))
    assert [i for rows, _ in blocks for i in range(rows.start, rows.stop)] == list(range(start, 11))
    assert all(squared.shape == (rows.stop - rows.start, 11) for rows, squared in blocks)
    np.testing.assert_allclose(np.concatenate([squared for _, squared in blocks]), literal(X, X)[start:], atol=1e-10)


@pytest.mark.parametrize("rows_per_block", [1, 4, 100])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_distances_equal_the_definition(rows_per_block, n_jobs, monkeypatch):
    monkeypatch.setattr(d, "DISTANCE_BLOCK_BYTES", 8 * 7 * rows_per_block)
    first, second = vectors(10), vectors(7, seed=1)
    np.testing.assert_allclose(d.cross_distances(first, second, n_jobs), literal(first, second), rtol=1e-12)


def test_cross_distances_keep_their_digits_when_small():
    """A matrix product alone would leave no digit of distances that are 1e-9 of the norms."""
    first = vectors(5)
    second = first + 1e-9 * vectors(5, seed=1)
    np.testing.assert_allclose(d.cross_distances(first, second), literal(first, second), rtol=1e-9)
    np.testing.assert_array_equal(np.diagonal(d.cross_distances(first, first)), 0.0)


def test_cross_distances_of_nothing():
    assert d.cross_distances(vectors(0), vectors(3)).shape == (0, 3)
    assert d.cross_distances(vectors(3), vectors(0)).shape == (3, 0)


@pytest.mark.parametrize(("count", "k"), [(5, 2), (5, 9), (1000, 3), (900, 2)])
def test_nearest_columns_equal_a_stable_sort(count, k):
    """With many ties, which go to the first column; NaN counts as infinite."""
    squared = np.random.default_rng(0).integers(0, 300, (8, count)).astype(float)
    squared[:, -1] = np.nan
    expected = np.argsort(np.nan_to_num(squared, nan=np.inf), axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(d.nearest_columns(squared, k), expected)


def test_smallest_sorts_the_entries_of_each_row():
    rows, columns = np.array([1, 0, 1, 0, 1]), np.array([4, 2, 0, 1, 3])
    squared = np.array([1.0, 5.0, 1.0, 2.0, 9.0])
    found, indices = d.smallest(2, 2, rows, columns, squared)
    np.testing.assert_array_equal(found, [[2.0, 5.0], [1.0, 1.0]])
    np.testing.assert_array_equal(indices, [[1, 2], [0, 4]])
