"""The dual: values, metrics, domains, and the repair that makes any multipliers feasible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric import MetricProblem, make_paper_problem, solve
from tests import naive
from tests.exact import exact_dual
from tests.problem.points import feasible_multipliers, random_metric
from tests.problems import SLACKS, problem_seeds, random_problem


@pytest.mark.parametrize("seed", problem_seeds(18))
def test_dual_and_metric_match_the_formulas(seed):
    problem = random_problem(seed)
    alpha = feasible_multipliers(problem, seed)
    assert problem.dual(alpha) == pytest.approx(naive.dual(problem, alpha), rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(problem.metric(alpha), naive.metric(problem, alpha), rtol=1e-9, atol=1e-12)
    logdet = -np.linalg.slogdet(naive.metric(problem, alpha))[1]
    assert problem.dual_losses(alpha) == pytest.approx(naive.dual(problem, alpha) - logdet, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("slack", SLACKS)
def test_clipping_moves_each_multiplier_to_its_domain(slack):
    """t = y alpha b / c must lie in [t_min, t_max], and alpha must not be negative."""
    problem = MetricProblem.from_differences(np.ones((4, 2, 1)), [1, 1, -1, -1], [2.0, 2.0, 4.0, 4.0], 3.0, slack)
    alpha = np.array([-1.0, 1e300, -1.0, 1e300])
    t = problem._dual.t(problem.clipped(alpha))
    assert t[0] == t[2] == 0.0
    assert t[1] == pytest.approx(min(problem.slack.t_max, 1e300 * 2.0 / 3.0), rel=1e-12)
    assert t[3] == pytest.approx(max(problem.slack.t_min, -1e300 * 4.0 / 3.0), rel=1e-12)
    inside = np.array([0.01, 0.02, 0.03, 0.04])
    clipped = problem.clipped(inside)
    np.testing.assert_array_equal(clipped, inside)
    assert clipped is not inside, "a copy"


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("size", [1e2, 1e5, 1e8])
def test_dual_of_an_ill_conditioned_sum_matches_exact_arithmetic(slack, size):
    """Large similar differences, and a dissimilar one almost as large in their metric: log det loses its digits."""
    rng = np.random.default_rng(1)
    F = rng.standard_normal((3, 3, 1)) * np.array([size, 1.0, 1.0])[:, None, None]
    problem = MetricProblem.from_differences(F, [1, 1, -1], 1.0, 20.0, slack)
    alpha = np.array([0.5, 0.4, 0.0])
    alpha[2] = 0.9 / (F[2].T @ problem.metric(alpha) @ F[2]).item()
    point = problem._dual.point(alpha)
    assert point.value == pytest.approx(exact_dual(problem, alpha), abs=point.rounding, rel=0)
    assert point.rounding <= 1e-8 * max(1.0, abs(point.value))
    inverse = np.eye(3) + sum(y * a * f @ f.T for y, a, f in zip(problem.similar, alpha, F, strict=True))
    np.testing.assert_allclose(point.metric @ inverse, np.eye(3), atol=1e-14 * size**2 + 1e-9)


def test_zero_multipliers_give_the_identity():
    problem = make_paper_problem(4, 6, 1e-2, 0)
    for point in (problem._dual.repaired(np.zeros(6)), problem._dual.repaired(np.full(6, -1.0))):
        np.testing.assert_array_equal(point.multipliers, np.zeros(6))
        np.testing.assert_array_equal(point.metric, np.eye(4))
        assert point.value == 0.0


@pytest.mark.parametrize("slack", SLACKS)
def test_good_multipliers_are_not_changed_by_the_repair(slack):
    """Below the best scale nothing is gained by shrinking further."""
    problem = make_paper_problem(5, 12, 1e-1, 0, slack)
    best = solve(problem, "newton", tol=1e-10).multipliers
    for scale in (0.3, 0.9, 1.0):
        point = problem._dual.point(scale * best)
        assert not problem._dual._shrinking_helps(point, 0.0), "no search along the ray is needed"
        repaired = problem._dual.repaired(scale * best)
        np.testing.assert_array_equal(repaired.multipliers, scale * best)
        assert repaired.value == problem.dual(scale * best)


@pytest.mark.parametrize("slack", SLACKS)
def test_a_gain_below_the_rounding_error_is_not_searched_for(slack):
    """One similar pair: multipliers just beyond the best scale gain 1e-20 by shrinking, and 1e-6 beyond it, 1e-12."""
    problem = MetricProblem.from_differences([[[1.0], [0.5]]], [1], 0.5, 1.0, slack)
    best = problem._dual.repaired(np.array([1.9])).multipliers
    assert best[0] < 1.5
    for beyond, expected in ((1e-10, False), (1e-6, True)):
        alpha = best * (1.0 + beyond)
        assert problem._dual._shrinking_helps(problem._dual.point(alpha), 0.0) == expected
    # With a tolerance of 1e-6, gains of less than 1e-8 do not matter.
    for beyond, expected in ((1e-5, False), (1e-3, True)):
        alpha = best * (1.0 + beyond)
        assert problem._dual._shrinking_helps(problem._dual.point(alpha), 0.0)
        assert problem._dual._shrinking_helps(problem._dual.point(alpha), 1e-6) == expected


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("scale", [1.5, 3.0, 1e3])
def test_multipliers_that_are_too_large_are_scaled_back(slack, scale):
    """One similar pair: clipping is not enough, and the best point on the ray is the optimum itself."""
    problem = MetricProblem.from_differences([[[1.0], [0.5]]], [1], 0.5, 1.0, slack)
    best = solve(problem, "newton", tol=1e-12)
    repaired = problem._dual.repaired(scale * best.multipliers)
    assert repaired.value == pytest.approx(best.certificate.dual, abs=1e-9)
    np.testing.assert_allclose(repaired.multipliers, best.multipliers, rtol=1e-4)
    np.testing.assert_allclose(repaired.metric, naive.metric(problem, repaired.multipliers), rtol=1e-9)


def test_multipliers_that_make_the_sum_indefinite_are_scaled_into_the_cone():
    """A dissimilar pair pushes I + S out of the cone; the best scale is inside."""
    problem = MetricProblem.from_differences([[[2.0], [0.0]]], [-1], 8.0, 1.0, "re")
    assert problem.dual([10.0]) == -np.inf
    repaired = problem._dual.repaired(np.array([10.0]))
    grid = np.linspace(1e-4, 0.2499, 5000)
    values = [problem.dual([a]) for a in grid]
    assert repaired.value == pytest.approx(max(values), abs=1e-6)
    assert repaired.multipliers[0] == pytest.approx(grid[int(np.argmax(values))], abs=1e-3)


def test_a_ray_that_only_descends_is_repaired_to_the_origin():
    """The similar pair is idle, so that every positive multiplier is worse than none."""
    problem = MetricProblem.from_differences([[[1.0]]], [1], 10.0, 1.0, "l2")
    repaired = problem._dual.repaired(np.array([0.5]))
    assert repaired.value == 0.0
    np.testing.assert_array_equal(repaired.multipliers, [0.0])


@given(
    seed=st.sampled_from(problem_seeds(63)),
    size=st.floats(-12, 12),
    signs=st.booleans(),
    draw=st.integers(0, 5),
)
def test_any_multipliers_are_repaired(seed, size, signs, draw):
    """The bound stays valid and finite, and the repaired point is feasible."""
    problem = random_problem(seed)
    rng = np.random.default_rng(draw)
    alpha = 10.0**size * rng.random(problem.n_pairs)
    if signs:
        alpha *= rng.choice([-1.0, 1.0], problem.n_pairs)
    point = problem.certified(np.eye(problem.n), alpha)
    assert np.isfinite(point.certificate.gap)
    assert point.certificate.gap >= -point.certificate.rounding
    assert point.certificate.dual >= -point.certificate.rounding  # theta = 0 would give 0
    assert problem.dual(point.multipliers) == pytest.approx(point.certificate.dual, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("similar", [[1, 1], [1, -1], [-1, -1]])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(("size", "distance", "bound"), [(1e300, 1e5, 10.0), (1e308, 1e5, 10.0), (1e307, 1e-5, 1e3)])
def test_multipliers_that_overflow_are_repaired(size, distance, bound, n, similar, slack):
    """The sum S overflows, or the numbers t do; with pairs of both kinds it is NaN."""
    F = distance * np.random.default_rng(n).standard_normal((2, n, 1))
    problem = MetricProblem.from_differences(F, similar, bound, 1.0, slack)
    alpha = np.array([size, 0.5 * size])
    certificate = problem.certify(None, alpha)
    assert certificate.dual >= -certificate.rounding
    assert certificate.rounding >= 0.0
    assert np.isfinite(certificate.gap)
    assert problem.dual(alpha) == -np.inf


def test_a_sum_that_is_not_positive_definite_is_refused_before_its_residual_is_summed(monkeypatch):
    monkeypatch.setattr("covmetric.problem.dual.weighted_gram_residual", lambda *_: pytest.fail("not needed"))
    problem = MetricProblem.from_differences([[[1.0], [0.5]]], [-1], 1.0, 1.0, "re")
    assert problem.dual([2.0]) == -np.inf


@pytest.mark.parametrize("seed", problem_seeds(12))
def test_the_scale_of_the_repair_is_the_best(seed):
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    alpha = 3.0 * rng.random(problem.n_pairs) * problem.weights / problem.bounds
    repaired = problem.certified(np.eye(problem.n), alpha)
    clipped = problem._dual.clipped(alpha)
    values = [problem.dual(theta * clipped) for theta in np.linspace(1e-3, 1.0, 400)]
    assert repaired.certificate.dual >= max(values) - 1e-9


@given(seed=st.sampled_from(problem_seeds(63)), scale=st.floats(1e-3, 1e3))
def test_weak_duality(seed, scale):
    problem = random_problem(seed)
    W = scale * random_metric(problem.n, seed)
    certificate = problem.certify(W, feasible_multipliers(problem, seed))
    assert certificate.gap >= -certificate.rounding


@pytest.mark.parametrize(
    "alpha",
    [[-1.0, 0.0, 0.0], [0.0, 1e9, 0.0], [2.0, 0.0, 0.0]],
    ids=["negative", "I + S not positive definite", "t beyond 1"],
)
def test_infeasible_multipliers(alpha):
    problem = MetricProblem.from_differences(np.random.default_rng(0).standard_normal((3, 3, 2)), [1, -1, 1], 1.0, 1.0)
    assert problem.dual(alpha) == -np.inf
    with pytest.raises(ValueError, match="multipliers are not dual feasible"):
        problem.metric(alpha)
    assert np.isfinite(problem.certify(None, alpha).gap)
