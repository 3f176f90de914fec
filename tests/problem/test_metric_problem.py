"""MetricProblem: the objective and its dual against the literal formulas, and bad input case by case."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric import MetricProblem
from tests import naive
from tests.problems import random_problem


def feasible_multipliers(problem, seed=0):
    """Random multipliers well inside the dual domain."""
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(0, 0.3, problem.n_pairs) * problem.weights / problem.bounds
    alpha *= rng.random(problem.n_pairs) < 0.7
    A = naive.matrices(problem)
    smallest = np.linalg.eigvalsh(np.einsum("k,kij->ij", problem.similar * alpha, A))[0]
    return alpha / max(1.0, -2.0 * smallest)


def random_metric(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T / n + 0.1 * np.eye(n)


@pytest.mark.parametrize("seed", range(18))
def test_objectives_match_the_formulas(seed):
    problem = random_problem(seed)
    W, alpha = random_metric(problem.n, seed), feasible_multipliers(problem, seed)
    assert problem.primal(W) == pytest.approx(naive.primal(problem, W), rel=1e-11)
    assert problem.dual(alpha) == pytest.approx(naive.dual(problem, alpha), rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(problem.metric(alpha), naive.metric(problem, alpha), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(18))
def test_slacks_are_the_best_for_the_metric(seed):
    """Any other feasible slack costs more: the reduced primal is the primal with these."""
    problem = random_problem(seed)
    W = random_metric(problem.n, seed)
    s = np.einsum("kij,ij->k", naive.matrices(problem), W) / problem.bounds
    xi = problem.slacks(W)
    assert (problem.similar * s <= problem.similar * xi * (1 + 1e-12) + 1e-12).all()
    feasible = np.where(problem.similar > 0, np.maximum(s, 1.0), np.minimum(s, 1.0))
    np.testing.assert_allclose(xi, feasible, rtol=1e-12)


@given(seed=st.integers(0, 62), scale=st.floats(1e-3, 1e3))
def test_weak_duality(seed, scale):
    problem = random_problem(seed)
    W = scale * random_metric(problem.n, seed)
    certificate = problem.certify(W, feasible_multipliers(problem, seed))
    assert certificate.gap >= -certificate.rounding


def test_chunks_do_not_change_the_sums(monkeypatch):
    problem = random_problem(8)
    W, alpha = random_metric(problem.n), feasible_multipliers(problem)
    whole = problem.primal(W), problem.dual(alpha)
    monkeypatch.setattr("covmetric.problem.sums.CHUNK_BYTES", 1)
    assert (problem.primal(W), problem.dual(alpha)) == pytest.approx(whole, rel=1e-13)


def test_from_differences_is_the_same_problem():
    problem = random_problem(5)
    i, j = problem.pairs.T
    F = problem.embedded[i] - problem.embedded[j]
    other = MetricProblem.from_differences(F, problem.similar, problem.bounds, problem.weights, problem.slack)
    W, alpha = random_metric(problem.n), feasible_multipliers(problem)
    assert other.primal(W) == pytest.approx(problem.primal(W), rel=1e-13)
    assert other.dual(alpha) == pytest.approx(problem.dual(alpha), rel=1e-12)


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


def test_scalars_lists_and_read_only_arrays():
    embedded = np.arange(12.0).reshape(3, 2, 2) ** 1.5
    embedded.flags.writeable = False
    a = MetricProblem(embedded, [[0, 1], [1, 2]], [1, -1], 2.0, 3)
    b = MetricProblem(embedded.tolist(), np.array([[0, 1], [1, 2]], np.int32), [1.0, -1.0], [2.0, 2.0], [3.0, 3.0])
    assert a.primal(np.eye(2)) == b.primal(np.eye(2))
    c = MetricProblem(embedded.astype(np.float32), [[0, 1], [1, 2]], [1, -1], 2.0, 3)
    assert c.embedded.dtype == np.float64


def test_arrays_of_the_user_stay_as_they_are_and_the_problem_cannot_be_written():
    embedded, pairs = np.random.default_rng(0).standard_normal((3, 2, 2)), np.array([[0, 1]])
    similar, bounds, weights = np.ones(1), np.ones(1), np.ones(1)
    problem = MetricProblem(embedded, pairs, similar, bounds, weights)
    for array in (embedded, pairs, similar, bounds, weights):
        assert array.flags.writeable
    before = problem.primal(np.eye(2))
    for array in (embedded, pairs, similar, bounds, weights):
        array[:] = 0
    assert problem.primal(np.eye(2)) == before, "the problem holds copies"
    for array in (problem.embedded, problem.pairs, problem.similar, problem.bounds, problem.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_repr_counts_the_pairs():
    assert repr(random_problem(0)).startswith("MetricProblem(n=4, m=1, pairs=32 (")


GOOD = {
    "embedded": np.random.default_rng(0).standard_normal((4, 3, 2)),
    "pairs": np.array([[0, 1], [1, 2], [2, 3]]),
    "similar": np.array([1, -1, 1]),
    "bounds": 1.0,
    "weights": 1.0,
}
NAN = GOOD["embedded"].copy()
NAN[2, 1, 0] = np.nan
TWINS = GOOD["embedded"].copy()
TWINS[2] = TWINS[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"embedded": NAN}, r"embedded\[2, 1, 0\] is nan"),
        ({"embedded": np.where(np.isnan(NAN), np.inf, NAN)}, r"embedded\[2, 1, 0\] is inf"),
        ({"embedded": np.ones((4, 3))}, r"embedded must have shape \(l, n, m\).*got \(4, 3\)"),
        ({"embedded": np.ones((4, 0, 2))}, r"embedded must have shape \(l, n, m\) with n, m >= 1"),
        ({"embedded": "text"}, r"embedded must be an array of numbers"),
        ({"embedded": [[[1.0]], [[1.0, 2.0]]]}, r"embedded must be an array of numbers, all of one shape"),
        ({"embedded": GOOD["embedded"] * 1j}, r"embedded must be real, got complex128"),
        ({"embedded": GOOD["embedded"] * 1e200}, r"pair 0 \(0, 1\) is too far from its bound.*rescale"),
        ({"pairs": np.array([[0, 1], [1, 4], [2, 3]])}, r"pairs\[1, 1\] is 4: it must be in 0..3"),
        ({"pairs": np.array([[0, 1], [1, 2], [-1, 3]])}, r"pairs\[2, 0\] is -1: it must be in 0..3"),
        ({"pairs": np.array([[0.0, 1.0]])}, r"pairs must be integers.*float64"),
        ({"pairs": np.array([0, 1])}, r"pairs must have shape \(K, 2\), got \(2,\)"),
        ({"pairs": np.zeros((0, 2), int)}, r"pairs is empty"),
        ({"pairs": []}, r"pairs is empty"),
        ({"similar": [1, -1]}, r"similar must have one entry per pair, shape \(3,\); got \(2,\)"),
        ({"similar": [1, 0, 1]}, r"similar\[1\] is 0.0: every entry must be \+1 \(near\) or -1 \(far\)"),
        ({"similar": [1, 2, 1]}, r"similar\[1\] is 2.0"),
        ({"similar": [1, np.nan, 1]}, r"similar\[1\] is nan"),
        ({"bounds": 0.0}, r"bounds must be positive, got 0.0"),
        ({"bounds": [1.0, -2.0, 1.0]}, r"bounds\[1\] is -2.0: every entry must be positive"),
        ({"bounds": [1.0, 1.0]}, r"bounds must be a scalar or have one entry per pair, shape \(3,\); got \(2,\)"),
        ({"bounds": np.nan}, r"bounds is nan"),
        ({"bounds": None}, r"bounds must be an array of numbers, got None"),
        ({"bounds": "1"}, r"bounds must be an array of numbers, got <U1"),
        ({"bounds": True}, r"bounds must be an array of numbers, got bool"),
        ({"bounds": np.datetime64("2020-01-01")}, r"bounds must be an array of numbers, got datetime64"),
        ({"bounds": np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])}, r"bounds has masked entries"),
        ({"bounds": 1e-200, "slack": "l2"}, r"pair 0 \(0, 1\) is too far from its bound.*bounds\[0\] = 1e-200"),
        ({"weights": -1}, r"weights must be positive, got -1.0"),
        ({"weights": [1.0, np.inf, 1.0]}, r"weights\[1\] is inf"),
        ({"slack": "kl"}, r"slack must be one of 'is', 'l2', 're'"),
        ({"embedded": TWINS}, r"pair 1 \(1, 2\) is dissimilar, but its examples are equal \(F = 0\).*'l2' or 're'"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        MetricProblem(**{**GOOD, **changes})


def test_bad_differences():
    with pytest.raises(ValueError, match=r"F must have shape \(K, n, m\)"):
        MetricProblem.from_differences(np.zeros((0, 2, 2)), [], 1.0, 1.0)
    with pytest.raises(ValueError, match=r"F\[0, 0, 0\] is nan"):
        MetricProblem.from_differences([[[np.nan]]], [1], 1.0, 1.0)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.eye(2), r"W must have shape \(3, 3\), got \(2, 2\)"),
        (np.diag([1.0, 1.0, -1.0]), r"W must be positive definite; its smallest eigenvalue is -1"),
        (np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]]), r"W is not symmetric"),
        (np.full((3, 3), np.nan), r"W\[0, 0\] is nan"),
    ],
)
def test_bad_metric(W, message):
    with pytest.raises(ValueError, match=message):
        MetricProblem(**GOOD).certify(W)


def test_primal_of_a_singular_metric_is_infinite():
    assert MetricProblem(**GOOD).primal(np.diag([1.0, 1.0, 0.0])) == np.inf


def test_bad_multipliers():
    problem = MetricProblem(**GOOD)
    with pytest.raises(ValueError, match=r"multipliers must have one entry per pair, shape \(3,\); got \(2,\)"):
        problem.dual(np.zeros(2))
    with pytest.raises(ValueError, match=r"multipliers\[1\] is nan"):
        problem.certify(None, [0, np.nan, 0])
    with pytest.raises(ValueError, match="W and multipliers are both None"):
        problem.certify()


@pytest.mark.parametrize(
    "alpha",
    [[-1.0, 0.0, 0.0], [0.0, 1e9, 0.0], [2.0, 0.0, 0.0]],
    ids=["negative", "I + S not positive definite", "t beyond 1"],
)
def test_infeasible_multipliers(alpha):
    problem = MetricProblem(**GOOD)
    assert problem.dual(alpha) == -np.inf
    with pytest.raises(ValueError, match="multipliers are not dual feasible"):
        problem.metric(alpha)
    assert np.isfinite(problem.certify(None, alpha).gap)
