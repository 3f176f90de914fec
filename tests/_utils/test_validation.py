"""Validation of user input."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric._utils import validation as v


@pytest.mark.parametrize("value", [0, 1.5, -2, np.float32(1.0), np.int64(3)])
def test_finite_real_numbers_are_numbers(value):
    assert v.is_number(value)


@pytest.mark.parametrize(
    "value", [True, np.bool_(False), "1", None, np.nan, np.inf, 1j, np.ones(1), [1], 10**400, -(10**400)]
)
def test_everything_else_is_not_a_number(value):
    assert not v.is_number(value)


def test_counts_are_integers_from_zero_on():
    assert all(v.is_count(value) for value in (0, 5, np.int64(2)))
    assert not any(v.is_count(value) for value in (-1, 1.0, True, "1", None))


def test_check_counts_names_the_argument():
    v.check_counts(rounds=1, size=np.int32(5))
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match=rf"size must be an integer >= 1, got {wrong!r}"):
            v.check_counts(rounds=1, size=wrong)


def test_check_tolerance():
    v.check_tolerance(0)
    for wrong in (-1e-9, np.nan, "tight"):
        with pytest.raises(ValueError, match=rf"tol must be a number >= 0, got {wrong!r}"):
            v.check_tolerance(wrong)


def test_check_n_jobs():
    for valid in (None, 1, -1, np.int64(2), 4096):
        v.check_n_jobs(valid)
    for wrong in (0, True, 2.0, np.inf, "2"):
        with pytest.raises(ValueError, match=rf"n_jobs must be None or an integer other than 0, got {wrong!r}"):
            v.check_n_jobs(wrong)
    for wrong in (4097, -(10**400)):
        with pytest.raises(ValueError, match=r"n_jobs must be at most 4096, got -?\d+: use -1"):
            v.check_n_jobs(wrong)


def test_integers_too_large_for_a_float_raise_value_error():
    with pytest.raises(ValueError, match="X has an integer that is too large for float64"):
        v.as_floats("X", [[10**400, 1]])
    with pytest.raises(ValueError, match="X has an integer that is too large for float64"):
        v.as_numbers("X", [[10**400, 1]])


def test_generator_accepts_seeds_and_generators():
    assert v.generator(3).integers(1000) == np.random.default_rng(3).integers(1000)
    rng = np.random.default_rng(0)
    assert v.generator(rng) is rng
    for wrong in (-1, "seed"):
        with pytest.raises(ValueError, match=rf"random_state must be None, .*, got {wrong!r}"):
            v.generator(wrong)


def test_floats_are_a_contiguous_copy():
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    copy = v.as_floats("X", array)
    assert copy.flags.c_contiguous and copy.dtype == np.float64 and not np.shares_memory(copy, array)
    np.testing.assert_array_equal(copy, array)
    assert v.as_floats("X", [1, 2]).dtype == np.float64


def test_numbers_may_be_complex():
    assert v.as_numbers("X", [1.0, 2]).dtype == np.float64
    assert v.as_numbers("X", np.array([1j], dtype=np.complex64)).dtype == np.complex128
    with pytest.raises(ValueError, match="X must be real, got complex128"):
        v.as_floats("X", [1j])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "X must be an array of numbers, got None"),
        ("text", "X must be an array of numbers, got <U4"),
        ([True, False], "X must be an array of numbers, got bool"),
        ([[1.0], [1.0, 2.0]], "X must be an array of numbers, all of one shape"),
        (np.array([1.0, "a"], dtype=object), "X must be an array of numbers, got dtype object"),
        ([[0.0, 1.0], [np.nan, 2.0]], r"X\[1, 0\] is nan: NaN and infinity are not allowed"),
        (-np.inf, "X is -inf: NaN and infinity are not allowed"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "X has masked entries; fill them or leave them out"),
    ],
)
def test_values_that_are_not_finite_numbers_are_refused(value, message):
    with pytest.raises(ValueError, match=message):
        v.as_floats("X", value)


def test_first_index():
    assert v.first_index(np.array([[False, False], [True, True]])) == [1, 0]


def test_positive_vector_repeats_a_scalar():
    np.testing.assert_array_equal(v.positive_vector("bounds", 2.0, 3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(v.positive_vector("bounds", [1, 2, 3], 3), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0.0, "bounds must be positive, got 0.0"),
        ([1.0, 2.0], r"bounds must be a scalar or have one entry per pair, shape \(3,\); got \(2,\)"),
        ([1.0, -2.0, 0.0], r"bounds\[1\] is -2.0: every entry must be positive"),
    ],
)
def test_positive_vector_refuses_invalid_values(value, message):
    with pytest.raises(ValueError, match=message):
        v.positive_vector("bounds", value, 3)


@pytest.mark.parametrize("value", [np.array([1, 0]), np.array([0.0, 1.0]), [0, 1], np.array([0, 1], dtype=np.uint8)])
def test_labels_zero_and_one_come_with_an_expression_that_converts_them(value):
    with pytest.raises(ValueError, match="convert labels 0 and 1 with ") as raised:
        v.signs("y", value, 2)
    expression = str(raised.value).partition(" with ")[2]
    converted = eval(expression, {"np": np, "y": value})
    np.testing.assert_array_equal(v.signs("y", converted, 2), np.where(np.asarray(value) == 1, 1.0, -1.0))


def test_signs_are_plus_or_minus_one():
    np.testing.assert_array_equal(v.signs("similar", [1, -1], 2), [1.0, -1.0])
    with pytest.raises(ValueError, match=r"similar\[1\] is 0.0: every entry must be \+1 \(near\) or -1 \(far\)"):
        v.signs("similar", [1, 0], 2)
    with pytest.raises(ValueError, match=r"similar must have one entry per pair, shape \(3,\); got \(2,\)"):
        v.signs("similar", [1, -1], 3)


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_symmetric_is_relative_to_each_matrix(scale):
    X = scale * np.array([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]], [[1e6, 0.0], [0.0, 1e6]]])
    X[0, 0, 1] += 1e-9 * scale
    made = v.symmetric("X", X)
    np.testing.assert_array_equal(made, np.swapaxes(made, 1, 2))
    np.testing.assert_allclose(made, X, atol=1e-9 * scale)
    X[1, 0, 1] += 1e-7 * scale
    with pytest.raises(ValueError, match=r"X\[1\] is not symmetric: it differs from its transpose by up to 1e"):
        v.symmetric("X", X)
    v.symmetric("X", X, rtol=1e-6)


def test_symmetric_names_hermitian_matrices_and_shapes():
    v.symmetric("W", np.array([[1.0, 1j], [-1j, 1.0]]))
    with pytest.raises(ValueError, match="W is not Hermitian: it differs from its conjugate transpose by up to 2"):
        v.symmetric("W", np.array([[1.0, 1j], [1j, 1.0]]))
    for shape in ((2,), (2, 3), (3, 0, 0)):
        with pytest.raises(ValueError, match=r"W must hold square matrices, shape \(..., n, n\) with n >= 1; got \("):
            v.symmetric("W", np.ones(shape))


def test_precision_is_that_of_the_coarser_type():
    eps = {dtype: float(np.finfo(dtype).eps) for dtype in (np.float16, np.float32, np.float64)}
    assert v.precision_of(np.dtype(np.float16)) == eps[np.float16]
    assert v.precision_of(np.dtype(np.complex64)) == v.precision_of(np.dtype(np.float32)) == eps[np.float32]
    for exact in (np.float64, np.complex128, np.int8, np.longdouble):
        assert v.precision_of(np.dtype(exact)) == eps[np.float64]
    assert v.symmetry_tolerance(eps[np.float64]) == 1e-8
    assert v.symmetry_tolerance(eps[np.float32]) == 100 * eps[np.float32]


def test_read_only_is_a_view():
    array = np.zeros(2)
    view = v.read_only(array)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0
    array[0] = 1.0
    assert view[0] == 1.0
