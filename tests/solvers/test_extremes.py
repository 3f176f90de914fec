"""Legal extremes, by every solver: certified, or refused, never falsely SOLVED."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import MetricProblem, Newton, Status, solve
from covmetric.solvers import SOLVERS
from tests.exact import exact_gap
from tests.problems import SLACKS, random_problem

LIMITS = {"dykstra": 100_000, "newton": 200}


def scaled(n, m, K, slack, size_F=1.0, size_b=1.0, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.uniform(-0.5, 0.5, (K, n, m))
    similar = rng.choice([-1.0, 1.0], K)
    similar[0] = 1.0
    return MetricProblem.from_differences(size_F * F, similar, size_b * n * m / 12.0, 100.0 / K, slack)


SHAPES = [(6, 6, 20), (6, 1, 20), (6, 2, 20), (1, 1, 5), (6, 3, 1), (1, 1, 1), (3, 7, 10), (6, 1, 2)]


@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_data_and_bounds_rescaled_together(shape, slack, size, solver):
    """The same problem in other units: the same W, SOLVED, with multipliers that scale."""
    plain = solve(scaled(*shape, slack), solver, tol=1e-9, max_iter=LIMITS[solver], random_state=0)
    rescaled = scaled(*shape, slack, size_F=np.sqrt(size), size_b=size)
    result = solve(rescaled, solver, tol=1e-9, max_iter=LIMITS[solver], random_state=0)
    assert result.status is plain.status is Status.SOLVED
    np.testing.assert_allclose(result.W, plain.W, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(result.certificate.primal, plain.certificate.primal, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6])
def test_differences_rescaled_alone(shape, slack, size, solver):
    result = solve(scaled(*shape, slack, size_F=size), solver, max_iter=LIMITS[solver], random_state=0)
    assert result.status is Status.SOLVED
    assert np.isfinite(result.W).all()


@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("shape", [(6, 1, 20), (6, 2, 20), (6, 1, 2), (6, 3, 1), (8, 2, 2), (3, 1, 2)])
def test_huge_differences_are_certified_or_refused(shape, slack, solver):
    """F by 1e12 with m < n: what is called SOLVED must be so by 60-digit arithmetic, too."""
    problem = scaled(*shape, slack, size_F=1e12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, solver, max_iter=2000, random_state=0)
    assert result.status in (Status.SOLVED, Status.NUMERICAL_ERROR)
    assert np.isfinite(result.W).all()
    if result.status is Status.SOLVED:
        assert exact_gap(problem, result) <= 2e-6 * max(1.0, abs(result.certificate.primal))


def test_exact_gap_agrees_where_nothing_is_extreme():
    solver = "auto"
    problem = scaled(4, 2, 8, "is")
    result = solve(problem, solver, tol=1e-4, random_state=0)
    assert exact_gap(problem, result) == pytest.approx(result.certificate.gap, abs=1e-12)


@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize("slack", ["l2", "re"])
def test_a_dissimilar_pair_of_equal_examples_costs_its_price(slack, solver):
    """F = 0: c/2 for l2 with alpha = c/b, c for re; the rest of the problem is solved as if it were not there."""
    problem = random_problem(20)
    i, j = problem.pairs.T
    F = np.concatenate([problem.embedded[i] - problem.embedded[j], np.zeros((1, problem.n, problem.m))])
    similar = np.append(problem.similar, -1.0)
    bounds, weights = np.append(problem.bounds, 2.0), np.append(problem.weights, 3.0)
    alone = MetricProblem.from_differences(F[:-1], similar[:-1], bounds[:-1], weights[:-1], slack)
    both = MetricProblem.from_differences(F, similar, bounds, weights, slack)
    without = solve(alone, solver, tol=1e-10, random_state=0)
    result = solve(both, solver, tol=1e-10, random_state=0)
    assert result.status is Status.SOLVED
    price = {"l2": 1.5, "re": 3.0}[slack]
    assert result.certificate.primal == pytest.approx(without.certificate.primal + price, rel=1e-8)
    np.testing.assert_allclose(result.W, without.W, rtol=1e-3, atol=1e-4)
    if slack == "l2":
        assert result.multipliers[-1] == pytest.approx(1.5)


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_a_similar_pair_of_equal_examples_is_idle(solver):
    for slack in SLACKS:
        problem = MetricProblem.from_differences(np.zeros((1, 3, 2)), [1], 1.0, 1.0, slack)
        result = solve(problem, solver)
        assert result.status is Status.SOLVED
        np.testing.assert_array_equal(result.W, np.eye(3))


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_only_dissimilar_pairs_of_equal_examples(solver):
    for slack in ("l2", "re"):
        problem = MetricProblem.from_differences(np.zeros((3, 3, 2)), [-1, -1, -1], 1.0, 2.0, slack)
        result = solve(problem, solver)
        assert result.status is Status.SOLVED
        np.testing.assert_allclose(result.W, np.eye(3))


def hostile(seed):
    """Weights and bounds over ten orders of magnitude and more, or None where the problem is refused."""
    rng = np.random.default_rng(seed)
    n, m, K = int(rng.integers(1, 5)), int(rng.integers(1, 6)), int(rng.integers(1, 7))
    F = rng.standard_normal((K, n, m)) * 10.0 ** rng.uniform(-1, 1, (K, 1, 1))
    F *= 10.0 ** (rng.uniform(-6, 6) if rng.random() < 0.5 else 0)
    if rng.random() < 0.3:
        F *= 10.0 ** rng.uniform(-6, 6, (1, n, 1))
    similar = rng.choice([-1.0, 1.0], K)
    own = (F**2).sum(axis=(1, 2))
    bounds = 10.0 ** rng.uniform(-12, 12, K) if rng.random() < 0.3 else own * 10.0 ** rng.uniform(-2, 2, K)
    equal = rng.random() < 0.5
    weights = 10.0 ** rng.uniform(-6, 8) * np.ones(K) if equal else 10.0 ** rng.uniform(-6, 6, K)
    try:
        return MetricProblem.from_differences(F, similar, bounds, weights, ("is", "l2", "re")[seed % 3])
    except ValueError:
        return None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seeds", [range(200), (756, 2291)])  # the last two had a rounding error that was too small
def test_the_proof_holds_in_exact_arithmetic(seeds):
    solved = 0
    for seed in seeds:
        problem = hostile(seed)
        if problem is None:
            continue
        result = solve(problem, "newton")
        proof = result.certificate
        if result.status is Status.SOLVED:
            solved += 1
            gap = exact_gap(problem, result)
            assert gap <= proof.gap + 3.0 * proof.rounding, seed
            assert gap <= 1e-6 * max(1.0, abs(proof.primal)), seed
    assert solved >= 0.95 * len(seeds)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [175, 243, 513])
def test_conjugate_gradients_alone(seed):
    """With no memory for a matrix, where rounding errors make them break down: no exception, and no false proof."""
    problem = hostile(seed)
    result = solve(problem, Newton(memory=1))
    assert result.status is not Status.SOLVED or exact_gap(problem, result) <= 1e-6 * abs(result.certificate.primal)
