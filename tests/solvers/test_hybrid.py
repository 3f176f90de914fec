"""Hybrid: whole solves, paths and estimators."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from covmetric import CovMetric, Dykstra, Hybrid, Newton, Status, make_paper_problem, solve, solve_path
from covmetric.solvers import StepFailed, hybrid
from tests.problems import SLACKS, random_problem
from tests.solvers.hostile import hostile_problem
from tests.solvers.phases import METHODS, count_steps, let_fail, phases, thin_problem


def test_a_thin_problem_goes_from_dykstra_to_newton():
    result = solve(thin_problem(1e-4), Hybrid())
    assert result.status is Status.SOLVED
    assert phases(result) == ["dykstra", "newton"]


@pytest.mark.parametrize("slack", SLACKS)
def test_a_thin_problem_with_large_weights_is_solved_by_a_second_order_method(slack):
    result = solve(thin_problem(1e-6, slack=slack), Hybrid())
    assert result.status is Status.SOLVED
    assert phases(result)[0] == "dykstra" and phases(result)[-1] in ("newton", "interior")
    assert result.n_iter <= 100


@pytest.mark.parametrize("first", METHODS)
@pytest.mark.parametrize("slack", SLACKS)
def test_all_first_methods_reach_the_same_optimum(first, slack):
    problem = make_paper_problem(8, 40, 1e-3, 0, slack)
    result, newton = (solve(problem, solver, tol=1e-9) for solver in (Hybrid(first), "newton"))
    assert result.status is Status.SOLVED
    assert result.history.phase[0] == first
    assert result.certificate.primal == pytest.approx(newton.certificate.primal, rel=2e-9)


@pytest.mark.parametrize("lam", [1e-2, 1e-4])
@pytest.mark.parametrize("seed", [0, 1])
def test_newton_first_is_newton_on_the_papers_problem(lam, seed):
    problem = make_paper_problem(10, 50, lam, seed)
    result, newton = (solve(problem, solver, tol=1e-9) for solver in (Hybrid("newton"), Newton()))
    assert phases(result) == ["newton"]
    for name in ("W", "multipliers", "slacks"):
        np.testing.assert_array_equal(getattr(result, name), getattr(newton, name))
    for name in ("n_iter", "primal", "dual", "phase"):
        np.testing.assert_array_equal(getattr(result.history, name), getattr(newton.history, name))


def test_hostile_problems_are_solved_whatever_the_first_method():
    for seed in range(30):
        for first in METHODS:
            result = solve(hostile_problem(seed), Hybrid(first))
            assert result.status is Status.SOLVED, (seed, first)


@pytest.mark.parametrize("lam", [1e-4, 1e-6])
def test_iterations_are_epochs_plus_steps(lam, monkeypatch):
    counts, visits, sweep = count_steps(monkeypatch), [], Dykstra._sweep
    monkeypatch.setattr(Dykstra, "_sweep", lambda self, *rest: visits.append(len(rest[2])) or sweep(self, *rest))
    problem = thin_problem(lam)
    result = solve(problem, Hybrid())
    assert sum(count > 0 for count in counts.values()) >= 2
    assert result.n_iter == sum(counts.values()) == result.history.n_iter[-1]
    # Most epochs leave out idle pairs while the gap falls slowly.
    assert result.history.projections[-1] == sum(visits) < counts["dykstra"] * problem.n_pairs


def test_projections_of_all_phases_are_added(monkeypatch):
    """Dykstra hands over to Newton, which fails, as interior points do; Dykstra's second phase goes on counting."""
    problem = thin_problem(1e-3)
    monkeypatch.setattr(hybrid, "_NEWTON_GAP", 1.0)
    monkeypatch.setattr(hybrid, "_newton_takes_over", lambda state: state.n_iter == 2)
    monkeypatch.setattr(hybrid, "_certificate_pays", lambda state, tol: True)
    counts = count_steps(monkeypatch)
    let_fail(monkeypatch, "newton", "interior", after=1)
    result = solve(problem, Hybrid(), max_iter=300)
    assert phases(result)[0] == phases(result)[-1] == "dykstra"
    assert (counts["newton"], counts["interior"]) == (1, 1)
    assert counts["dykstra"] > 2
    assert result.history.projections[-1] == counts["dykstra"] * problem.n_pairs
    assert result.n_iter == counts["dykstra"] + 4  # a failed step counts as well
    assert result.status is Status.SOLVED


@pytest.mark.parametrize("first", METHODS)
@pytest.mark.parametrize("max_iter", [0, 1, 7, 90])
def test_tol_zero_makes_exactly_max_iter_iterations(first, max_iter):
    for problem in (make_paper_problem(5, 20, 1e-3, 0), random_problem(30), random_problem(48)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = solve(problem, Hybrid(first), tol=0, max_iter=max_iter)
        assert (result.status, result.n_iter) == (Status.MAX_ITER, max_iter)
        assert result.history.n_iter[-1] == max_iter


def test_solves_without_a_seed_give_the_same_bits():
    problem = thin_problem(1e-3)
    default, again, seeded, seeded_again, other = (
        solve(problem, Hybrid(), random_state=seed) for seed in (None, None, 3, 3, 4)
    )
    np.testing.assert_array_equal(default.W, again.W)
    np.testing.assert_array_equal(default.history.gap, again.history.gap)
    np.testing.assert_array_equal(seeded.W, seeded_again.W)
    assert not np.array_equal(seeded.W, other.W), "the seed has an effect"
    np.testing.assert_array_equal(default.W, solve(problem, Hybrid(), random_state=0).W)
    assert Hybrid.default_seed == 0


def test_order_is_that_of_dykstra():
    problem = thin_problem(1e-3)
    orders = [solve(problem, Hybrid(order=order), tol=0, max_iter=1).multipliers for order in ("cyclic", "perm")]
    cyclic = solve(problem, Dykstra("cyclic"), tol=0, max_iter=1).multipliers
    np.testing.assert_array_equal(orders[0], cyclic)
    assert not np.array_equal(*orders)


@pytest.mark.parametrize("first", ["dykstra", "interior"])
def test_a_warm_start_with_a_small_gap_begins_with_newton(first):
    problem = thin_problem(1e-3)
    rough = solve(problem, tol=1e-2)
    warm = solve(problem, Hybrid(first), tol=1e-8, warm_start=rough)
    assert (phases(warm), warm.status) == (["newton"], Status.SOLVED)
    far = solve(problem, Hybrid(first), warm_start=1e-3 * rough.multipliers)
    assert problem.certify(None, 1e-3 * rough.multipliers).relative_gap > 0.2
    assert (phases(far)[0], far.status) == (first, Status.SOLVED)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"first": "simplex"}, "first must be one of 'dykstra', 'newton', 'interior', got 'simplex'"),
        ({"first": None}, "first must be one of .*, got None"),
        ({"order": "shuffled"}, "order must be one of .*; got 'shuffled'"),
        ({"first": "newton", "order": "shuffled"}, "order must be one of .*; got 'shuffled'"),
        ({"memory": 0}, "memory must be a positive number of bytes, got 0"),
        ({"memory": "1 GB"}, "memory must be a positive number of bytes, got '1 GB'"),
        ({"first": "newton", "memory": -1}, "memory must be a positive number of bytes, got -1"),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        solve(make_paper_problem(4, 6, 1e-2, 0), Hybrid(**settings))


@pytest.mark.parametrize("first", METHODS)
def test_path_matches_single_solves(first):
    lambdas = [1e-1, 1e-3, 1e-5]
    problem = thin_problem(1.0, n=40, K=120)
    for lam, result in zip(lambdas, solve_path(problem, lambdas, Hybrid(first), tol=1e-8), strict=True):
        single = solve(problem.replace(weights=problem.weights / lam), "newton", tol=1e-8)
        assert result.status is single.status is Status.SOLVED
        assert result.certificate.primal == pytest.approx(single.certificate.primal, rel=2e-8)
        assert len(result.history.phase) == len(result.history.n_iter)


def test_path_with_small_steps_stays_with_newton():
    """The previous solution is within the reach of Newton's model."""
    results = solve_path(thin_problem(1.0, n=40, K=120), np.geomspace(1e-2, 1e-4, 12), Hybrid())
    assert [result.status for result in results] == [Status.SOLVED] * 12
    assert all(result.history.phase[0] == "newton" for result in results[1:])


@pytest.mark.parametrize("solver", ["auto", "hybrid", "newton", "interior"])
@pytest.mark.parametrize("difference", [1e-15, 1e-13])
@pytest.mark.parametrize("lam", [1e-2, 1e-4, 1e-6])
def test_classes_with_an_example_in_common_up_to_rounding_errors_are_solved(solver, difference, lam):
    """Two examples of different classes differ by a few rounding errors, and the pair has an enormous loss."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((20, 5)), np.arange(20) % 2
        X[1] = X[0] * (1.0 + difference * rng.choice([-1.0, 1.0], 5))
        assert 0.0 < np.abs(X[1] - X[0]).max() < 1e-12
        learner = CovMetric("vector", lam=lam, solver=solver, random_state=0).fit(X, y)
        assert learner.result_.status is Status.SOLVED
        assert learner.result_.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize(("scale", "used"), [(1.0, True), (1e-3, False)])
def test_newton_begins_at_a_good_warm_start_after_dykstra_has_crawled(scale, used, monkeypatch):
    """The weights grow from the fraction for which the warm start is nearly optimal."""
    problem = thin_problem(1e-6)
    warm = scale * solve(thin_problem(1e-5)).multipliers
    gap = problem.certify(None, warm).relative_gap
    assert (0.1 < gap <= 0.9) == used
    started = []
    start = Newton.start

    def recorded(self, problem, point, rng):
        state = start(self, problem, point, rng)
        started.append((point.multipliers.copy(), state))
        return state

    def first_step(self, problem, state):
        raise StepFailed

    monkeypatch.setattr(Newton, "start", recorded)
    monkeypatch.setattr(Dykstra, "step", first_step)
    fractions = []
    step = Newton.step
    monkeypatch.setattr(
        Newton,
        "step",
        lambda self, problem, state: fractions.append(state.weight_fraction) or step(self, problem, state),
    )
    result = solve(problem, Hybrid(), warm_start=warm)
    assert result.status is Status.SOLVED
    assert started[0][0].any() == used
    if used:
        assert fractions[0] == pytest.approx(1.0 - gap)
        assert not started[0][1].may_retreat
