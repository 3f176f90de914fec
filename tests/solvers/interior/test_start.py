"""The first point is inside of all cones, and near the central path for any scale of the problem."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import MetricProblem
from covmetric.solvers import StepFailed
from covmetric.solvers.interior.point import ScaledPairs
from covmetric.solvers.interior.start import central_start
from tests import naive
from tests.solvers.hostile import hostile_problem


def rescaled(problem, size_F, size_c):
    i, j = problem.pairs.T
    F = size_F * (problem.embedded[i] - problem.embedded[j])
    return MetricProblem.from_differences(F, problem.similar, problem.bounds, size_c * problem.weights, problem.slack)


@pytest.mark.parametrize(("size_F", "size_c"), [(1.0, 1.0), (1e-4, 1.0), (1e4, 1.0), (1.0, 1e-6), (1.0, 1e6)])
@pytest.mark.parametrize("factor", [1.0, 1e4])
def test_products_have_about_the_same_size(size_F, size_c, factor):
    """Within a factor of 50; if there are more pairs than rows, tau v may be larger by their ratio."""
    for seed in range(40):
        problem = rescaled(hostile_problem(seed), size_F, size_c)
        pairs = ScaledPairs.from_problem(problem)
        point = central_start(pairs, factor)
        for name in ("s", "tau", "v", "xi", "u"):
            values = getattr(point, name)
            assert np.isfinite(values).all() and (values > 0.0).all(), name
        theta = 2.0 * factor * max(1.0, pairs.weights.max())
        crowding = max(1.0, len(pairs.index) / problem.n)
        np.testing.assert_allclose(point.xi * point.u, theta, rtol=1e-12)
        assert (point.tau * point.v >= theta / 50.0).all(), seed
        assert (point.tau * point.v <= 50.0 * crowding * theta).all(), seed
        products = np.linalg.svd(point.L.T @ point.R, compute_uv=False) ** 2
        np.testing.assert_allclose(products, crowding * theta, rtol=1e-6)
        np.testing.assert_allclose(point.v, pairs.similar * (point.xi - point.s), rtol=1e-9)


def test_factors_belong_to_the_variables():
    for seed in (0, 2, 5):
        pairs = ScaledPairs.from_problem(hostile_problem(seed))
        point = central_start(pairs)
        A = naive.matrices(pairs.problem)[pairs.index]
        M = np.eye(pairs.problem.n) + np.einsum("k,kij->ij", pairs.similar * point.tau / pairs.bounds, A)
        np.testing.assert_allclose(point.R @ point.R.T, M, rtol=1e-8, atol=1e-8 * np.abs(M).max())
        s = np.einsum("kij,ij->k", A, point.L @ point.L.T) / pairs.bounds
        np.testing.assert_allclose(point.s, s, rtol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_problems_with_one_kind_of_pairs_have_a_start(sign):
    F = np.random.default_rng(0).standard_normal((5, 3, 2))
    point = central_start(ScaledPairs.from_problem(MetricProblem.from_differences(F, sign * np.ones(5), 1.0, 1.0)))
    assert min(x.min() for x in (point.tau, point.v, point.xi, point.u)) > 0.0


def test_a_start_without_pairs_is_a_multiple_of_the_identity():
    pairs = ScaledPairs.from_problem(MetricProblem.from_differences(np.zeros((2, 3, 1)), np.ones(2), 1.0, 1.0))
    point = central_start(pairs)
    assert len(point.tau) == 0
    np.testing.assert_allclose(point.L, point.L[0, 0] * np.eye(3))


def test_scales_beyond_double_precision_fail(monkeypatch):
    pairs = ScaledPairs.from_problem(hostile_problem(0))
    assert (pairs.similar < 0.0).any()
    n = pairs.problem.n
    monkeypatch.setattr(ScaledPairs, "transformed_sum", lambda self, tau, transform: np.full((n, n), np.nan))
    with np.errstate(all="ignore"), pytest.raises(StepFailed):
        central_start(pairs)
