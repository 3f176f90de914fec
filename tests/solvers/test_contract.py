"""The contract of a solver; every entry of the registry meets it."""

from __future__ import annotations

import copy
import os
import signal
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Status, solve
from covmetric.solvers import SOLVERS, Solver, api, get_solver
from tests import naive
from tests.problems import small_problems

PROBLEMS = small_problems()
IDS = [f"{p.slack.name}-n{p.n}-m{p.m}" for p in PROBLEMS]
EACH = pytest.mark.parametrize("problem", PROBLEMS, ids=IDS)


@pytest.fixture(params=sorted(SOLVERS))
def solver(request):
    return get_solver(request.param)


@pytest.fixture
def problem():
    return PROBLEMS[0]


def quiet(*arguments, **settings):
    """Solve, without the warning of a solve that was cut short on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(*arguments, **settings)


def start_state(solver, problem, seed=0, multipliers=None):
    """Return a started state and the point it started from."""
    alpha = np.zeros(problem.n_pairs) if multipliers is None else multipliers
    point = problem.certified(None, alpha)
    with np.errstate(all="ignore"):
        return solver.start(problem, point, np.random.default_rng(seed)), point


def advance(solver, problem, state, steps):
    """Step, and certify after every second step, as the loop does."""
    with np.errstate(all="ignore"):
        for number in range(steps):
            solver.step(problem, state)
            if number % 2:
                solver.resume(problem, state, problem.certified(*solver.candidate(state)))


def snapshot(value):
    """Return a deep copy of a state as nested tuples of bytes and numbers, so that equality means the same bits."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, dict):
        return tuple((key, snapshot(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(snapshot(item) for item in value)
    if hasattr(value, "__dict__") and type(value).__module__ != "builtins" and not callable(value):
        return snapshot(vars(value))
    return repr(value)


def test_class_and_name_fit_the_registry():
    for name, cls in SOLVERS.items():
        assert issubclass(cls, Solver)
        assert cls.name == name
        assert isinstance(cls.default_max_iter, int) and cls.default_max_iter >= 1
        assert isinstance(get_solver(name), cls)


@EACH
def test_solution_is_certified_by_the_literal_formulas(solver, problem):
    result = solve(problem, solver, tol=1e-6, random_state=0)
    assert result.status is Status.SOLVED
    assert result.certificate.solved and result.certificate.tol == 1e-6
    assert result.W.shape == (problem.n, problem.n) and result.multipliers.shape == (problem.n_pairs,)
    np.testing.assert_array_equal(result.W, result.W.T)
    assert np.linalg.eigvalsh(result.W)[0] > 0.0
    assert (result.multipliers >= 0.0).all()
    primal, dual = naive.primal(problem, result.W), naive.dual(problem, result.multipliers)
    scale = max(1.0, abs(primal))
    assert primal - dual <= 1e-6 * scale
    assert result.certificate.primal == pytest.approx(primal, abs=1e-10 * scale)
    assert result.certificate.dual == pytest.approx(dual, abs=1e-10 * scale)
    np.testing.assert_array_equal(result.slacks, problem.slacks(result.W))


@EACH
def test_solvers_agree(solver, problem):
    """Two metrics with gaps g and h are within about sqrt(2 g) + sqrt(2 h) of each other in the local norm."""
    limit = 10 * solver.default_max_iter
    result = solve(problem, solver, tol=1e-9, max_iter=limit, random_state=0)
    other = solve(problem, "newton", tol=1e-9)
    assert result.status is other.status is Status.SOLVED
    scale = max(1.0, abs(result.certificate.primal))
    assert result.certificate.primal == pytest.approx(other.certificate.primal, abs=2e-9 * scale)
    L = np.linalg.cholesky(other.W)
    mu = np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, result.W).T))
    (lo, hi), (lo2, hi2) = result.certificate.distance_factor, other.certificate.distance_factor
    assert lo / hi2 - 1e-9 <= mu[0] and mu[-1] <= hi / lo2 + 1e-9


@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_tol_zero_makes_exactly_max_iter_iterations(solver, problem, max_iter):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve(problem, solver, tol=0, max_iter=max_iter, random_state=0)
    assert (result.status, result.n_iter) == (Status.MAX_ITER, max_iter)
    assert result.history.n_iter[-1] == max_iter


def test_no_iteration_returns_the_start(solver, problem):
    result = quiet(problem, solver, max_iter=0)
    np.testing.assert_array_equal(result.W, np.eye(problem.n))
    np.testing.assert_array_equal(result.multipliers, np.zeros(problem.n_pairs))
    alpha = 0.1 * problem.weights / problem.bounds
    warm = quiet(problem, solver, max_iter=0, warm_start=alpha)
    np.testing.assert_array_equal(warm.W, problem.certified(None, alpha).W)


@EACH
def test_a_seed_gives_the_same_bits(solver, problem):
    for state in (7, np.random.default_rng(7)):
        results = [solve(problem, solver, random_state=copy.deepcopy(state)) for _ in range(2)]
        assert results[0].n_iter == results[1].n_iter
        for name in ("W", "multipliers", "slacks"):
            np.testing.assert_array_equal(*(getattr(result, name) for result in results))
        np.testing.assert_array_equal(results[0].history.gap, results[1].history.gap)


def test_a_solve_without_a_seed_is_solved_and_repeats_if_no_numbers_are_drawn(solver, problem):
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        state = solver.start(problem, problem.certified(None, np.zeros(problem.n_pairs)), rng)
    advance(solver, problem, state, 3)
    draws = rng.bit_generator.state != np.random.default_rng(0).bit_generator.state
    first, second = (solve(problem, solver, random_state=None) for _ in range(2))
    assert first.status is second.status is Status.SOLVED
    assert draws or np.array_equal(first.W, second.W)


def test_one_object_solves_several_problems(solver):
    """A solver keeps its state in the state, not in itself."""
    before = snapshot(solver)
    results = [solve(problem, solver, random_state=0) for problem in PROBLEMS]
    assert snapshot(solver) == before
    for problem, result in zip(PROBLEMS, results, strict=True):
        again = solve(problem, get_solver(solver.name), random_state=0)
        np.testing.assert_array_equal(result.W, again.W)


@EACH
def test_warm_start_from_the_solution_ends_at_once(solver, problem):
    solved = solve(problem, solver, tol=1e-8, random_state=0)
    for start in (solved, solved.multipliers, solved.multipliers.tolist()):
        again = solve(problem, solver, tol=1e-6, random_state=0, warm_start=start)
        assert again.status is Status.SOLVED
        assert again.n_iter <= 2


def test_warm_start_far_from_feasible_is_solved(solver):
    for problem in PROBLEMS:
        result = solve(problem, solver, random_state=0, warm_start=np.full(problem.n_pairs, 1e6))
        assert result.status is Status.SOLVED


def test_callback_that_returns_true_stops_the_solve(solver, problem):
    seen = []

    def stop(state):
        seen.append(state.n_iter)
        return len(seen) == 2

    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, solver, tol=0, random_state=0, callback=stop)
    assert result.status is Status.INTERRUPTED
    assert len(seen) == 2 and result.n_iter == seen[-1] >= 1


def check_best_so_far(problem, result):
    assert result.status is Status.INTERRUPTED
    assert np.isfinite(result.W).all() and np.isfinite(result.certificate.gap)
    again = problem.certify(result.W, result.multipliers)
    assert again.gap == pytest.approx(result.certificate.gap, abs=1e-9 * max(1.0, abs(again.primal)))
    assert result.certificate.primal <= result.history.primal.min() + 1e-12 * max(1.0, abs(again.primal))


@pytest.mark.parametrize("call", [1, 2])
def test_an_interrupt_in_the_callback_returns_the_best_so_far(solver, problem, call):
    seen = []

    def interrupt(_):
        seen.append(1)
        if len(seen) == call:
            raise KeyboardInterrupt

    check_best_so_far(problem, quiet(problem, solver, tol=0, random_state=0, callback=interrupt))


def test_ctrl_c_returns_the_best_so_far(solver, problem):
    """A real signal, in the first certificate after a step."""
    result = quiet(
        problem,
        solver,
        tol=0,
        max_iter=10 * solver.default_max_iter,
        random_state=0,
        callback=lambda state: os.kill(os.getpid(), signal.SIGINT) if state.n_iter else None,
    )
    check_best_so_far(problem, result)
    assert 1 <= result.n_iter < 10 * solver.default_max_iter


@EACH
def test_due_and_candidate_do_not_change_the_state(solver, problem):
    state, _ = start_state(solver, problem)
    for _ in range(3):
        advance(solver, problem, state, 1)
        before = snapshot(state)
        for tol in (0.0, 1e-6, 1.0):
            assert solver.due(problem, state, tol) in (True, False)
        solver.candidate(state)
        assert solver.projections(state) >= 0
        assert snapshot(state) == before


@EACH
def test_candidates_have_the_right_shapes_and_are_finite(solver, problem):
    state, _ = start_state(solver, problem)
    advance(solver, problem, state, 3)
    W, multipliers = solver.candidate(state)
    assert W is not None or multipliers is not None
    if W is not None:
        assert W.shape == (problem.n, problem.n)
        np.testing.assert_allclose(W, W.T, rtol=1e-9, atol=1e-12)
        assert np.linalg.eigvalsh(W)[0] > 0.0
    if multipliers is not None:
        assert multipliers.shape == (problem.n_pairs,)
        assert np.isfinite(multipliers).all()


@EACH
def test_later_steps_do_not_change_a_candidate(solver, problem):
    state, point = start_state(solver, problem, multipliers=0.1 * problem.weights / problem.bounds)
    start = snapshot([point.W, point.multipliers, point.ratios])
    advance(solver, problem, state, 1)
    candidate = [array for array in solver.candidate(state) if array is not None]
    before = snapshot(candidate)
    certified = problem.certified(*solver.candidate(state))
    at_certificate = snapshot([certified.W, certified.multipliers, certified.ratios])
    with np.errstate(all="ignore"):
        solver.resume(problem, state, certified)
    advance(solver, problem, state, 2)
    assert snapshot(candidate) == before
    assert snapshot([certified.W, certified.multipliers, certified.ratios]) == at_certificate
    assert snapshot([point.W, point.multipliers, point.ratios]) == start


@EACH
def test_arrays_of_the_problem_are_never_changed(solver, problem):
    names = ("embedded", "pairs", "similar", "bounds", "weights", "squared_norms")
    before = snapshot([np.array(getattr(problem, name)) for name in names])
    start = np.full(problem.n_pairs, 0.01)
    solve(problem, solver, random_state=0, warm_start=start)
    assert snapshot([np.array(getattr(problem, name)) for name in names]) == before
    np.testing.assert_array_equal(start, 0.01)


@EACH
def test_history_is_consistent(solver, problem):
    result = solve(problem, solver, tol=1e-8, random_state=0)
    history = result.history
    names = ("n_iter", "projections", "seconds", "primal", "dual", "gap", "phase")
    assert {len(getattr(history, name)) for name in names} == {len(history.n_iter)}
    assert set(history.phase.tolist()) <= set(SOLVERS)
    assert history.phase.dtype.kind == "U"
    assert history.n_iter[0] == history.projections[0] == 0
    assert history.n_iter[-1] == result.n_iter
    assert (np.diff(history.n_iter) > 0).all()
    assert (np.diff(history.projections) >= 0).all()
    assert (np.diff(history.seconds) > 0.0).all() and result.seconds >= history.seconds[-1]
    np.testing.assert_array_equal(history.gap, history.primal - history.dual)
    assert history.primal[0] == problem.primal(np.eye(problem.n))
    assert history.dual[0] == 0.0
    scale = max(1.0, abs(result.certificate.primal))
    assert result.certificate.primal == pytest.approx(history.primal.min(), abs=1e-12 * scale)
    assert result.certificate.dual == pytest.approx(history.dual.max(), abs=1e-12 * scale)


def test_representation_has_the_settings(solver):
    text = repr(solver)
    assert text.startswith(type(solver).__name__ + "(")
    assert snapshot(eval(text, {type(solver).__name__: type(solver)})) == snapshot(solver)


@pytest.mark.parametrize("solver", [solver for solver in SOLVERS.values() if not solver.is_random])
def test_methods_without_random_numbers_need_no_generator(solver, problem, monkeypatch):
    seeded = solve(problem, solver(), random_state=1)
    monkeypatch.setattr(api, "generator", lambda random_state: pytest.fail("a generator was created"))
    result = solve(problem, solver())
    np.testing.assert_array_equal(result.W, seeded.W)
    with pytest.raises(pytest.fail.Exception, match="created"):  # a seed is still validated
        solve(problem, solver(), random_state=1)
