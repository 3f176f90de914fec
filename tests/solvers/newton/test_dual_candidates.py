"""The multipliers that a Newton step suggests, and the estimates of their dual values."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import MetricProblem, Newton, Status, make_paper_problem, solve
from covmetric.problem.dual import Dual
from covmetric.slacks import get_slack
from covmetric.solvers.newton.dual_candidates import DualCandidates, coincident_terms
from covmetric.solvers.newton.stretch import Stretch
from tests import naive
from tests.problems import SLACKS, has_finite_price, small_problems


@pytest.mark.parametrize("problem", small_problems(), ids=lambda p: f"{p.slack.name}-n{p.n}-m{p.m}")
def test_estimates_match_the_dual(problem):
    """Once the weights are complete, the estimate of each step is the dual value, up to rounding."""
    solver = Newton()
    compared = 0
    with np.errstate(all="ignore"):
        state = solver.start(problem, problem.certified(None, np.zeros(problem.n_pairs)), np.random.default_rng(0))
        for _ in range(4):
            solver.step(problem, state)
            if np.isfinite(state.dual):
                compared += 1
                assert state.dual == pytest.approx(problem.dual(state.multipliers), abs=1e-6)
                assert state.dual <= state.primal + 1e-9
    assert compared >= 2


def candidates(problem, spectrum, forces, changes, gradient=None, clipped_pays=False):
    half = problem.sums.half
    gradient = np.zeros(half.size) if gradient is None else gradient
    stretch = Stretch(np.diag(spectrum), np.eye(problem.n))
    return DualCandidates(np.arange(problem.n_pairs), forces, changes, gradient, stretch, 0.0, clipped_pays)


@pytest.fixture
def problem():
    """Two similar pairs along the axes."""
    return MetricProblem.from_differences(np.eye(2)[:, :, None], [1, 1], 1.0, 10.0, "l2")


def test_a_short_step_suggests_the_linearisation(problem):
    forces, changes = np.array([1.0, 2.0]), np.array([0.5, -0.5])
    best = candidates(problem, np.array([-0.5, 0.25]), forces, changes).best(problem, np.zeros(2))
    np.testing.assert_array_equal(best.multipliers, [1.5, 1.5])
    logdet = np.log(1.5) + np.log(0.75)
    assert best.dual == pytest.approx(logdet + problem.dual_losses(best.multipliers))


def test_a_step_beyond_the_cone_suggests_the_current_forces(problem):
    """With an eigenvalue of 1 or more, I - Delta is not positive definite."""
    forces, changes = np.array([1.0, 2.0]), np.array([0.5, -0.5])
    gradient = problem.sums.half.pack(np.diag([1.0, 2.0]))
    for largest in (1.0, 3.0):
        best = candidates(problem, np.array([0.0, largest]), forces, changes, gradient).best(problem, np.zeros(2))
        np.testing.assert_array_equal(best.multipliers, forces)
        assert best.dual == pytest.approx(np.log(2.0) + np.log(3.0) + problem.dual_losses(forces))
        assert best.dual == pytest.approx(problem.dual(forces))  # I + S = diag(2, 3)


@pytest.mark.parametrize("scale", [0.2, 5.0])
def test_the_better_of_two_candidates_is_returned(problem, scale):
    """Between 0.5 and 1 both candidates exist; the changes decide which is better."""
    forces = np.array([0.3, 0.3])
    gradient = problem.sums.half.pack(np.diag(forces))
    step = candidates(problem, np.array([0.0, 0.75]), forces, (scale - 1.0) * forces, gradient)
    linear = problem.dual_losses(scale * forces) + np.log(0.25)
    current = problem.dual_losses(forces) + 2.0 * np.log(1.3)
    best = step.best(problem, np.zeros(2))
    assert best.dual == pytest.approx(max(linear, current))
    np.testing.assert_allclose(best.multipliers, forces if current > linear else scale * forces)


def test_no_candidate_beyond_the_cone_with_a_bad_gradient(problem):
    """I + gradient is not positive definite either: the estimate is minus infinity."""
    gradient = problem.sums.half.pack(np.diag([-2.0, 0.0]))
    best = candidates(problem, np.array([0.0, 2.0]), np.ones(2), np.zeros(2), gradient).best(problem, np.zeros(2))
    assert best.dual == -np.inf


@pytest.mark.parametrize("pays", [True, False])
def test_clipped_multipliers_are_evaluated_only_if_that_pays(problem, pays):
    """A negative force is clipped to zero, and the estimate without a pass over the pairs is not valid."""
    step = candidates(problem, np.array([0.0, 0.25]), np.array([-1.0, 0.5]), np.zeros(2), clipped_pays=pays)
    best = step.best(problem, np.zeros(2))
    np.testing.assert_array_equal(best.multipliers, [0.0, 0.5])
    assert best.dual == (pytest.approx(problem.dual([0.0, 0.5])) if pays else -np.inf)


@pytest.mark.parametrize("slack", [slack for slack in SLACKS if has_finite_price(slack)])
def test_coincident_pairs_have_constant_terms(slack):
    F = np.array([[[1.0]], [[0.0]], [[0.0]], [[0.0]]])
    problem = MetricProblem.from_differences(F, [1, -1, 1, -1], [1.0, 2.0, 1.0, 4.0], [1.0, 3.0, 1.0, 5.0], slack)
    multipliers, loss = coincident_terms(problem)
    d = naive.divergence(get_slack(slack))
    assert loss == pytest.approx(8.0 * d(0.0))
    gradient = get_slack(slack).gradient(np.zeros(1))[0]
    np.testing.assert_allclose(multipliers, [0.0, -1.5 * gradient, 0.0, -1.25 * gradient])
    result = solve(problem, "newton", tol=1e-9)
    assert result.status is Status.SOLVED
    assert result.certificate.primal == pytest.approx(naive.primal(problem, result.W))


def test_problems_without_coincident_pairs_have_no_constant_terms():
    multipliers, loss = coincident_terms(make_paper_problem(3, 5, 1e-2, 0))
    np.testing.assert_array_equal(multipliers, np.zeros(5))
    assert loss == 0.0


def test_estimates_are_not_corrected_for_rounding(monkeypatch):
    """The correction takes far longer than the estimate, which only decides whether a certificate is due."""
    F = 1e5 * np.random.default_rng(0).standard_normal((3, 6, 1))  # I vanishes beside the similar pairs
    problem = MetricProblem.from_differences(F, [1, 1, 1], 1.0, 10.0)
    multipliers = np.ones(3)

    def corrected(*arguments):
        raise AssertionError("the dual value was corrected")

    monkeypatch.setattr(Dual, "_accurate", corrected)
    estimate = problem.dual(multipliers, tol=1.0)
    with pytest.raises(AssertionError, match="corrected"):
        problem.dual(multipliers)
    monkeypatch.undo()
    assert estimate == pytest.approx(problem.dual(multipliers), rel=1e-3)


def test_clipped_candidates_are_only_estimated(monkeypatch):
    asked = []
    real = MetricProblem.dual

    def dual(self, multipliers, tol=0.0):
        asked.append(tol)
        return real(self, multipliers, tol)

    monkeypatch.setattr(MetricProblem, "dual", dual)
    for problem in small_problems():
        solve(problem, Newton(), tol=1e-6)
    assert asked and set(asked) == {1.0}
