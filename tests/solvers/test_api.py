"""solve and the one loop: limits, status, history, callbacks, warm starts, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Dykstra, MetricProblem, Newton, Status, make_paper_problem, solve, solve_path
from covmetric.solvers import SOLVERS, Solver, choose_solver
from tests.problems import random_problem


@pytest.fixture
def problem():
    return make_paper_problem(8, 40, 1e-3, seed=0)


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
def test_every_solver_meets_the_contract(solver):
    """SOLVED with a gap that the problem confirms, multipliers feasible, slacks the best, W symmetric."""
    for seed in range(9):
        problem = random_problem(seed)
        result = solve(problem, solver, tol=1e-8, random_state=0)
        assert result.status is Status.SOLVED
        certificate = problem.certify(result.W, result.multipliers, tol=1e-8)
        assert certificate.solved
        assert result.certificate.tol == 1e-8
        assert result.certificate.gap == pytest.approx(certificate.gap, abs=1e-10 * max(1.0, certificate.primal))
        assert (result.multipliers >= 0.0).all()
        assert problem.dual(result.multipliers) > -np.inf
        np.testing.assert_array_equal(result.slacks, problem.slacks(result.W))
        np.testing.assert_allclose(result.W, result.W.T)
        assert result.n_iter == result.history.n_iter[-1]
        assert result.seconds > 0.0


@pytest.mark.parametrize(
    ("shape", "lam", "expected"),
    [
        ((10, 10, 50), 1e-2, "newton"),
        ((100, 100, 50), 1e-4, "newton"),
        ((5, 5, 11_100), 1e-1, "newton"),
        ((50, 1, 1000), 1e-2, "dykstra"),
        ((50, 1, 1000), 1e-5, "newton"),
        ((50, 1, 1000), 1e-1, "newton"),
        ((50, 50, 1000), 1e-3, "newton"),
    ],
)
def test_auto_picks_by_size_and_weights(shape, lam, expected):
    n, m, K = shape
    rng = np.random.default_rng(0)
    problem = MetricProblem.from_differences(
        rng.standard_normal((K, n, m)), rng.choice([-1.0, 1.0], K), float(n * m), 1.0 / (lam * K)
    )
    assert choose_solver("auto", problem).name == expected


def test_history(problem):
    result = solve(problem, Dykstra(certify_every=2), tol=1e-6, random_state=0)
    h = result.history
    for name in ("n_iter", "projections", "seconds", "primal", "dual", "gap"):
        assert getattr(h, name).shape == h.n_iter.shape
    assert h.n_iter[0] == 0
    np.testing.assert_array_equal(np.diff(h.n_iter[:-1]), 2)
    np.testing.assert_array_equal(h.projections, 40 * h.n_iter)
    assert (np.diff(h.seconds) > 0.0).all()
    np.testing.assert_array_equal(h.gap, h.primal - h.dual)
    assert (np.diff(h.dual) >= -1e-12).all(), "coordinate ascent never loses on the dual"
    assert h.primal[0] == problem.primal(np.eye(8))


def test_max_iter_warns_and_keeps_the_best(problem):
    with pytest.warns(ConvergenceWarning, match=r"MAX_ITER after 3 iterations, relative gap .* with tolerance 1e-06"):
        result = solve(problem, Dykstra(certify_every=1), max_iter=3, random_state=0)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 3
    assert result.certificate.primal == pytest.approx(result.history.primal.min())
    assert result.certificate.dual == pytest.approx(result.history.dual.max())


def test_tol_zero_makes_exactly_max_iter_epochs_without_a_warning(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve(problem, "dykstra", tol=0, max_iter=600, random_state=0)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 600
    assert result.history.projections[-1] == 600 * 40


def test_no_iterations_at_all(problem):
    result = solve(problem, "dykstra", tol=0, max_iter=0)
    assert result.n_iter == 0
    np.testing.assert_array_equal(result.W, np.eye(8))


def test_solved_at_the_start_needs_no_iteration():
    problem = MetricProblem.from_differences(np.eye(2)[None], [1], 5.0, 1.0)
    result = solve(problem)
    assert result.status is Status.SOLVED
    assert result.n_iter == 0
    assert result.certificate.gap == 0.0


def test_callback_sees_every_certificate_and_can_stop(problem):
    seen = []

    def callback(state):
        seen.append(state)
        return len(seen) == 3

    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, Dykstra(certify_every=1), random_state=0, callback=callback)
    assert result.status is Status.INTERRUPTED
    assert [s.n_iter for s in seen] == [0, 1, 2]
    assert seen[-1].projections == 80
    assert seen[-1].certificate.primal == pytest.approx(problem.primal(seen[-1].W))
    assert result.certificate.gap <= seen[-1].certificate.gap + 1e-12


def test_a_callback_that_returns_something_else_does_not_stop(problem):
    assert solve(problem, "dykstra", random_state=0, callback=lambda _: 1).status is Status.SOLVED


def test_a_callback_cannot_spoil_the_iterate(problem):
    def spoil(state):
        state.W[:] = np.nan
        state.multipliers[:] = np.nan

    plain = solve(problem, "dykstra", random_state=0)
    spoilt = solve(problem, "dykstra", random_state=0, callback=spoil)
    np.testing.assert_array_equal(plain.W, spoilt.W)


def test_ctrl_c_returns_the_best_so_far():
    """A real SIGINT in the middle of a long solve."""
    problem = make_paper_problem(60, 50, 1e-4, seed=0)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    solve(problem, "dykstra", tol=0, max_iter=1)  # compile first
    timer.start()
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, "dykstra", tol=0, max_iter=10**9, random_state=0)
    timer.join()
    assert result.status is Status.INTERRUPTED
    assert result.n_iter > 0
    assert result.certificate.relative_gap < 1e-3
    assert problem.certify(result.W, result.multipliers).gap == pytest.approx(result.certificate.gap, abs=1e-9)


def test_numpy_truth_stops_too(problem):
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, "dykstra", random_state=0, callback=lambda _: np.True_)
    assert list(result.history.n_iter) == [0]


def test_a_stop_at_the_solution_is_solved(problem):
    result = solve(problem, "dykstra", random_state=0, callback=lambda state: state.certificate.solved)
    assert result.status is Status.SOLVED


INTERRUPTED_EARLY = """
import os, signal, threading, time, warnings
from covmetric import MetricProblem, make_paper_problem, solve
problem = make_paper_problem(n=40, K=50, lam=1e-4, seed=0)
warnings.simplefilter("ignore")
threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()
result = solve(problem, "dykstra", tol=0, max_iter=10**9)
print(result.status.name)
print(solve(problem, "dykstra", random_state=0).status.name)
"""


@pytest.mark.parametrize("delay", [0.02, 0.1, 0.3, 1.0])
def test_ctrl_c_while_the_compiler_is_loading_breaks_nothing(delay):
    """The signal comes while Numba is imported or compiles: the solve ends, and the next one works."""
    script = INTERRUPTED_EARLY.format(delay=delay)
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.split() == ["INTERRUPTED", "SOLVED"]


def test_a_second_ctrl_c_raises_at_once():
    from covmetric.solvers.interrupt import check_interrupt, deferred_interrupts

    with deferred_interrupts():
        signal.raise_signal(signal.SIGINT)  # waits
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
        check_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_user_is_left_alone(problem):
    mine = lambda *_: None  # noqa: E731
    before = signal.signal(signal.SIGINT, mine)
    try:
        seen = []
        solve(problem, "dykstra", random_state=0, callback=lambda _: seen.append(signal.getsignal(signal.SIGINT)))
        assert seen[0] is mine
    finally:
        signal.signal(signal.SIGINT, before)


def test_solves_in_a_thread(problem):
    """Signals belong to the main thread; elsewhere there is nothing to defer."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda seed: solve(problem, "dykstra", random_state=seed), [0, 0]))
    np.testing.assert_array_equal(results[0].W, results[1].W)


def test_ctrl_c_in_the_first_certificate_still_gives_a_metric(problem):
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, "dykstra", random_state=0, callback=interrupt)
    assert result.status is Status.INTERRUPTED
    assert np.isfinite(result.certificate.gap)


def test_warm_start_from_the_answer_needs_no_iteration(problem):
    first = solve(problem, "dykstra", tol=1e-8, random_state=0)
    for start in (first, first.multipliers, first.multipliers.tolist()):
        again = solve(problem, "dykstra", tol=1e-8, random_state=0, warm_start=start)
        assert again.status is Status.SOLVED
        assert again.n_iter == 0
        np.testing.assert_allclose(again.W, first.W, rtol=1e-3, atol=1e-4)


def test_warm_start_is_repaired_where_the_weights_changed(problem):
    """With c a thousand times smaller, multipliers above c/b are not feasible any more."""
    first = solve(problem, "dykstra", tol=1e-8, random_state=0)
    lighter = MetricProblem.from_differences(
        problem.embedded[:-1], problem.similar, problem.bounds, problem.weights / 1000.0
    )
    assert lighter.dual(first.multipliers) == -np.inf
    warm = solve(lighter, "dykstra", tol=1e-8, random_state=0, warm_start=first)
    cold = solve(lighter, "dykstra", tol=1e-8, random_state=0)
    assert warm.status is Status.SOLVED
    np.testing.assert_allclose(warm.W, cold.W, rtol=1e-3, atol=1e-4)


def test_warm_start_helps_along_a_path(problem):
    first = solve(problem, Dykstra(certify_every=1), tol=1e-6, random_state=0)
    heavier = MetricProblem.from_differences(
        problem.embedded[:-1], problem.similar, problem.bounds, problem.weights * 1.05
    )
    cold = solve(heavier, Dykstra(certify_every=1), tol=1e-6, random_state=0)
    warm = solve(heavier, Dykstra(certify_every=1), tol=1e-6, random_state=0, warm_start=first)
    assert warm.n_iter < cold.n_iter


class Stuck(Solver[list]):
    """A solver that never moves."""

    name = "stuck"
    default_max_iter = 10_000

    def start(self, problem, point, rng):
        return [point.multipliers]

    def step(self, problem, state):
        pass

    def due(self, problem, state, tol):
        return True

    def candidate(self, state):
        return None, state[0]

    def resume(self, problem, state, point):
        pass

    def projections(self, state):
        return 0


def test_a_stall_is_never_solved(problem):
    with pytest.warns(ConvergenceWarning, match="STALLED"):
        result = solve(problem, Stuck())
    assert result.status is Status.STALLED
    assert result.n_iter < 200
    assert not result.certificate.solved


def test_a_certificate_spoilt_by_rounding_is_a_numerical_error(problem, monkeypatch):
    """The gap would meet the tolerance, but its own rounding error does not."""
    import dataclasses

    real = MetricProblem.certified_arrays

    def coarse(self, *arguments):
        point = real(self, *arguments)
        certificate = dataclasses.replace(point.certificate, rounding=1.0)
        return dataclasses.replace(point, certificate=certificate)

    monkeypatch.setattr(MetricProblem, "certified_arrays", coarse)
    with pytest.warns(ConvergenceWarning, match="NUMERICAL_ERROR"):
        result = solve(problem, "dykstra", random_state=0)
    assert result.status is Status.NUMERICAL_ERROR


def test_a_negative_gap_beyond_the_tolerance_is_a_numerical_error(problem, monkeypatch):
    import dataclasses

    real = MetricProblem.certified_arrays

    def wrong(self, *arguments):
        point = real(self, *arguments)
        now = point.certificate
        worse = dataclasses.replace(now, dual=now.primal + 1.0, gap=-1.0, relative_gap=-1.0)
        return dataclasses.replace(point, certificate=worse)

    monkeypatch.setattr(MetricProblem, "certified_arrays", wrong)
    with pytest.warns(ConvergenceWarning, match="NUMERICAL_ERROR"):
        assert solve(problem, "dykstra", random_state=0).status is Status.NUMERICAL_ERROR


class Rogue(Stuck):
    """A solver whose candidates cannot be trusted."""

    def __init__(self, mess):
        self.mess = mess

    def start(self, problem, point, rng):
        solved = solve(problem, "newton", tol=1e-9)
        return [solved.W.copy(), solved.multipliers.copy()]

    def step(self, problem, state):
        self.mess(*state)

    def candidate(self, state):
        return tuple(state)


@pytest.mark.parametrize(
    "mess",
    [
        lambda W, alpha: W.__setitem__((0, 1), W[0, 1] + 0.03),  # noqa: ARG005
        lambda W, alpha: W.__imul__(1.5),  # noqa: ARG005
        lambda W, alpha: W.fill(np.nan),  # noqa: ARG005
        lambda W, alpha: alpha.fill(np.nan),  # noqa: ARG005
        lambda W, alpha: (W.fill(np.nan), alpha.fill(np.inf)),
    ],
)
def test_a_solver_is_not_trusted(problem, mess):
    """Asymmetric, changed in place, not finite: the certificate belongs to what is returned, and is true of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, Rogue(mess), max_iter=3)
    np.testing.assert_array_equal(result.W, result.W.T)
    again = problem.certify(result.W, result.multipliers, tol=1e-6)
    assert again.primal == pytest.approx(result.certificate.primal, rel=1e-12)
    assert again.dual == pytest.approx(result.certificate.dual, rel=1e-12, abs=1e-12)
    assert (result.status is Status.SOLVED) <= again.solved


@pytest.mark.parametrize("status", list(Status))
def test_each_status_has_a_message(status):
    assert len(status.message) > 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"solver": "simplex"}, r"solver must be one of .*got 'simplex'"),
        ({"tol": -1.0}, r"tol must be a number >= 0, got -1.0"),
        ({"tol": np.nan}, r"tol must be a number >= 0, got nan"),
        ({"tol": "small"}, r"tol must be a number >= 0, got 'small'"),
        ({"solver": np.ones(3)}, r"solver must be one of 'auto', 'dykstra'.*or an object of the class Solver"),
        ({"tol": True}, r"tol must be a number >= 0, got True"),
        ({"random_state": "a"}, r"random_state must be None, an integer >= 0, a Generator or a RandomState, got 'a'"),
        ({"random_state": -1}, r"random_state must be"),
        ({"callback": 3}, r"callback must be None or callable, got 3"),
        ({"max_iter": True}, r"max_iter must be None or an integer"),
        ({"max_iter": -1}, r"max_iter must be None or an integer >= 0, got -1"),
        ({"max_iter": 1.5}, r"max_iter must be None or an integer >= 0, got 1.5"),
        (
            {"warm_start": np.zeros(3)},
            r"warm_start does not fit the problem: multipliers must have one entry per pair",
        ),
        ({"warm_start": np.full(40, np.nan)}, r"warm_start does not fit the problem: multipliers\[0\] is nan"),
    ],
)
def test_bad_arguments(problem, arguments, message):
    with pytest.raises(ValueError, match=message):
        solve(problem, **arguments)


def test_not_a_problem():
    with pytest.raises(ValueError, match="problem must be a MetricProblem, got ndarray"):
        solve(np.eye(3))


def test_blas_threads_are_given_back(problem):
    from threadpoolctl import threadpool_info

    before = [pool["num_threads"] for pool in threadpool_info()]
    solve(problem, "dykstra", random_state=0)
    assert [pool["num_threads"] for pool in threadpool_info()] == before


class _Late(Newton):
    """Ctrl-C comes while the last proof is made."""

    def candidate(self, state):
        signal.raise_signal(signal.SIGINT)
        return super().candidate(state)


def test_an_interrupt_during_the_last_proof_is_not_lost(problem):
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, _Late())
    assert result.status is Status.INTERRUPTED
    assert result.certificate.solved
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        results = solve_path(problem, [1.0, 0.5, 0.25], _Late())
    assert [r.status for r in results] == [Status.INTERRUPTED]
