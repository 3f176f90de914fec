"""The primal: the objective of a metric, its squared distances, and the multipliers that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import MetricProblem
from tests import naive
from tests.exact import exact_primal
from tests.problem.points import random_metric
from tests.problems import SLACKS, problem_seeds, random_problem


@pytest.mark.parametrize("seed", problem_seeds(18))
def test_slacks_are_the_best_for_the_metric(seed):
    """The best feasible slack is the one nearest to 1."""
    problem = random_problem(seed)
    W = random_metric(problem.n, seed)
    s = np.einsum("kij,ij->k", naive.matrices(problem), W) / problem.bounds
    xi = problem.slacks(W)
    assert (problem.similar * s <= problem.similar * xi * (1 + 1e-12) + 1e-12).all()
    feasible = np.where(problem.similar > 0, np.maximum(s, 1.0), np.minimum(s, 1.0))
    np.testing.assert_allclose(xi, feasible, rtol=1e-12)


@pytest.mark.parametrize("seed", problem_seeds(18))
def test_objective_matches_the_formula(seed):
    problem = random_problem(seed)
    for W in (random_metric(problem.n, seed), 0.3 * np.eye(problem.n)):
        assert problem.primal(W) == pytest.approx(naive.primal(problem, W), rel=1e-11)


@pytest.mark.parametrize("seed", problem_seeds(9))
def test_squared_distances_match_the_formula(seed):
    problem = random_problem(seed)
    A = naive.matrices(problem)
    for W in (random_metric(problem.n, seed), 0.3 * np.eye(problem.n)):
        np.testing.assert_allclose(problem.squared_distances(W), np.einsum("kij,ij->k", A, W), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("seed", problem_seeds(9))
def test_multipliers_are_the_gradient_on_active_pairs(seed):
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    ratios = rng.uniform(0.1, 3.0, problem.n_pairs)
    ratios[0] = 1.0
    gradient = naive.gradient(problem.slack)
    expected = [
        max(0.0, y * c / b * gradient(s))
        for y, b, c, s in zip(problem.similar, problem.bounds, problem.weights, ratios, strict=True)
    ]
    np.testing.assert_allclose(problem._primal.multipliers(ratios), expected, rtol=1e-9, atol=1e-9)


def test_multipliers_of_a_distance_that_underflows_are_zero():
    """The gradient of slack 'is' is infinite at 0."""
    problem = MetricProblem.from_differences([[[1e-20]]], [-1], 1.0, 1.0, "is")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(problem._primal.multipliers(np.zeros(1)), [0.0])
    assert problem.certify([[1e-300]]).dual == 0.0


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("smallest", [1e-3, 1e-8, 1e-13])
def test_objective_of_an_ill_conditioned_metric_matches_exact_arithmetic(slack, smallest):
    """Below 1e-11 or so, the Cholesky factor alone is not accurate enough."""
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    W = basis @ np.diag([1.0, 0.5, 2.0, smallest]) @ basis.T
    W = 0.5 * (W + W.T)
    small = basis[:, 3:]  # a similar pair along the smallest eigenvalue, and a dissimilar one across
    F = np.stack([small, basis[:, :1] + small, 0.1 * basis[:, 1:2]])
    problem = MetricProblem.from_differences(F, [1, 1, -1], [0.3 * smallest, 0.5, 1.0], [2.0, 3.0, 5.0], slack)
    point = problem._primal.point(W)
    exact = exact_primal(problem, W)
    assert point.value == pytest.approx(exact, abs=point.rounding, rel=0)
    assert point.rounding <= 1e-8 * max(1.0, abs(exact))
    assert (point.ratios > 0.0).all()


@pytest.mark.parametrize("W", [np.diag([1.0, 0.0]), np.diag([1.0, -1.0]), np.array([[1.0, 2.0], [2.0, 1.0]])])
def test_a_metric_that_is_not_positive_definite_has_no_point(W):
    problem = MetricProblem.from_differences(np.eye(2)[None], [1], 1.0, 1.0)
    assert problem._primal.point(W) is None
    assert problem.primal(W) == np.inf


def test_a_metric_that_rounding_makes_indefinite_has_no_point():
    """The factor exists, but the exact residual shows that it belongs to another matrix."""
    n = 12
    hilbert = 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1.0)
    shift = 3e-17
    W = hilbert - shift * np.eye(n)
    problem = MetricProblem.from_differences(np.eye(n)[None], [1], 1.0, 1.0)
    point = problem._primal.point(W)
    if point is not None:
        exact = exact_primal(problem, W)
        assert point.value == pytest.approx(exact, abs=point.rounding, rel=0)
