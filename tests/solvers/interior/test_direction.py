"""Directions solve Newton's equations, written out for dense matrices, and steps end where a variable becomes zero."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from covmetric.slacks import get_slack
from covmetric.solvers import StepFailed
from covmetric.solvers.interior.direction import Correction, Direction, Linearisation
from tests import naive
from tests.problems import SLACKS
from tests.solvers.interior.points import random_pairs, random_point

NAMES = [field.name for field in fields(Direction)]


def linearised(slack="is", m=2, seed=0, memory=2**30, K=9):
    pairs = random_pairs(slack, m, seed, K)
    return Linearisation(pairs, random_point(pairs, seed), memory, iterative=False)


def random_correction(equations, seed=0):
    rng = np.random.default_rng(seed)
    n, K = len(equations.d), len(equations.pairs.index)
    A = rng.standard_normal((n, n))
    return Correction(A + A.T, rng.standard_normal(K), rng.standard_normal(K))


@pytest.mark.parametrize("seed", range(3))
def test_scaling_makes_both_matrices_diagonal_and_equal(seed):
    equations = linearised(seed=seed)
    inverse = np.linalg.inv(equations.G)
    W, M = equations.point.L @ equations.point.L.T, equations.point.R @ equations.point.R.T
    np.testing.assert_allclose(inverse @ W @ inverse.T, np.diag(equations.d), atol=1e-10)
    np.testing.assert_allclose(equations.G.T @ M @ equations.G, np.diag(equations.d), atol=1e-10)


@pytest.mark.parametrize("memory", [2**30, 1], ids=["matrix", "conjugate gradients"])
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("theta", [0.0, 0.3, 7.0])
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("slack", SLACKS)
def test_direction_solves_the_linearised_equations(slack, m, theta, corrected, memory):
    equations = linearised(slack, m, memory=memory)
    p, y, b, c = equations.point, equations.pairs.similar, equations.pairs.bounds, equations.pairs.weights
    correction = random_correction(equations) if corrected else None
    extra = correction or Correction(0.0, 0.0, 0.0)
    step = equations.direction(theta, correction)
    A = naive.matrices(equations.pairs.problem)
    close = {"rtol": 1e-7, "atol": 1e-8}

    # W M = max(1, theta) I, linearised in the scaled coordinates. The residual of conjugate gradients is 1e-5 times the
    # right-hand side of their system, which is a few times larger than this target.
    D, total = np.diag(equations.d), step.X + step.Y
    target = max(1.0, theta) * np.eye(len(D)) - D @ D - extra.WM
    tolerance = 3e-4 * np.linalg.norm(target) if memory == 1 else 1e-8
    np.testing.assert_allclose(0.5 * (D @ total + total @ D), target, atol=tolerance)
    # M = I + S
    inverse = np.linalg.inv(equations.G)
    dM = np.einsum("k,kij->ij", y * step.tau / b, A)
    np.testing.assert_allclose(inverse.T @ step.Y @ inverse, dM, **close)
    # The products of the other variables.
    np.testing.assert_allclose(p.tau * step.v + p.v * step.tau, theta - p.tau * p.v - extra.tau_v, **close)
    np.testing.assert_allclose(p.xi * step.u + p.u * step.xi, theta - p.xi * p.u - extra.xi_u, **close)
    # c d'(xi) - u - y tau = 0
    gradient = np.vectorize(naive.gradient(get_slack(slack)))(p.xi)
    curvature = 1.0 / np.vectorize(naive.xi_prime(get_slack(slack)))(gradient)
    np.testing.assert_allclose(c * curvature * step.xi - step.u - y * step.tau, p.u + y * p.tau - c * gradient, **close)
    # v = y (xi - s)
    ds = np.einsum("kij,ij->k", A, equations.G @ step.X @ equations.G.T) / b
    s = np.einsum("kij,ij->k", A, p.L @ p.L.T) / b
    np.testing.assert_allclose(step.v - y * (step.xi - ds), y * (p.xi - s) - p.v, **close)


def test_correction_has_the_second_order_terms():
    equations = linearised()
    step = equations.direction(0.1)
    correction = equations.correction(step)
    np.testing.assert_allclose(correction.WM, 0.5 * (step.X @ step.Y + step.Y @ step.X), atol=1e-12)
    np.testing.assert_allclose(correction.tau_v, step.tau * step.v)
    np.testing.assert_allclose(correction.xi_u, step.xi * step.u)


def test_blended_directions_lie_between_the_two():
    equations = linearised()
    plain, corrected = equations.direction(0.1), equations.direction(0.1, random_correction(equations))
    for fraction in (0.0, 0.25, 1.0):
        expected = equations.direction(0.1, scaled(random_correction(equations), fraction))  # the equations are linear
        blended = plain.blended(corrected, fraction)
        for name in NAMES:
            np.testing.assert_allclose(getattr(blended, name), getattr(expected, name), rtol=1e-7, atol=1e-8)


def scaled(correction, factor):
    return Correction(*(factor * getattr(correction, field.name) for field in fields(Correction)))


def inside(equations, step, t):
    """Return whether all variables are positive after a step of length t, by the literal W and M."""
    p, inverse = equations.point, np.linalg.inv(equations.G)
    W = p.L @ p.L.T + t * equations.G @ step.X @ equations.G.T
    M = p.R @ p.R.T + t * inverse.T @ step.Y @ inverse
    smallest = [np.linalg.eigvalsh(W)[0], np.linalg.eigvalsh(M)[0]]
    smallest += [(getattr(p, name) + t * getattr(step, name)).min() for name in ("tau", "v", "xi", "u")]
    return min(smallest) > 0.0


@pytest.mark.parametrize("shrinking", [*NAMES, None])
def test_longest_step_ends_where_a_variable_becomes_zero(shrinking):
    """All directions are random, or only one of them is not zero."""
    equations = linearised()
    rng = np.random.default_rng(0)
    for _ in range(5):
        A, B = rng.standard_normal((2, 4, 4))
        step = Direction(A + A.T, B + B.T, *rng.standard_normal((4, len(equations.pairs.index))))
        if shrinking is not None:
            for name in set(NAMES) - {shrinking}:
                setattr(step, name, 0.0 * getattr(step, name))
        longest = equations.longest_step(step)
        assert inside(equations, step, 0.999 * longest)
        assert not inside(equations, step, 1.001 * longest)


def test_steps_that_leave_no_cone_are_unlimited():
    equations = linearised()
    ones = np.ones(len(equations.pairs.index))
    assert equations.longest_step(Direction(np.eye(4), np.zeros((4, 4)), ones, 0.0 * ones, ones, ones)) == np.inf


@pytest.mark.parametrize("factor", [np.full((4, 4), np.nan), np.zeros((4, 4))], ids=["not finite", "singular"])
def test_points_without_a_scaling_fail(factor):
    pairs = random_pairs("is")
    point = replace(random_point(pairs), L=factor)
    with pytest.raises(StepFailed):
        Linearisation(pairs, point, 2**30, iterative=False)


def test_directions_that_are_not_finite_fail():
    equations = linearised()
    equations.stationarity = np.full(len(equations.pairs.index), np.inf)
    with np.errstate(all="ignore"), pytest.raises(StepFailed):
        equations.direction(0.1)


def test_steps_without_eigenvalues_fail():
    equations = linearised()
    zeros = np.zeros(len(equations.pairs.index))
    step = Direction(np.full((4, 4), np.nan), np.zeros((4, 4)), zeros, zeros, zeros, zeros)
    with pytest.raises(StepFailed):
        equations.longest_step(step)
