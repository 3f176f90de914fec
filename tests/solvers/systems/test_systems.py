"""The four ways to solve the linear system of a step agree with the dense matrix, and the cheapest one is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import MetricProblem, Newton, Status, make_paper_problem, solve
from covmetric._utils.half_vectors import HalfVectors
from covmetric.problem import PairSums
from covmetric.solvers.newton import solver as newton
from covmetric.solvers.systems import (
    ActiveTerms,
    DenseSystem,
    IterativeSystem,
    PairSystem,
    ThinSystem,
    choose_system,
    direct,
    iterative,
    rates_along,
)
from covmetric.solvers.systems.preconditioner import GaussianPreconditioner
from covmetric.solvers.systems.products import (
    OriginalPairs,
    TransformedExamples,
    TransformedPairs,
    choose_products,
    example_work,
    pair_work,
)
from tests import naive
from tests.problems import SLACKS, problem_seeds, random_problem


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


def random_terms(m, seed, examples=None, n_active=None):
    """Return random terms and a random right-hand side; with few examples, those are transformed, not their pairs."""
    rng = np.random.default_rng([m, seed])
    n = m if m > 2 else int(rng.integers(2, 9))
    K = int(rng.integers(8, 30))
    embedded = rng.standard_normal((examples or 3 * K, n, m))
    pairs = np.array([rng.choice(len(embedded), 2, replace=False) for _ in range(K)])
    problem = MetricProblem(embedded, pairs, rng.choice([-1.0, 1.0], K), 1.0, 1.0)
    A = rng.standard_normal((n, n))
    C = np.linalg.cholesky(A @ A.T / n + 0.1 * np.eye(n))
    active = np.flatnonzero(rng.random(K) < 0.7)[:n_active]
    forces, springs = rng.standard_normal(len(active)), rng.random(len(active))
    return ActiveTerms(problem, C, active, forces, springs), rng


def accurate(products):
    """Return the kind of system that uses conjugate gradients with these sums over the pairs."""

    def system(terms):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(iterative, "choose_products", products)
            return IterativeSystem(terms, accuracy=1e-11)

    system.__name__ = products.__name__
    return system


ALL_SYSTEMS = pytest.mark.parametrize(
    "kind",
    [DenseSystem, PairSystem, ThinSystem, *map(accurate, (OriginalPairs, TransformedPairs, TransformedExamples))],
)
DIRECT_SYSTEMS = pytest.mark.parametrize("kind", [DenseSystem, PairSystem, ThinSystem])


@ALL_SYSTEMS
@pytest.mark.parametrize("m", [1, 2, 6])
@pytest.mark.parametrize(("examples", "n_active"), [(None, None), (4, None), (None, 1), (None, 0)])
def test_every_system_matches_the_dense_matrix(kind, m, examples, n_active):
    for seed in range(3):
        terms, rng = random_terms(m, seed, examples, n_active)
        if seed == 2:  # as in the first step
            terms = ActiveTerms(terms.problem, 0.7 * np.eye(terms.problem.n), terms.active, terms.forces, terms.springs)
        H, B = naive.step_system(terms.problem, terms.C, terms.active, terms.springs)
        system = kind(terms)
        np.testing.assert_allclose(system.force, terms.forces @ B, rtol=1e-9, atol=1e-9)
        for _ in range(2):
            z, weights = rng.standard_normal(len(H)), rng.standard_normal(len(terms.active))
            np.testing.assert_allclose(system.weighted_sum(weights), weights @ B, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(system.rates(z), B @ z, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(system.solve(z), np.linalg.solve(H, z), rtol=1e-7, atol=1e-8)
            x, rates = system.solve_affine(z, weights)
            expected = np.linalg.solve(H, z - weights @ B)
            np.testing.assert_allclose(x, expected, rtol=1e-7, atol=1e-8)
            np.testing.assert_allclose(rates, B @ expected, rtol=1e-7, atol=1e-7)
        assert not system.gave_up


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("by_examples", [False, True])
def test_thin_systems_sum_over_pairs_or_over_examples(m, by_examples, monkeypatch):
    monkeypatch.setattr(direct, "example_work", lambda terms: -np.inf if by_examples else np.inf)
    terms, rng = random_terms(m, 3, examples=4)
    H, B = naive.step_system(terms.problem, terms.C, terms.active, terms.springs)
    system = ThinSystem(terms)
    z, weights = rng.standard_normal(len(H)), rng.standard_normal(len(terms.active))
    np.testing.assert_allclose(system.weighted_sum(weights), weights @ B, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(system.rates(z), B @ z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(system.solve(z), np.linalg.solve(H, z), rtol=1e-7, atol=1e-8)
    x, rates = system.solve_affine(z, weights)
    expected = np.linalg.solve(H, z - weights @ B)
    np.testing.assert_allclose(x, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(rates, B @ expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("distance", "expected"), [(1e-2, True), (1e-4, False)])
def test_thin_systems_do_not_subtract_examples_that_the_metric_brings_together(distance, expected, monkeypatch):
    """The first two examples differ only in a direction that the metric nearly ignores."""
    monkeypatch.setattr(direct, "example_work", lambda terms: -np.inf)
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    rows = rng.standard_normal((6, 3)) + 1.0
    rows[1] = rows[0] + basis[:, 2]
    problem = MetricProblem(rows[:, :, None], [[0, 1], [0, 2], [3, 4], [1, 5]], [1, -1, -1, 1], 1.0, 1.0)
    C, ones = basis * [1.0, 1.0, distance], np.ones(4)
    springs = np.array([distance**-4, 1.0, 1.0, 1.0])
    terms = ActiveTerms(problem, C, np.arange(4), ones, springs)
    system = ThinSystem(terms)
    assert (system._examples.inner_products(ones) is not None) is expected
    H, B = naive.step_system(problem, C, terms.active, springs)
    z = rng.standard_normal(6)
    np.testing.assert_allclose(system.solve(z), np.linalg.solve(H, z), rtol=1e-8)
    np.testing.assert_allclose(system.solve_affine(z, ones)[0], np.linalg.solve(H, z - ones @ B), rtol=1e-8)


@DIRECT_SYSTEMS
def test_one_factorisation_serves_several_right_hand_sides(kind, monkeypatch):
    factorised = []

    def cholesky(matrix):
        factorised.append(matrix.shape)
        return real(matrix)

    real = direct.cholesky
    monkeypatch.setattr(direct, "cholesky", cholesky)
    terms, rng = random_terms(2, 0)
    system = kind(terms)
    for _ in range(3):
        system.solve_affine(rng.standard_normal(terms.half.size), rng.standard_normal(len(terms.active)))
    assert len(factorised) == 1


@pytest.mark.parametrize("seed", range(12))
def test_conjugate_gradients_stop_at_a_fraction_of_the_gradient(seed):
    """Far from the optimum, where the gradient is large, they stop earlier."""
    terms, rng = random_terms((1, 2, 6)[seed % 3], seed)
    H, _ = naive.step_system(terms.problem, terms.C, terms.active, terms.springs)
    r = rng.standard_normal(len(H))
    for length, fraction in ((0.05, 0.1), (1.0, 0.1)):
        wanted = length / np.linalg.norm(r) * r
        fraction = min(fraction, length)  # the fraction is that of the gradient itself if the gradient is small
        residual = np.linalg.norm(H @ IterativeSystem(terms).solve(wanted) - wanted)
        assert residual <= 1.0001 * fraction * length


def gaussian_terms(m=1, n=20, K=1500):
    """Return terms of Gaussian differences at a metric with eigenvalues over two decades."""
    rng = np.random.default_rng(m)
    problem = MetricProblem.from_differences(rng.standard_normal((K, n, m)), np.ones(K), 1.0, 1.0)
    C = np.diag(np.geomspace(0.1, 1.0, n))
    return ActiveTerms(problem, C, np.arange(K), np.zeros(K), rng.uniform(0.5, 1.5, K)), rng


def hessian_products(monkeypatch, terms, r, accuracy):
    """Return the solution by conjugate gradients and the number of iterations."""
    products = []
    with monkeypatch.context() as patch:
        image = IterativeSystem._image
        patch.setattr(IterativeSystem, "_image", lambda self, X: products.append(1) or image(self, X))
        return IterativeSystem(terms, accuracy=accuracy).solve(r), len(products)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("accuracy", [1e-2, 1e-5, 1e-9])
def test_conjugate_gradients_reach_their_accuracy_sooner_with_the_preconditioner(m, accuracy, monkeypatch):
    terms, rng = gaussian_terms(m)
    r = rng.standard_normal(terms.half.size)
    x, count = hessian_products(monkeypatch, terms, r, accuracy)
    C, half, springs = terms.C, terms.half, terms.springs
    X = half.unpack(x)
    image = X + C.T @ terms.problem.sums.hessian_product(C @ X @ C.T, springs, terms.active) @ C
    assert np.linalg.norm(half.pack(image) - r) <= 1.001 * accuracy * np.linalg.norm(r)
    monkeypatch.setattr(GaussianPreconditioner, "apply", lambda self, matrix: matrix)
    y, count_without = hessian_products(monkeypatch, terms, r, accuracy)
    np.testing.assert_allclose(x, y, atol=3.0 * accuracy * np.linalg.norm(r))
    assert count < 0.3 * count_without


def test_conjugate_gradients_give_up_at_their_limit():
    terms, rng = gaussian_terms()
    r = rng.standard_normal(terms.half.size)
    for max_iter, gave_up in ((1, True), (200, False)):
        system = IterativeSystem(terms, max_iter, accuracy=1e-6)
        x = system.solve(r)
        assert system.gave_up == gave_up
        assert x @ r > 0.0, "a descent direction"


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

    def chosen(*arguments, **settings):
        kinds.append(type(choose_system(*arguments, **settings)))
        return choose_system(*arguments, **settings)

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


def terms_of_size(n, m, n_active):
    problem = MetricProblem.from_differences(np.ones((n_active, n, m)), np.ones(n_active), 1.0, 1.0)
    ones = np.ones(n_active)
    return ActiveTerms(problem, np.eye(n), np.arange(n_active), ones, ones)


def test_vectors_have_the_thin_system():
    assert type(choose_system(terms_of_size(100, 1, 60), 2**30, iterative=False)) is ThinSystem
    assert type(choose_system(terms_of_size(100, 2, 60), 2**30, iterative=False)) is ThinSystem
    assert type(choose_system(terms_of_size(4, 1, 500), 2**30, iterative=False)) is DenseSystem


@pytest.mark.parametrize("m", [1, 2, 8])
@pytest.mark.parametrize("n_active", [3, 20, 300])
def test_arrays_of_a_system_fit_into_the_memory(m, n_active):
    """A smaller memory gives another system, and in the end conjugate gradients, which keep no matrix."""
    terms = terms_of_size(8, m, n_active)
    kinds = []
    for memory in np.geomspace(1e7, 100.0, 60):
        system = choose_system(terms, memory, iterative=False)
        kinds.append(type(system))
        if not isinstance(system, IterativeSystem):
            system.solve_affine(np.ones(terms.half.size), np.ones(n_active))
            values = [a for value in vars(system).values() for a in (value if isinstance(value, tuple) else [value])]
            arrays = [a if a.base is None else a.base for a in values if isinstance(a, np.ndarray) and a.ndim > 1]
            assert sum({id(a): a.nbytes for a in arrays}.values()) <= memory
    assert kinds[-1] is IterativeSystem and len(set(kinds)) >= 2


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


@pytest.mark.parametrize("m", [1, 30])
def test_nearly_equal_examples_are_subtracted_before_they_are_transformed(m):
    """The difference of their images would have no correct digit."""
    rng = np.random.default_rng(0)
    embedded = rng.standard_normal((20, 5, m))
    embedded[1] = embedded[0] * (1.0 + 1e-15 * rng.choice([-1.0, 1.0], embedded[0].shape))
    pairs = np.array([(0, 1), (1, 0), *(rng.choice(20, 2, replace=False) for _ in range(100))])
    sums = PairSums(np.ascontiguousarray(np.swapaxes(embedded, 1, 2)), pairs)
    np.testing.assert_array_equal(np.unique(np.sort(pairs[sums.close_pairs], axis=1), axis=0), [[0, 1]])
    E = rng.standard_normal((5, 5))
    E += E.T
    F = embedded[pairs[:, 0]] - embedded[pairs[:, 1]]
    np.testing.assert_allclose(rates_along(sums, E), np.einsum("kim,ij,kjm->k", F, E, F), rtol=1e-9)
    indices = np.arange(len(pairs))[::-1]
    transformed = np.concatenate([G for _, G in sums.roughly_transformed(indices, E)])
    expected = np.einsum("kim,ij->kmj", F[indices], E)
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert (np.abs(transformed - expected) <= 1e-10 * scale).all()


def hard_terms(n_pairs):
    """Return terms of vectors with n = 12 rows of very different sizes, and 78 unknowns."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((n_pairs, 12, 1)) * np.geomspace(1e-2, 1.0, 12)[:, None]
    problem = MetricProblem.from_differences(F, np.ones(n_pairs), 1.0, 1.0)
    springs = np.full(n_pairs, 1e4 / n_pairs)
    return ActiveTerms(problem, np.eye(12), np.arange(n_pairs), np.zeros(n_pairs), springs), rng


@pytest.mark.parametrize(("n_pairs", "expected"), [(15, False), (19, False), (20, True), (2000, True)])
def test_preconditioner_needs_a_quarter_as_many_pairs_as_unknowns(n_pairs, expected, monkeypatch):
    applied = []
    apply = GaussianPreconditioner.apply
    monkeypatch.setattr(GaussianPreconditioner, "apply", lambda self, matrix: applied.append(1) or apply(self, matrix))
    monkeypatch.setattr(iterative, "_PLAIN_ITERATIONS", 4)
    terms, rng = hard_terms(n_pairs)
    r = rng.standard_normal(78)
    system = IterativeSystem(terms, accuracy=1e-6)
    assert not system.preconditioned, "the first iterations do without"
    system.solve(r)
    assert system.preconditioned == bool(applied) == expected
    again = IterativeSystem(terms, accuracy=1e-6, preconditioned=True)
    assert again.preconditioned == expected


def test_easy_systems_do_without_the_preconditioner():
    terms, rng = hard_terms(2000)
    easy = ActiveTerms(terms.problem, terms.C, terms.active, terms.forces, 1e-6 * terms.springs)
    system = IterativeSystem(easy, accuracy=1e-6)
    system.solve(rng.standard_normal(78))
    assert not system.preconditioned


def test_newton_begins_its_next_step_with_the_preconditioner(monkeypatch):
    """Once a step needed it, the systems of later steps use it from their first iteration on."""
    given = []

    def chosen(terms, memory, iterative, preconditioned):
        given.append(preconditioned)
        return IterativeSystem(terms, preconditioned=preconditioned)

    monkeypatch.setattr(newton, "choose_system", chosen)
    rng = np.random.default_rng(0)
    F = rng.standard_normal((600, 8, 1)) * np.geomspace(1e-2, 1.0, 8)[:, None]
    problem = MetricProblem.from_differences(F, np.where(rng.random(600) < 0.5, 1, -1), 0.3, 20.0)
    assert solve(problem, Newton(), tol=1e-6).status is Status.SOLVED
    assert not given[0] and True in given


def test_conjugate_gradients_transform_small_differences_once(monkeypatch):
    """An iteration then needs neither the differences nor products with C."""
    monkeypatch.setattr(PairSums, "hessian_product", lambda *_: pytest.fail("the differences were used"))
    terms, rng = hard_terms(40)
    r = rng.standard_normal(78)
    for products in (TransformedPairs, TransformedExamples, choose_products):
        accurate(products)(terms).solve(r)
    with pytest.raises(pytest.fail.Exception, match="differences"):
        accurate(OriginalPairs)(terms).solve(r)


def products_for(n, m, examples, K, near=False):
    """Return the sums over pairs that conjugate gradients use, and what either way to transform costs."""
    rng = np.random.default_rng(0)
    embedded = rng.standard_normal((examples, n, m))
    pairs = (np.arange(K)[:, None] + [0, 1]) % examples
    if near:
        embedded[1] = embedded[0] * (1.0 + 1e-9)
    problem = MetricProblem(embedded, pairs, np.ones(K), 1.0, 1.0)
    terms = ActiveTerms(problem, np.eye(n), np.arange(K), np.ones(K), np.ones(K))
    return type(choose_products(terms)), pair_work(terms), example_work(terms)


def test_examples_are_transformed_if_there_are_fewer_of_them_than_pairs(monkeypatch):
    kind, by_pairs, by_examples = products_for(40, 1, 20, 400)
    assert kind is TransformedExamples and by_examples < by_pairs
    kind, by_pairs, by_examples = products_for(40, 1, 400, 400)
    assert kind is TransformedPairs and by_examples > by_pairs
    assert products_for(10, 10, 20, 60)[0] is OriginalPairs, "the lower triangles are kept"
    kind, _, by_examples = products_for(40, 1, 20, 400, near=True)
    assert kind is TransformedPairs and by_examples == np.inf, "images of nearly equal examples may not be subtracted"
    monkeypatch.setattr("covmetric.solvers.systems.products.KEPT_BYTES", 8 * 20 * 40 - 1)
    assert products_for(40, 1, 20, 400)[0] is OriginalPairs, "neither array is small"
    monkeypatch.setattr("covmetric.solvers.systems.products.KEPT_BYTES", 8 * 20 * 40)
    assert products_for(40, 1, 20, 400)[0] is TransformedExamples
