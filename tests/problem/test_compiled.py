"""The compiled sums over pairs agree with their literal counterparts, and with BLAS."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.problem import PairSums, compiled, triangles
from tests import naive


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 1), (5, 3), (9, 9), (23, 24)])
def test_lower_triangles(n, m):
    rng = np.random.default_rng(n)
    rows, pairs = rng.standard_normal((6, m, n)), rng.integers(0, 6, (11, 2))
    out = np.empty((11, n * (n + 1) // 2))
    compiled.lower_triangles(rows, pairs, out)
    expected = [naive.lower_triangle((rows[i] - rows[j]).T @ (rows[i] - rows[j])) for i, j in pairs]
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "count", [1, 2, 3, 4, 5, compiled.SUM_BLOCK - 1, compiled.SUM_BLOCK, 2 * compiled.SUM_BLOCK + 7]
)
@pytest.mark.parametrize("p", [1, 6, 45])
def test_signed_sums(count, p):
    rng = np.random.default_rng(count)
    rows, weights = rng.standard_normal((count, p)), rng.standard_normal(count)
    weights[::5] = 0.0
    plus, minus = np.full(p, np.nan), np.full(p, np.nan)
    compiled.signed_sums(rows, weights, plus, minus)
    np.testing.assert_allclose([plus, minus], naive.signed_sums(rows, weights), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rows_of_loops", [0, 48])
def test_sums_agree_with_those_of_small_problems(monkeypatch, rows_of_loops):
    """All sums of `PairSums` that may be compiled, with and without compiled code."""
    rng = np.random.default_rng(0)
    rows, pairs = rng.standard_normal((30, 4, 5)), rng.integers(0, 30, (2500, 2))
    weights = rng.standard_normal(2500)

    def values():
        made = PairSums(rows, pairs)
        assert made.lower_triangles() is not None
        return [made.lower_triangles(), made.gram(weights), *made.signed_grams(weights), made.weighted_sum(weights)]

    expected = values()
    monkeypatch.setattr(triangles, "COMPILED_FROM_BYTES", 0)
    monkeypatch.setattr(triangles, "LOOPS_UP_TO_ROWS", rows_of_loops)
    for found, value in zip(values(), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-10)
