"""Sums over the lower triangles of all pairs match the literal sums. tests/problem/test_compiled.py tests the loops."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.problem import compiled, triangles
from tests import naive


@pytest.mark.parametrize("compiled_from", [0, 2**30])
@pytest.mark.parametrize(("count", "block"), [(1, 4), (10, 4), (12, 4), (10, 1024)])
def test_blocks_of_triangles_add_up_to_the_whole_sum(count, block, compiled_from, monkeypatch):
    """The last block may be shorter than the others."""
    monkeypatch.setattr(triangles, "_SUM_BLOCK", block)
    monkeypatch.setattr(triangles, "COMPILED_FROM_BYTES", compiled_from)
    rng = np.random.default_rng(count)
    rows, weights = rng.standard_normal((count, 6)), rng.standard_normal(count)
    expected = naive.signed_sums(rows, weights)
    close = {"rtol": 1e-13, "atol": 1e-14}
    np.testing.assert_allclose(triangles.signed_sums(weights, rows), expected, **close)
    np.testing.assert_allclose(triangles.weighted_sum(weights, rows), weights @ rows, **close)


def test_blocks_have_the_length_of_the_bound_on_rounding():
    assert compiled.SUM_BLOCK == triangles._SUM_BLOCK


@pytest.mark.parametrize(("count", "expected"), [(5, 5 + 1), (1024, 1024 + 1), (1025, 1024 + 2), (2500, 1024 + 3)])
def test_length_counts_the_roundings_of_a_block_and_of_the_sum_over_blocks(count, expected):
    assert triangles.signed_sum_length(count) == expected
