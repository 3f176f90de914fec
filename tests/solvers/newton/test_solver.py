"""Newton's method as a whole: small lambda, memory, threads, reproducibility."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import MetricProblem, Newton, Status, make_paper_problem, solve
from covmetric.problem import BlockProblem
from covmetric.solvers.newton import solver as newton
from tests.problems import SLACKS


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("shape", [(10, 10, 50), (5, 1, 80), (12, 2, 40), (3, 9, 30)])
def test_small_lambda_is_solved(slack, lam, shape):
    n, m, K = shape
    rng = np.random.default_rng(0)
    F, similar = rng.uniform(-0.5, 0.5, (K, n, m)), rng.choice([-1.0, 1.0], K)
    problem = MetricProblem.from_differences(F, similar, n * m / 12.0, 1.0 / (lam * K), slack)
    result = solve(problem, "newton", tol=1e-9)
    assert result.status is Status.SOLVED


def test_large_arrays_are_released_after_a_solve():
    rng = np.random.default_rng(0)
    problem = MetricProblem.from_differences(rng.standard_normal((900, 70, 70)), rng.choice([-1.0, 1.0], 900), 5e3, 0.1)
    seen = []
    result = solve(problem, "newton", callback=lambda _: seen.append(problem.sums._kept_triangles is not None))
    assert result.status is Status.SOLVED and any(seen)
    assert problem.sums._kept_triangles is None
    small = make_paper_problem(10, 50, 1e-2, 0)
    solve(small, "newton")
    assert small.sums._kept_triangles is not None  # small arrays stay for the next solve


def test_threads_may_share_a_problem():
    rng = np.random.default_rng(0)
    problem = MetricProblem.from_differences(rng.standard_normal((900, 70, 70)), rng.choice([-1.0, 1.0], 900), 5e3, 0.1)
    alone = solve(problem, "newton")
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: solve(problem, "newton"), range(6)))
    assert all(result.status is Status.SOLVED for result in results)
    for result in results:
        np.testing.assert_allclose(result.W, alone.W, rtol=1e-12, atol=1e-15)
    assert problem.sums._kept_triangles is None


def test_memory_must_be_positive():
    with pytest.raises(ValueError, match="memory must be a positive number of bytes, got 0"):
        solve(make_paper_problem(3, 5, 1e-2, 0), Newton(memory=0))
    assert repr(Newton(memory=8)) == "Newton(memory=8)"


class SearchState:
    """What `candidates_pay` reads of a state."""

    def __init__(self, tol=1e-6, weight_fraction=1.0, n_steps=3, steps_since_certificate=3):
        self.tol, self.weight_fraction = tol, weight_fraction
        self.n_steps, self.steps_since_certificate = n_steps, steps_since_certificate


@pytest.mark.parametrize(
    ("settings", "value", "decrement", "expected"),
    [
        ({}, 1.0, 0.03, True),  # 1e-3 * 0.03^2 is within 1e-6
        ({}, 1.0, 0.04, False),
        ({}, -100.0, 0.3, True),  # the tolerance is relative to the objective
        ({}, 1e9, 1.1, True),  # within ten times the requested gap of 1e3
        ({"n_steps": 0}, 1e9, 1.1, False),  # but not at the start
        ({"n_steps": 0}, 1.0, 0.03, True),
        ({}, 1e4, 1.1, False),
        ({"tol": 0.0}, 1.0, 0.9, True),
        ({"tol": 0.0}, 1.0, 1.1, False),
        ({"steps_since_certificate": newton.CERTIFY_AT_LEAST_EVERY - 1}, 1.0, 1e9, True),
        ({"weight_fraction": 0.1, "steps_since_certificate": 50}, 1.0, 1e-9, False),
    ],
)
def test_candidates_are_formed_if_they_may_end_the_solve(settings, value, decrement, expected):
    assert newton.candidates_pay(SearchState(**settings), value, decrement) is expected


@pytest.mark.parametrize(("lam", "seed", "steps", "gap"), [(1e-3, 0, 4, 1e-7), (1e-1, 0, 2, 1e-4), (1e-2, 1, 2, 1e-4)])
def test_a_solve_that_its_limit_ends_has_a_certificate_of_its_last_step(lam, seed, steps, gap):
    problem = make_paper_problem(n=10, K=50, lam=lam, seed=seed)
    for form in (problem, BlockProblem.split(problem)):
        with pytest.warns(ConvergenceWarning):
            result = solve(form, "newton", tol=1e-12, max_iter=steps)
        assert result.status is Status.MAX_ITER and result.certificate.relative_gap <= gap
        assert solve(problem, "newton", tol=2.0 * gap, warm_start=result).n_iter == 0


@pytest.mark.parametrize(
    ("fraction", "retreats", "expected"),
    [(0.01, 0, 0.1), (0.049, 0, 0.49), (0.051, 0, 1.0), (0.5, 0, 1.0), (0.051, 1, 0.51), (0.5, 1, 1.0)],
)
def test_the_path_skips_points_close_to_the_full_weights_unless_it_had_to_start_again(fraction, retreats, expected):
    problem = make_paper_problem(4, 10, 1e-2, 0)
    state = Newton().start(problem, problem.certified(None, np.zeros(10)), np.random.default_rng(0))
    state.weight_fraction, state.retreats = fraction, retreats
    assert not newton.follow_path(state, t=1.0, decrement=1.0)
    assert state.weight_fraction == pytest.approx(expected)


@pytest.mark.parametrize(
    ("decrement", "retreats", "steps"), [(20.1, 0, 8), (19.9, 0, 20), (20.1, 1, 16), (19.9, 1, 20), (19.9, 2, 24)]
)
def test_the_path_starts_again_after_too_many_steps_without_centring(decrement, retreats, steps):
    problem = make_paper_problem(4, 10, 1e-2, 0)
    state = Newton().start(problem, problem.certified(None, np.zeros(10)), np.random.default_rng(0))
    state.weight_fraction, state.retreats = 0.5, retreats
    for _ in range(steps):
        assert not newton.follow_path(state, t=0.5, decrement=decrement)
    assert newton.follow_path(state, t=0.5, decrement=decrement)
    assert (state.retreats, state.weight_fraction, state.steps_at_fraction) == (retreats + 1, 0.005, 0)
