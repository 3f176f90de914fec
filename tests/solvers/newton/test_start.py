"""The start of Newton's method: the best multiple of the identity, and the fraction of the weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from covmetric import MetricProblem, make_paper_problem
from covmetric.problem.terms import PairTerms
from covmetric.solvers.newton.start import best_multiple, first_weight_fraction
from tests.problems import SLACKS, problem_seeds, random_problem


@pytest.mark.parametrize("seed", problem_seeds(12))
def test_start_is_the_best_multiple_of_the_identity(seed):
    problem = random_problem(seed)
    C, s = best_multiple(problem, weight_fraction=1.0)
    w = C[0, 0] ** 2
    np.testing.assert_allclose(s, w * problem.squared_norms / problem.bounds)
    best = problem.primal(w * np.eye(problem.n))
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert best <= problem.primal(factor * w * np.eye(problem.n)) + 1e-3 * max(1.0, abs(best))


@pytest.mark.parametrize("slack", SLACKS)
def test_start_is_the_identity_if_no_pair_is_active(slack):
    problem = MetricProblem.from_differences(np.eye(3)[None], [1], 10.0, 1.0, slack)
    C, ratios = best_multiple(problem, weight_fraction=1.0)
    np.testing.assert_array_equal(C, np.eye(3))
    np.testing.assert_array_equal(ratios, [0.3])


@pytest.mark.parametrize("slack", SLACKS)
def test_start_uses_the_fraction_of_the_weights(slack):
    """With almost no weight the identity is best; with all the weight a similar pair shrinks the metric."""
    problem = MetricProblem.from_differences(np.eye(3)[None], [1], 0.5, 10.0, slack)
    light, heavy = (best_multiple(problem, weight_fraction=f)[0][0, 0] ** 2 for f in (1e-9, 1.0))
    assert light == pytest.approx(1.0, abs=0.02)
    assert heavy < 0.5


def test_first_weight_fraction_falls_with_the_weights():
    """The curvature of the losses is proportional to the weights, and the fraction inversely proportional to both."""
    problem = make_paper_problem(5, 30, 1e-2, 0)
    ratios = problem.squared_norms / problem.bounds
    light, heavy, heaviest = (
        first_weight_fraction(problem.replace(weights=problem.weights * factor), ratios) for factor in (1e-3, 1e4, 1e6)
    )
    assert light == 1.0
    assert heaviest == pytest.approx(heavy / 100.0)
    assert 0.0 < heaviest < heavy < 1.0


def test_first_weight_fraction_is_one_without_active_pairs():
    problem = MetricProblem.from_differences(np.eye(3)[None], [1], 10.0, 1e12)
    assert first_weight_fraction(problem, np.array([0.3])) == 1.0


@pytest.mark.parametrize("slack", SLACKS)
def test_first_weight_fraction_is_proportional_to_the_columns_per_row(slack):
    """With the same ratios, vectors start with 4 n times smaller weights than square matrices."""
    rng = np.random.default_rng(0)
    square, half, thin = (
        MetricProblem.from_differences(rng.standard_normal((20, 6, m)), np.ones(20), 1.0, 1e6, slack) for m in (6, 3, 1)
    )
    ratios = np.full(20, 2.0)
    assert first_weight_fraction(half, ratios) == pytest.approx(first_weight_fraction(square, ratios) / 2.0)
    assert first_weight_fraction(thin, ratios) == pytest.approx(first_weight_fraction(square, ratios) / (4.0 * 6.0))
    wide = MetricProblem.from_differences(rng.standard_normal((20, 6, 9)), np.ones(20), 1.0, 1e6, slack)
    assert first_weight_fraction(wide, ratios) == pytest.approx(first_weight_fraction(square, ratios))


def test_start_takes_few_evaluations(monkeypatch):
    evaluations = []
    active = PairTerms.active
    monkeypatch.setattr(PairTerms, "active", lambda self, s: evaluations.append(1) or active(self, s))
    for slack in ("is", "l2", "re"):
        for lam in (1e-3, 1e-4):
            evaluations.clear()
            best_multiple(make_paper_problem(10, 50, lam, 0, slack), weight_fraction=1.0)
            assert len(evaluations) <= 3
    evaluations.clear()
    best_multiple(make_paper_problem(50, 50, 1e-3, 0), weight_fraction=1.0)
    assert len(evaluations) == 2, "the guess is exact"


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("lam", [1e-2, 1e-3, 1e-4])
def test_start_is_accurate_to_a_few_percent(slack, lam):
    problem = make_paper_problem(10, 50, lam, 0, slack)
    w = best_multiple(problem, weight_fraction=1.0)[0][0, 0] ** 2
    grid = w * np.linspace(0.9, 1.1, 41)
    best = grid[np.argmin([problem.primal(value * np.eye(10)) for value in grid])]
    assert w == pytest.approx(best, rel=0.03)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e4])
def test_start_is_near_the_minimum_for_data_far_off_their_bounds(slack, scale, weight):
    """Newton's steps then leave the bracket, because the active pairs change on the way."""
    rng = np.random.default_rng(0)
    F, similar = rng.standard_normal((40, 5, 2)), rng.choice([-1.0, 1.0], 40)
    problem = MetricProblem.from_differences(F, similar, scale * 10.0, weight, slack)
    w = best_multiple(problem, weight_fraction=1.0)[0][0, 0] ** 2
    near = minimize_scalar(lambda x: problem.primal(np.exp(x) * np.eye(5)), bounds=(-40.0, 40.0), method="bounded")
    found, best = problem.primal(w * np.eye(5)), min(near.fun, problem.primal(np.eye(5)))
    assert found <= best + 1e-3 * (1.0 + abs(best))
