"""The preconditioner is the inverse of the matrix in its docstring, and its trace is that of the system."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric._utils.half_vectors import half_vectors_of
from covmetric.solvers import StepFailed
from covmetric.solvers.systems.preconditioner import GaussianPreconditioner, SampledPreconditioner
from tests import naive


def random_mean(n, rank, seed):
    A = np.random.default_rng(seed).standard_normal((n, rank))
    return A @ A.T


def literal_parts(mean):
    """Return the matrices of B (x) B and of vec(B) vec(B)^T in half vectors."""
    vector = naive.half_vector(mean)
    return naive.matrix_of(lambda X: mean @ X @ mean, len(mean)), np.outer(vector, vector)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("total", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("deficient", [False, True])
def test_it_is_the_inverse_of_the_literal_matrix(n, total, deficient):
    mean = random_mean(n, max(1, n // 2) if deficient else n, n)
    product, rank_one = literal_parts(mean)
    kappa = 0.7
    mean_square = kappa * np.trace(product) + np.trace(rank_one)
    preconditioner = GaussianPreconditioner(mean, total, mean_square)
    literal = np.eye(len(product)) + total * (kappa * product + rank_one)
    inverse = naive.matrix_of(preconditioner.apply, n)
    np.testing.assert_allclose(inverse, np.linalg.inv(literal), rtol=1e-8, atol=1e-10)
    matrix = random_mean(n, n, 0)
    np.testing.assert_array_equal(preconditioner.apply(matrix), preconditioner.apply(matrix).T)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_it_is_close_to_the_inverse_for_gaussian_differences(m):
    """The columns have different scales; the matrix of 30,000 pairs has the preconditioner's form to a few percent."""
    rng = np.random.default_rng(m)
    n, K = 3, 30_000
    F = rng.standard_normal((K, n, m)) * np.array([1.0, 0.5, 2.0])[:, None]
    B = F @ np.swapaxes(F, 1, 2)
    weights = rng.uniform(0.5, 1.5, K) / K
    vectors = B.reshape(K, -1) @ np.array([naive.half_vector(e.reshape(n, n)) for e in np.eye(n * n)])
    vectors[:, [1, 3, 4]] = 2.0**0.5 * B[:, [1, 2, 2], [0, 0, 1]]
    H = np.eye(6) + 40.0 * (vectors * weights[:, None]).T @ vectors
    mean = np.einsum("k,kij->ij", weights, B) / weights.sum()
    mean_square = float(weights @ (vectors**2).sum(axis=1)) / weights.sum()
    preconditioner = GaussianPreconditioner(mean, 40.0 * weights.sum(), mean_square)
    spectrum = np.linalg.eigvals(naive.matrix_of(preconditioner.apply, n) @ H)
    np.testing.assert_allclose(spectrum, 1.0, atol=0.1)


@pytest.mark.parametrize(
    ("mean", "total", "mean_square"),
    [
        (np.zeros((3, 3)), 5.0, 0.0),
        (np.zeros((3, 3)), 5.0, 2.0),
        (random_mean(3, 3, 0), 0.0, 100.0),
        (random_mean(3, 3, 0), 0.0, 0.0),
    ],
)
def test_it_is_the_identity_without_mean_or_weights(mean, total, mean_square):
    matrix = random_mean(3, 3, 1)
    np.testing.assert_allclose(GaussianPreconditioner(mean, total, mean_square).apply(matrix), matrix, rtol=1e-12)


def test_a_mean_square_below_the_square_of_the_mean_leaves_the_rank_one_part():
    """A sample may underestimate the mean square; the preconditioner stays positive definite."""
    mean = random_mean(3, 3, 0)
    literal = np.eye(6) + 2.0 * literal_parts(mean)[1]
    preconditioner = GaussianPreconditioner(mean, 2.0, 0.5 * float((mean**2).sum()))
    np.testing.assert_allclose(naive.matrix_of(preconditioner.apply, 3), np.linalg.inv(literal), rtol=1e-8, atol=1e-10)


def test_a_mean_that_is_slightly_indefinite_gives_a_positive_definite_preconditioner():
    """Rounding errors make a small eigenvalue of the mean negative, and the weights amplify it."""
    preconditioner = GaussianPreconditioner(np.diag([1.0, -1e-16]), 1e20, 5.0)
    assert np.linalg.eigvalsh(naive.matrix_of(preconditioner.apply, 2))[0] > 0.0


def test_a_mean_that_is_not_finite_fails():
    with pytest.raises(StepFailed):
        GaussianPreconditioner(np.full((2, 2), np.nan), 1.0, 1.0)


def test_sampled_preconditioner_inverts_its_matrix():
    rng = np.random.default_rng(0)
    half, V = half_vectors_of(4), rng.standard_normal((15, 10))
    matrix = np.eye(10) + V.T @ V
    X = rng.standard_normal((4, 4))
    X += X.T
    upper = np.asfortranarray(np.triu(matrix) + np.tril(np.full((10, 10), np.nan), -1))  # the rest is not read
    found = SampledPreconditioner(upper, half).apply(X)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(matrix @ half.pack(found), half.pack(X), rtol=1e-12, atol=1e-12)


def test_sampled_preconditioner_of_a_matrix_that_is_not_positive_definite():
    with pytest.raises(StepFailed):
        SampledPreconditioner(np.diag([1.0, -1e-16, 1.0]), half_vectors_of(2))
