"""Priors: a contract for all of `PRIORS`, their documented matrices, and given matrices."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.constraints import LabelledPairs
from covmetric.learning.prior import PRIORS, apply_root, check_prior, prior_spectrum, prior_uses_pairs
from covmetric.learning.spectrum import PriorData
from tests.data import quoted


def embedded_examples(count=12, n=4, m=3, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((n, n))
    return mixing @ rng.standard_normal((count, n, m)) + rng.standard_normal((n, m))


def prior_data(embedded, order=None, **settings):
    """Return three classes and all their pairs; `order` permutes the examples."""
    count = len(embedded)
    order = np.arange(count) if order is None else order
    codes = np.arange(count) % 3
    pairs = LabelledPairs.from_codes(np.stack(np.triu_indices(count, 1), axis=1), codes[order])
    return PriorData(embedded[order], codes[order], pairs, **settings)


def prior_root(prior, embedded, copies=1, order=None, **settings):
    spectrum = prior_spectrum(prior, prior_data(embedded, order, copies=copies, **settings))
    return None if spectrum is None else spectrum.root()


def prior_matrix(prior, embedded, copies=1, order=None, **settings):
    root = prior_root(prior, embedded, copies, order, **settings)
    return np.eye(embedded.shape[1]) if root is None else root @ root


def inverse_covariance(embedded):
    """Return the inverse of the mean of (x - mean)(x - mean)^T over the columns of all examples, one by one."""
    count, n, m = embedded.shape
    mean = sum(embedded) / count
    total = np.zeros((n, n))
    for example in embedded:
        for j in range(m):
            x = example[:, j] - mean[:, j]
            total += np.outer(x, x)
    return np.linalg.inv(total / (count * m))


DOCUMENTED = {"identity": lambda embedded: np.eye(embedded.shape[1]), "covariance": inverse_covariance}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("m", [1, 3])
def test_root_is_finite_symmetric_and_positive_definite(name, m):
    embedded = embedded_examples(m=m)
    root = prior_root(name, embedded, 1)
    if root is not None:
        assert root.shape == (4, 4)
        assert root.dtype == np.float64
        assert np.isfinite(root).all()
        np.testing.assert_array_equal(root, root.T)
        assert np.linalg.eigvalsh(root)[0] > 0.0


@pytest.mark.parametrize("name", PRIORS)
def test_prior_does_not_depend_on_the_order_or_the_origin_of_the_examples(name):
    embedded = embedded_examples()
    expected = prior_matrix(name, embedded)
    np.testing.assert_allclose(prior_matrix(name, embedded, order=np.arange(12)[::-1]), expected, rtol=1e-9)
    np.testing.assert_allclose(prior_matrix(name, embedded + np.arange(12.0).reshape(4, 3)), expected, rtol=1e-9)


@pytest.mark.parametrize("name", PRIORS)
def test_prior_rotates_with_the_examples(name):
    embedded = embedded_examples()
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    expected = Q @ prior_matrix(name, embedded) @ Q.T
    np.testing.assert_allclose(prior_matrix(name, Q @ embedded), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", sorted(set(PRIORS) - {"identity"}))
def test_scale_of_the_examples_changes_the_prior_only_by_a_factor(name):
    """The unit of the bounds is taken after the prior, so the factor has no effect on what is learned."""
    expected, scaled = prior_matrix(name, embedded_examples()), prior_matrix(name, 10.0 * embedded_examples())
    np.testing.assert_allclose(scaled / scaled[0, 0], expected / expected[0, 0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", sorted(set(PRIORS) - {"identity"}))
@pytest.mark.parametrize("exponent", [-480, 480])
@pytest.mark.parametrize("count", [12, 1, 0])
def test_very_large_and_small_examples_have_the_same_prior_up_to_a_power_of_two(name, exponent, count):
    """Also with fewer columns than rows, where the priors are computed in a span, and for D alone (t = 1)."""
    embedded = embedded_examples() if count != 1 else embedded_examples(count=6, n=9, m=1)
    settings = {"t": 1.0} if count == 0 else {}
    expected = prior_matrix(name, embedded, **settings)
    scaled = prior_matrix(name, np.ldexp(embedded, exponent), **settings)
    factor = 0.0 if name == "gmml" and not settings else 2.0 * exponent if name == "gmml" else -2.0 * exponent
    np.testing.assert_allclose(scaled / np.exp2(factor), expected, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(set(PRIORS) - {"identity"}))
@pytest.mark.parametrize("exponent", [-530, 530])
def test_priors_that_overflow_or_vanish_raise_value_error(name, exponent):
    settings = {"t": 0.0}  # that of GMML is then S^-1
    with pytest.raises(ValueError, match=r"the eigenvalues of the prior overflow or vanish, .*: rescale X"):
        prior_matrix(name, np.ldexp(embedded_examples(), exponent), **settings)


@pytest.mark.parametrize("name", PRIORS)
def test_prior_uses_pairs_only_if_it_declares_so(name):
    assert prior_uses_pairs(name) is PRIORS[name].uses_pairs
    data = prior_data(embedded_examples())
    if not PRIORS[name].uses_pairs:
        without = prior_spectrum(name, PriorData(data.embedded, data.codes))
        given = prior_spectrum(name, data)
        assert (without is None) == (given is None)
        if given is not None:
            np.testing.assert_array_equal(without.root(), given.root())


@pytest.mark.parametrize("prior", ["wishart", np.eye(3), None])
def test_other_priors_use_no_pairs(prior):
    assert prior_uses_pairs(prior) is False


@pytest.mark.parametrize("name", DOCUMENTED)
@pytest.mark.parametrize("m", [1, 3])
def test_root_squared_is_the_documented_matrix(name, m):
    embedded = embedded_examples(m=m)
    np.testing.assert_allclose(prior_matrix(name, embedded), DOCUMENTED[name](embedded), rtol=1e-8)


def test_identity_has_no_root():
    assert prior_root("identity", embedded_examples(), 1) is None


def test_covariance_prior_whitens_the_examples():
    embedded = embedded_examples()
    whitened = prior_root("covariance", embedded, 1) @ embedded
    np.testing.assert_allclose(inverse_covariance(whitened), np.eye(4), atol=1e-8)


@pytest.mark.parametrize(("spread", "expected"), [(0.0, 1.0), (1e-9, 1.0), (1e-6, 1e12)])
def test_directions_without_variation_get_the_largest_eigenvalue_of_the_others(spread, expected):
    """The variances are 4, 1 and spread^2: below n eps times the largest, a variance counts as zero."""
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
    embedded = (signs * [2.0, 1.0, spread])[:, :, None]
    np.testing.assert_allclose(prior_matrix("covariance", embedded), np.diag([0.25, 1.0, expected]), rtol=1e-3)


def test_variation_is_compared_with_the_largest_variance():
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
    eigenvalues = np.linalg.eigvalsh(prior_matrix("covariance", (signs * [1e6, 1.0, 1e-2])[:, :, None]))
    np.testing.assert_allclose(eigenvalues, [1e-12, 1.0, 1.0], rtol=1e-2)


def test_covariance_of_equal_examples_raises_value_error():
    with pytest.raises(
        ValueError, match=r"prior 'covariance' needs examples that differ, but all embedded .* are equal"
    ):
        prior_root("covariance", np.ones((5, 3, 2)), 1)


def test_given_matrix_is_the_prior():
    M = inverse_covariance(embedded_examples(seed=3))
    root = prior_root(M, embedded_examples(), 1)
    np.testing.assert_array_equal(root, root.T)
    np.testing.assert_allclose(root @ root, M, rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(root)[0] > 0.0


def test_hermitian_matrix_is_the_prior_in_its_real_form():
    A, B = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[0.0, 0.3], [-0.3, 0.0]])
    embedded = np.zeros((3, 4, 4))
    expected = np.block([[A, -B], [B, A]])
    np.testing.assert_allclose(prior_matrix(A + 1j * B, embedded, copies=2), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(prior_matrix(expected, embedded, copies=2), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        prior_matrix(A, embedded, copies=2), np.block([[A, 0 * A], [0 * A, A]]), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("prior", "copies", "message"),
    [
        ("wishart", 1, f"prior must be {quoted(PRIORS)} or a matrix, got 'wishart'"),
        (np.eye(3), 1, r"prior must have the shape of W, \(4, 4\); got \(3, 3\)"),
        (np.eye(2), 1, r"prior must have the shape of W, \(4, 4\); got \(2, 2\)"),
        (np.eye(3), 2, r"prior must have the shape of W, \(4, 4\); got \(3, 3\)"),
        (np.diag([1.0, 1.0, 1.0, -2.0]), 1, "prior must be positive definite, but its smallest eigenvalue is -2"),
        (np.diag([1.0, 1.0, 1.0, 0.0]), 1, "prior must be positive definite, but its smallest eigenvalue is 0"),
        (np.eye(4) + np.triu(np.ones((4, 4)), 1), 1, "prior is not symmetric"),
        (1j * np.eye(4), 1, "prior must be real"),
        (np.eye(2) + 1j, 2, "prior is not Hermitian"),
        (np.full((4, 4), np.nan), 1, r"prior\[0, 0\] is nan"),
    ],
)
def test_invalid_priors_raise_value_error(prior, copies, message):
    with pytest.raises(ValueError, match=message):
        prior_root(prior, embedded_examples(), copies)


@pytest.mark.parametrize("prior", [*PRIORS, np.eye(4)], ids=str)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"t": -0.1}, "prior_t must be a number from 0 to 1, got -0.1"),
        ({"t": 1.5}, "prior_t must be a number from 0 to 1, got 1.5"),
        ({"t": "half"}, "prior_t must be a number from 0 to 1, got 'half'"),
        ({"t": np.nan}, "prior_t must be a number from 0 to 1, got nan"),
        ({"shrinkage": -0.1}, "shrinkage must be 'auto' or a number from 0 to 1, got -0.1"),
        ({"shrinkage": 1.1}, "shrinkage must be 'auto' or a number from 0 to 1, got 1.1"),
        ({"shrinkage": "oas"}, "shrinkage must be 'auto' or a number from 0 to 1, got 'oas'"),
        ({"shrinkage": None}, "shrinkage must be 'auto' or a number from 0 to 1, got None"),
        ({"shrinkage": True}, "shrinkage must be 'auto' or a number from 0 to 1, got True"),
    ],
)
def test_invalid_settings_raise_value_error_for_every_prior(prior, settings, message):
    with pytest.raises(ValueError, match=message):
        prior_root(prior, embedded_examples(), **settings)
    with pytest.raises(ValueError, match=message):
        check_prior(prior, **{"t": 0.5, "shrinkage": "auto", **settings})


@pytest.mark.parametrize("settings", [(0, 0), (1, 1), (0.5, "auto"), (np.float32(0.25), np.float64(0.1))])
def test_settings_within_their_limits_are_valid(settings):
    check_prior("gmml", *settings)


@pytest.mark.parametrize("m", [1, 3])
def test_apply_root_multiplies_each_example(m):
    embedded, root = embedded_examples(m=m), np.diag([1.0, 2.0, 3.0, 4.0])
    root[0, 1] = root[1, 0] = 0.5
    expected = np.stack([root @ example for example in embedded])
    np.testing.assert_allclose(apply_root(root, embedded), expected, rtol=1e-14)
    assert apply_root(None, embedded) is embedded
