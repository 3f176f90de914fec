"""Ctrl-C: the signal is deferred, the solve returns the best metric so far, and later solves work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Newton, Status, make_paper_problem, solve, solve_path
from covmetric.solvers.interrupt import DeferredInterrupts, check_interrupt, interrupt_waits


@pytest.fixture
def problem():
    return make_paper_problem(8, 40, 1e-3, seed=0)


def test_ctrl_c_returns_the_best_so_far():
    """A real signal interrupts a long solve."""
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
    """The signal arrives while Numba is imported or compiles. The solve ends, and the next one works."""
    script = INTERRUPTED_EARLY.format(delay=delay)
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.split() == ["INTERRUPTED", "SOLVED"]


def test_a_second_ctrl_c_raises_at_once():
    with DeferredInterrupts():
        signal.raise_signal(signal.SIGINT)  # deferred
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
        check_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_user_is_kept(problem):
    handler = lambda *_: None  # noqa: E731
    before = signal.signal(signal.SIGINT, handler)
    try:
        seen = []
        solve(problem, "dykstra", random_state=0, callback=lambda _: seen.append(signal.getsignal(signal.SIGINT)))
        assert seen[0] is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_problems_can_be_solved_in_threads(problem):
    """Only the main thread receives signals; other threads have nothing to defer."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda seed: solve(problem, "dykstra", random_state=seed), [0, 0]))
    np.testing.assert_array_equal(results[0].W, results[1].W)


class InterruptedLate(Newton):
    """Ctrl-C is pressed while the last certificate is computed."""

    def candidate(self, state):
        signal.raise_signal(signal.SIGINT)
        return super().candidate(state)


def test_an_interrupt_during_the_last_certificate_stops_the_path(problem):
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, InterruptedLate())
    assert result.status is Status.INTERRUPTED
    assert result.certificate.solved
    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        results = solve_path(problem, [1.0, 0.5, 0.25], InterruptedLate())
    assert [r.status for r in results] == [Status.INTERRUPTED]


def test_the_first_ctrl_c_waits_for_a_check():
    with DeferredInterrupts():
        assert not interrupt_waits()
        check_interrupt()  # nothing to raise
        signal.raise_signal(signal.SIGINT)
        assert interrupt_waits()
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
        assert not interrupt_waits()


def test_ctrl_c_outside_of_a_solve_raises_as_usual():
    with DeferredInterrupts():
        signal.raise_signal(signal.SIGINT)
    assert not interrupt_waits(), "a new block starts without one"
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
