"""The factors of W and M = I + S are those of the literal matrices, and stay accurate if these are ill-conditioned."""

from __future__ import annotations

from decimal import localcontext
from fractions import Fraction

import numpy as np
import pytest

from covmetric import MetricProblem
from covmetric.solvers import StepFailed
from covmetric.solvers.interior.point import InteriorPoint, ScaledPairs, cholesky
from tests import naive
from tests.exact import DIGITS, exact, logdet
from tests.solvers.interior.points import random_pairs, random_point


def literal_dual_matrix(pairs, tau):
    A = naive.matrices(pairs.problem)[pairs.index]
    return np.eye(pairs.problem.n) + np.einsum("k,kij->ij", pairs.similar * tau / pairs.bounds, A)


def exact_dual_matrix(pairs, tau):
    """Return I + S as fractions; the examples are the differences and zeros."""
    n = pairs.problem.n
    M = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    for k, pair in enumerate(pairs.problem.pairs[pairs.index]):
        F = exact(pairs.problem.embedded[pair[0]] - pairs.problem.embedded[pair[1]])
        weight = Fraction(pairs.similar[k] * tau[k]) / Fraction(pairs.bounds[k])
        for i in range(n):
            for j in range(n):
                M[i][j] += weight * sum(a * b for a, b in zip(F[i], F[j], strict=True))
    return M


def times(A, B):
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*B, strict=True)] for row in A]


def inverse_of_lower(R):
    """Return the inverse of a lower triangular matrix of fractions."""
    n = len(R)
    inverse = [[Fraction(0)] * n for _ in range(n)]
    for j in range(n):
        for i in range(j, n):
            rest = Fraction(int(i == j)) - sum(R[i][k] * inverse[k][j] for k in range(j, i))
            inverse[i][j] = rest / R[i][i]
    return inverse


def test_pairs_of_equal_examples_are_left_out():
    F = np.random.default_rng(0).standard_normal((4, 3, 2))
    F[1] = 0.0
    similar, bounds, weights = np.array([1.0, -1.0, 1.0, -1.0]), np.arange(1.0, 5.0), np.arange(5.0, 9.0)
    pairs = ScaledPairs.from_problem(MetricProblem.from_differences(F, similar, bounds, weights, "l2"))
    np.testing.assert_array_equal(pairs.index, [0, 2, 3])
    for name, values in (("similar", similar), ("bounds", bounds), ("weights", weights)):
        np.testing.assert_array_equal(getattr(pairs, name), values[[0, 2, 3]])


@pytest.mark.parametrize("m", [1, 2])
def test_ratios_match_the_literal_distances(m):
    pairs = random_pairs("is", m)
    L = random_point(pairs).L
    A = naive.matrices(pairs.problem)[pairs.index]
    np.testing.assert_allclose(pairs.ratios(L), np.einsum("kij,ij->k", A, L @ L.T) / pairs.bounds, rtol=1e-10)


def test_ratios_are_accurate_if_the_metric_is_ill_conditioned():
    """The distance of a pair is 1e-20 times smaller than the entries of W: W does not determine it, its factor does."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    F = Q[:, :1]
    problem = MetricProblem(
        np.array([F, 0.0 * F, F + Q[:, 1:2]]), np.array([[0, 1], [0, 2], [1, 2]]), np.ones(3), 1.0, 1.0
    )
    L = Q * np.array([1e-10, 1.0, 1.0])
    assert ScaledPairs.from_problem(problem).ratios(L)[0] == pytest.approx(1e-20, rel=1e-5)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_dual_factor_is_the_cholesky_factor(m, seed):
    pairs = random_pairs("is", m, seed)
    tau = random_point(pairs, seed).tau
    expected = np.linalg.cholesky(literal_dual_matrix(pairs, tau))
    np.testing.assert_allclose(pairs.dual_factor(tau), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("size", [1e12, 1e20, 1e28])
@pytest.mark.parametrize("dissimilar", [False, True])
def test_dual_factor_is_accurate_if_similar_pairs_dominate(size, dissimilar):
    """Two similar pairs span two of four dimensions with weights of 1e20; exact arithmetic is the judge."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((4, 4, 1))
    similar = np.array([1.0, 1.0, 1.0, -1.0 if dissimilar else 1.0])
    pairs = ScaledPairs.from_problem(MetricProblem.from_differences(F, similar, 1.0, 1.0))
    tau = np.array([size, 0.7 * size, 0.5, 0.1])
    R = pairs.dual_factor(tau)
    np.testing.assert_array_equal(R, np.tril(R))
    assert (R.diagonal() > 0.0).all()
    M = exact_dual_matrix(pairs, tau)
    inverse = inverse_of_lower(exact(R))
    identity = times(times(inverse, M), [list(row) for row in zip(*inverse, strict=True)])
    tolerance = 1e-13 * size**0.5  # the identity is added to rows that are sqrt(size) times larger
    np.testing.assert_allclose(np.array(identity, dtype=float), np.eye(4), atol=tolerance)
    with localcontext() as context:
        context.prec = DIGITS
        expected = float(logdet(M))
    assert 2.0 * np.log(R.diagonal()).sum() == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("size", [1.0, 1e20])
def test_dual_factor_fails_if_dissimilar_pairs_dominate(size):
    F = np.random.default_rng(0).standard_normal((3, 4, 1))
    pairs = ScaledPairs.from_problem(MetricProblem.from_differences(F, [1.0, 1.0, -1.0], 1.0, 1.0))
    with pytest.raises(StepFailed):
        pairs.dual_factor(np.array([size, size, 100.0]))


def test_transformed_sum_matches_the_literal_sum():
    pairs = random_pairs("is", 2)
    rng = np.random.default_rng(0)
    T = rng.standard_normal((4, 4))
    tau = rng.uniform(0.0, 1.0, len(pairs.index))
    tau[::2] = 0.0
    S = np.einsum("k,kij->ij", tau / pairs.bounds, naive.matrices(pairs.problem))
    np.testing.assert_allclose(pairs.transformed_sum(tau, T), T.T @ S @ T, rtol=1e-10, atol=1e-12)


def test_theta_is_the_mean_product():
    ones = np.ones(2)
    point = InteriorPoint(np.eye(1), np.eye(1), ones, np.array([1.0, 2.0]), np.array([3.0, 0.5]), ones, ones)
    assert point.theta == 2.0
    none = np.empty(0)
    assert InteriorPoint(np.eye(1), np.eye(1), none, none, none, none, none).theta == 0.0


def test_cholesky_fails_unless_the_matrix_is_positive_definite():
    np.testing.assert_allclose(cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])), [[2.0, 0.0], [1.0, 2.0]])
    for matrix in (-np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]]), np.full((2, 2), np.nan)):
        with pytest.raises(StepFailed):
            cholesky(matrix)
