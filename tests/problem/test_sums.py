"""Sums over pairs match the literal sums, whether arrays are kept or computed by chunks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from covmetric import MetricProblem, make_paper_problem, solve
from covmetric.problem import PairSums, differences
from covmetric.problem.sums import is_multiple_of_identity, triangular_factor_of
from tests.problem.points import feasible_multipliers, random_metric
from tests.problems import random_problem


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (np.eye(3), True),
        (0.25 * np.eye(3), True),
        (-np.eye(2), True),
        (np.zeros((2, 2)), False),
        (np.diag([1.0, 1.0, 2.0]), False),
        (np.diag([1.0, 0.0]), False),
        (np.array([[1.0, 1e-300], [1e-300, 1.0]]), False),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), False),
        (np.array([[5.0]]), True),
    ],
)
def test_is_multiple_of_identity(matrix, expected):
    assert is_multiple_of_identity(matrix) == expected


def sums_and_matrices(m=3, K=20, n=4, examples=6, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((examples, m, n))
    pairs = np.stack([rng.integers(examples, size=K), rng.integers(examples, size=K)], axis=1)
    F = np.swapaxes(rows[pairs[:, 0]] - rows[pairs[:, 1]], 1, 2)
    return PairSums(rows, pairs), F, np.array([f @ f.T for f in F])


# How the differences are obtained: kept triangles, kept differences, or chunks of one, two or many pairs.
MODES = ["triangles", "differences", "one pair", "two pairs", "chunks"]


@pytest.fixture(params=MODES)
def mode(request, monkeypatch):
    if request.param != "triangles":
        monkeypatch.setattr(PairSums, "lower_triangles", lambda *_: None)
    if request.param not in ("triangles", "differences"):
        monkeypatch.setattr(differences, "KEPT_BYTES", 0)
    if request.param == "one pair":
        monkeypatch.setattr(differences, "CHUNK_BYTES", 1)
    if request.param == "two pairs":
        monkeypatch.setattr(differences, "CHUNK_BYTES", 2 * 8 * 3 * 4)
    return request.param


@pytest.mark.usefixtures("mode")
def test_every_sum_matches_the_literal_sum():
    sums, F, A = sums_and_matrices()
    rng = np.random.default_rng(1)
    E = rng.standard_normal((4, 4))
    E, C = E + E.T, rng.standard_normal((4, 4))
    weights = rng.standard_normal(20)
    weights[3] = 0.0
    chosen = np.array([7, 2, 11, 2])
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(sums.squared_norms(), (F**2).sum(axis=(1, 2)), **close)
    np.testing.assert_allclose(sums.squared_distances(C), np.einsum("kij,ij->k", A, C @ C.T), **close)
    np.testing.assert_allclose(sums.inner_products(E), np.einsum("kij,ij->k", A, E), **close)
    np.testing.assert_allclose(sums.inner_products(E, chosen), np.einsum("kij,ij->k", A[chosen], E), **close)
    positive = np.maximum(weights, 0.0)
    np.testing.assert_allclose(sums.gram(weights), np.einsum("k,kij->ij", positive, A), **close)
    plus, minus = sums.signed_grams(weights)
    np.testing.assert_allclose(plus, np.einsum("k,kij->ij", positive, A), **close)
    np.testing.assert_allclose(minus, np.einsum("k,kij->ij", positive - weights, A), **close)
    transformed = C.T @ np.einsum("k,kij->ij", positive, A) @ C
    np.testing.assert_allclose(sums.gram(weights, C), transformed, **close)
    np.testing.assert_allclose(sums.weighted_sum(weights), np.einsum("k,kij->ij", weights, A), **close)
    hessian = np.einsum("k,kab,ab,kij->ij", weights[chosen], A[chosen], E, A[chosen])
    np.testing.assert_allclose(sums.hessian_product(E, weights[chosen], chosen), hessian, **close)
    R = sums.triangular_factor(weights)
    np.testing.assert_allclose(R.T @ R, np.eye(4) + np.einsum("k,kij->ij", positive, A), **close)
    np.testing.assert_array_equal(R, np.triu(R))


def test_lower_triangles_are_kept_up_to_a_size():
    sums, _, A = sums_and_matrices()
    size = 8 * 20 * 10
    assert sums.lower_triangles(size - 1) is None
    triangles = sums.lower_triangles(size)
    np.testing.assert_allclose(triangles, A[:, *np.tril_indices(4)], rtol=1e-13, atol=1e-13)
    assert sums.lower_triangles(0) is triangles, "kept"
    with pytest.raises(ValueError, match="read-only"):
        triangles[0] = 0.0


def test_lower_triangles_are_not_used_for_vectors():
    sums, _, _ = sums_and_matrices(m=1)
    assert sums.lower_triangles() is None
    assert sums_and_matrices(m=2)[0].lower_triangles() is not None


def test_large_triangles_are_released_by_the_last_user(monkeypatch):
    sums, _, _ = sums_and_matrices()
    size = 8 * 20 * 10
    monkeypatch.setattr(differences, "KEPT_BYTES", size - 1)
    with sums.in_use():
        with sums.in_use():
            assert sums.lower_triangles(size) is not None
        assert sums.lower_triangles(0) is not None, "the outer user still needs them"
    assert sums.lower_triangles(0) is None
    monkeypatch.setattr(differences, "KEPT_BYTES", size)
    with sums.in_use():
        sums.lower_triangles(size)
    assert sums.lower_triangles(0) is not None, "small ones stay"


def test_large_triangles_are_released_after_an_error(monkeypatch):
    sums, _, _ = sums_and_matrices()
    monkeypatch.setattr(differences, "KEPT_BYTES", 0)
    with pytest.raises(np.linalg.LinAlgError), sums.in_use():
        np.linalg.inv(np.zeros_like(sums.lower_triangles(1e9)[:4, :4]))
    assert sums.lower_triangles(0) is None


def test_chunks_do_not_change_the_objectives(monkeypatch):
    problem = random_problem(8)
    W, alpha = random_metric(problem.n), feasible_multipliers(problem)
    whole = problem.primal(W), problem.dual(alpha)
    monkeypatch.setattr("covmetric.problem.differences.CHUNK_BYTES", 1)
    assert (problem.primal(W), problem.dual(alpha)) == pytest.approx(whole, rel=1e-13)


def test_memory_does_not_hold_K_matrices():
    """10^5 pairs of 20 x 20 matrices would be 320 MB as differences."""
    import tracemalloc

    rng = np.random.default_rng(0)
    embedded = rng.standard_normal((200, 20, 20))
    pairs = rng.integers(200, size=(100_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    similar = rng.choice([-1, 1], len(pairs))
    tracemalloc.start()
    problem = MetricProblem(embedded, pairs, similar, 400.0, 1e-3)
    problem.certify(np.eye(20))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6


def test_pickles_leave_out_kept_arrays():
    problem = MetricProblem.from_differences(np.ones((5, 3000, 1)), [1, 1, 1, -1, -1], 3000.0, 1.0)
    assert len(pickle.dumps(problem)) < 1e6
    small = make_paper_problem(10, 50, 1e-2, 0)
    result = solve(small, "newton")
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(solve(again, "newton").W, result.W)


@pytest.mark.parametrize(
    ("m", "n", "K", "chunk", "inner_product", "gram"),
    [
        (1, 4, 5, 100, 4 + 4, 5 + 1 + 2),  # m = 1: differences, one chunk
        (1, 4, 5, 2, 4 + 4, 2 + 3 + 2),  # three chunks of at most two pairs
        (2, 3, 5, 2, 6 + 2, 5 + 1 + 2),  # m > 1: triangles, one block
        (2, 3, 2500, 2, 6 + 2, 1024 + 3 + 2),  # three blocks of at most 1,024 pairs
    ],
)
def test_lengths_count_the_roundings_of_the_longest_sum(m, n, K, chunk, inner_product, gram, monkeypatch):
    monkeypatch.setattr(differences, "CHUNK_BYTES", chunk * 8 * m * n)
    sums, *_ = sums_and_matrices(m=m, K=K, n=n)
    assert sums.inner_product_length == inner_product
    assert sums.gram_length == gram
    assert sums.norm_length == m * n + 2


@pytest.mark.parametrize("m", [2, 3])
def test_lengths_without_triangles_count_the_rows_of_a_chunk(m, monkeypatch):
    monkeypatch.setattr(PairSums, "lower_triangles", lambda *_: None)
    monkeypatch.setattr(differences, "CHUNK_BYTES", 3 * 8 * m * 4)
    sums, *_ = sums_and_matrices(m=m, K=10, n=4)
    assert sums.inner_product_length == 4 + m * 4
    assert sums.gram_length == 3 * m + 4 + 2


@pytest.mark.parametrize("shape", [(0, 3), (2, 3), (3, 3), (300, 200)])
def test_triangular_factor_has_the_gram_matrix_of_the_rows(shape, capfd):
    """LAPACK complains about matrices without rows, which blocks without similar pairs have, on the terminal."""
    M = np.random.default_rng(0).standard_normal(shape)
    R = triangular_factor_of(M)
    assert R.shape == (min(shape), shape[1])
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, M.T @ M, atol=1e-10)
    assert capfd.readouterr() == ("", "")
