"""Solves within the span of the differences, against solves of the whole problem."""

from __future__ import annotations

import functools
import pickle
from dataclasses import replace

import numpy as np
import pytest

from covmetric import MetricProblem, Status, solve, solve_path
from covmetric.problem import expand
from covmetric.problem import span as span_module
from covmetric.solvers import SolveResult
from tests.problems import SLACKS, SOLVERS

N = 70


@functools.cache
def wide_problem(slack="is", m=1, lam=1e-2):
    """Return a problem with 70 rows whose differences span 8 (m = 1) or 14 (m = 2) of them."""
    rng = np.random.default_rng(0)
    examples = rng.standard_normal((9 if m == 1 else 8, N, m))
    pairs = np.array([(i, j) for i in range(len(examples)) for j in range(i)])
    similar = np.where(np.arange(len(pairs)) % 2, -1.0, 1.0)
    return MetricProblem(examples, pairs, similar, N * m * rng.uniform(1.0, 3.0, len(pairs)), 1.0 / (lam * 30), slack)


def solve_whole(problem, *args, **kwargs):
    """Solve a problem without a reduction."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(span_module, "SPAN_ROWS", 10**9)
        result = solve(problem, *args, **kwargs)
    assert result.basis is None
    return result


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solution_is_that_of_the_whole_problem(solver, slack, m):
    problem = wide_problem(slack, m)
    within = solve(problem, solver, tol=1e-9, random_state=0)
    whole = solve_whole(problem, "newton", tol=1e-9)
    assert within.status is Status.SOLVED
    assert within.basis.shape == (N, 8 if m == 1 else 14)
    assert within.core.shape == (within.basis.shape[1],) * 2
    np.testing.assert_allclose(within.W, whole.W, atol=1e-3)
    scale = max(1.0, abs(whole.certificate.primal))
    assert within.certificate.primal == pytest.approx(whole.certificate.primal, abs=3e-9 * scale)
    assert within.certificate.dual == pytest.approx(whole.certificate.dual, abs=3e-9 * scale)
    assert within.multipliers.shape == within.slacks.shape == (problem.n_pairs,)
    np.testing.assert_allclose(within.slacks, problem.slacks(within.W), rtol=1e-9)


@pytest.mark.parametrize("slack", SLACKS)
def test_certificate_is_that_of_the_whole_problem(slack):
    problem = wide_problem(slack)
    result = solve(problem, tol=1e-6)
    claimed, actual = result.certificate, problem.certify(result.W, result.multipliers)
    for name in ("primal", "dual", "gap"):
        difference = getattr(claimed, name) - getattr(actual, name)
        assert abs(difference) <= claimed.rounding + actual.rounding
    assert claimed.max_violation == pytest.approx(actual.max_violation, abs=1e-9)
    assert claimed.rounding > 0.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_multipliers_are_a_warm_start_for_both_problems(solver):
    problem = wide_problem()
    within, whole = solve(problem, tol=1e-8), solve_whole(problem, tol=1e-8)
    for start in (within, whole, whole.multipliers):
        assert solve(problem, solver, tol=1e-6, warm_start=start, random_state=0).n_iter == 0
        assert solve_whole(problem, solver, tol=1e-6, warm_start=start, random_state=0).n_iter == 0
    with pytest.raises(ValueError, match="warm_start does not fit the problem: multipliers must have one entry"):
        solve(problem, warm_start=np.ones(3))


def test_path_is_solved_within_one_span(monkeypatch):
    problem, calls = wide_problem(lam=1.0), []
    real = span_module.reduce_to_span
    monkeypatch.setattr("covmetric.solvers.api.reduce_to_span", lambda p: calls.append(p) or real(p))
    results = solve_path(problem, [1e-3, 1e-1, 1e-2])
    assert calls == [problem]
    for lam, result in zip([1e-3, 1e-1, 1e-2], results, strict=True):
        assert result.status is Status.SOLVED
        assert result.basis is results[0].basis
        single = solve(problem.replace(weights=problem.weights / lam))
        assert result.certificate.primal == pytest.approx(single.certificate.primal, rel=3e-6)


def test_callback_sees_the_dense_metric():
    problem, states = wide_problem(), []
    result = solve(problem, "dykstra", random_state=0, callback=states.append)
    for state in states:
        assert state.core.shape == (8, 8)
        assert state.W.shape == (N, N)
        assert state.basis is result.basis
        actual = problem.certify(state.W, state.multipliers)
        assert abs(actual.primal - state.certificate.primal) <= actual.rounding + state.certificate.rounding
    np.testing.assert_array_equal(states[0].W, np.eye(N))
    states[0].core[:] = 0.0  # a copy
    np.testing.assert_array_equal(solve(problem, "dykstra", random_state=0).core, result.core)


def test_fixed_number_of_iterations_has_no_tolerance():
    result = solve(wide_problem(), "dykstra", tol=0, max_iter=3, random_state=0)
    assert result.n_iter == 3
    assert result.status is Status.MAX_ITER
    assert result.basis is not None


def test_transform_has_the_distances_of_the_metric():
    problem = wide_problem(m=2)
    for result in (solve(problem), solve_whole(problem)):
        mapped = result.transform(problem.embedded)
        i, j = problem.pairs.T
        squared = ((mapped[i] - mapped[j]) ** 2).sum(axis=(1, 2))
        np.testing.assert_allclose(squared, problem.squared_distances(result.W), rtol=1e-9)


@pytest.mark.parametrize("whole", [False, True])
def test_results_can_be_pickled_and_saved(whole):
    result = (solve_whole if whole else solve)(wide_problem())
    for again in (pickle.loads(pickle.dumps(result)), SolveResult.from_state(result.get_state())):
        np.testing.assert_array_equal(again.W, result.W)
        np.testing.assert_array_equal(again.core, result.core)
        assert (again.basis is None) is whole
        assert again.certificate == result.certificate
        assert again.status is Status.SOLVED
    assert ("W" in result.get_state()) is whole
    assert ("basis" in result.get_state()) is not whole


def test_pickles_of_older_versions_load():
    result = solve_whole(wide_problem())
    state = {name: value for name, value in result.__getstate__().items() if name not in ("core", "basis")}
    old = SolveResult.__new__(SolveResult)
    old.__setstate__({**state, "W": result.W})
    assert vars(old).keys() == vars(result).keys()
    np.testing.assert_array_equal(old.W, result.W)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"basis": np.eye(N)[:, :7]}, r"SolveResult.core has shape \(8, 8\), which does not fit its basis \(70, 7\)"),
        ({"basis": np.ones(8)}, "which does not fit its basis"),
        ({"basis": np.ones((4, 8))}, "which does not fit its basis"),
        ({"basis": np.eye(N)[:, :8].astype(np.float32)}, "SolveResult.basis must be FloatArray | None"),
        ({"core": np.ones(8)}, "which does not fit its basis"),
        ({"core": None}, "SolveResult.core must be FloatArray"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, message):
    state = solve(wide_problem()).get_state()
    with pytest.raises(ValueError, match=message):
        SolveResult.from_state({**state, **change})


def test_replaced_fields_are_kept():
    result = solve(wide_problem())
    stopped = replace(result, status=Status.INTERRUPTED)
    np.testing.assert_array_equal(stopped.W, expand(result.basis, result.core))
