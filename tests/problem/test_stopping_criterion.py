"""The paper's stopping criterion: objective and bound against the literal formulas."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import Dykstra, MetricProblem, PaperBound, make_paper_problem, paper_bound, solve
from tests import naive
from tests.problem.points import feasible_multipliers
from tests.problems import SLACKS, problem_seeds, random_problem


@pytest.mark.parametrize("seed", problem_seeds(24))
def test_values_match_the_literal_formulas(seed):
    problem = random_problem(seed)
    alpha = feasible_multipliers(problem, seed)
    bound = paper_bound(problem, alpha)
    scale = 1e-9 * max(1.0, abs(bound.objective))
    assert bound.objective == pytest.approx(naive.paper_objective(problem, alpha), abs=scale)
    assert bound.dual == pytest.approx(naive.dual(problem, alpha), abs=scale)
    assert bound.gap == pytest.approx(naive.paper_bound(problem, alpha), abs=scale)
    np.testing.assert_allclose(bound.W, naive.metric(problem, alpha), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(bound.slacks, naive.paper_slacks(problem, alpha)[1], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("slack", SLACKS)
def test_point_is_feasible_and_no_better_than_with_the_best_slacks(slack):
    problem = make_paper_problem(n=6, K=20, slack=slack)
    alpha = feasible_multipliers(problem)
    bound = paper_bound(problem, alpha)
    ratios = problem.squared_distances(bound.W) / problem.bounds
    assert (problem.similar * (ratios - bound.slacks) <= 1e-12 * np.maximum(1.0, ratios)).all()
    violated = problem.similar * (ratios - problem.slack.xi(problem.similar * alpha / problem.weights)) > 0.0
    assert violated.any() and not violated.all()
    assert bound.objective > problem.primal(bound.W) + 1e-3
    assert bound.gap == bound.objective - bound.dual


@pytest.mark.parametrize("slack", SLACKS)
def test_gap_vanishes_at_the_optimum(slack):
    problem = make_paper_problem(n=5, K=20, slack=slack)
    best = solve(problem, Dykstra("perm"), tol=1e-11, random_state=0)
    bound = paper_bound(problem, best.multipliers)
    assert bound.objective == pytest.approx(best.certificate.primal, rel=1e-5)
    assert 0.0 <= bound.gap < 1e-4


def test_arguments_are_not_changed_and_lists_are_accepted():
    problem = make_paper_problem(n=3, K=5)
    alpha = feasible_multipliers(problem)
    before = alpha.copy()
    from_array, from_list = paper_bound(problem, alpha), paper_bound(problem, alpha.tolist())
    assert isinstance(from_array, PaperBound) and from_array.objective == from_list.objective
    np.testing.assert_array_equal(alpha, before)


def test_negative_multipliers_raise():
    with pytest.raises(ValueError, match=r"multipliers must not be negative, got multipliers\[2\] = -0\.5"):
        paper_bound(make_paper_problem(n=3, K=4), [0.0, 0.1, -0.5, -0.7])


def test_multipliers_beyond_the_domain_of_the_slack_raise():
    problem = MetricProblem.from_differences(np.ones((3, 2, 1)), [-1, 1, 1], 2.0, 4.0, "is")
    with pytest.raises(ValueError, match=r"multipliers\[1\] = 3 is not dual feasible: .* = 1\.5 .* of slack 'is'"):
        paper_bound(problem, [0.1, 3.0, 4.0])


def test_multipliers_with_an_indefinite_sum_raise():
    problem = MetricProblem.from_differences([[[2.0], [0.0]]], [-1], 1.0, 1.0, "re")
    with pytest.raises(ValueError, match=r"I \+ S must be positive definite, and its smallest eigenvalue is -1;"):
        paper_bound(problem, [0.5])


@pytest.mark.parametrize(
    ("multipliers", "message"),
    [
        ([0.1], r"one entry per pair, shape \(2,\); got \(1,\)"),
        ([0.1, np.nan], r"multipliers\[1\] is nan"),
    ],
)
def test_invalid_arrays_raise(multipliers, message):
    with pytest.raises(ValueError, match=message):
        paper_bound(make_paper_problem(n=3, K=2), multipliers)


def test_metric_too_close_to_singular_raises():
    problem = MetricProblem.from_differences([[[1e50], [1.0]], [[0.3], [1.0]]], [1, 1], 1.0, 1e10, "re")
    with pytest.raises(ValueError, match="the metric of the multipliers is too close to singular"):
        paper_bound(problem, [1.0, 0.0])


def test_distance_that_underflows_raises():
    """With `is`, the loss of a dissimilar pair at distance zero is infinite."""
    problem = MetricProblem.from_differences([[[1e20], [0.0]], [[1e-155], [0.0]]], [1, -1], 1.0, 10.0, "is")
    with pytest.raises(ValueError, match="the metric of the multipliers is too close to singular"):
        paper_bound(problem, [1.0, 0.0])
