"""The rules by which Hybrid switches between its methods, with times that the tests set."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from covmetric import Certificate, Dykstra, Hybrid, Interior, Newton, make_paper_problem, solve
from covmetric._utils import tuning
from covmetric.problem import CertifiedPoint
from covmetric.solvers import StepFailed, hybrid


def certified(gap, tol=1e-6):
    certificate = Certificate.from_values(1.0, 1.0 - gap, max_violation=0.0, tol=tol, rounding=0.0)
    return CertifiedPoint(np.eye(2), np.zeros(3), certificate, np.ones(3), derived=True)


COSTS = hybrid.Costs(epoch=1.0, estimate=1.0, certificate=0.0, newton_step=1.0, interior=1.0)


def state_at(gap, tol=1e-6, costs=COSTS, **attributes):
    state = hybrid.HybridState(Dykstra(), None, None, 0, 0, certified(gap, tol), certified(gap, tol), costs)
    state.newton_steps = 1.0
    for name, value in attributes.items():
        setattr(state, name, value)
    return state


def state_after(*gaps, n_iter=None, **attributes):
    """A state of Dykstra after as many epochs as there are gaps but one; None stands for an unknown gap."""
    known = [gap for gap in gaps if gap is not None]
    state = state_at(known[-1], n_iter=len(gaps) - 1 if n_iter is None else n_iter, **attributes)
    for iteration, gap in enumerate(gaps):
        if gap is not None:
            state.record_gap(iteration, gap)
    return state


PROBLEM = make_paper_problem(4, 6, 1e-2, 0)


def test_epochs_are_extrapolated_at_the_rate_of_the_phase():
    """The gap fell from 1 to 0.1 in two epochs: it takes two more to 0.01, and four to 0.001."""
    state = state_after(1.0, None, 0.1)
    assert hybrid._epochs_to(state, 1e-2) == pytest.approx(2.0)
    assert hybrid._epochs_to(state, 1e-3) == pytest.approx(4.0)
    assert hybrid._epochs_to(state, 0.1) == hybrid._epochs_to(state, 0.5) == 0.0
    assert hybrid._epochs_to(state, 0.0) == pytest.approx(30.0), "a tolerance of 0 counts as rounding errors"
    for first in (0.1, 0.05):
        assert hybrid._epochs_to(state_after(first, 0.1), 1e-2) == np.inf


def test_the_start_is_the_reference_of_the_rate_only_until_there_is_another_one():
    """The first epochs are faster."""
    assert state_after(1.0).rate == 0.0
    assert state_after(1.0, 0.5).rate == pytest.approx(np.log(2.0))
    assert state_after(1.0, 0.5, 0.4).rate == pytest.approx(np.log(1.25))
    assert state_after(1.0, None, 0.5, None, 0.25).rate == pytest.approx(0.5 * np.log(2.0))


def test_a_plateau_shows_in_the_recent_rate():
    """The gap fell from 0.5 to 1e-3 in two epochs, and hardly at all in the next thirty."""
    state = state_after(1.0, 0.5, None, 1e-3, *[None] * 29, 0.9e-3)
    rate = np.log(1.0 / 0.9) / 30.0
    assert state.rate == pytest.approx(rate)
    assert hybrid._epochs_to(state, 1e-6) == pytest.approx(np.log(900.0) / rate)
    state.record_gap(40, 0.95e-3)
    assert hybrid._epochs_to(state, 1e-6) == np.inf, "the gap has grown"
    far = state_after(1.0, 0.8, 0.3, 0.3)
    assert far.rate == pytest.approx(0.5 * np.log(8.0 / 3.0)), "far away, gaps fluctuate"


def test_the_gap_of_an_earlier_epoch_is_carried_on():
    state = state_after(1.0, None, 0.25, n_iter=3)
    assert state.gap == pytest.approx(0.125)
    state.record_gap(2, 0.9)
    assert state.gap == pytest.approx(0.125), "that of the second epoch is known"
    state.record_gap(3, 0.2)
    assert state.gap == 0.2
    assert state_after(0.5, 0.6, n_iter=3).gap == 0.6, "a gap that grows is not carried on"


@pytest.mark.parametrize("gap", [0.0, -1e-17])
def test_a_gap_within_rounding_errors_has_a_rate(gap):
    state = state_after(1.0, gap)
    assert (state.rate, state.gap) == (np.inf, 0.0)
    assert state.costs.newton_from(state.gap) == 1.0, "a step"


@pytest.mark.parametrize("gap", [np.inf, np.nan])
def test_no_rate_follows_from_a_gap_that_is_not_finite(gap):
    """Such an estimate as the first one made the rate infinite for good, so that the epochs never ended."""
    state = state_after(1.0, gap, 0.9)
    assert state.rate == pytest.approx(0.5 * np.log(1.0 / 0.9))
    assert state.gap == 0.9
    assert state_after(1.0, gap).gap == 1.0, "nothing new is known"


def test_certificates_are_due_when_a_goal_may_be_reached():
    def pays(*gaps, work=0.0, estimated=True, costs=COSTS):
        dykstra = SimpleNamespace(work_since_certificate=work)
        return hybrid._certificate_pays(state_after(*gaps, state=dykstra, is_estimated=estimated, costs=costs), 1e-6)

    costs = replace(COSTS, certificate=1.0, newton_step=1e9)
    assert [pays(1.0, 0.5, work=work, costs=costs) for work in (39.9, 40.0)] == [False, True], "at the latest"
    assert [pays(1.0, gap, costs=costs) for gap in (0.51e-6, 0.49e-6)] == [False, True], "half the tolerance"
    assert not pays(1.0, 0.49e-6, costs=costs, estimated=False), "nothing is known of the last epoch"
    # Newton's method takes over at two thirds of the gap at which its model holds, so that the certificate confirms it.
    cheap = replace(COSTS, newton_step=1e-9, certificate=1e-9)
    assert [pays(1.0, gap, costs=cheap) for gap in (0.066, 0.064)] == [False, True]


def test_newton_takes_over_if_its_model_holds_and_it_is_faster():
    def takes_over(newton_step, gaps=(1.0, None, None, None, 0.01), certificate=0.0):
        costs = replace(COSTS, newton_step=newton_step, certificate=certificate)
        return hybrid._newton_takes_over(state_after(*gaps, costs=costs))

    assert not takes_over(1e-9, gaps=(1.0, 0.11)), "the gap is too large"
    # From 0.01 to 1e-6 at a factor of a hundred in four epochs takes eight epochs, and half as many more because the
    # decrease slows down. Newton's method takes 5 (0.1)^(1/6) steps.
    steps = 5.0 * 0.1 ** (1.0 / 6.0)
    later = 1.5 * 4.0 * np.log(30.0) / np.log(100.0)  # epochs until the gap is thirty times smaller
    saved = steps * (1.0 - 30.0 ** (-1.0 / 6.0))
    assert later / saved < 12.0 / steps
    assert takes_over(0.99 * later / saved)
    assert not takes_over(1.01 * later / saved), "Newton's method takes over later"
    assert takes_over(1e-9, certificate=11.9) and not takes_over(1e-9, certificate=12.1), "Dykstra saves one"


def test_dykstra_finishes_if_the_tolerance_is_near():
    """From 4e-6 to 1e-6 at a factor of four per epoch takes one epoch and a half, and Newton's method one step."""
    gaps = (1.0, 16e-6, 4e-6)
    for newton_step, expected in ((1.49, True), (1.51, False)):
        costs = replace(COSTS, newton_step=newton_step)
        assert hybrid._newton_takes_over(state_after(*gaps, costs=costs)) is expected


def test_newton_takes_over_once_it_was_to(monkeypatch):
    """Otherwise certificates would follow each other while the two methods are expected to be about as fast."""
    solver, point = Hybrid(), PROBLEM.certified(None, np.zeros(PROBLEM.n_pairs))
    monkeypatch.setattr(hybrid, "_newton_takes_over", lambda state: False)
    monkeypatch.setattr(hybrid, "_dykstra_crawls", lambda problem, state: False)
    for ends_epochs, gap, expected in ((False, 0.09, "dykstra"), (True, 0.09, "newton"), (True, 0.11, "dykstra")):
        state = solver.start(PROBLEM, point, np.random.default_rng(0))
        state.n_iter, state.ends_epochs = 3, ends_epochs
        certificate = Certificate.from_values(1.0, 1.0 - gap, max_violation=0.0, tol=1e-6, rounding=0.0)
        solver.resume(PROBLEM, state, replace(point, certificate=certificate))
        assert state.solver.name == expected


@pytest.mark.parametrize("rival", ["interior", "newton"])
def test_dykstra_crawls_if_another_method_is_faster_from_the_beginning(rival):
    def crawls(seconds, gaps, epoch=1.0):
        """The other one of the two takes a little longer."""
        interior, newton = (seconds if name == rival else 1.001 * seconds for name in ("interior", "newton"))
        costs = replace(COSTS, epoch=epoch, newton_step=2.0, interior=interior)
        return hybrid._dykstra_crawls(PROBLEM, state_after(*gaps, costs=costs, newton_steps=0.5 * newton))

    # At this rate it takes ten epochs until the gap is 0.1, and then five steps of two seconds.
    factor = 5.0**0.1
    gaps = (1.0, *(0.5 * factor**k for k in (3, 2, 1, 0)))
    assert not crawls(1.01 * 20.0, gaps)
    assert crawls(0.99 * 20.0, gaps)
    assert not crawls(1e-3, (1.0, 0.09, 0.09)), "Newton's model holds"
    assert not crawls(1e-3, (1.0, 0.9)), "too early to judge"
    # The first rate may be wrong by a factor of two.
    first = (factor**2 * 0.5, None, 0.5)
    assert not crawls(0.51 * 20.0, first, epoch=1.0) and crawls(0.49 * 20.0, first)
    # The four epochs are judged if they took 15 percent of the other's time, divided by how many times as fast that is.
    epoch, other = 0.2, 8.0  # 10 epochs and 5 steps of 2 seconds take 1.5 times as long as the other
    assert 4 * epoch == pytest.approx(0.15 * other / 1.5)
    assert not crawls(1.01 * other, gaps, epoch) and crawls(0.99 * other, gaps, epoch)
    # At most two times, because the gap need not shrink in every epoch: four epochs are 7.5 percent of 53.3.
    assert not crawls(53.4, (1.0, 0.9, 0.9, 0.9, 0.9)) and crawls(53.3, (1.0, 0.9, 0.9, 0.9, 0.9))


def test_the_gap_is_estimated_as_often_as_it_is_cheap(monkeypatch):
    """An estimate takes a quarter of the time of the epochs since the last one, and belongs to the epoch before.

    While the gap falls slowly, it takes a thirtieth.
    """
    solver, point = Hybrid(), PROBLEM.certified(None, np.zeros(PROBLEM.n_pairs))
    state = solver.start(PROBLEM, point, np.random.default_rng(0))
    state.costs, state.newton_steps = replace(state.costs, estimate=1.0, interior=np.inf), np.inf
    monkeypatch.setattr(Dykstra, "estimated_gap", lambda self, problem, state: 0.3)
    for n_iter, work, slow, expected in (
        (1, 4.0, False, False), (2, 3.9, False, False), (2, 29.9, True, False), (2, 30.0, True, True),
        (2, 4.0, False, True),
    ):  # fmt: skip
        state.n_iter, state.state.work_since_estimate, state.state.skips_idle = n_iter, work, slow
        assert not solver._crawls(PROBLEM, state)
        assert state.is_estimated is expected
    assert state.gaps == [(0, pytest.approx(1.0)), (1, 0.3)]
    state.state.work_since_estimate = 0.0
    solver.step(PROBLEM, state)
    assert not state.is_estimated, "the estimate is that of an earlier epoch"


@pytest.mark.parametrize(("rate", "expected"), [(0.29, True), (0.31, False)])
def test_idle_pairs_are_left_out_while_the_gap_falls_slowly(rate, expected, monkeypatch):
    solver, point = Hybrid(), PROBLEM.certified(None, np.zeros(PROBLEM.n_pairs))
    state = solver.start(PROBLEM, point, np.random.default_rng(0))
    assert state.state.skips_idle is False, "nothing is known yet"
    state.gaps, state.n_iter, state.state.work_since_estimate = [(0, 1.0), (1, 0.9)], 3, np.inf
    monkeypatch.setattr(Dykstra, "estimated_gap", lambda self, problem, state: 0.9 * np.exp(-rate))
    solver._crawls(PROBLEM, state)
    assert state.state.skips_idle == expected


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


def test_newton_takes_over_unless_its_path_is_long():
    first = PROBLEM.certified(None, np.zeros(PROBLEM.n_pairs))
    state = hybrid.HybridState(Dykstra(), None, None, 0, 0, first, first, COSTS)
    state.newton_steps = 1.0
    for interior, expected in ((1.01, "newton"), (0.99, "interior")):
        state.costs = replace(COSTS, interior=interior)
        order = hybrid._succession(PROBLEM, state)
        assert (order[0], order[2]) == (expected, "dykstra") and set(order[:2]) == {"newton", "interior"}
    warm = solve(PROBLEM.replace(weights=PROBLEM.weights / 2.0), "newton").multipliers
    state.first = PROBLEM.certified(None, warm)
    assert 0.0 < state.first.certificate.relative_gap < 0.9
    assert hybrid._succession(PROBLEM, state)[0] == "newton", "a good warm start is used"


def test_costs_come_from_the_models():
    n, m, K, examples = PROBLEM.n, PROBLEM.m, PROBLEM.n_pairs, len(PROBLEM.sums.rows)
    costs = hybrid.Costs.of(PROBLEM)
    assert costs.epoch == tuning.sweep_seconds(n, m, K, 0)
    assert costs.estimate == tuning.estimate_seconds(n, K)
    assert costs.certificate == tuning.certificate_seconds(n, m, K, kept=True)
    assert costs.newton_step == tuning.newton_seconds(n, m, K, examples)
    assert costs.interior == 16.0 * tuning.interior_seconds(n, m, K, examples)
    assert costs.newton_from(0.1) == pytest.approx(5.0 * costs.newton_step + costs.certificate)
    assert costs.newton_from(1e-9) == costs.newton_step + costs.certificate, "at least a step"


def test_newtons_steps_are_predicted_once(monkeypatch):
    calls = []
    monkeypatch.setattr(hybrid, "steps_from_identity", lambda problem: calls.append(problem) or 7.0)
    state = state_at(0.5, costs=replace(COSTS, newton_step=3.0), newton_steps=None)
    assert state.newton_seconds(PROBLEM) == state.newton_seconds(PROBLEM) == 21.0
    assert calls == [PROBLEM]


def test_steps_to_go_follow_from_two_windows_of_the_objective():
    primals = [10.0 + 2.0**-i for i in range(9)]
    recent = primals[4] - primals[8]
    expected = 4.0 * np.log(recent / (1e-6 * primals[-1])) / np.log(16.0)
    far = -np.inf
    assert hybrid._steps_to_go(primals, far, 1e-6) == pytest.approx(expected)
    assert hybrid._steps_to_go([99.0, *primals], far, 1e-6) == pytest.approx(expected), "the last two windows count"
    assert hybrid._steps_to_go(primals[:8], far, 1e-6) == 0.0, "too early to judge"
    assert hybrid._steps_to_go(primals, far, 1.0) == 0.0, "the decrease is within the tolerance"
    assert hybrid._steps_to_go([10.0] * 9, far, 1e-6) == 0.0
    assert hybrid._steps_to_go([10.0 - i for i in range(9)], far, 1e-6) == np.inf


def test_no_more_steps_are_expected_than_lead_to_the_dual():
    """The objective falls by 1 in each step, from 2 now, and the dual is 0.5 below."""
    assert hybrid._steps_to_go([10.0 - i for i in range(9)], 1.5, 1e-6) == pytest.approx(0.5)
    assert hybrid._steps_to_go([10.0 + 2.0**-i for i in range(9)], 9.0, 1e-6) < 100.0


def newton_state(primal=1.0, fraction=1.0, retreats=0, decrement=9.0):
    return SimpleNamespace(primal=primal, weight_fraction=fraction, retreats=retreats, decrement=decrement)


def test_newton_crawls_if_its_objective_falls_too_slowly():
    state = state_at(0.5, costs=replace(COSTS, interior=16.0))
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
    state.solver, state.failed = Newton(), set()
    assert Hybrid()._crawls(PROBLEM, state)
    state.failed = {"dykstra", "interior"}
    assert not Hybrid()._crawls(PROBLEM, state), "nothing else is left"


def test_objectives_with_a_fraction_of_the_weights_are_not_compared():
    state = state_at(0.5, primals=[float(i) for i in range(20)], state=newton_state(np.inf, fraction=0.5))
    state.record_objective()
    assert state.primals == []
    assert not hybrid._newton_crawls(PROBLEM, state)


def test_newton_crawls_if_it_has_to_start_again():
    """With n = 4, 15 + 4 / 6 more steps are expected after each retreat."""
    for factor, expected in ((0.99, True), (1.01, False)):
        costs = replace(COSTS, interior=factor * 2.0 * (15.0 + 4.0 / 6.0))
        for decrement in (9.0, 0.1):
            newton = newton_state(np.inf, fraction=0.1, retreats=2, decrement=decrement)
            assert hybrid._newton_crawls(PROBLEM, state_at(0.5, state=newton, costs=costs)) is expected


def test_a_new_phase_forgets_the_rate_of_the_last_one():
    solver = Hybrid()
    point = PROBLEM.certified(None, np.zeros(PROBLEM.n_pairs))
    state = solver.start(PROBLEM, point, np.random.default_rng(0))
    state.n_iter, state.rate, state.is_estimated, state.ends_epochs, state.primals = 5, 0.3, True, True, [1.0]
    solver._switch(PROBLEM, state, point, "newton")
    assert state.solver.name == "newton"
    assert (state.rate, state.is_estimated, state.ends_epochs, state.primals) == (0.0, False, False, [])
    assert state.gaps == [(5, point.certificate.relative_gap)]


def test_methods_get_the_settings():
    solver = Hybrid(order="cyclic", memory=1e6)
    assert (solver._solver("newton").memory, solver._solver("interior").memory) == (1e6, 1e6)
    assert solver._solver("dykstra").order == "cyclic"
