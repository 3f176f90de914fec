"""Newton: its linear systems, its line search, its path, and what it needs of memory."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric import MetricProblem, Newton, Status, make_paper_problem, solve
from covmetric._utils.half_vectors import HalfVectors
from covmetric.problem.sums import PairSums
from covmetric.solvers import compiled
from covmetric.solvers.newton import solver as newton
from covmetric.solvers.newton.linesearch import Ray, search
from covmetric.solvers.newton.start import best_multiple
from covmetric.solvers.newton.system import (
    ActiveTerms,
    DenseSystem,
    IterativeSystem,
    PairSystem,
    choose_system,
    rates_along,
)
from tests import naive
from tests.problems import SLACKS, random_problem


@given(n=st.integers(1, 40), m=st.integers(1, 5), seed=st.integers(0, 100))
def test_half_vectors_keep_the_inner_product(n, m, seed):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((3, m, n))
    half = HalfVectors(n)
    out = np.empty((3, half.size))
    compiled.half_grams(G, out)
    B = np.einsum("kai,kaj->kij", G, G)
    np.testing.assert_allclose(out, [half.pack(b) for b in B], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(half.unpack(out[0]), B[0], rtol=1e-12, atol=1e-13)
    assert out[0] @ out[1] == pytest.approx(np.sum(B[0] * B[1]), rel=1e-9, abs=1e-9)


@given(count=st.integers(1, 30), n=st.integers(1, 9), seed=st.integers(0, 100))
def test_stretched_is_the_sum_as_it_is_written(count, n, seed):
    rng = np.random.default_rng(seed)
    half = HalfVectors(n)
    A = rng.standard_normal((count, n, n))
    A, E = A + np.swapaxes(A, 1, 2), rng.standard_normal((n, n))
    E, weights = E + E.T, rng.standard_normal(count)
    out = np.full(half.size, np.nan)
    compiled.stretch(half.lower(A), half.doubled(E), weights, out)
    expected = sum(w * np.sum(a * E) * a for w, a in zip(weights, A, strict=True))
    np.testing.assert_allclose(half.from_lower(out), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_sums_over_pairs_whether_kept_or_not(seed):
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    A = naive.matrices(problem)
    E = rng.standard_normal((problem.n, problem.n))
    E, weights = E + E.T, rng.standard_normal(problem.n_pairs)
    chosen = np.flatnonzero(rng.random(problem.n_pairs) < 0.7)
    anew = PairSums(problem.sums.rows, problem.sums.pairs)
    anew.lower_triangles = lambda *_: None
    for sums in (problem.sums, anew):
        np.testing.assert_allclose(sums.inner_products(E), np.einsum("kij,ij->k", A, E), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(sums.weighted_sum(weights), np.einsum("k,kij->ij", weights, A), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(sums.squared_norms(), np.einsum("kii->k", A), rtol=1e-12)
        stretched = np.einsum("k,kab,ab,kij->ij", weights[chosen], A[chosen], E, A[chosen])
        np.testing.assert_allclose(sums.hessian_product(E, weights[chosen], chosen), stretched, rtol=1e-9, atol=1e-8)


def test_what_takes_much_memory_is_not_kept_after_a_solve():
    rng = np.random.default_rng(0)
    problem = MetricProblem.from_differences(rng.standard_normal((900, 70, 70)), rng.choice([-1.0, 1.0], 900), 5e3, 0.1)
    seen = []
    result = solve(problem, "newton", callback=lambda _: seen.append(problem.sums._kept_triangles is not None))
    assert result.status is Status.SOLVED and any(seen)
    assert problem.sums._kept_triangles is None
    small = make_paper_problem(10, 50, 1e-2, 0)
    solve(small, "newton")
    assert small.sums._kept_triangles is not None  # the next solve is glad of it


def test_problems_are_pickled_without_what_can_be_made_again():
    problem = MetricProblem.from_differences(np.ones((5, 3000, 1)), [1, 1, 1, -1, -1], 3000.0, 1.0)
    assert len(pickle.dumps(problem)) < 1e6
    small = make_paper_problem(10, 50, 1e-2, 0)
    result = solve(small, "newton")
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(solve(again, "newton").W, result.W)


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


def test_conjugate_gradients_give_up_in_favour_of_a_matrix(monkeypatch):
    """Where they would take longer than that, and only there."""
    kinds = []

    def chosen(*arguments):
        kinds.append(type(choose_system(*arguments)))
        return choose_system(*arguments)

    monkeypatch.setattr(newton, "choose_system", chosen)
    rng = np.random.default_rng(0)
    F = rng.standard_normal((400, 20, 3)) * np.geomspace(1e-3, 1.0, 20)[:, None]
    for weights in (0.1, 100.0):
        kinds.clear()
        problem = MetricProblem.from_differences(F, rng.choice([-1.0, 1.0], 400), 1.0, weights)
        assert solve(problem, "newton", tol=1e-8).status is Status.SOLVED
        assert kinds[0] is IterativeSystem
        assert (kinds[-1] is IterativeSystem) == (weights == 0.1)
        given_up = [kind is not IterativeSystem for kind in kinds]
        assert given_up == sorted(given_up)  # and does not come back to them


@pytest.mark.parametrize("seed", range(18))
def test_gradient_and_hessian_are_those_of_the_objective(seed):
    """By differences of the literal objective along random directions, in the coordinates of the step."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    A, y, b, c, _ = naive.data(problem)
    C = np.linalg.cholesky(naive.metric(problem, np.zeros(problem.n_pairs)) + 0.1 * np.eye(problem.n))
    s = np.einsum("kij,ij->k", A, C @ C.T) / b
    active = np.flatnonzero((y * (s - 1) > 0) & (s > 0))
    forces = c[active] / b[active] * problem.slack.gradient(s[active])
    springs = c[active] / b[active] ** 2 * problem.slack.curvature(s[active])
    half = HalfVectors(problem.n)
    system = PairSystem(ActiveTerms(problem, C, active, forces, springs))
    gradient = half.pack(C.T @ C - np.eye(problem.n)) + system.force
    D = rng.standard_normal((problem.n, problem.n))
    D += D.T

    def P(t):
        return naive.primal(problem, C @ (np.eye(problem.n) + t * D) @ C.T)

    h = 1e-5
    assert gradient @ half.pack(D) == pytest.approx((P(h) - P(-h)) / (2 * h), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_the_three_systems_agree(seed):
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((problem.n, problem.n))
    C = np.linalg.cholesky(A @ A.T + np.eye(problem.n))
    active = np.flatnonzero(rng.random(problem.n_pairs) < 0.7)
    forces, springs = rng.standard_normal(len(active)), rng.random(len(active))
    half = HalfVectors(problem.n)
    r = rng.standard_normal(half.size)
    vectors = [half.pack(C.T @ a @ C) for a in naive.matrices(problem)[active]]
    H = np.eye(half.size) + sum(h * np.outer(v, v) for h, v in zip(springs, vectors, strict=True))
    force = sum((f * v for f, v in zip(forces, vectors, strict=True)), np.zeros(half.size))
    for kind in (DenseSystem, PairSystem, IterativeSystem):
        system = kind(ActiveTerms(problem, C, active, forces, springs))
        np.testing.assert_allclose(system.force, force, rtol=1e-9, atol=1e-9)
        # Conjugate gradients stop earlier far from the optimum, where the gradient is large.
        for length, loose in ((0.05, 1e-2), (1.0, 0.0501)):
            wanted = length / np.linalg.norm(r) * r
            atol = length * (loose if kind is IterativeSystem else 1e-7)
            np.testing.assert_allclose(np.linalg.norm(H @ system.solve(wanted) - wanted), 0.0, atol=atol)


@pytest.mark.parametrize("slack", SLACKS)
def test_conjugate_gradients_reach_the_same_optimum(slack):
    """With no memory for a matrix."""
    problem = make_paper_problem(8, 30, 1e-3, 0, slack)
    dense, iterative = (solve(problem, Newton(memory=m), tol=1e-9) for m in (2**30, 1))
    assert iterative.status is dense.status is Status.SOLVED
    assert iterative.certificate.primal == pytest.approx(dense.certificate.primal, rel=1e-8)


def test_the_choice_of_the_system():
    def kind(n_active, memory=2**30):
        problem = make_paper_problem(10, 200, 1e-2, 0)
        active = np.arange(n_active)
        ones = np.ones(n_active)
        return type(choose_system(ActiveTerms(problem, np.eye(10), active, ones, ones), memory))

    assert kind(5) is PairSystem
    assert kind(200) is DenseSystem
    assert kind(5, memory=8) is IterativeSystem


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("shape", [(10, 10, 50), (5, 1, 80), (12, 2, 40), (3, 9, 30)])
def test_small_lambda_by_the_path(slack, lam, shape):
    n, m, K = shape
    rng = np.random.default_rng(0)
    F, similar = rng.uniform(-0.5, 0.5, (K, n, m)), rng.choice([-1.0, 1.0], K)
    problem = MetricProblem.from_differences(F, similar, n * m / 12.0, 1.0 / (lam * K), slack)
    result = solve(problem, "newton", tol=1e-9)
    assert result.status is Status.SOLVED


@pytest.mark.parametrize("seed", range(12))
def test_start_is_the_best_multiple_of_the_identity(seed):
    problem = random_problem(seed)
    C, s = best_multiple(problem, weight_fraction=1.0)
    w = C[0, 0] ** 2
    np.testing.assert_allclose(s, w * problem.squared_norms / problem.bounds)
    best = problem.primal(w * np.eye(problem.n))
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert best <= problem.primal(factor * w * np.eye(problem.n)) + 1e-3 * max(1.0, abs(best))


@given(seed=st.integers(0, 62), size=st.floats(-3, 3), draw=st.integers(0, 50))
def test_the_ray_is_the_objective_and_the_search_descends(seed, size, draw):
    problem = random_problem(seed)
    rng = np.random.default_rng(draw)
    n = problem.n
    A = rng.standard_normal((n, n))
    C = np.linalg.cholesky(A @ A.T / n + 0.1 * np.eye(n))
    D = 10.0**size * rng.standard_normal((n, n))
    D += D.T
    s = problem.squared_distances(C @ C.T) / problem.bounds
    ds = problem.sums.inner_products(C @ D @ C.T) / problem.bounds
    regulariser = -np.linalg.slogdet(C @ C.T)[1] + np.sum(C**2) - n
    ray = Ray(problem, problem.weights, s, ds, np.linalg.eigvalsh(D), regulariser, float(np.sum((C @ D) * C)))
    t = 0.3 * min(ray.limit, 1.0)
    value, slope = ray.at(t)
    moved = C @ (np.eye(n) + t * D) @ C.T
    assert value == pytest.approx(problem.primal((moved + moved.T) / 2), rel=1e-8, abs=1e-8)
    h = 1e-6 * t
    assert slope == pytest.approx((ray.at(t + h)[0] - ray.at(t - h)[0]) / (2 * h), rel=1e-2, abs=1e-2 * abs(value) / t)
    start = ray.at(0.0)
    step, reached = search(ray, start)
    if start[1] < 0.0:
        assert 0.0 < step < ray.limit
        assert reached < start[0]
    else:
        assert step == 0.0


def test_bad_memory():
    with pytest.raises(ValueError, match="memory must be a positive number of bytes, got 0"):
        solve(make_paper_problem(3, 5, 1e-2, 0), Newton(memory=0))
    assert repr(Newton(memory=8)) == "Newton(memory=8)"


def test_same_bits_every_time():
    problem = make_paper_problem(10, 50, 1e-4, 0)
    first, second = (solve(problem, "newton", tol=1e-9) for _ in range(2))
    np.testing.assert_array_equal(first.W, second.W)


def test_exactly_max_iter_steps_with_tol_zero():
    problem = make_paper_problem(10, 50, 1e-2, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve(problem, "newton", tol=0, max_iter=4)
    assert result.n_iter == 4
    assert result.status is Status.MAX_ITER


@pytest.mark.parametrize(("examples", "K"), [(10, 60), (300, 3000)])
def test_rates_by_example_are_those_by_pair(examples, K):
    """From few pairs (kept), and from so many that each example is mapped once."""
    rng = np.random.default_rng(0)
    embedded = 5.0 + rng.standard_normal((examples, 30, 30))
    pairs = rng.integers(examples, size=(K, 2))
    problem = MetricProblem(embedded, pairs, np.ones(K), 1.0, 1.0)
    E = rng.standard_normal((30, 30))
    E += E.T
    expected = problem.sums.inner_products(E)
    np.testing.assert_allclose(rates_along(problem.sums, E), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
