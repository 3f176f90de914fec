"""The compiled projection against the literal method, and its root finder alone."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from covmetric import MetricProblem
from covmetric.slacks import get_slack
from covmetric.solvers import compiled
from tests import naive
from tests.problems import SLACKS, problem_seeds, random_problem

COMPILED = {name: compiled.compile_slack(get_slack(name)) for name in SLACKS}


def run_sweep(problem, order, W=None, alpha=None):
    """Return the metric, the multipliers and the counts after a sweep, from the identity by default."""
    W = np.eye(problem.n) if W is None else W
    alpha = np.zeros(problem.n_pairs) if alpha is None else alpha
    counts = np.zeros(2, np.int64)
    status = compiled.sweep(
        W, alpha, problem.sums.rows, problem.pairs, problem.similar, problem.bounds, problem.weights,
        np.asarray(order), *COMPILED[problem.slack.name].addresses, counts,
    )  # fmt: skip
    assert status == compiled.DONE
    return W, alpha, counts


# Sizes on both sides of the switches between loops and LAPACK.
SIZES = [1, 2, 3, 5, 9, compiled.SMALL_SOLVE, compiled.SMALL_SOLVE + 1, 60, compiled.SMALL_TRIDIAGONAL + 2]


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


def root(eigenvalues, b, c, t, slack, limit=0.0):
    d = np.ascontiguousarray(eigenvalues, dtype=float)
    return compiled.find_root(d, np.zeros_like(d), d.sum(), b, c, t, limit, *COMPILED[slack].addresses)


logs = st.floats(-12, 12)


@settings(max_examples=500)
@given(
    exponents=st.lists(logs, min_size=1, max_size=12),
    b=logs,
    c=logs,
    closeness=st.floats(0, 15),
    far=st.floats(-3, 12),
    similar=st.booleans(),
    slack=st.sampled_from(SLACKS),
)
@example([0.0], 0.0, 0.0, 15.0, 0.0, True, "is")
@example([12.0], -12.0, -12.0, 0.0, 0.0, True, "l2")
@example([-12.0], 12.0, -12.0, 0.0, 12.0, False, "re")
def test_root_is_unique_and_inside_the_papers_interval(exponents, b, c, closeness, far, similar, slack):
    """Scales 1e-12..1e12, t near 0, near the pole and far out: |J| is tiny, or J changes sign at the next float."""
    lam, b, c = 10.0 ** np.array(exponents), 10.0**b, 10.0**c
    if similar:
        t = 1.0 - 10.0**-closeness if slack == "is" else min(10.0**far, get_slack(slack).t_max)
    elif slack == "is":
        t = -(10.0**far)
    else:
        t = -min(10.0**far, 0.999 if get_slack(slack).t_min > -np.inf else 30.0)
    u = root(lam, b, c, t, slack)

    def J(u):
        with np.errstate(all="ignore"):
            tau = t + u * (b / c)  # rounded as the kernel does: near the pole an ulp of t moves J visibly
            if (1.0 + u * lam <= 0.0).any():
                return np.inf  # at and left of the pole
            total = np.sum(lam / (1.0 + u * lam))
            if slack == "is" and tau >= 1.0:
                return -np.inf
            return total - b * COMPILED[slack].xi.ctypes(tau)

    assert (1.0 + u * lam > 0.0).all()
    if slack == "is":
        assert u <= (1.0 - t) * c / b
    total = np.sum(lam / (1.0 + u * lam))
    small = abs(J(u)) <= 1e-9 * max(b, total)
    crosses = J(np.nextafter(u, -np.inf)) >= 0.0 >= J(u) or J(u) >= 0.0 >= J(np.nextafter(u, np.inf))
    assert small or crosses, (u, J(u), total)


@settings(max_examples=300)
@given(
    exponents=st.lists(st.floats(-3, 3), min_size=1, max_size=8),
    b=st.floats(-3, 3),
    c=st.floats(-3, 3),
    size=st.floats(0.01, 0.99),
    similar=st.booleans(),
    slack=st.sampled_from(SLACKS),
)
def test_J_decreases_so_its_root_is_the_only_one(exponents, b, c, size, similar, slack):
    lam, b, c = 10.0 ** np.array(exponents), 10.0**b, 10.0**c
    t = size if similar else -size
    low = -1.0 / lam.max()
    high = (1.0 - t) * c / b if slack == "is" else 10.0 * max(c / b, 1.0 / lam.min())
    grid = low + (high - low) * np.linspace(0.001, 0.999, 200)
    if slack == "l2":
        grid = grid[1.0 + t + grid * b / c > 0.0]
    if slack == "re":
        grid = grid[t + grid * b / c < 300.0]
    assume(len(grid) > 2)
    values = np.array([naive.J(u, lam, b, c, t, get_slack(slack)) for u in grid])
    assert (np.diff(values) < 0.0).all()
    u = root(lam, b, c, t, slack)
    assert (values[grid < u * (1 - 1e-9 * np.sign(u))] > -1e-9 * np.abs(values).max()).all()


@given(limit=st.floats(-5, 5), slack=st.sampled_from(SLACKS))
def test_a_multiplier_never_becomes_negative(limit, slack):
    """Where the root lies beyond u = -y alpha, that u is returned exactly: the multiplier becomes 0, not almost 0."""
    lam, b, c = np.array([0.5, 1.0, 2.0]), 3.0, 4.0
    alpha, y = abs(limit), -np.sign(limit) or 1.0
    t = y * alpha * b / c
    assume(t < 1.0)
    free = root(lam, b, c, t, slack, limit=0.0)
    assume(slack != "l2" or t > -1.0)
    got = root(lam, b, c, t, slack, limit=-y * alpha)
    beyond = y * free < -alpha
    if beyond:
        assert got == -y * alpha
    else:
        assert got == pytest.approx(free, rel=1e-9, abs=1e-12)


@given(seed=st.integers(0, 10_000), m=st.integers(1, 40))
def test_tridiagonal_form_keeps_the_trace_function(seed, m):
    """tr(M (I + u M)^-1) and its derivative from the recurrence, against eigenvalues."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((m, max(1, m - seed % 3)))
    M = F @ F.T
    d, e2, v, w = (np.zeros(m) for _ in range(4))
    compiled._tridiagonal_loops(M.copy(), d, e2, v, w)
    lam = np.maximum(np.linalg.eigvalsh(M), 0.0)
    for u in (0.0, 0.7, 30.0, -0.9 / lam[-1]):
        total, squares = compiled._sums(d, e2, u)
        ratio = lam / (1.0 + u * lam)
        assert total == pytest.approx(ratio.sum(), rel=1e-9)
        assert squares == pytest.approx((ratio**2).sum(), rel=1e-8)
    assert compiled._sums(d, e2, -1.0 / lam[-1] * (1 + 1e-9))[0] == np.inf


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
    status = compiled.sweep(
        W, alpha, problem.sums.rows, problem.pairs, problem.similar, problem.bounds, problem.weights,
        np.array([0]), *COMPILED["is"].addresses, counts,
    )  # fmt: skip
    assert status == compiled.BROKEN
    np.testing.assert_array_equal(alpha, [0.0])
    np.testing.assert_array_equal(counts, [0, 0])


SCRIPT = """
from covmetric import make_paper_problem, solve
from covmetric.slacks import SLACKS
from covmetric.solvers import compiled
for slack in SLACKS:
    solve(make_paper_problem(4, 6, 1e-1, 0, slack), "dykstra", random_state=0)
stats = compiled.sweep.stats
print(len(compiled.sweep.signatures), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
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
