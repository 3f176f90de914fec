"""solve_path, and warm starts after pairs, bounds or weights have changed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import MetricProblem, Status, make_paper_problem, solve, solve_path
from tests.problems import SLACKS, SOLVERS


@pytest.mark.parametrize("slack", SLACKS)
def test_path_matches_single_solves(slack):
    problem = make_paper_problem(8, 40, 1.0, 0, slack)
    lambdas = [1e-3, 1e-1, 1e-5, 1e-2]
    results = solve_path(problem, lambdas, tol=1e-9)
    for lam, result in zip(lambdas, results, strict=True):
        assert result.status is Status.SOLVED
        single = solve(make_paper_problem(8, 40, lam, 0, slack), "newton", tol=1e-9)
        assert result.certificate.primal == pytest.approx(single.certificate.primal, rel=3e-9)
        np.testing.assert_allclose(result.W, single.W, rtol=1e-3, atol=1e-4)


def test_path_needs_fewer_steps_than_single_solves():
    problem = make_paper_problem(10, 50, 1.0, 0)
    lambdas = np.geomspace(1e-1, 1e-4, 10)
    warm = sum(r.n_iter for r in solve_path(problem, lambdas, "newton", tol=1e-9))
    cold = sum(solve(problem.replace(weights=problem.weights / lam), "newton", tol=1e-9).n_iter for lam in lambdas)
    assert warm < cold


@pytest.mark.parametrize("solver", SOLVERS)
def test_path_with_every_solver(solver):
    results = solve_path(make_paper_problem(5, 20, 1.0, 0), [1e-1, 1e-2], solver, random_state=0)
    assert [r.status for r in results] == [Status.SOLVED] * 2


def test_interrupted_path_returns_the_solutions_that_were_reached():
    seen = []

    def stop(state):
        seen.append(state.n_iter)
        return len(seen) > 4

    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        results = solve_path(make_paper_problem(8, 40, 1.0, 0), [1e-1, 1e-2, 1e-3, 1e-4], tol=1e-12, callback=stop)
    assert 1 <= len(results) < 4
    assert results[-1].status is Status.INTERRUPTED


@pytest.mark.parametrize(
    ("lambdas", "message"),
    [
        ([], r"lambdas must be a sequence of at least one number, got shape \(0,\)"),
        (0.1, r"lambdas must be a sequence"),
        ([0.1, 0.0], r"lambdas\[1\] is 0.0: every entry must be positive"),
        ([0.1, np.nan], r"lambdas\[1\] is nan"),
        (None, r"lambdas must be an array of numbers, got None"),
    ],
)
def test_bad_lambdas_are_refused(lambdas, message):
    with pytest.raises(ValueError, match=message):
        solve_path(make_paper_problem(3, 5, 1.0, 0), lambdas)


def test_path_refuses_objects_that_are_not_problems():
    with pytest.raises(ValueError, match="problem must be a MetricProblem, got list"):
        solve_path([], [1.0])


def pairs_problem(seed=0, K=300):
    """Return a problem with random pairs of 60 examples."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 6, 6))
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(K)])
    similar = rng.choice([-1.0, 1.0], K)
    bounds = np.where(similar > 0, 40.0, 90.0)
    return MetricProblem(X, pairs, similar, bounds, 100.0 / K)


@pytest.mark.parametrize("solver", SOLVERS)
def test_warm_starts_after_pairs_and_bounds_change(solver):
    whole = pairs_problem()
    keep = np.arange(280)
    fewer = whole.replace(keep=keep)
    first = solve(fewer, solver, tol=1e-8, random_state=0)
    grown = fewer.replace(
        pairs=whole.pairs[280:], similar=whole.similar[280:], bounds=whole.bounds, weights=whole.weights
    )
    np.testing.assert_array_equal(grown.pairs, whole.pairs)
    warm = solve(grown, solver, tol=1e-8, random_state=0, warm_start=first.warm_start(added=20))
    cold = solve(whole, solver, tol=1e-8, random_state=0)
    assert warm.status is cold.status is Status.SOLVED
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-7)
    assert warm.n_iter <= cold.n_iter
    back = solve(fewer, solver, tol=1e-8, random_state=0, warm_start=warm.warm_start(keep=keep))
    assert back.certificate.primal == pytest.approx(first.certificate.primal, rel=1e-7)
    tighter = whole.replace(bounds=whole.bounds * 1.05)
    moved = solve(tighter, solver, tol=1e-8, random_state=0, warm_start=cold)
    assert moved.status is Status.SOLVED
    anew = solve(tighter, solver, tol=1e-8, random_state=0)
    assert moved.certificate.primal == pytest.approx(anew.certificate.primal, rel=1e-7)
