"""Half vectors of symmetric matrices."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric._utils.half_vectors import HalfVectors, half_vectors_of
from covmetric._utils.tuning import HALF_VECTORS_KEPT_BELOW


def symmetric(count, n, seed=0):
    A = np.random.default_rng(seed).standard_normal((count, n, n))
    return A + np.swapaxes(A, 1, 2)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_pack_preserves_inner_products_and_unpack_inverts(n):
    half, A = HalfVectors(n), symmetric(4, n)
    packed = half.pack(A)
    assert packed.shape == (4, half.size) == (4, n * (n + 1) // 2)
    np.testing.assert_allclose(packed @ packed.T, np.einsum("aij,bij->ab", A, A), rtol=1e-12)
    np.testing.assert_allclose(half.unpack(packed), A, rtol=1e-14)


def test_lower_is_the_lower_triangle_by_rows():
    half, A = HalfVectors(3), symmetric(4, 3)
    expected = np.stack([[a[0, 0], a[1, 0], a[1, 1], a[2, 0], a[2, 1], a[2, 2]] for a in A])
    np.testing.assert_array_equal(half.lower(A), expected)
    out = np.empty((4, 6))
    assert half.lower(A, out=out) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(half.from_lower(expected), A)
    np.testing.assert_array_equal(half.scaled(expected), half.pack(A))
    np.testing.assert_array_equal(half.diagonal, [0, 2, 5])
    np.testing.assert_array_equal(half.identity, np.eye(3))


def test_doubled_makes_an_inner_product_with_lower():
    half = HalfVectors(4)
    A, B = symmetric(2, 4)
    assert half.lower(A) @ half.doubled(B) == pytest.approx(np.sum(A * B), rel=1e-12)


def test_small_tables_are_cached():
    assert half_vectors_of(7) is half_vectors_of(7)
    assert half_vectors_of(7).n == 7
    large = HALF_VECTORS_KEPT_BELOW + 1
    assert half_vectors_of(large) is not half_vectors_of(large)
