"""The compiled projection against the literal method."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from covmetric import MetricProblem
from covmetric.slacks import get_slack
from covmetric.solvers.kernels import projection
from covmetric.solvers.kernels.slack import compile_slack
from tests import naive
from tests.problems import SLACKS, problem_seeds, random_problem

COMPILED = {name: compile_slack(get_slack(name)) for name in SLACKS}


def run_sweep(problem, order, W=None, alpha=None):
    """Return the metric, the multipliers and the counts after a sweep, from the identity by default."""
    W = np.eye(problem.n) if W is None else W
    alpha = np.zeros(problem.n_pairs) if alpha is None else alpha
    counts = np.zeros(2, np.int64)
    status = projection.sweep(
        W, alpha, problem.sums.rows, problem.pairs, problem.similar, problem.bounds, problem.weights,
        np.asarray(order), *COMPILED[problem.slack.name].addresses, counts, np.zeros((2, problem.n_pairs)),
    )  # fmt: skip
    assert status == projection.DONE
    return W, alpha, counts


# Sizes on both sides of the switches between loops and LAPACK.
SIZES = [1, 2, 3, 5, 9, projection.SMALL_SOLVE, projection.SMALL_SOLVE + 1, 60, projection.SMALL_TRIDIAGONAL + 2]


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("n", SIZES)
def test_sweep_matches_the_literal_method(n, slack):
    rng = np.random.default_rng(n)
    K = 12
    F = rng.uniform(-0.5, 0.5, (K, n, n))
    similar = rng.choice([-1.0, 1.0], K)
    bounds = (F**2).sum(axis=(1, 2)) * rng.uniform(0.3, 3.0, K)
    problem = MetricProblem.from_differences(F, similar, bounds, rng.uniform(0.5, 20.0, K), slack)
    order = np.concatenate([rng.permutation(K) for _ in range(3)])
    paper = naive.PaperDykstra(*naive.data(problem))
    paper.epoch(order)
    W, alpha, counts = run_sweep(problem, order)
    np.testing.assert_allclose(alpha, paper.alpha, rtol=1e-6, atol=1e-8 * (paper.alpha.max() + 1e-300))
    np.testing.assert_allclose(W, paper.W, rtol=1e-6, atol=1e-7 * np.abs(paper.W).max())
    assert counts.sum() == len(order)
    assert counts[0] > 0


@pytest.mark.parametrize("m", [1, 2, 3, 7, 8, 9, 20])
def test_sweep_with_any_number_of_columns(m):
    """The metric after the sweep is the metric of its multipliers, for m below, at and above n = 8."""
    rng = np.random.default_rng(m)
    F = rng.standard_normal((15, 8, m))
    problem = MetricProblem.from_differences(F, rng.choice([-1.0, 1.0], 15), 8.0 * m, 3.0)
    W, alpha, _ = run_sweep(problem, np.tile(np.arange(15), 4))
    np.testing.assert_allclose(W, naive.metric(problem, alpha), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(W, W.T)


@pytest.mark.parametrize("seed", problem_seeds(27))
def test_a_projection_lands_on_its_half_space(seed):
    """After a visit either the constraint holds with equality, or the multiplier is zero and it holds."""
    problem = random_problem(seed)
    A, y, b, c, slack = naive.data(problem)
    W, alpha = np.eye(problem.n), np.zeros(problem.n_pairs)
    for k in np.random.default_rng(seed).integers(problem.n_pairs, size=40):
        run_sweep(problem, [k], W, alpha)
        distance = np.sum(A[k] * W)
        xi = naive.xi(slack)(y[k] * alpha[k] * b[k] / c[k])
        if not A[k].any():
            assert distance == 0.0
        elif alpha[k] > 0.0:
            assert distance == pytest.approx(b[k] * xi, rel=1e-7)
        else:
            assert y[k] * distance <= y[k] * b[k] * xi * (1 + 1e-7 * y[k])


def test_idle_pairs_are_left_alone():
    """A pair that satisfies its bound with a zero multiplier changes nothing."""
    problem = MetricProblem.from_differences(np.eye(3)[None], [1], 10.0, 1.0)
    W, alpha, counts = run_sweep(problem, [0])
    np.testing.assert_array_equal(W, np.eye(3))
    np.testing.assert_array_equal(alpha, [0.0])
    np.testing.assert_array_equal(counts, [0, 1])


def test_a_broken_metric_is_reported_and_nothing_is_changed():
    problem = MetricProblem.from_differences(np.eye(3)[None], [1], 0.1, 1.0)
    W, alpha, counts = np.full((3, 3), np.nan), np.zeros(1), np.zeros(2, np.int64)
    status = projection.sweep(
        W, alpha, problem.sums.rows, problem.pairs, problem.similar, problem.bounds, problem.weights,
        np.array([0]), *COMPILED["is"].addresses, counts, np.zeros((2, 1)),
    )  # fmt: skip
    assert status == projection.BROKEN
    np.testing.assert_array_equal(alpha, [0.0])
    np.testing.assert_array_equal(counts, [0, 0])


SCRIPT = """
from covmetric import make_paper_problem, solve
from covmetric.slacks import SLACKS
from covmetric.solvers.kernels import projection
for slack in SLACKS:
    solve(make_paper_problem(4, 6, 1e-1, 0, slack), "dykstra", random_state=0)
stats = projection.sweep.stats
print(len(projection.sweep.signatures), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run_script(**environment):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    ).stdout.split()


def test_one_compilation_serves_all_slacks_and_later_processes_load_it(tmp_path):
    assert run_script(NUMBA_CACHE_DIR=str(tmp_path)) == ["1", "0", "1"]
    assert run_script(NUMBA_CACHE_DIR=str(tmp_path)) == ["1", "1", "0"]


def test_kernels_compile_without_a_writable_folder():
    """Numba raises an error if it finds no place for a cache; the kernels then compile without one."""
    script = "import numba.core.caching as caching\ncaching.CacheImpl._locator_classes = []\n" + SCRIPT
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert out[0] == "1"
    assert out[1] == "0"
