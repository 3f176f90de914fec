"""The interior-point method takes few steps whatever the scale, and says so if rounding errors dominate."""

from __future__ import annotations

import signal
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Interior, MetricProblem, Status, make_paper_problem, solve
from covmetric.solvers import StepFailed
from covmetric.solvers.interior import solver as interior
from covmetric.solvers.interior.direction import Linearisation
from covmetric.solvers.interior.point import ScaledPairs
from tests import naive
from tests.exact import exact_gap
from tests.judge import LOSSES, solve_with_cvxpy
from tests.problems import SLACKS, random_problem
from tests.solvers.hostile import hostile_problem

HOSTILE = range(60)


def test_hostile_problems_are_solved_in_at_most_40_steps():
    results = {seed: solve(hostile_problem(seed), "interior") for seed in HOSTILE}
    assert [seed for seed, result in results.items() if result.status is not Status.SOLVED] == []
    assert max(result.n_iter for result in results.values()) <= 40
    # Without the second-order correction, the mean is 12.
    assert np.mean([result.n_iter for result in results.values()]) <= 10.0


def test_hostile_problems_are_solved_in_exact_arithmetic():
    small = [seed for seed in HOSTILE if hostile_problem(seed).n <= 4 and hostile_problem(seed).n_pairs <= 40]
    assert len(small) >= 5
    for seed in small:
        problem = hostile_problem(seed)
        result = solve(problem, "interior")
        assert exact_gap(problem, result) <= 1e-6 * max(1.0, abs(result.certificate.primal)), seed


def test_it_agrees_with_newton_at_a_small_tolerance():
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for seed in range(24):
            problem = hostile_problem(seed)
            newton, ours = (solve(problem, name, tol=1e-9) for name in ("newton", "interior"))
            if newton.status is ours.status is Status.SOLVED:
                compared += 1
                scale = max(1.0, abs(newton.certificate.primal))
                assert ours.certificate.primal == pytest.approx(newton.certificate.primal, abs=2e-9 * scale), seed
    assert compared >= 18


@pytest.mark.parametrize("seed", [0, 3, 6, 10, 13, 17])
def test_it_agrees_with_cvxpy(seed):
    problem = random_problem(seed)
    assert problem.slack.name in LOSSES
    ours = solve(problem, "interior", tol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        W, value, _ = solve_with_cvxpy(problem)
    assert ours.certificate.primal == pytest.approx(value, rel=1e-7, abs=1e-7)
    assert np.linalg.norm(ours.W - W) <= 1e-4 * np.linalg.norm(W)
    assert naive.primal(problem, ours.W) <= naive.primal(problem, W) + 1e-9 * max(1.0, abs(value))


@pytest.mark.parametrize("slack", SLACKS)
def test_conjugate_gradients_reach_the_same_optimum(slack):
    """Without memory for a matrix, each step uses conjugate gradients."""
    problem = make_paper_problem(8, 40, 1e-3, 0, slack)
    exact, iterative = (solve(problem, Interior(memory), tol=1e-9) for memory in (2**30, 1))
    assert exact.status is iterative.status is Status.SOLVED
    assert iterative.certificate.primal == pytest.approx(exact.certificate.primal, rel=1e-8)
    assert iterative.n_iter <= 40


def test_dominating_rounding_errors_are_a_numerical_error():
    """A similar pair should be 1e25 times closer than it is: the optimal W has a condition of more than 1e20."""
    F = np.random.default_rng(0).standard_normal((6, 4, 1))
    problem = MetricProblem.from_differences(F, [1, -1, 1, -1, 1, 1], [1.0, 1.0, 1.0, 1.0, 1e-25, 1.0], 500.0, "re")
    with pytest.warns(ConvergenceWarning, match="NUMERICAL_ERROR"):
        result = solve(problem, "interior")
    assert result.status is Status.NUMERICAL_ERROR
    assert result.n_iter < 100
    assert np.isfinite(result.W).all() and np.isfinite(result.certificate.gap)
    assert result.certificate.primal <= result.history.primal[0]


def test_estimates_of_the_bounds_match_the_certificate():
    """They decide when a certificate is due, so that they must be numbers, and close."""
    for seed in HOSTILE:
        problem = hostile_problem(seed)
        solver, point = Interior(), problem.certified(None, np.zeros(problem.n_pairs))
        with np.errstate(all="ignore"):
            state = solver.start(problem, point, np.random.default_rng(0))
            for _ in range(4):
                solver.step(problem, state)
            certificate = problem.certified_arrays(*solver.candidate(state)).certificate
        scale = max(1.0, abs(certificate.primal))
        assert state.primal == pytest.approx(certificate.primal, abs=1e-6 * scale), seed
        # The certificate may repair the multipliers, which only improves the dual value.
        assert np.isfinite(state.dual) and state.dual <= certificate.dual + 1e-6 * scale, seed


def test_no_certificate_is_due_before_the_first_step():
    problem = hostile_problem(0)
    for tol in (0.0, 1e-6, 1.0):
        assert not Interior().due(problem, started(problem), tol)


def test_no_certificate_is_wasted():
    """A certificate that is due because the estimated gap is small enough ends the solve."""
    for seed in HOSTILE:
        history = solve(hostile_problem(seed), "interior").history
        assert len(history.n_iter) <= 2 + history.n_iter[-1] // 8 + 1, seed


def test_a_warm_start_is_accepted_but_not_used():
    problem = make_paper_problem(6, 30, 1e-3, 0)
    start = 0.01 * problem.weights / problem.bounds
    cold, warm = (solve(problem, "interior", warm_start=warm_start) for warm_start in (None, start))
    assert cold.n_iter == warm.n_iter
    np.testing.assert_array_equal(cold.W, warm.W)


@pytest.mark.parametrize("memory", [0, -1.0, None, "1 GB", True, np.nan])
def test_invalid_memory_is_refused(memory):
    with pytest.raises(ValueError, match="memory must be a positive number of bytes, got"):
        solve(make_paper_problem(3, 5, 1e-2, 0), Interior(memory))


def test_ctrl_c_during_a_step_returns_the_best_so_far(monkeypatch):
    problem = make_paper_problem(8, 40, 1e-5, seed=0)
    calls = []

    class Interrupted(Linearisation):
        def __init__(self, *arguments):
            calls.append(1)
            if len(calls) == 5:
                signal.raise_signal(signal.SIGINT)
            super().__init__(*arguments)

    monkeypatch.setattr(interior, "Linearisation", Interrupted)
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, "interior", tol=1e-12)
    assert (result.status, result.n_iter) == (Status.INTERRUPTED, 4)
    assert result.certificate.primal == result.history.primal.min() < result.history.primal[0]


def test_a_callback_stops_with_the_best_so_far():
    problem = make_paper_problem(8, 40, 1e-5, seed=0)
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, "interior", tol=1e-14, callback=lambda state: state.n_iter >= 8)
    assert (result.status, result.n_iter) == (Status.INTERRUPTED, 8)
    assert result.certificate.primal == result.history.primal.min()


def started(problem):
    point = problem.certified(None, np.zeros(problem.n_pairs))
    return Interior().start(problem, point, np.random.default_rng(0))


def test_a_short_first_step_starts_again_with_a_larger_theta(monkeypatch):
    problem = hostile_problem(0)
    state, factors = started(problem), []
    direction, start = Interior._direction, interior.central_start

    def shortened(self, state):
        equations, best, step = direction(self, state)
        return equations, best, step if len(factors) == 2 else 0.04

    monkeypatch.setattr(interior, "central_start", lambda pairs, factor: factors.append(factor) or start(pairs, factor))
    monkeypatch.setattr(Interior, "_direction", shortened)
    Interior().step(problem, state)
    assert factors == [1e2, 1e4]
    monkeypatch.setattr(Interior, "_direction", lambda self, state: (*direction(self, state)[:2], 0.04))
    Interior().step(problem, state)
    assert factors == [1e2, 1e4], "only the first step"


def test_steps_of_no_length_fail(monkeypatch):
    problem = hostile_problem(0)
    direction = Interior._direction
    monkeypatch.setattr(Interior, "_direction", lambda self, state: (*direction(self, state)[:2], 1e-7))
    with pytest.raises(StepFailed):
        Interior().step(problem, started(problem))


def test_steps_without_progress_fail_after_a_while(monkeypatch):
    problem = hostile_problem(0)
    direction = Interior._direction
    state = started(problem)
    state.restart_factor = None
    monkeypatch.setattr(Interior, "_direction", lambda self, state: (*direction(self, state)[:2], 1e-4))
    for _ in range(13):  # the first step counts as progress, and 12 more are allowed
        Interior().step(problem, state)
    with pytest.raises(StepFailed):
        Interior().step(problem, state)


class ScriptedLines:
    """Directions that are the fraction of their correction, and the lengths of their steps."""

    def __init__(self, lengths):
        self.lengths = lengths

    def direction(self, theta, correction=None):
        fraction = 0.0 if correction is None else 1.0
        return SimpleNamespace(fraction=fraction, blended=lambda other, part: SimpleNamespace(fraction=part))

    def correction(self, predictor):
        return predictor

    def longest_step(self, direction):
        return self.lengths[direction.fraction]


@pytest.mark.parametrize(
    ("lengths", "fraction"),
    [
        ((0.6, 0.9, 0.9, 0.9, 0.9), 1.0),  # as far as the predictor
        ((0.4, 0.41, 0.41, 0.41, 0.41), 1.0),  # the gain is too small
        ((0.4, 0.45, 0.3, 0.2, 0.1), 0.5),
        ((0.1, 0.2, 0.3, 0.4, 0.31), 0.1),
        ((0.1, 0.2, 0.3, 0.4, 0.5), 0.0),
    ],
)
def test_the_fraction_of_the_correction_with_the_longest_step_is_taken(lengths, fraction):
    equations = ScriptedLines(dict(zip((1.0, 0.5, 0.25, 0.1, 0.0), lengths, strict=True)))
    direction, length = Interior._corrected(equations, equations.direction(0.0), 0.1, reach=0.6)
    assert (direction.fraction, length) == (fraction, equations.lengths[fraction])


def test_a_step_is_halved_until_the_dual_matrix_is_positive_definite(monkeypatch):
    problem = hostile_problem(0)
    state = started(problem)
    equations, direction, step = Interior()._direction(state)
    dual_factor, tried = ScaledPairs.dual_factor, []

    def failing(self, tau):
        tried.append(tau)
        if len(tried) <= failures:
            raise StepFailed
        return dual_factor(self, tau)

    monkeypatch.setattr(ScaledPairs, "dual_factor", failing)
    failures = 2
    point = Interior._moved(state.pairs, equations, direction, step)
    np.testing.assert_allclose(point.tau, equations.point.tau + 0.25 * step * direction.tau)
    W = point.L @ point.L.T
    moved = np.diag(equations.d) + 0.25 * step * direction.X
    np.testing.assert_allclose(W, equations.G @ moved @ equations.G.T, rtol=1e-8)
    np.testing.assert_allclose(point.xi, equations.point.xi + 0.25 * step * direction.xi)
    tried.clear()
    failures = 10
    with pytest.raises(StepFailed):
        Interior._moved(state.pairs, equations, direction, step)


@pytest.mark.parametrize("slack", ["l2", "re"])
def test_pairs_of_equal_examples_keep_their_multipliers(slack):
    """They do not depend on W; the best multiplier of a dissimilar pair is that of its loss."""
    F = np.random.default_rng(0).standard_normal((6, 3, 1))
    F[2] = F[4] = 0.0
    problem = MetricProblem.from_differences(F, [1, -1, -1, 1, 1, -1], 0.5, 3.0, slack)
    ours, newton = (solve(problem, name, tol=1e-9) for name in ("interior", "newton"))
    assert ours.status is Status.SOLVED
    np.testing.assert_allclose(ours.multipliers[[2, 4]], newton.multipliers[[2, 4]], rtol=1e-6)
    assert ours.multipliers[2] > 0.0
