"""The one loop, on scripted certificates: limits, stopping, status, the best point, history and callbacks.

No problem is solved here. `ScriptedProblem` certifies candidate number i with the i-th values of a script, so that each
decision of the loop can be tested separately.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from covmetric import Certificate, Status
from covmetric.problem import CertifiedPoint
from covmetric.problem.blocks import ExecutorLost
from covmetric.solvers import Solver, StepFailed, StepStalled
from covmetric.solvers.loop import _STALL_FACTOR, _STALL_WINDOW, _Record, run

EXACT = 1e-12  # a rounding error that no tolerance here notices


class ScriptedProblem:
    """Certificates from a list of (primal, dual, rounding), and from `combined` if W and multipliers differ."""

    n_pairs = 2

    def __init__(self, script, combined=EXACT):
        self.script, self.combined, self.calls = script, combined, []

    def certified_arrays(self, W, multipliers, tol=1e-6):
        self.calls.append((W, multipliers))
        if multipliers is not None and W is None:
            W = np.full((2, 2), multipliers[0])
        i, j = round(W[0, 0]), round(multipliers[0])
        primal, _, rounding = self.script[min(i, len(self.script) - 1)]
        dual = self.script[min(j, len(self.script) - 1)][1]
        certificate = Certificate.from_values(
            primal, dual, max_violation=0.0, tol=tol, rounding=rounding if i == j else self.combined
        )
        return CertifiedPoint(W.copy(), multipliers.copy(), certificate, np.array([0.5, 2.0]), derived=False)

    in_memory = True

    def zero_multipliers(self):
        return np.zeros(self.n_pairs)

    def finite_multipliers(self, multipliers):
        return multipliers if np.isfinite(multipliers).all() else self.zero_multipliers()

    def pair_arrays(self, point):
        return point.multipliers, np.maximum(point.ratios, 1.0)


class ScriptedSolver(Solver[dict]):
    """Candidate number i after i steps; `events` are exceptions to raise in given steps."""

    name = "scripted"
    default_max_iter = 10

    def __init__(self, every=1, events=None):
        self.every, self.events, self.resumed, self.asked = every, events or {}, [], []

    def start(self, problem, point, rng):
        return {"number": 0}

    def step(self, problem, state):
        state["number"] += 1
        if state["number"] in self.events:
            raise self.events[state["number"]]

    def due(self, problem, state, tol):
        self.asked.append(tol)
        return state["number"] % self.every == 0

    def candidate(self, state):
        return np.full((2, 2), float(state["number"])), np.full(2, float(state["number"]))

    def resume(self, problem, state, point):
        self.resumed.append(point.multipliers[0])

    def projections(self, state):
        return 7 * state["number"]


def run_script(script, *, combined=EXACT, solver=None, tol=1e-3, max_iter=10, callback=None):
    problem = ScriptedProblem(script, combined)
    start = problem.certified_arrays(np.zeros((2, 2)), np.zeros(2), tol)
    return run(
        problem,
        solver or ScriptedSolver(),
        tol=tol,
        max_iter=max_iter,
        start=start,
        started=time.perf_counter(),
        rng=np.random.default_rng(0),
        callback=callback,
    )


def gaps(*values, rounding=EXACT):
    """Certificates around the optimum 1."""
    return [(1.0 + gap / 2.0, 1.0 - gap / 2.0, rounding) for gap in values]


def test_solve_ends_at_the_first_gap_within_the_tolerance():
    result = run_script(gaps(1.0, 0.5, 1e-4, 1e-9))
    assert result.status is Status.SOLVED
    assert result.n_iter == 2
    assert result.W[0, 0] == result.multipliers[0] == 2.0


def test_a_start_within_the_tolerance_needs_no_step():
    result = run_script(gaps(1e-4, 1.0))
    assert (result.status, result.n_iter) == (Status.SOLVED, 0)
    np.testing.assert_array_equal(result.history.n_iter, [0])


@pytest.mark.parametrize("tol", [0.0, 1e-3])
@pytest.mark.parametrize("max_iter", [0, 1, 5])
def test_max_iter_is_exact(tol, max_iter):
    result = run_script(gaps(1.0), tol=tol, max_iter=max_iter)
    assert (result.status, result.n_iter) == (Status.MAX_ITER, max_iter)


def test_tol_zero_ignores_gaps_and_rounding():
    result = run_script(gaps(-1.0, 0.0, rounding=1.0), tol=0.0, max_iter=200)
    assert (result.status, result.n_iter) == (Status.MAX_ITER, 200)


def test_certificates_are_computed_when_due_and_at_the_limit():
    solver = ScriptedSolver(every=3)
    result = run_script(gaps(1.0), solver=solver, max_iter=8)
    np.testing.assert_array_equal(result.history.n_iter, [0, 3, 6, 8])
    np.testing.assert_array_equal(result.history.projections, [0, 21, 42, 56])
    assert set(solver.asked) == {1e-3}


def test_solver_resumes_from_each_certified_point_until_the_solve_ends():
    solver = ScriptedSolver()
    run_script(gaps(1.0, 0.5, 0.2, 1e-9), solver=solver)
    assert solver.resumed == [1.0, 2.0]


def test_history_records_the_current_values():
    script = [(5.0, 1.0, EXACT), (3.0, 0.5, EXACT), (4.0, 2.0, EXACT)]
    history = run_script(script, max_iter=2).history
    np.testing.assert_array_equal(history.primal, [5.0, 3.0, 4.0])
    np.testing.assert_array_equal(history.dual, [1.0, 0.5, 2.0])
    np.testing.assert_array_equal(history.gap, [4.0, 2.5, 2.0])
    assert (np.diff(history.seconds) > 0.0).all() and history.seconds[0] > 0.0


def test_history_records_the_phase_of_each_point():
    class InPhases(ScriptedSolver):
        def phase(self, state):
            return f"after {state['number']}"

    history = run_script(gaps(1.0, 0.5, 0.2), solver=InPhases(every=2), max_iter=5).history
    assert history.phase.tolist() == ["after 0", "after 2", "after 4", "after 5"]
    history = run_script(gaps(1.0, 0.5, 0.2), max_iter=2).history
    assert history.phase.tolist() == ["scripted"] * 3, "one phase unless the solver has several"


class WithoutStart(ScriptedSolver):
    """There is no starting point in floating point arithmetic."""

    def start(self, problem, point, rng):
        raise StepFailed


@pytest.mark.parametrize(("gap", "status"), [(1.0, Status.NUMERICAL_ERROR), (1e-9, Status.SOLVED)])
def test_a_solver_without_a_start_returns_the_given_point(gap, status):
    result = run_script(gaps(gap), solver=WithoutStart())
    assert (result.status, result.n_iter) == (status, 0)
    assert result.W[0, 0] == result.multipliers[0] == 0.0
    assert result.history.n_iter.tolist() == result.history.projections.tolist() == [0]
    assert result.history.phase.tolist() == ["scripted"]
    assert 0.0 < result.history.seconds[0] <= result.seconds


def test_best_metric_and_best_multipliers_may_come_from_different_steps():
    script = [(5.0, 1.0, EXACT), (3.0, 0.5, EXACT), (4.0, 2.0, EXACT), (6.0, 0.0, EXACT)]
    result = run_script(script, max_iter=3)
    assert (result.W[0, 0], result.multipliers[0]) == (1.0, 2.0)
    assert (result.certificate.primal, result.certificate.dual) == (3.0, 2.0)
    np.testing.assert_array_equal(result.slacks, [1.0, 2.0])


def test_the_gap_of_the_best_two_points_ends_the_solve():
    script = [(5.0, 1.0, EXACT), (2.0, 0.5, EXACT), (4.0, 2.0 - 1e-4, EXACT)]
    result = run_script(script)
    assert (result.status, result.n_iter) == (Status.SOLVED, 2)
    assert result.certificate.gap == pytest.approx(1e-4)


@pytest.mark.parametrize("order", [1, -1])
def test_best_certificate_has_the_larger_rounding_error(order):
    """The best metric and the best multipliers have rounding errors of different size, in either order."""
    record = _Record(tol=1e-3)
    for number, (primal, dual, rounding) in enumerate([(2.0, 0.0, 1e-9), (3.0, 1.0, 1e-2)][::order]):
        certificate = Certificate.from_values(primal, dual, max_violation=0.0, tol=1e-3, rounding=rounding)
        record.add(
            number, 0, 0.0, CertifiedPoint(np.eye(1), np.zeros(1), certificate, np.ones(1), derived=False), "newton"
        )
    best = record.best()
    assert (best.primal, best.dual, best.gap, best.tol) == (2.0, 1.0, 1.0, 1e-3)
    assert best.rounding == 1e-2


@pytest.mark.parametrize("large", [0, 1])
def test_a_rounding_error_of_either_best_point_prevents_solved(large):
    """The best two points are within the tolerance, but one of them has a large rounding error."""
    roundings = [EXACT, EXACT]
    roundings[large] = 1.0
    script = [(5.0, 0.0, EXACT), (2.0, 0.5, roundings[0]), (4.0, 2.0, roundings[1])]
    assert run_script(script).status is Status.NUMERICAL_ERROR


def test_solved_is_proved_again_for_the_two_points_together():
    """Each point is accurate, but the certificate of the best two together is not."""
    script = [(5.0, 1.0, EXACT), (2.0, 0.5, EXACT), (4.0, 2.0, EXACT)]
    assert run_script(script, combined=EXACT).status is Status.SOLVED
    result = run_script(script, combined=9e-4 * 2.0 + 1e-3)
    assert not result.certificate.solved
    assert result.status is Status.NUMERICAL_ERROR


def test_solved_needs_gap_and_rounding_together_within_the_tolerance():
    """A trusted certificate whose gap plus rounding is above the tolerance is not SOLVED."""
    script = [(5.0, 0.0, EXACT), (2.0, 0.5, EXACT), (4.0, 2.0 - 1.5e-3, EXACT)]
    result = run_script(script, combined=1.5e-3)
    assert result.certificate.trusted and not result.certificate.solved
    assert result.status is Status.NUMERICAL_ERROR


@pytest.mark.parametrize("status", [Status.MAX_ITER, Status.STALLED])
@pytest.mark.parametrize(("combined", "spoilt"), [(EXACT, False), (1.0, True)])
def test_a_last_certificate_spoilt_by_rounding_is_a_numerical_error(status, combined, spoilt):
    script = [(5.0, 0.0, EXACT), (2.0, 0.5, EXACT), (4.0, 1.0, EXACT)]
    result = run_script(script, combined=combined, max_iter=2 if status is Status.MAX_ITER else 500)
    assert result.status is (Status.NUMERICAL_ERROR if spoilt else status)


def test_interrupted_stays_interrupted_although_rounding_spoils_the_certificate():
    script = [(5.0, 0.0, EXACT), (2.0, 0.5, EXACT), (4.0, 1.0, EXACT)]
    result = run_script(script, combined=1.0, callback=lambda state: state.n_iter == 2)
    assert result.status is Status.INTERRUPTED


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ((2.0, 2.0, 1.0), Status.NUMERICAL_ERROR),  # the gap is within the tolerance, its rounding error is not
        ((2.0, 3.0, EXACT), Status.NUMERICAL_ERROR),  # a negative gap beyond the tolerance
        ((2.0, 1.0, 1.0), Status.MAX_ITER),  # a large gap may still shrink, whatever its rounding error
        ((2.0, 2.0 + 1e-4, EXACT), Status.NUMERICAL_ERROR),  # a negative gap that its rounding error does not explain
        ((2.0, 2.0 + 1e-4, 2e-4), Status.SOLVED),  # and one that it explains
    ],
)
def test_certificates_that_rounding_spoils(values, status):
    result = run_script([(5.0, 0.0, EXACT), values], max_iter=1)
    expected = Status.NUMERICAL_ERROR if status is Status.MAX_ITER else status  # `finish` does not trust it either
    assert result.status is expected
    two_steps = run_script([(5.0, 0.0, EXACT), values, (2.0, 2.0, EXACT)], max_iter=2)
    assert two_steps.n_iter == (2 if status is Status.MAX_ITER else 1)


def test_stalled_needs_a_whole_window_without_progress():
    result = run_script(gaps(1.0), max_iter=10_000)
    assert (result.status, result.n_iter) == (Status.STALLED, _STALL_WINDOW)


@pytest.mark.parametrize(("factor", "stalls"), [(_STALL_FACTOR * 1.0001, True), (_STALL_FACTOR * 0.9999, False)])
def test_stalled_compares_the_gap_with_the_start_of_the_window(factor, stalls):
    record = _Record(tol=1e-3)
    record.best_gaps = [7.0, 1.0, *[0.5] * (_STALL_WINDOW - 1), factor]
    assert record.stalled() == stalls
    record.best_gaps = record.best_gaps[2:]
    assert not record.stalled(), "the window is not full"


def test_stalled_depends_on_the_best_gap_not_on_the_current_gap():
    """The dual value rises in every step, while the primal value of later steps is worse."""
    script = [(2.0, 0.0, EXACT), *((3.0, 0.001 * i, EXACT) for i in range(1, 400))]
    assert run_script(script, max_iter=300).status is Status.MAX_ITER


@pytest.mark.parametrize(("primal", "status"), [(np.inf, Status.STALLED), (np.nan, Status.NUMERICAL_ERROR)])
def test_a_gap_that_is_not_finite_is_never_solved(primal, status):
    assert run_script([(primal, -np.inf, EXACT), (primal, 1.0, EXACT)], max_iter=1000).status is status


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (StepStalled(), Status.STALLED),
        (StepFailed(), Status.NUMERICAL_ERROR),
        (KeyboardInterrupt(), Status.INTERRUPTED),
    ],
)
def test_the_last_candidate_is_certified_after_an_event(event, status):
    result = run_script(gaps(1.0, 0.5, 0.25), solver=ScriptedSolver(every=100, events={2: event}))
    assert result.status is status
    np.testing.assert_array_equal(result.history.n_iter, [0, 1])  # the second step did not finish
    np.testing.assert_array_equal(result.history.projections, [0, 14])
    assert result.W[0, 0] == 2.0


@pytest.mark.parametrize("event", [StepStalled(), StepFailed()])
def test_a_step_that_fails_at_the_optimum_is_solved(event):
    result = run_script(gaps(1.0, 0.5, 1e-9), solver=ScriptedSolver(every=100, events={2: event}))
    assert result.status is Status.SOLVED


def test_an_interrupt_at_the_optimum_stays_an_interrupt():
    result = run_script(gaps(1.0, 0.5, 1e-9), solver=ScriptedSolver(every=100, events={2: KeyboardInterrupt()}))
    assert result.status is Status.INTERRUPTED
    assert result.certificate.solved


def test_callback_sees_the_current_point():
    seen = []
    run_script(gaps(1.0, 0.5, 0.7, 1e-9), callback=seen.append)
    assert [state.n_iter for state in seen] == [0, 1, 2, 3]
    assert [state.projections for state in seen] == [0, 7, 14, 21]
    assert [state.certificate.gap for state in seen] == pytest.approx([1.0, 0.5, 0.7, 1e-9])
    assert [state.W[0, 0] for state in seen] == [state.multipliers[0] for state in seen] == [0.0, 1.0, 2.0, 3.0]
    assert (np.diff([state.seconds for state in seen]) > 0.0).all() and seen[0].seconds > 0.0


def test_seconds_count_from_the_start_of_the_solve():
    seen = []
    before = time.perf_counter()
    result = run_script(gaps(1.0, 0.5, 1e-9), callback=seen.append)
    elapsed = time.perf_counter() - before
    assert seen[-1].seconds <= result.seconds <= elapsed + 1.0
    assert result.history.seconds[-1] <= result.seconds


@pytest.mark.parametrize("answer", [True, np.True_])
def test_callback_that_returns_true_stops(answer):
    result = run_script(gaps(1.0), callback=lambda state: answer if state.n_iter == 2 else None)
    assert (result.status, result.n_iter) == (Status.INTERRUPTED, 2)


@pytest.mark.parametrize("answer", [False, np.False_, None, 1, "stop"])
def test_callback_that_returns_something_else_does_not_stop(answer):
    assert run_script(gaps(1.0), callback=lambda _: answer, max_iter=3).status is Status.MAX_ITER


def test_callback_that_stops_at_the_solution_gives_solved():
    assert run_script(gaps(1.0, 1e-9), callback=lambda state: state.n_iter == 1).status is Status.SOLVED


def test_callback_gets_copies():
    def overwrite(state):
        state.W[:] = 99.0
        state.multipliers[:] = 99.0

    result = run_script(gaps(1.0, 1e-9), callback=overwrite)
    assert result.W[0, 0] == result.multipliers[0] == 1.0


class Untidy(ScriptedSolver):
    """Candidates that are not symmetric, not finite or not positive definite."""

    def __init__(self, W, multipliers):
        super().__init__()
        self.W, self.multipliers = W, multipliers

    def candidate(self, state):
        return self.W, self.multipliers


def test_metric_is_made_symmetric_and_copied():
    W = np.array([[1.0, 3.0], [1.0, 1.0]])
    problem = ScriptedProblem(gaps(1.0))
    start = problem.certified_arrays(np.zeros((2, 2)), np.zeros(2))
    run(
        problem, Untidy(W, np.ones(2)), tol=1e-3, max_iter=1, start=start, started=0.0, rng=None, callback=None
    )  # fmt: skip
    certified = problem.calls[-1][0]
    np.testing.assert_array_equal(certified, [[1.0, 2.0], [2.0, 1.0]])
    np.testing.assert_array_equal(W, [[1.0, 3.0], [1.0, 1.0]])


def test_multipliers_that_are_not_finite_count_as_zeros():
    problem = ScriptedProblem(gaps(1.0))
    start = problem.certified_arrays(np.zeros((2, 2)), np.zeros(2))
    solver = Untidy(np.eye(2), np.array([1.0, np.nan]))
    run(problem, solver, tol=1e-3, max_iter=1, start=start, started=0.0, rng=None, callback=None)
    np.testing.assert_array_equal(problem.calls[1][1], np.zeros(2))


@pytest.mark.parametrize("multipliers", [np.ones(2), None])
def test_a_metric_that_is_refused_is_derived_from_the_multipliers(multipliers):
    """Without multipliers, zeros take their place: Newton's method forms none while it is far from the optimum."""

    class Refusing(ScriptedProblem):
        def certified_arrays(self, W, multipliers, tol=1e-6):
            if W is not None and W[0, 0] == 5.0:
                raise ValueError("W must be positive definite")
            return super().certified_arrays(W, multipliers, tol)

    problem = Refusing(gaps(1.0))
    start = problem.certified_arrays(np.zeros((2, 2)), np.zeros(2))
    solver = Untidy(np.full((2, 2), 5.0), multipliers)
    result = run(problem, solver, tol=1e-3, max_iter=1, start=start, started=0.0, rng=None, callback=None)
    assert problem.calls[1][0] is None
    np.testing.assert_array_equal(problem.calls[1][1], np.zeros(2) if multipliers is None else multipliers)
    assert result.n_iter == 1


class CutShort(ScriptedProblem):
    """The certificate of a given call is interrupted."""

    def __init__(self, script, call, reason, in_memory):
        super().__init__(script)
        self.call, self.reason, self.in_memory = call, reason, in_memory

    def certified_arrays(self, W, multipliers, tol=1e-6):
        if len(self.calls) == self.call:
            raise self.reason
        return super().certified_arrays(W, multipliers, tol)

    def release(self):
        """Nothing is kept."""


def run_cut_short(script, call, reason, in_memory, **settings):
    problem = CutShort(script, call, reason, in_memory)
    start = problem.certified_arrays(np.zeros((2, 2)), np.zeros(2))
    settings = {"tol": 1e-3, "max_iter": 3, "rng": None, "callback": None, **settings}
    return run(problem, settings.pop("solver"), start=start, started=time.perf_counter(), **settings)


@pytest.mark.parametrize("event", [KeyboardInterrupt(), StepStalled()])
def test_a_last_certificate_that_is_cut_short_leaves_the_best_point(event):
    """Call 2, after those of the start and of the first step, is a second Ctrl-C, or needs a cluster that is gone."""
    script, solver = gaps(1.0, 0.5, 0.25), ScriptedSolver(events={2: event})
    with pytest.warns(RuntimeWarning, match="the cluster is gone: the result is the best metric so far"):
        result = run_cut_short(script, 2, ExecutorLost("the cluster is gone"), False, solver=solver)
    assert (result.status, result.n_iter, result.W[0, 0]) == (Status.INTERRUPTED, 1, 1.0)
    assert result.certificate.gap == pytest.approx(0.5)
    result = run_cut_short(script, 2, KeyboardInterrupt(), False, solver=ScriptedSolver(events={2: event}))
    assert (result.status, result.W[0, 0]) == (Status.INTERRUPTED, 1.0)
    with pytest.raises(KeyboardInterrupt):
        run_cut_short(script, 2, KeyboardInterrupt(), True, solver=ScriptedSolver(events={2: event}))


def test_two_best_points_that_cannot_be_certified_together_leave_the_better_one():
    """Call 3 is the certificate of the metric of step 1 with the multipliers of step 2."""
    script = [(9.0, 0.0, EXACT), (2.0, 0.5, EXACT), (2.2, 0.9, EXACT)]
    whole = run_script(script, max_iter=2)
    assert (whole.W[0, 0], whole.multipliers[0]) == (1.0, 2.0)
    result = run_cut_short(script, 3, KeyboardInterrupt(), False, solver=ScriptedSolver(), max_iter=2)
    assert (result.status, result.n_iter) == (Status.INTERRUPTED, 2)
    assert result.W[0, 0] == result.multipliers[0] == 2.0, "a gap of 1.3 instead of 1.5"
    assert result.certificate.gap == pytest.approx(1.3)
    with pytest.raises(KeyboardInterrupt):
        run_cut_short(script, 3, KeyboardInterrupt(), True, solver=ScriptedSolver(), max_iter=2)


def test_a_candidate_may_lack_multipliers():
    class Choosing(ScriptedProblem):
        def certified_arrays(self, W, multipliers, tol=1e-6):
            return super().certified_arrays(W, np.ones(2) if multipliers is None else multipliers, tol)

    problem = Choosing(gaps(1.0, 1e-9))
    start = problem.certified_arrays(np.zeros((2, 2)), np.zeros(2))
    solver = Untidy(np.ones((2, 2)), None)
    result = run(problem, solver, tol=1e-3, max_iter=3, start=start, started=0.0, rng=None, callback=None)
    assert (result.status, result.n_iter) == (Status.SOLVED, 1)
