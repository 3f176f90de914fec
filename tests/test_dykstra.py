"""Dykstra: the same optimum by every order, exact epochs, and legal extremes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Dykstra, MetricProblem, Status, make_paper_problem, solve
from tests import naive
from tests.exact import exact_gap
from tests.problems import ORDERS, SLACKS, random_problem


@pytest.mark.parametrize("seed", range(12))
def test_the_orders_agree(seed):
    """W is unique; two metrics with gap g are within about sqrt(2 g) of it in the local norm."""
    problem = random_problem(seed)
    results = [solve(problem, Dykstra(order), tol=1e-9, max_iter=100_000, random_state=seed) for order in ORDERS]
    for result in results:
        assert result.status is Status.SOLVED
        np.testing.assert_allclose(result.certificate.primal, results[0].certificate.primal, rtol=3e-9)
        L = np.linalg.cholesky(results[0].W)
        mu = np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, result.W).T))
        lo, hi = (
            a * b
            for a, b in zip(result.certificate.distance_factor, results[0].certificate.distance_factor, strict=True)
        )
        assert lo / hi - 1e-9 <= mu.min()
        assert mu.max() <= hi / lo + 1e-9


@pytest.mark.parametrize("order", ORDERS)
def test_an_epoch_is_K_projections_of_the_papers_text(order):
    """tol = 0 gives exactly max_iter epochs, and the same iterate as the literal method in the same order."""
    from covmetric.orders import get_order

    problem = make_paper_problem(6, 15, 1e-3, seed=4)
    ours = solve(problem, Dykstra(order, certify_every=1), tol=0, max_iter=7, random_state=11)
    rng = np.random.default_rng(11)
    paper = naive.PaperDykstra(*naive.data(problem))
    for _ in range(7):
        paper.epoch(get_order(order).epoch(problem.n_pairs, rng))
    assert ours.history.projections[-1] == 7 * 15
    final = solve(problem, Dykstra(order, certify_every=7), tol=0, max_iter=7, random_state=11)
    np.testing.assert_allclose(final.history.primal[-1], problem.primal(paper.W), rtol=1e-8)
    np.testing.assert_allclose(final.history.primal[-1], ours.history.primal[-1], rtol=1e-10)


def test_a_seed_gives_the_same_bits_and_another_one_does_not():
    problem = make_paper_problem(8, 40, 1e-3, seed=0)
    first, second, other = (solve(problem, "dykstra", tol=1e-6, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.W, second.W)
    np.testing.assert_array_equal(first.multipliers, second.multipliers)
    assert first.n_iter == second.n_iter
    assert not np.array_equal(first.W, other.W)


def test_random_state_may_be_a_generator_or_a_random_state():
    problem = make_paper_problem(5, 20, 1e-2, seed=0)
    by_int = solve(problem, "dykstra", random_state=3)
    by_generator = solve(problem, "dykstra", random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(by_int.W, by_generator.W)
    assert solve(problem, "dykstra", random_state=np.random.RandomState(3)).status is Status.SOLVED


def scaled(n, m, K, slack, size_F=1.0, size_b=1.0, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.uniform(-0.5, 0.5, (K, n, m))
    similar = rng.choice([-1.0, 1.0], K)
    similar[0] = 1.0
    return MetricProblem.from_differences(size_F * F, similar, size_b * n * m / 12.0, 100.0 / K, slack)


SHAPES = [(6, 6, 20), (6, 1, 20), (6, 2, 20), (1, 1, 5), (6, 3, 1), (1, 1, 1), (3, 7, 10), (6, 1, 2)]


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_data_and_bounds_rescaled_together(shape, slack, size):
    """The same problem in other units: the same W, SOLVED, with multipliers that scale."""
    plain = solve(scaled(*shape, slack), "dykstra", tol=1e-9, max_iter=100_000, random_state=0)
    rescaled = scaled(*shape, slack, size_F=np.sqrt(size), size_b=size)
    result = solve(rescaled, "dykstra", tol=1e-9, max_iter=100_000, random_state=0)
    assert result.status is plain.status is Status.SOLVED
    np.testing.assert_allclose(result.W, plain.W, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(result.certificate.primal, plain.certificate.primal, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e6])
def test_differences_rescaled_alone(shape, slack, size):
    result = solve(scaled(*shape, slack, size_F=size), "dykstra", max_iter=100_000, random_state=0)
    assert result.status is Status.SOLVED
    assert np.isfinite(result.W).all()


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("shape", [(6, 1, 20), (6, 2, 20), (6, 1, 2), (6, 3, 1), (8, 2, 2), (3, 1, 2)])
def test_huge_differences_are_certified_or_refused(shape, slack):
    """F by 1e12 with m < n: what is called SOLVED must be so by 60-digit arithmetic, too."""
    problem = scaled(*shape, slack, size_F=1e12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, "dykstra", max_iter=2000, random_state=0)
    assert result.status in (Status.SOLVED, Status.NUMERICAL_ERROR)
    assert np.isfinite(result.W).all()
    if result.status is Status.SOLVED:
        assert exact_gap(problem, result) <= 2e-6 * max(1.0, abs(result.certificate.primal))


def test_exact_gap_agrees_where_nothing_is_extreme():
    problem = scaled(4, 2, 8, "is")
    result = solve(problem, "dykstra", tol=1e-4, random_state=0)
    assert exact_gap(problem, result) == pytest.approx(result.certificate.gap, abs=1e-12)


@pytest.mark.parametrize("slack", ["l2", "re"])
def test_a_dissimilar_pair_of_equal_examples_costs_its_price(slack):
    """F = 0: c/2 for l2 with alpha = c/b, c for re; the rest of the problem is solved as if it were not there."""
    problem = random_problem(20)
    i, j = problem.pairs.T
    F = np.concatenate([problem.embedded[i] - problem.embedded[j], np.zeros((1, problem.n, problem.m))])
    similar = np.append(problem.similar, -1.0)
    bounds, weights = np.append(problem.bounds, 2.0), np.append(problem.weights, 3.0)
    alone = MetricProblem.from_differences(F[:-1], similar[:-1], bounds[:-1], weights[:-1], slack)
    both = MetricProblem.from_differences(F, similar, bounds, weights, slack)
    without = solve(alone, "dykstra", tol=1e-10, random_state=0)
    result = solve(both, "dykstra", tol=1e-10, random_state=0)
    assert result.status is Status.SOLVED
    price = {"l2": 1.5, "re": 3.0}[slack]
    assert result.certificate.primal == pytest.approx(without.certificate.primal + price, rel=1e-8)
    np.testing.assert_allclose(result.W, without.W, rtol=1e-3, atol=1e-4)
    if slack == "l2":
        assert result.multipliers[-1] == pytest.approx(1.5)


def test_a_similar_pair_of_equal_examples_is_idle():
    for slack in SLACKS:
        problem = MetricProblem.from_differences(np.zeros((1, 3, 2)), [1], 1.0, 1.0, slack)
        result = solve(problem, "dykstra")
        assert result.status is Status.SOLVED
        np.testing.assert_array_equal(result.W, np.eye(3))


def test_only_dissimilar_pairs_of_equal_examples():
    for slack in ("l2", "re"):
        problem = MetricProblem.from_differences(np.zeros((3, 3, 2)), [-1, -1, -1], 1.0, 2.0, slack)
        result = solve(problem, "dykstra")
        assert result.status is Status.SOLVED
        np.testing.assert_allclose(result.W, np.eye(3))


def test_wide_vectors_of_itml():
    """m = 1: the paper's problem on vectors is ITML's, and the same optimum comes out."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((20, 3)), rng.normal([2, 0, 0], 1.0, (20, 3))])
    y = np.repeat([0, 1], 20)
    pairs = np.array([(i, j) for i in range(40) for j in range(i)])
    similar = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    bounds = np.where(similar > 0, 1.0, 8.0)
    problem = MetricProblem(X[:, :, None], pairs, similar, bounds, 10.0 / len(pairs))
    result = solve(problem, "dykstra", tol=1e-9, random_state=0)
    assert result.status is Status.SOLVED
    assert np.linalg.eigvalsh(result.W)[0] > 0.0
    assert result.certificate.primal < problem.primal(np.eye(3))


def test_bad_settings():
    problem = make_paper_problem(3, 5, 1e-2, seed=0)
    with pytest.raises(ValueError, match=r"certify_every must be None or an integer >= 1, got 0"):
        solve(problem, Dykstra(certify_every=0))
    with pytest.raises(ValueError, match=r"order must be one of 'cyclic', 'perm', 'rand'"):
        solve(problem, Dykstra(order="shuffled"))


def test_repr():
    assert repr(Dykstra("rand", certify_every=3)) == "Dykstra(order='rand', certify_every=3)"


def test_breakdown_is_mended_by_rebuilding(monkeypatch):
    """A sweep that reports a breakdown part of the way is taken up again from a rebuilt metric."""
    from covmetric.solvers import _kernels

    real, calls = _kernels.sweep, []

    def flaky(W, alpha, rows, pairs, y, b, c, order, *rest):
        calls.append(len(order))
        if len(calls) == 2:
            real(W, alpha, rows, pairs, y, b, c, order[:4], *rest)
            W[:] = np.nan
            return _kernels.BROKEN
        return real(W, alpha, rows, pairs, y, b, c, order, *rest)

    monkeypatch.setattr(_kernels, "sweep", flaky)
    problem = make_paper_problem(5, 12, 1e-2, seed=0)
    result = solve(problem, "dykstra", tol=1e-8, random_state=0)
    assert result.status is Status.SOLVED
    assert calls[1:3] == [12, 8]


def test_breakdown_at_the_first_pair_is_mended_too(monkeypatch):
    from covmetric.solvers import _kernels

    real, calls = _kernels.sweep, []

    def flaky(*arguments):
        calls.append(1)
        return _kernels.BROKEN if len(calls) == 2 else real(*arguments)

    monkeypatch.setattr(_kernels, "sweep", flaky)
    problem = make_paper_problem(5, 12, 1e-2, seed=0)
    assert solve(problem, "dykstra", random_state=0).status is Status.SOLVED


def test_a_metric_that_cancels_to_zero_is_not_taken_for_equal_examples():
    problem = MetricProblem.from_differences([[[1e5]], [[1.0]]], [1, -1], [1e-7, 1.0], 1.0, "is")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, "dykstra", random_state=0)
    assert np.isfinite(result.multipliers).all()
    assert exact_gap(problem, result) <= result.certificate.gap + 3.0 * result.certificate.rounding


def test_memory_and_time_of_a_solve_do_not_grow():
    """The compiled slack is kept, not compiled again for each solve."""
    from covmetric.slacks import get_slack
    from covmetric.solvers import _kernels

    first, second = (_kernels.compile_slack(get_slack("is")) for _ in range(2))
    assert first.addresses == second.addresses


def test_breakdown_that_stays_is_a_numerical_error(monkeypatch):
    from covmetric.solvers import _kernels

    monkeypatch.setattr(_kernels, "sweep", lambda *_: _kernels.BROKEN)
    problem = make_paper_problem(5, 12, 1e-2, seed=0)
    with pytest.warns(ConvergenceWarning, match="NUMERICAL_ERROR"):
        result = solve(problem, "dykstra", random_state=0)
    assert result.status is Status.NUMERICAL_ERROR
    np.testing.assert_array_equal(result.W, np.eye(5))
