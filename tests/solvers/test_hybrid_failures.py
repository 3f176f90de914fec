"""Hybrid after failures and interrupts: another method takes over, and the best point so far is kept."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Dykstra, Hybrid, Interior, Newton, Status, make_paper_problem, solve
from covmetric.solvers import StepFailed, StepStalled, hybrid
from tests.solvers.phases import METHODS, let_fail, phases, thin_problem


@pytest.mark.parametrize("error", [StepFailed, StepStalled])
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("failing", METHODS)
def test_another_method_takes_over_from_a_failing_one(failing, after, error, monkeypatch):
    problem = make_paper_problem(8, 40, 1e-4, 0)
    let_fail(monkeypatch, failing, error=error, after=after)
    result = solve(problem, Hybrid(failing))
    assert result.status is Status.SOLVED
    assert phases(result)[0] == failing and phases(result)[-1] != failing


@pytest.mark.parametrize("left", METHODS)
@pytest.mark.parametrize("first", METHODS)
def test_the_only_method_that_works_solves_the_problem(left, first, monkeypatch):
    problem = make_paper_problem(5, 20, 1e-2, 0)
    let_fail(monkeypatch, *(name for name in METHODS if name != left), after=1)
    result = solve(problem, Hybrid(first))
    assert result.status is Status.SOLVED
    assert phases(result)[-1] == left


@pytest.mark.parametrize("first", METHODS)
@pytest.mark.parametrize("after", [0, 2])
def test_a_solve_without_a_method_is_a_numerical_error(first, after, monkeypatch):
    problem = make_paper_problem(8, 40, 1e-4, 0)
    let_fail(monkeypatch, *METHODS, after=after)
    with pytest.warns(ConvergenceWarning, match="NUMERICAL_ERROR"):
        result = solve(problem, Hybrid(first), tol=1e-12)
    assert result.status is Status.NUMERICAL_ERROR
    scale = abs(result.history.primal[0])
    assert result.certificate.primal == pytest.approx(result.history.primal.min(), abs=1e-12 * scale)
    assert result.certificate.dual == pytest.approx(result.history.dual.max(), abs=1e-12 * scale)
    assert problem.certify(result.W, result.multipliers).gap == pytest.approx(result.certificate.gap, abs=1e-9 * scale)
    if after == 0:
        np.testing.assert_array_equal(result.W, np.eye(problem.n))


@pytest.mark.parametrize("first", ["interior", "dykstra"])
def test_another_method_takes_over_if_there_is_no_start(first, monkeypatch):
    def start(self, problem, point, rng):
        raise StepFailed

    monkeypatch.setattr(METHODS[first], "start", start)
    result = solve(make_paper_problem(8, 40, 1e-4, 0), Hybrid(first))
    assert result.status is Status.SOLVED
    assert first not in phases(result)


def test_a_method_without_a_start_is_left_out(monkeypatch):
    """Newton fails, interior points have no start, and Dykstra is left."""

    def start(self, problem, point, rng):
        raise StepFailed

    monkeypatch.setattr(Interior, "start", start)
    let_fail(monkeypatch, "newton", after=1)
    result = solve(make_paper_problem(5, 20, 1e-2, 0), Hybrid("newton"))
    assert result.status is Status.SOLVED
    assert phases(result)[-1] == "dykstra"


def test_no_start_at_all_is_a_numerical_error(monkeypatch):
    def start(self, problem, point, rng):
        raise StepFailed

    for method in METHODS.values():
        monkeypatch.setattr(method, "start", start)
    with pytest.warns(ConvergenceWarning, match="NUMERICAL_ERROR"):
        result = solve(make_paper_problem(4, 6, 1e-2, 0), Hybrid())
    assert (result.status, result.n_iter) == (Status.NUMERICAL_ERROR, 0)


def test_another_method_takes_over_if_a_certificate_shows_that_dykstra_failed(monkeypatch):
    """Dykstra gives up when its metric has been too ill-conditioned for several certificates."""

    def resume(self, problem, state, point):
        raise StepFailed

    monkeypatch.setattr(Dykstra, "resume", resume)
    monkeypatch.setattr(hybrid, "_newton_takes_over", lambda state: False)
    monkeypatch.setattr(hybrid, "_certificate_pays", lambda state, tol: True)
    result = solve(thin_problem(1e-3), Hybrid())
    assert result.status is Status.SOLVED
    assert phases(result)[-1] != "dykstra"


def test_dykstra_takes_over_with_the_metric_of_the_multipliers(monkeypatch):
    """The last point of a second-order method has a better metric, which does not belong to its multipliers."""
    problem = make_paper_problem(8, 40, 1e-4, 0)
    monkeypatch.setattr(Interior, "due", lambda self, problem, state, tol: True)
    let_fail(monkeypatch, "interior", after=7)  # the gap is 2 percent, and the two metrics differ by 1 percent
    sweep, checked = Dykstra._sweep, []

    def consistent(self, problem, state, order):
        if not checked:
            checked.append(bool(state.alpha.any()))
            np.testing.assert_allclose(state.W, problem.metric(state.alpha), rtol=1e-6, atol=1e-9)
        sweep(self, problem, state, order)

    monkeypatch.setattr(Dykstra, "_sweep", consistent)
    monkeypatch.setattr(hybrid, "_succession", lambda problem, state: ("dykstra",))
    solve(problem, Hybrid("interior"), tol=0, max_iter=20)
    assert checked == [True]


def test_newton_starts_afresh_from_a_point_with_a_large_gap(monkeypatch):
    """Newton's path with a fraction of the weights begins at a multiple of the identity."""
    starts = []
    start = Newton.start

    def recorded(self, problem, point, rng):
        starts.append(point)
        return start(self, problem, point, rng)

    monkeypatch.setattr(Newton, "start", recorded)
    monkeypatch.setattr(hybrid, "_newton_takes_over", lambda state: False)
    monkeypatch.setattr(hybrid, "_certificate_pays", lambda problem, state: True)
    for lam, afresh in ((1e-5, True), (1e-1, False)):
        with monkeypatch.context() as patch:
            let_fail(patch, "dykstra", after=1)
            result = solve(thin_problem(lam), Hybrid())
        assert result.status is Status.SOLVED
        assert (result.history.gap[1] / result.history.primal[1] > 0.1) == afresh
        assert starts[-1].multipliers.any() != afresh


@pytest.mark.parametrize("phase", METHODS)
def test_ctrl_c_in_each_phase_returns_the_best_so_far(phase, monkeypatch):
    problem = make_paper_problem(8, 40, 1e-4, 0)
    calls = []

    def step(self, problem, state, original=METHODS[phase].step):
        calls.append(1)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        original(self, problem, state)

    monkeypatch.setattr(METHODS[phase], "step", step)
    if phase == "interior":
        let_fail(monkeypatch, "newton", after=2)
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, Hybrid("newton" if phase == "interior" else phase), tol=1e-13)
    assert result.status is Status.INTERRUPTED
    assert result.history.phase[-1] == phase and len(calls) == 2
    scale = abs(result.history.primal[0])
    assert result.certificate.primal == pytest.approx(result.history.primal.min(), abs=1e-12 * scale)
    assert problem.certify(result.W, result.multipliers).gap == pytest.approx(result.certificate.gap, abs=1e-9 * scale)
