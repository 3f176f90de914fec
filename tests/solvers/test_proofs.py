"""Certificates of solved problems: what they claim holds, by long solves and in exact arithmetic."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from covmetric import Dykstra, MetricProblem, Status, make_paper_problem, solve
from tests import naive
from tests.exact import exact_gap
from tests.problems import SLACKS, problem_seeds, random_problem


@functools.cache
def optimum(seed):
    """Return a problem and its optimum at a gap of 1e-12, from a long solve."""
    problem = random_problem(seed)
    return problem, solve(problem, "dykstra", tol=1e-12, max_iter=200_000, random_state=0)


EASY = [seed for seed in problem_seeds(63) if seed % 2 == 0]


@pytest.mark.parametrize("seed", EASY)
def test_gap_lies_between_the_true_error_and_the_papers_bound(seed):
    """At every iterate: 0 <= P(W) - P* <= gap <= the paper's bound."""
    problem, best = optimum(seed)
    seen = []
    solver = Dykstra("perm", certify_every=1)
    solve(problem, solver, tol=0, max_iter=30, random_state=1, callback=seen.append)
    assert seen
    for state in seen:
        now = state.certificate
        # The optimum is accurate to its own gap.
        slop = now.rounding + best.certificate.rounding + 1e-13 * max(1.0, abs(now.primal))
        assert now.primal - best.certificate.primal >= -max(best.certificate.gap, 0.0) - slop
        assert now.gap >= now.primal - best.certificate.primal - slop
        if problem.dual(state.multipliers) > -np.inf:
            bound = naive.paper_bound(problem, state.multipliers)
            assert now.gap <= bound + 1e-9 * max(1.0, abs(bound)) + slop


@pytest.mark.parametrize("seed", EASY)
def test_certificate_matches_the_literal_formulas(seed):
    """The reported certificate belongs to the returned W and multipliers: the literal formulas agree to 1e-10."""
    problem, best = optimum(seed)
    scale = max(1.0, abs(best.certificate.primal))
    assert best.certificate.primal == pytest.approx(naive.primal(problem, best.W), abs=1e-10 * scale)
    assert best.certificate.dual == pytest.approx(naive.dual(problem, best.multipliers), abs=1e-10 * scale)
    again = problem.certify(best.W, best.multipliers, tol=1e-12)
    assert again.gap == pytest.approx(best.certificate.gap, abs=1e-10 * scale)
    assert again.max_violation == pytest.approx(best.certificate.max_violation, abs=1e-9)


@given(seed=st.sampled_from(EASY), mix=st.floats(0.0, 1.0), noise=st.integers(0, 10))
def test_distance_factor_bounds_every_distance(seed, mix, noise):
    """Any metric, near or far: each distance is within the factor of the optimal one."""
    problem, best = optimum(seed)
    rng = np.random.default_rng(noise)
    A = rng.standard_normal((problem.n, problem.n))
    W = (1.0 - mix) * best.W + mix * (A @ A.T / problem.n + 0.01 * np.eye(problem.n))
    lo, hi = problem.certify(W).distance_factor
    slop_lo, slop_hi = best.certificate.distance_factor
    F = rng.standard_normal((50, problem.n))
    ratio = np.einsum("kp,pq,kq->k", F, W, F) / np.einsum("kp,pq,kq->k", F, best.W, F)
    assert (ratio >= lo * slop_lo * (1 - 1e-9)).all()
    assert (ratio <= hi * slop_hi * (1 + 1e-9)).all()


@pytest.mark.parametrize("size", [1e30, 1e100, 1e200, 1e300])
@pytest.mark.parametrize("slack", SLACKS)
def test_huge_multipliers_are_repaired(slack, size):
    problem = make_paper_problem(5, 20, 1e-2, 0, slack)
    certificate = problem.certify(None, np.full(20, size))
    assert np.isfinite(certificate.relative_gap)
    assert certificate.dual >= 0.0
    assert solve(problem, "dykstra", warm_start=np.full(20, size), random_state=0).status is Status.SOLVED


def test_a_metric_that_cannot_be_stored_is_replaced_by_the_identity():
    problem = MetricProblem.from_differences([[[1.0], [0.7], [0.3]]], [1], 1e-16, 1e6, "l2")
    point = problem.certified(None, [1e16])
    assert np.isfinite(point.certificate.gap)
    for start in ([1e16], [1e18]):
        assert np.isfinite(solve(problem, "dykstra", warm_start=start, tol=0, max_iter=0).certificate.gap)


@pytest.mark.parametrize("slack", SLACKS)
def test_each_argument_is_derived_from_the_other(slack):
    problem = make_paper_problem(6, 20, 1e-2, 0, slack)
    best = solve(problem, "dykstra", tol=1e-10, random_state=0)
    from_W = problem.certify(best.W)
    from_multipliers = problem.certify(multipliers=best.multipliers)
    for certificate in (from_W, from_multipliers):
        assert certificate.relative_gap < 1e-7
        assert certificate.gap >= -certificate.rounding


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("bound", [1e-9, 1e-11, 1e-12, 1e-13, 1e-14])
@pytest.mark.parametrize("weight", [1.0, 1e2, 1e5, 1e8])
def test_certificate_belongs_to_the_stored_entries(slack, bound, weight):
    """One pair, n = 2: the entries of W determine its small eigenvalue to a few digits only."""
    F = [[[1.0], [0.6]]]
    problem = MetricProblem.from_differences(F, [1], bound, weight, slack)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, "dykstra", max_iter=3000, random_state=0)
    gap = exact_gap(problem, result)
    certificate = result.certificate
    assert gap <= certificate.gap + certificate.rounding
    if result.status is Status.SOLVED:
        assert gap <= 1.001e-6 * max(1.0, abs(certificate.primal))


@given(seed=st.sampled_from(EASY), rank=st.integers(1, 12), draw=st.integers(0, 1000))
def test_root_of_D_is_a_metric_or_a_pseudometric_if_W_is_singular(seed, rank, draw):
    """D is zero on the diagonal and symmetric, and its root satisfies the triangle inequality."""
    problem, best = optimum(seed)
    rng = np.random.default_rng(draw)
    values, vectors = np.linalg.eigh(best.W)
    values[: max(0, problem.n - rank)] = 0.0
    L = vectors * np.sqrt(values)
    X = rng.standard_normal((3, problem.n, problem.m))
    D = np.array([[np.sum((L.T @ (a - b)) ** 2) for b in X] for a in X])
    root = np.sqrt(D)
    assert (np.diag(D) == 0.0).all()
    np.testing.assert_allclose(D, D.T, rtol=1e-12)
    assert root[0, 2] <= (root[0, 1] + root[1, 2]) * (1 + 1e-12)
    if rank >= problem.n:
        assert (D[~np.eye(3, dtype=bool)] > 0.0).all()


def test_D_itself_violates_the_triangle_inequality():
    """Three points on a line are a counterexample to the paper's claim."""
    x = np.array([0.0, 1.0, 2.0])
    assert (x[2] - x[0]) ** 2 > (x[1] - x[0]) ** 2 + (x[2] - x[1]) ** 2
