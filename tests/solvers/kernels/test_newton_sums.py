"""The compiled sums of Newton's step against literal sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric._utils.half_vectors import HalfVectors
from covmetric.solvers.kernels import newton_sums


@pytest.mark.parametrize("half_grams", [newton_sums.half_grams, newton_sums.half_grams_by_loops])
@given(n=st.integers(1, 40), m=st.integers(1, 5), seed=st.integers(0, 100))
def test_half_vectors_keep_the_inner_product(half_grams, n, m, seed):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((3, m, n))
    half = HalfVectors(n)
    out = np.empty((3, half.size))
    half_grams(G, out)
    B = np.einsum("kai,kaj->kij", G, G)
    np.testing.assert_allclose(out, [half.pack(b) for b in B], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(half.unpack(out[0]), B[0], rtol=1e-12, atol=1e-13)
    assert out[0] @ out[1] == pytest.approx(np.sum(B[0] * B[1]), rel=1e-9, abs=1e-9)


@given(a=st.integers(1, 30), p=st.integers(1, 40), seed=st.integers(0, 100))
def test_the_system_over_the_pairs_matches_the_literal_matrix(a, p, seed):
    rng = np.random.default_rng(seed)
    V, roots, r = rng.standard_normal((a, p)), np.exp(rng.standard_normal(a)), rng.standard_normal(p)
    before, x = (V.copy(), roots.copy(), r.copy()), np.full(p, np.nan)
    assert newton_sums.solve_pair_system(V, roots, r, x)
    H = np.eye(p) + sum(root**2 * np.outer(v, v) for root, v in zip(roots, V, strict=True))
    np.testing.assert_allclose(x, np.linalg.solve(H, r), rtol=1e-7, atol=1e-9)
    for array, expected in zip((V, roots, r), before, strict=True):
        np.testing.assert_array_equal(array, expected)


@given(count=st.integers(2, 9), a=st.integers(1, 20), seed=st.integers(0, 100))
def test_squared_products_match_the_differences(count, a, seed):
    rng = np.random.default_rng(seed)
    g, scales = rng.standard_normal((count, 4)), rng.standard_normal(a)
    pairs = rng.integers(count, size=(a, 2))
    out = np.full((a, a), -1.0)
    newton_sums.squared_products(g @ g.T, pairs, scales, out)
    F = scales[:, None] * (g[pairs[:, 0]] - g[pairs[:, 1]])
    np.testing.assert_allclose(np.tril(out), np.tril((F @ F.T) ** 2), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(out[np.triu_indices(a, 1)], -1.0)


def test_a_system_over_the_pairs_that_is_not_positive_definite_is_refused():
    V = np.array([[1.0], [np.nan]])
    assert not newton_sums.solve_pair_system(V, np.ones(2), np.ones(1), np.empty(1))


@given(count=st.integers(1, 30), n=st.integers(1, 9), seed=st.integers(0, 100))
def test_stretch_matches_the_literal_sum(count, n, seed):
    rng = np.random.default_rng(seed)
    half = HalfVectors(n)
    A = rng.standard_normal((count, n, n))
    A, E = A + np.swapaxes(A, 1, 2), rng.standard_normal((n, n))
    E, weights = E + E.T, rng.standard_normal(count)
    out = np.full(half.size, np.nan)
    newton_sums.stretch(half.lower(A), half.doubled(E), weights, out)
    expected = sum(w * np.sum(a * E) * a for w, a in zip(weights, A, strict=True))
    np.testing.assert_allclose(half.from_lower(out), expected, rtol=1e-10, atol=1e-10)


@given(count=st.integers(0, 30), n=st.integers(1, 9), seed=st.integers(0, 100))
def test_laplacian_product_matches_the_literal_matrix(count, n, seed):
    rng = np.random.default_rng(seed)
    rows, pairs, weights = rng.standard_normal((6, n)), rng.integers(6, size=(count, 2)), rng.standard_normal(count)
    laplacian = np.zeros((6, 6))
    for weight, (i, j) in zip(weights, pairs, strict=True):
        edge = np.eye(6)[i] - np.eye(6)[j]
        laplacian += weight * np.outer(edge, edge)
    out = np.full((6, n), np.nan)
    newton_sums.laplacian_product(rows, pairs, weights, out)
    np.testing.assert_allclose(out, laplacian @ rows, rtol=1e-12, atol=1e-12)


@given(count=st.integers(0, 30), q=st.integers(1, 40), seed=st.integers(0, 100))
def test_pair_products_match_the_literal_inner_products(count, q, seed):
    rng = np.random.default_rng(seed)
    rows, images, pairs = rng.standard_normal((6, q)), rng.standard_normal((6, q)), rng.integers(6, size=(count, 2))
    out = np.full(count, np.nan)
    newton_sums.pair_products(rows, images, pairs, out)
    expected = [np.dot(rows[i] - rows[j], images[i] - images[j]) for i, j in pairs]
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
