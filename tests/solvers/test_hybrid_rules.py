"""The rules by which Hybrid switches between its methods, with times that the tests set."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from covmetric import Certificate, Dykstra, Hybrid, Interior, make_paper_problem, solve
from covmetric.problem import CertifiedPoint
from covmetric.solvers import StepFailed, hybrid


def certified(gap, tol=1e-6):
    certificate = Certificate.from_values(1.0, 1.0 - gap, max_violation=0.0, tol=tol, rounding=0.0)
    return CertifiedPoint(np.eye(2), np.zeros(3), certificate, np.ones(3), derived=True)


def state_at(gap, tol=1e-6, **attributes):
    state = hybrid.HybridState(Dykstra(), None, None, 0, 0, certified(gap, tol), certified(gap, tol))
    for name, value in attributes.items():
        setattr(state, name, value)
    return state


@pytest.fixture
def costs(monkeypatch):
    """The times of an epoch and of a step of either method, which a test can set."""
    times = SimpleNamespace(sweep=1.0, newton=1.0, interior=1.0)
    monkeypatch.setattr(hybrid, "sweep_seconds", lambda n, m, moved, idle: times.sweep)
    monkeypatch.setattr(hybrid, "newton_seconds", lambda n, m, K, examples: times.newton)
    monkeypatch.setattr(hybrid, "interior_seconds", lambda n, m, K, examples: times.interior)
    return times


PROBLEM = make_paper_problem(4, 6, 1e-2, 0)


def test_epochs_are_extrapolated_at_the_rate_of_the_phase():
    """The gap fell from 1 to 0.1 in two epochs: it takes two more to 0.01, and four to 0.001."""
    state = state_at(0.1, first_gap=1.0, epochs=2)
    assert hybrid._epochs_to(state, 1e-2) == pytest.approx(2.0)
    assert hybrid._epochs_to(state, 1e-3) == pytest.approx(4.0)
    assert hybrid._epochs_to(state, 0.1) == hybrid._epochs_to(state, 0.5) == 0.0
    assert hybrid._epochs_to(state, 0.0) == pytest.approx(30.0), "a tolerance of 0 counts as rounding errors"
    for first_gap in (state.last.certificate.relative_gap, 0.05):
        assert hybrid._epochs_to(state_at(0.1, first_gap=first_gap, epochs=2), 1e-2) == np.inf


def test_a_plateau_shows_in_the_recent_rate():
    """The gap fell from 1 to 1e-3 in three epochs, and hardly at all in the next thirty."""
    state = state_at(1e-3, first_gap=1.0, epochs=3)
    state.last = certified(0.9e-3)
    state.count_epochs(30, 1e-3)
    rate = np.log(1.0 / 0.9) / 30.0
    assert state.recent_rate == pytest.approx(rate)
    assert hybrid._epochs_to(state, 1e-6) == pytest.approx(np.log(900.0) / rate)
    state.count_epochs(30, 0.8e-3)
    assert hybrid._epochs_to(state, 1e-6) == np.inf, "the gap has grown"
    far = state_at(0.5, first_gap=1.0, epochs=10, recent_rate=1e-9)
    assert hybrid._epochs_to(far, 0.1) == pytest.approx(10.0 * np.log(5.0) / np.log(2.0)), "far away, gaps fluctuate"


@pytest.mark.parametrize("gap", [0.0, -1e-17])
def test_a_gap_within_rounding_errors_has_a_rate(gap):
    state = state_at(gap, first_gap=1.0, epochs=1)
    state.count_epochs(2, 0.5)
    assert state.recent_rate == np.inf


def test_certificates_are_due_when_the_goal_may_be_reached(monkeypatch):
    monkeypatch.setattr(hybrid, "certificate_seconds", lambda n, m, K, kept: 1.0)

    def pays(gap, work=0.0, n_iter=0, **attributes):
        dykstra = SimpleNamespace(work_since_certificate=work)
        return hybrid._certificate_pays(PROBLEM, state_at(gap, state=dykstra, n_iter=n_iter, **attributes))

    assert [pays(0.5, work=work) for work in (1.9, 2.0)] == [False, True], "at most a third of the time"
    # The gap falls by a factor of 10.1 per epoch: four epochs from 1e-2 to 1e-6, whatever they cost.
    rate = {"first_gap": 0.101, "epochs": 1, "recent_rate": np.log(10.1)}
    assert [pays(1e-2, work=9.0, n_iter=n, **rate) for n in (3, 4)] == [False, True]
    slow = {"first_gap": 0.011, "epochs": 9, "recent_rate": 1e-9}
    assert [pays(1e-2, n_iter=n, **slow) for n in (49, 50)] == [False, True]
    assert pays(1e-2, work=2.0, epochs=0), "without a rate, the time decides"
    # Two epochs from 0.08 to 0.05, although the tolerance is far away.
    slow = {"first_gap": 0.08 * 1.6**0.5, "epochs": 1, "recent_rate": 0.5 * np.log(1.6)}
    assert [pays(0.08, n_iter=n, **slow) for n in (1, 2)] == [False, True]


def test_newton_takes_over_if_its_model_holds_and_it_is_faster(costs):
    def takes_over(gap, newton):
        costs.newton = newton
        state = state_at(gap, first_gap=1.0, epochs=1)
        state.count_epochs(3, 1.0)
        assert state.epochs == 4
        return hybrid._newton_takes_over(PROBLEM, state)

    assert not takes_over(0.11, newton=1e-9), "the gap is too large"
    # From 0.01 to 1e-6 at a factor of a hundred in four epochs takes eight epochs, and half as many more because the
    # decrease slows down; Newton takes five steps.
    assert takes_over(0.01, newton=0.99 * 12.0 / 5.0)
    assert not takes_over(0.01, newton=1.01 * 12.0 / 5.0)


def test_dykstra_goes_on_while_epochs_save_more_than_they_cost(costs):
    """From 0.08 to 0.05 at a factor of 1.6 per epoch takes one epoch, and saves three steps of Newton's method."""

    def takes_over(gap, newton):
        costs.newton = newton
        rate = np.log(1.6)
        return hybrid._newton_takes_over(PROBLEM, state_at(gap, first_gap=gap * 1.6, epochs=1, recent_rate=rate))

    assert takes_over(0.08, newton=0.99 / 3.0)
    assert not takes_over(0.08, newton=1.01 / 3.0)
    assert takes_over(0.049, newton=1.01 / 3.0), "near enough"


def test_the_first_certificate_of_a_phase_is_the_reference_of_its_rate(costs):
    state = state_at(0.5)
    state.count_epochs(3, 1.0)
    assert (state.epochs, state.first_gap) == (0, 0.5)
    assert not hybrid._newton_takes_over(PROBLEM, state)
    for newton, expected in ((0.19, True), (0.21, False)):  # one more epoch against five steps
        costs.newton = newton
        state = state_at(0.09)
        state.count_epochs(1, 1.0)
        assert hybrid._newton_takes_over(PROBLEM, state) is expected


@pytest.mark.parametrize("rival", ["interior", "newton path"])
def test_dykstra_crawls_if_another_method_is_faster_from_the_beginning(rival, costs, monkeypatch):
    path = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(hybrid, "_newton_path_seconds", lambda problem: path.seconds)

    def crawls(gap=0.5, epochs=2):
        # At this rate it takes ten epochs until the gap is 0.1.
        rate = np.log(0.5 / 0.1) / 10.0
        state = state_at(gap, first_gap=0.5 * np.exp(rate * epochs), epochs=epochs)
        return hybrid._dykstra_crawls(PROBLEM, state)

    def set_rival(seconds):
        """The other one of the two takes a little longer."""
        path.seconds = seconds if rival == "newton path" else 1.001 * seconds
        costs.interior = (seconds if rival == "interior" else 1.001 * seconds) / 16.0

    costs.newton = 2.0
    set_rival(1.01 * (10.0 + 5.0 * 2.0))
    assert not crawls()
    set_rival(0.99 * (10.0 + 5.0 * 2.0))
    assert crawls()
    assert not crawls(epochs=1), "too early to judge"
    assert not crawls(gap=0.09), "Newton's model holds"


def test_a_plateau_is_not_yet_a_crawl_if_every_other_method_takes_long(costs, monkeypatch):
    """The interior-point method takes 1,600 seconds: Dykstra is not judged before the 80th epoch of a second."""
    costs.interior = 100.0
    for seconds, expected in ((1601.0, [False, True]), (1599.0, [True, True])):
        monkeypatch.setattr(hybrid, "_newton_path_seconds", lambda problem, seconds=seconds: seconds)
        states = [state_at(0.5, first_gap=0.5, epochs=epochs) for epochs in (79, 80)]
        assert [hybrid._dykstra_crawls(PROBLEM, state) for state in states] == expected


@pytest.mark.parametrize(("gap", "gives_up"), [(0.31, True), (0.29, False)])
def test_newton_gives_up_a_warm_start_whose_gap_does_not_halve(gap, gives_up):
    warm = solve(PROBLEM.replace(weights=PROBLEM.weights / 10.0), "newton").multipliers
    solver, point = Hybrid(), PROBLEM.certified(None, warm)
    assert point.certificate.relative_gap > 0.1
    state = solver.start(PROBLEM, point, np.random.default_rng(0))
    state.failed.add("dykstra")
    solver._switch(PROBLEM, state, point, "newton")
    assert state.warm_gap == point.certificate.relative_gap
    state.warm_gap = 0.6
    certificate = Certificate.from_values(1.0, 1.0 - gap, max_violation=0.0, tol=1e-6, rounding=0.0)
    later = replace(point, certificate=certificate)
    solver.resume(PROBLEM, state, later)
    assert state.solver.name == ("interior" if gives_up else "newton")
    assert ("newton" in state.failed) is gives_up
    state.last = later
    solver.resume(PROBLEM, state, replace(point, certificate=replace(certificate, dual=0.1)))
    assert state.solver.name == ("interior" if gives_up else "newton"), "only the first certificate counts"


def test_newton_goes_on_if_no_other_method_starts(monkeypatch):
    warm = solve(PROBLEM.replace(weights=PROBLEM.weights / 10.0), "newton").multipliers
    solver, point = Hybrid(), PROBLEM.certified(None, warm)
    state = solver.start(PROBLEM, point, np.random.default_rng(0))
    state.failed.add("dykstra")
    solver._switch(PROBLEM, state, point, "newton")

    def fail(self, problem, point, rng):
        raise StepFailed

    monkeypatch.setattr(Interior, "start", fail)
    solver.resume(PROBLEM, state, point)
    assert state.solver.name == "newton"
    assert state.is_last_resort


def test_newton_takes_over_unless_its_path_is_long(costs, monkeypatch):
    """With n = 4, each point of the path takes 3.5 + 4/30 steps; the interior-point method takes 16."""
    first = PROBLEM.certified(None, np.zeros(PROBLEM.n_pairs))
    state = hybrid.HybridState(Dykstra(), None, None, 0, 0, first, first)
    for fraction, points in ((1.0, 1), (0.9, 2), (0.4, 2), (0.51 / 10.0, 2), (0.49 / 10.0, 3), (0.49 / 100.0, 4)):
        monkeypatch.setattr(hybrid, "first_weight_fraction", lambda problem, ratios, fraction=fraction: fraction)
        for factor, expected in ((1.01, "newton"), (0.99, "interior")):
            costs.interior = factor * points * (3.5 + 4 / 30) / 16.0
            order = hybrid._succession(PROBLEM, state)
            assert (order[0], order[2]) == (expected, "dykstra") and set(order[:2]) == {"newton", "interior"}
    warm = solve(PROBLEM.replace(weights=PROBLEM.weights / 2.0), "newton").multipliers
    state.first = PROBLEM.certified(None, warm)
    assert 0.0 < state.first.certificate.relative_gap < 0.9
    assert hybrid._succession(PROBLEM, state)[0] == "newton", "a good warm start is used"


def test_steps_to_go_follow_from_two_windows_of_the_objective():
    primals = [10.0 + 2.0**-i for i in range(9)]
    recent = primals[4] - primals[8]
    expected = 4.0 * np.log(recent / (1e-6 * primals[-1])) / np.log(16.0)
    assert hybrid._steps_to_go(primals, 1e-6) == pytest.approx(expected)
    assert hybrid._steps_to_go([99.0, *primals], 1e-6) == pytest.approx(expected), "only the last two windows count"
    assert hybrid._steps_to_go(primals[:8], 1e-6) == 0.0, "too early to judge"
    assert hybrid._steps_to_go(primals, 1.0) == 0.0, "the decrease is within the tolerance"
    assert hybrid._steps_to_go([10.0] * 9, 1e-6) == 0.0
    assert hybrid._steps_to_go([10.0 - i for i in range(9)], 1e-6) == np.inf


def newton_state(primal=1.0, fraction=1.0, retreats=0, decrement=9.0):
    return SimpleNamespace(primal=primal, weight_fraction=fraction, retreats=retreats, decrement=decrement)


def test_newton_crawls_if_its_objective_falls_too_slowly(costs):
    state = state_at(0.5)
    answers = []
    for number in range(9):
        state.state = newton_state(100.0 - number)
        state.record_objective()
        answers.append(hybrid._newton_crawls(PROBLEM, state))
    assert answers == [False] * 8 + [True]
    state.state.decrement = 2.9
    assert not hybrid._newton_crawls(PROBLEM, state), "it converges quadratically"
    state.state.decrement = 3.1
    assert hybrid._newton_crawls(PROBLEM, state)
    state.failed = {"dykstra", "interior"}
    assert not hybrid._newton_crawls(PROBLEM, state), "nothing else is left"


def test_objectives_with_a_fraction_of_the_weights_are_not_compared(costs):
    state = state_at(0.5, primals=[float(i) for i in range(20)], state=newton_state(np.inf, fraction=0.5))
    state.record_objective()
    assert state.primals == []
    assert not hybrid._newton_crawls(PROBLEM, state)


def test_newton_crawls_if_it_has_to_start_again(costs):
    """With n = 4, 15 + 4 / 6 more steps are expected after each retreat; the interior-point method takes 16."""
    costs.newton = 16.0 / (2.0 * (15.0 + 4.0 / 6.0))
    for interior, expected in ((0.99, True), (1.01, False)):
        costs.interior = interior
        for decrement in (9.0, 0.1):
            newton = newton_state(np.inf, fraction=0.1, retreats=2, decrement=decrement)
            assert hybrid._newton_crawls(PROBLEM, state_at(0.5, state=newton)) is expected


def test_a_new_phase_forgets_the_rate_of_the_last_one():
    solver = Hybrid()
    point = PROBLEM.certified(None, np.zeros(PROBLEM.n_pairs))
    state = solver.start(PROBLEM, point, np.random.default_rng(0))
    state.epochs, state.first_gap, state.recent_rate, state.primals = 5, 0.3, 0.1, [1.0]
    solver._switch(PROBLEM, state, point, "newton")
    assert state.solver.name == "newton"
    assert (state.epochs, state.first_gap, state.recent_rate, state.primals) == (-1, np.inf, np.inf, [])


def test_methods_get_the_settings():
    solver = Hybrid(order="cyclic", memory=1e6)
    assert (solver._solver("newton").memory, solver._solver("interior").memory) == (1e6, 1e6)
    assert solver._solver("dykstra").order == "cyclic"
