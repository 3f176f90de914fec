"""Error-free transformations against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from covmetric.problem import error_free
from covmetric.problem.error_free import (
    DoubleSum,
    exact_difference,
    exact_product,
    residual,
    tolerated,
    weighted_gram_residual,
)

SCALES = [1e-150, 1e-8, 1.0, 1e8, 1e150]


def numbers(seed, scale, size=200):
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal(size) * 2.0 ** rng.integers(-30, 30, size)


@pytest.mark.parametrize("scale", SCALES)
def test_a_difference_is_the_sum_of_its_two_parts(scale):
    a, b = numbers(0, scale), numbers(1, scale)
    high, low = exact_difference(a, b)
    np.testing.assert_array_equal(high, a - b)
    for x, y, h, r in zip(a, b, high, low, strict=True):
        assert Fraction(h) + Fraction(r) == Fraction(x) - Fraction(y)
    assert low.any()


@pytest.mark.parametrize("scale", SCALES)
def test_a_product_is_the_sum_of_its_two_parts(scale):
    a, b = numbers(2, scale), numbers(3, 1.0)
    high, low = exact_product(a, b)
    np.testing.assert_array_equal(high, a * b)
    for x, y, h, r in zip(a, b, high, low, strict=True):
        assert Fraction(h) + Fraction(r) == Fraction(x) * Fraction(y)
    assert low.any()


def test_a_double_sum_keeps_what_one_double_drops():
    """Either operand may be the larger one."""
    total = DoubleSum(np.array([[1.0, 2.0**-70]]))
    total.add(np.array([[2.0**-70, 1.0]]))
    total.add(np.array([[-1.0, -1.0]]))
    np.testing.assert_array_equal(total.value(), [[2.0**-70, 2.0**-70]])


def exact_gram(A, B):
    """Return A^T B as fractions."""
    a, b = ([[Fraction(x) for x in column] for column in M.T.tolist()] for M in (A, B))
    return [[sum(x * y for x, y in zip(p, q, strict=True)) for q in b] for p in a]


@pytest.mark.parametrize("rows", [1, 7, 300])
def test_products_are_accurate_to_twice_the_working_precision(rows):
    """The columns of both factors have very different sizes."""
    rng = np.random.default_rng(rows)
    A, B = (rng.standard_normal((rows, 3)) * 2.0 ** rng.integers(-20, 20, (rows, 1)) * [1e6, 1.0, 1e-6] for _ in "AB")
    exact = exact_gram(A, B)
    total = DoubleSum(-(A.T @ B))
    total.add_product(A, B)
    for i in range(3):
        for j in range(3):
            error = Fraction(total.high[i, j]) + Fraction(total.low[i, j]) - (exact[i][j] - Fraction((A.T @ B)[i, j]))
            assert abs(error) <= 2.0**-98 * np.abs(A[:, i]).max() * np.abs(B[:, j]).max() * rows


def test_long_columns_keep_a_hundred_bits_of_their_largest_product():
    """Long columns are cut into short slices, of 20 bits, and one slice more makes up for it."""
    rng = np.random.default_rng(0)
    for a, b in rng.uniform(0.5, 1.0, (50, 2)):
        A, B = np.zeros((2**12, 1)), np.zeros((2**12, 1))
        A[7], B[7] = a, b
        total = DoubleSum(np.array([[-a * b]]))
        total.add_product(A, B)
        exact = Fraction(a) * Fraction(b) - Fraction(a * b)
        assert abs(Fraction(total.high.item()) + Fraction(total.low.item()) - exact) <= 2.0**-100


def test_slices_have_at_least_20_bits(monkeypatch):
    lengths = []
    sliced = error_free._sliced
    monkeypatch.setattr(error_free, "_sliced", lambda A: lengths.append(len(A)) or sliced(A))
    A = np.ones((2**14, 1))
    total = DoubleSum(np.zeros((1, 1)))
    total.add_product(A, A)
    assert total.value().item() == len(A)
    assert max(lengths) < 2**13, "columns of 2^13 - 1 entries leave (53 - 13) / 2 bits"


def test_products_of_many_rows_are_summed_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((50, 2)), rng.standard_normal((50, 2))
    monkeypatch.setattr(error_free, "_ROWS", 8)
    total = DoubleSum(np.zeros((2, 2)))
    total.add_product(A, B, sign=-1.0)
    exact = exact_gram(A, B)
    for i in range(2):
        for j in range(2):
            assert abs(Fraction(total.high[i, j]) + Fraction(total.low[i, j]) + exact[i][j]) <= 2.0**-98 * 50


@pytest.mark.parametrize("rows", [1, 100, 4096])
def test_products_of_slices_have_no_rounding_error(rows):
    """Two slices of as many bits as fit, all of one sign, so that no sum cancels."""
    A = np.random.default_rng(0).uniform(0.5, 1.0, (rows, 1))
    slices, rest = error_free._sliced(A)
    total = sum(Fraction(float(part[i, 0])) for part in (*slices, rest) for i in range(rows))
    assert total == sum(Fraction(float(x)) for x in A[:, 0]), "slices and rest add up to the matrix"
    for a in slices:
        for b in slices:
            exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a[:, 0].tolist(), b[:, 0].tolist(), strict=True))
            assert Fraction((a.T @ b).item()) == exact


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_residual_is_exact(n, size):
    """Compare W - L L^T with rational arithmetic, for factors with columns of very different sizes."""
    rng = np.random.default_rng(n)
    L = np.tril(rng.standard_normal((n, n))) * np.geomspace(size, 1.0 / size, n)
    W = L @ L.T
    got = residual(W, L)
    for i in range(0, n, 7):
        for j in range(0, n, 5):
            exact = Fraction(W[i, j]) - sum(Fraction(L[i, k]) * Fraction(L[j, k]) for k in range(n))
            scale = np.linalg.norm(L[i]) * np.linalg.norm(L[j])
            assert abs(float(Fraction(got[i, j]) - exact)) <= 1e-28 * scale + 1e-15 * abs(float(exact))


def test_weighted_gram_residual_is_accurate_to_twice_the_working_precision():
    """The rows are sums of two doubles, one weight is negative, and R^T R agrees with the sum in its leading digits."""
    rng = np.random.default_rng(0)
    q, n, size = 9, 3, 1e3
    high = size * rng.standard_normal((q, n))
    low = size * rng.standard_normal((q, n)) * 2.0**-54
    weights = rng.uniform(0.5, 1.0, q) * np.where(np.arange(q) == 4, -1e-3, 1.0)
    R = np.linalg.cholesky(np.eye(n) + np.einsum("k,ki,kj->ij", weights, high, high)).T
    got = weighted_gram_residual(iter([(weights[:4], high[:4], low[:4]), (weights[4:], high[4:], low[4:])]), R)
    np.testing.assert_array_equal(got, got.T)
    for i in range(n):
        for j in range(n):
            exact = Fraction(int(i == j)) - sum(Fraction(R[k, i]) * Fraction(R[k, j]) for k in range(n))
            for k in range(q):
                f, g = (Fraction(high[k, p]) + Fraction(low[k, p]) for p in (i, j))
                exact += Fraction(weights[k]) * f * g
            assert 0 < abs(exact) < 1e-8
            assert abs(Fraction(got[i, j]) - exact) <= 2.0**-98 * q * size**2


def test_working_precision_is_enough_up_to_a_tenth_of_the_tolerance():
    assert tolerated(1e-6) == pytest.approx(1e-7)
    assert tolerated(0.0) == 1e-11
