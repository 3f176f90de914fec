"""The three linear systems of a Newton step agree with the dense matrix, and the cheapest one is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric import MetricProblem, Newton, Status, make_paper_problem, solve
from covmetric._utils.half_vectors import HalfVectors
from covmetric.solvers import compiled
from covmetric.solvers.newton import solver as newton
from covmetric.solvers.systems import (
    ActiveTerms,
    DenseSystem,
    IterativeSystem,
    PairSystem,
    choose_system,
    rates_along,
)
from tests import naive
from tests.problems import SLACKS, problem_seeds, random_problem


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
def test_stretch_matches_the_literal_sum(count, n, seed):
    rng = np.random.default_rng(seed)
    half = HalfVectors(n)
    A = rng.standard_normal((count, n, n))
    A, E = A + np.swapaxes(A, 1, 2), rng.standard_normal((n, n))
    E, weights = E + E.T, rng.standard_normal(count)
    out = np.full(half.size, np.nan)
    compiled.stretch(half.lower(A), half.doubled(E), weights, out)
    expected = sum(w * np.sum(a * E) * a for w, a in zip(weights, A, strict=True))
    np.testing.assert_allclose(half.from_lower(out), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", problem_seeds(18))
def test_gradient_matches_differences_of_the_objective(seed):
    """The direction is random, in the coordinates of the step."""
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


@pytest.mark.parametrize("seed", problem_seeds(12))
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
    """Without memory for a matrix, Newton uses conjugate gradients only."""
    problem = make_paper_problem(8, 30, 1e-3, 0, slack)
    dense, iterative = (solve(problem, Newton(memory=m), tol=1e-9) for m in (2**30, 1))
    assert iterative.status is dense.status is Status.SOLVED
    assert iterative.certificate.primal == pytest.approx(dense.certificate.primal, rel=1e-8)


def test_a_matrix_replaces_conjugate_gradients_that_take_too_long(monkeypatch):
    """With small weights they are quick and stay; with large weights they give up for the rest of the solve."""
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
        assert given_up == sorted(given_up)  # once given up, they do not come back


def test_the_cheapest_system_that_fits_is_chosen():
    def kind(n_active, memory=2**30):
        problem = make_paper_problem(10, 200, 1e-2, 0)
        active = np.arange(n_active)
        ones = np.ones(n_active)
        return type(choose_system(ActiveTerms(problem, np.eye(10), active, ones, ones), memory))

    assert kind(5) is PairSystem
    assert kind(200) is DenseSystem
    assert kind(5, memory=8) is IterativeSystem


@pytest.mark.parametrize(("examples", "K"), [(10, 60), (300, 3000)])
def test_rates_from_examples_match_inner_products_of_pairs(examples, K):
    """With few pairs the lower triangles are used, with many pairs each example is mapped once."""
    rng = np.random.default_rng(0)
    embedded = 5.0 + rng.standard_normal((examples, 30, 30))
    pairs = rng.integers(examples, size=(K, 2))
    problem = MetricProblem(embedded, pairs, np.ones(K), 1.0, 1.0)
    E = rng.standard_normal((30, 30))
    E += E.T
    expected = problem.sums.inner_products(E)
    np.testing.assert_allclose(rates_along(problem.sums, E), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
