"""The reduction to the span of the differences: the same problem in fewer coordinates."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from covmetric import MetricProblem, solve
from covmetric.problem import basis as basis_module
from covmetric.problem import expand, reduce_to_basis, reduce_to_span
from covmetric.problem import span as span_module
from covmetric.problem.basis import find_basis
from covmetric.problem.centring import centre
from tests import naive
from tests.problems import SLACKS


@pytest.fixture
def any_size(monkeypatch):
    """Reduce problems of any size."""
    monkeypatch.setattr(span_module, "SPAN_ROWS", 1)
    monkeypatch.setattr(span_module, "SPAN_MANY_ROWS", 1)


def thin_problem(n=40, n_examples=6, m=1, K=20, seed=0, slack="is", rank=None, offset=0.0):
    """Return a problem with random pairs of random examples, whose span has at most `rank` directions."""
    rng = np.random.default_rng(seed)
    examples = rng.standard_normal((n_examples, n, m))
    if rank is not None:
        examples = rng.standard_normal((n, rank)) @ rng.standard_normal((n_examples, rank, m)) / np.sqrt(rank)
    examples += offset * rng.standard_normal((n, m))
    pairs = np.array([rng.choice(n_examples, 2, replace=False) for _ in range(K)])
    similar = np.where(np.arange(K) % 2, -1.0, 1.0)
    return MetricProblem(examples, pairs, similar, n * m * rng.uniform(1.0, 3.0, K), 50.0 / K, slack)


def random_core(r, seed=0):
    A = np.random.default_rng(seed).standard_normal((r, 2 * r))
    V = A @ A.T / (2 * r) + 0.1 * np.eye(r)
    return 0.5 * (V + V.T)


def span_dimension(problem):
    """Return the rank of all differences side by side."""
    return np.linalg.matrix_rank(np.hstack([problem.embedded[i] - problem.embedded[j] for i, j in problem.pairs]))


SHAPES = [
    pytest.param({}, id="few vectors"),
    pytest.param({"m": 3}, id="few matrices"),
    pytest.param({"n_examples": 30, "rank": 4}, id="nearly dependent vectors"),
    pytest.param({"n_examples": 60, "K": 80, "rank": 7}, id="many vectors"),
    pytest.param({"n_examples": 60, "K": 80, "m": 5, "rank": 9}, id="many matrices"),
    pytest.param({"offset": 1e3}, id="far from the origin"),
]


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("shape", SHAPES)
def test_basis_is_orthonormal_and_spans_the_differences(shape):
    problem = thin_problem(**shape)
    reduction = reduce_to_span(problem)
    Q, r = reduction.basis, span_dimension(problem)
    assert Q.shape == (problem.n, r)
    assert reduction.problem.n == r
    np.testing.assert_allclose(Q.T @ Q, np.eye(r), atol=1e-12)
    for k, (i, j) in enumerate(problem.pairs):
        F, f = problem.embedded[i] - problem.embedded[j], reduction.problem.embedded[i] - reduction.problem.embedded[j]
        np.testing.assert_allclose(Q @ f, F, atol=1e-11 * np.sqrt(problem.squared_norms[k]))


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_both_problems_have_the_same_objective_dual_and_metric(shape, slack):
    problem = thin_problem(**shape, slack=slack)
    reduction = reduce_to_span(problem)
    V = random_core(reduction.problem.n)
    W = expand(reduction.basis, V)
    assert reduction.problem.primal(V) == pytest.approx(problem.primal(W), rel=1e-9)
    np.testing.assert_allclose(reduction.problem.squared_distances(V), problem.squared_distances(W), rtol=1e-9)
    alpha = 1e-3 * np.random.default_rng(0).random(problem.n_pairs)
    assert reduction.problem.dual(alpha) == pytest.approx(problem.dual(alpha), rel=1e-9)
    assert np.isfinite(problem.dual(alpha))
    np.testing.assert_allclose(
        expand(reduction.basis, reduction.problem.metric(alpha)), problem.metric(alpha), atol=1e-10
    )


def test_expanded_matrix_is_the_identity_outside_of_the_span():
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((7, 3)))[0]
    V = random_core(3)
    W = expand(Q, V)
    np.testing.assert_allclose(W, np.eye(7) - Q @ Q.T + Q @ V @ Q.T, atol=1e-14)
    np.testing.assert_array_equal(W, W.T)


@pytest.mark.usefixtures("any_size")
def test_examples_without_pairs_do_not_extend_the_span():
    problem = thin_problem(n_examples=12)
    few = problem.replace(keep=[0, 1])
    assert reduce_to_span(few).problem.n == 2
    unused = np.setdiff1d(np.arange(12), few.pairs)
    np.testing.assert_array_equal(reduce_to_span(few).problem.embedded[unused], 0.0)


@pytest.mark.usefixtures("any_size")
def test_components_of_the_pairs_have_separate_references():
    """Four examples in two pairs span two directions, however far apart the pairs are."""
    examples = np.random.default_rng(0).standard_normal((4, 9, 1))
    examples[2:] += 1e9
    problem = MetricProblem(examples, [[0, 1], [2, 3]], [1, -1], 1.0, 1.0)
    reduction = reduce_to_span(problem)
    assert reduction.problem.n == 2
    np.testing.assert_allclose(reduction.problem.squared_norms, problem.squared_norms, rtol=1e-12)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("seed", range(5))
def test_equal_examples_have_equal_coordinates(seed):
    """Otherwise, a dissimilar pair of equal examples would have a squared distance to enlarge."""
    problem = thin_problem(n_examples=8, slack="l2", seed=seed)
    examples = problem.embedded.copy()
    # Example 3, in most pairs, is the reference.
    pairs = np.concatenate([problem.pairs, [[3, j] for j in (0, 1, 2, 4, 5, 6, 7)] * 4, [[0, 5], [5, 7]]])
    examples[5] = examples[7] = examples[0]
    whole = MetricProblem(examples, pairs, -np.ones(len(pairs)), 80.0, 1.0, "l2")
    reduction = reduce_to_span(whole)
    np.testing.assert_array_equal(reduction.problem.squared_norms[-2:], 0.0)
    np.testing.assert_allclose(reduction.problem.squared_norms, whole.squared_norms, rtol=1e-12)
    assert reduction.problem.n == span_dimension(whole)
    np.testing.assert_array_equal(reduction.problem.terms.coincident, whole.terms.coincident)
    errors = reduction.problem.sums.coordinates.examples
    assert errors[0] == errors[5] == errors[7]
    assert not np.isin([5, 7], centre(whole).examples).any(), "their columns are not needed twice"


@pytest.mark.usefixtures("any_size")
def test_differences_of_given_vectors_keep_all_their_digits():
    """The origin is the reference of all pairs, so that small and large differences have the same relative error."""
    F = np.random.default_rng(0).standard_normal((5, 9, 1)) * 10.0 ** np.arange(-100, 150, 50)[:, None, None]
    problem = MetricProblem.from_differences(F, np.ones(5), (F**2).sum(axis=(1, 2)), 1.0)
    reduced = reduce_to_span(problem).problem
    np.testing.assert_allclose(reduced.squared_norms, problem.squared_norms, rtol=1e-13)
    deviations = reduced.sums.coordinates.deviations(problem.pairs)
    assert (deviations <= 1e-13 * np.sqrt(problem.squared_norms)).all()


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("small", [1e-8, 1e-12])
def test_differences_that_would_lose_digits_are_not_reduced(small):
    problem = thin_problem(n_examples=5)
    examples = problem.embedded.copy()
    examples[1] = examples[0] + small * examples[2]
    pairs = [[0, 1], [0, 2], [0, 3], [0, 4], [3, 4], [3, 1], [3, 2]]
    assert reduce_to_span(MetricProblem(examples, pairs, [1] * 7, 1.0, 1.0)) is None


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("scale", [1e-170, 1e-120, 1e120])
def test_extreme_scales_are_reduced_or_left_alone(scale):
    examples = scale * np.random.default_rng(0).standard_normal((3, 9, 1))
    problem = MetricProblem(examples, [[0, 1], [1, 2]], [1, 1], max(scale**2, 1e-300), 1.0)
    reduction = reduce_to_span(problem)
    if scale == 1e-170:  # all squared distances underflow
        assert reduction is None
    else:
        np.testing.assert_allclose(reduction.problem.squared_norms, problem.squared_norms, rtol=1e-12)


@pytest.mark.usefixtures("any_size")
def test_squared_distances_that_underflow_are_not_reduced():
    examples = np.zeros((4, 9, 1))
    examples[1, 0], examples[2, 1], examples[3, 2] = 1e-170, 1.0, 1.0
    assert reduce_to_span(MetricProblem(examples, [[0, 1], [0, 2], [0, 3]], [1, 1, 1], 1.0, 1.0)) is None


@pytest.mark.usefixtures("any_size")
def test_tiny_differences_from_the_reference_extend_the_span():
    """The square of the distance between examples 0 and 1 underflows, but these are not a pair."""
    examples = np.zeros((4, 9, 1))
    examples[1, 0], examples[2, 1], examples[3, 2] = 1e-163, 1e-150, 1e-150
    problem = MetricProblem(examples, [[0, 2], [0, 3], [3, 0], [1, 2]], [1, 1, 1, 1], 1e-300, 1.0)
    assert reduce_to_span(problem).problem.n == 3


@pytest.mark.usefixtures("any_size")
def test_rounding_of_the_measured_errors_is_included():
    """Sums of n products, and of r products, are added up without blocks here."""
    problem = thin_problem()
    (n, r), unit = reduce_to_span(problem).basis.shape, 2.0**-53
    error = reduce_to_basis(problem, reduce_to_span(problem).basis).problem.sums.coordinates
    assert (n + 2) * unit * r <= error.orthogonality <= 2.0 * (n + 2) * unit * r
    used = np.setdiff1d(problem.pairs, np.flatnonzero(error.examples == 0.0))
    norms = np.linalg.norm(reduce_to_span(problem).problem.embedded, axis=(1, 2))[used]
    expected = (r + 3) * unit * (1.0 + np.sqrt(r)) * norms
    assert (0.999 * expected <= error.examples[used]).all()
    assert (error.examples[used] <= 2.0 * expected).all()


@pytest.mark.usefixtures("any_size")
def test_a_span_of_nearly_all_directions_is_not_used():
    assert reduce_to_span(thin_problem(n=10, n_examples=10, K=60)).problem.n == 9
    assert reduce_to_span(thin_problem(n=10, n_examples=11, K=60)) is None
    assert reduce_to_span(thin_problem(n=20, n_examples=20, K=90)) is None
    assert reduce_to_span(thin_problem(n=20, n_examples=60, K=200, rank=19)) is None
    assert reduce_to_span(thin_problem(n=20, n_examples=60, K=200, rank=18)).problem.n == 18
    equal = MetricProblem(np.ones((3, 9, 1)), [[0, 1], [1, 2]], [1, 1], 1.0, 1.0)
    assert reduce_to_span(equal) is None


def test_small_problems_are_not_reduced():
    assert reduce_to_span(thin_problem(n=span_module.SPAN_ROWS - 1)) is None
    assert reduce_to_span(thin_problem(n=span_module.SPAN_ROWS)) is not None
    many = {"n_examples": 150, "K": 300, "rank": 5}
    assert reduce_to_span(thin_problem(n=span_module.SPAN_MANY_ROWS - 1, **many)) is None
    assert reduce_to_span(thin_problem(n=span_module.SPAN_MANY_ROWS, **many)).problem.n == 5


def test_a_sample_that_misses_directions_is_completed():
    """Some of the examples between those of the sample, at the beginning, have one more direction."""
    problem = thin_problem(n=150, n_examples=900, K=2000, rank=5)
    examples = problem.embedded.copy()
    examples[1:500:7] += 3.0 * np.eye(150)[:, :1]
    whole = MetricProblem(examples, problem.pairs, problem.similar, problem.bounds, problem.weights)
    reduction = reduce_to_span(whole)
    assert reduction.problem.n == 6
    np.testing.assert_allclose(reduction.problem.squared_norms, whole.squared_norms, rtol=1e-11)


def true_residuals(problem, reduction):
    """Return the distances of the examples, minus their references, from their coordinates, with 64 bits or more."""
    centring, Q = centre(problem), reduction.basis.astype(np.longdouble)
    rows = centring.rows.astype(np.longdouble)
    differences = rows[centring.examples] - rows[centring.references]
    coordinates = reduction.problem.sums.rows[centring.examples].astype(np.longdouble)
    return centring.examples, np.sqrt(((differences - coordinates @ Q.T) ** 2).sum(axis=(1, 2)))


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("correlated", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("m", [1, 2])
def test_errors_of_factor_coordinates_bound_the_true_ones(m, correlated):
    """The coordinates come from a Cholesky factor. They are worse for examples that are nearly dependent."""
    problem = thin_problem(n=200, n_examples=40, m=m, K=120)
    examples = (
        problem.embedded + correlated * np.random.default_rng(1).standard_normal((200, m)) * problem.embedded[:, :1]
    )
    problem = MetricProblem(examples, problem.pairs, problem.similar, problem.bounds, problem.weights)
    reduction = reduce_to_span(problem)
    assert find_basis(centre(problem)).given is not None
    chosen, true = true_residuals(problem, reduction)
    bounds = reduction.problem.sums.coordinates.examples[chosen]
    assert (true <= bounds).all()
    assert true.max() >= 1e-4 * bounds.max(), "the bounds are not far off"
    norms = np.linalg.norm(reduction.problem.embedded[chosen], axis=(1, 2))
    assert (bounds >= 2 * (reduction.problem.n + 2) * 2.0**-53 * norms).all(), "roundings of both products"


@pytest.mark.usefixtures("any_size")
def test_error_of_the_inverse_of_the_factor_is_included(monkeypatch):
    """An inverse with fewer digits gives a basis that spans other directions than the coordinates say."""
    exact = basis_module.lapack.dtrtri
    noise = 1.0 + 1e-13 * np.random.default_rng(0).standard_normal((5, 5))
    monkeypatch.setattr(basis_module.lapack, "dtrtri", lambda R: (exact(R)[0] * noise, 0))
    problem = thin_problem()
    reduction = reduce_to_span(problem)
    chosen, true = true_residuals(problem, reduction)
    bounds = reduction.problem.sums.coordinates.examples[chosen]
    assert true.max() > 1e-13
    assert (true <= bounds).all()


@pytest.mark.usefixtures("any_size")
def test_coordinates_are_measured_if_those_of_the_factor_are_not_accurate_enough(monkeypatch):
    problem = thin_problem()
    basis = find_basis(centre(problem))
    wrong = replace(basis.given, residuals=np.full_like(basis.given.residuals, 1e-3))
    monkeypatch.setattr(basis_module, "_factor_coordinates", lambda *_: wrong)
    reduction = reduce_to_span(problem)
    again = reduce_to_basis(problem, np.ascontiguousarray(reduction.basis))
    np.testing.assert_array_equal(again.problem.embedded, reduction.problem.embedded)
    np.testing.assert_array_equal(again.problem.sums.coordinates.examples, reduction.problem.sums.coordinates.examples)


@pytest.mark.usefixtures("any_size")
def test_given_basis_must_be_orthonormal_and_span_the_differences():
    problem = thin_problem()
    reduction = reduce_to_span(problem)
    Q = reduction.basis
    again = reduce_to_basis(problem, np.ascontiguousarray(Q))
    np.testing.assert_allclose(again.problem.embedded, reduction.problem.embedded, atol=1e-14)
    assert again.problem.sums.coordinates.orthogonality == reduction.problem.sums.coordinates.orthogonality
    outside = np.linalg.qr(np.hstack([Q, np.ones((len(Q), 1))]))[0][:, -1:]
    assert reduce_to_basis(problem, np.hstack([Q, outside])).problem.n == Q.shape[1] + 1
    assert reduce_to_basis(problem, np.hstack([Q, 2.0 * outside])) is None
    for wrong in (Q[:, 1:], 2.0 * Q, Q + 1e-8, Q * (1.0 + 1e-8), Q[1:], Q[:, :0], Q[:, 0], np.full_like(Q, np.nan)):
        assert reduce_to_basis(problem, wrong) is None


def test_reduction_builds_no_large_array():
    """An array of shape (n, n) takes 32 MB."""
    problem = thin_problem(n=2000, n_examples=20, K=50)
    solve(problem)  # imports take more memory
    tracemalloc.start()
    try:
        result = solve(problem)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.basis.shape == (2000, 19)
    assert peak < 8e6


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("slack", SLACKS)
def test_solution_is_that_of_the_literal_formulas(slack):
    problem = thin_problem(n=12, n_examples=4, K=8, slack=slack)
    result = solve(problem, "newton", tol=1e-10)
    assert result.basis is not None
    assert naive.primal(problem, result.W) == pytest.approx(result.certificate.primal, rel=1e-9)
    assert naive.dual(problem, result.multipliers) == pytest.approx(result.certificate.dual, rel=1e-9)


def test_examples_with_as_many_columns_as_rows_are_left_alone_at_once(monkeypatch):
    """Their differences span everything in general, unless there are many rows; no graph of the pairs is built."""
    monkeypatch.setattr(span_module, "centre", lambda problem: pytest.fail("the examples were centred"))
    n = span_module.SPAN_ROWS
    assert reduce_to_span(thin_problem(n=n, n_examples=2, m=n, K=2)) is None
    for rows, m in ((n, n - 1), (span_module.SPAN_MANY_ROWS, span_module.SPAN_MANY_ROWS)):
        with pytest.raises(pytest.fail.Exception, match="centred"):
            reduce_to_span(thin_problem(n=rows, n_examples=2, m=m, K=2))
