"""The smallest entries of each row, for neighbours within a matrix of distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric._utils.distances import nearest_columns


@given(
    rows=st.integers(1, 6), count=st.integers(1, 700), k=st.integers(1, 9), seed=st.integers(0, 1000),
    values=st.sampled_from([2, 50, 10**6]), masked=st.sampled_from([0.0, 0.5, 0.99, 1.0]),
)  # fmt: skip
def test_nearest_columns_agree_with_a_stable_sort(rows, count, k, seed, values, masked):
    """Some distances are equal, and some are infinite."""
    rng = np.random.default_rng(seed)
    squared = rng.integers(0, values, (rows, count)).astype(float)
    squared[rng.random((rows, count)) < masked] = np.inf
    expected = np.argsort(squared, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(nearest_columns(squared, k), expected)


@pytest.mark.parametrize("count", [10, 700])
def test_nearest_columns_treat_nan_as_infinity(count):
    squared = np.random.default_rng(0).random((3, count))
    squared[1] = np.nan
    squared[2, ::2] = np.nan
    expected = np.argsort(np.where(np.isnan(squared), np.inf, squared), axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(nearest_columns(squared, 3), expected)
