"""The rounding error of coordinates in a basis, against exact arithmetic on the whole problem."""

from __future__ import annotations

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import MetricProblem, Status, solve
from covmetric.problem import PairSums, reduce_to_basis
from covmetric.problem import span as span_module
from covmetric.problem.coordinates import CoordinateError
from tests.exact import exact_dual, exact_gap, exact_gap_at, exact_metric, exact_primal
from tests.problems import SLACKS


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(span_module, "SPAN_ROWS", 1)


def hostile_problem(seed):
    """Return a problem of at most 8 rows and 3 examples, with scales, bounds and weights over many decades."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(4, 9)), int(rng.integers(1, 3))
    examples = rng.standard_normal((3 if m == 1 else 2, n, m))
    if seed % 2:
        examples *= 10.0 ** rng.uniform(-4, 4, (n, 1))
    if seed % 3 == 1:  # the directions of the differences are nearly the same
        examples[1:] = examples[1] + 10.0 ** -rng.uniform(2, 5) * rng.standard_normal(examples[1:].shape)
    examples *= 10.0 ** rng.uniform(-3, 3)
    pairs = [[0, 1], [0, 2], [1, 2]] if m == 1 else [[0, 1], [1, 0]]
    similar = rng.choice([-1.0, 1.0], len(pairs))
    squared = np.array([((examples[i] - examples[j]) ** 2).sum() for i, j in pairs])
    bounds = squared * 10.0 ** rng.uniform(-6, 3, len(pairs))
    return MetricProblem(examples, pairs, similar, bounds, 10.0 ** rng.uniform(-2, 5, len(pairs)), SLACKS[seed % 3])


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("solver", ["newton", "dykstra"])
@pytest.mark.parametrize("seed", range(60))
def test_certificate_bounds_the_gap_of_the_whole_problem(seed, solver):
    problem = hostile_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, solver, max_iter=200, random_state=0)
    assert result.basis is not None
    gap = exact_gap_at(problem, exact_metric(result), result.multipliers)
    assert gap <= result.certificate.bound
    if result.status is Status.SOLVED:
        assert gap <= 1e-6 * max(1.0, abs(result.certificate.primal))


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("seed", [seed for seed in range(60) if seed % 6 in (0, 2)])
def test_dense_metric_of_a_moderate_problem_has_the_certificate_too(seed):
    """The entries of the dense W are rounded, which matters only if W is ill-conditioned."""
    problem = hostile_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, "newton")
    condition = np.linalg.cond(result.core)
    stored = 100.0 * 2.0**-53 * condition * max(1.0, abs(result.certificate.primal))
    assert exact_gap(problem, result) <= result.certificate.bound + stored
    dense = problem.certify(result.W, result.multipliers)
    assert abs(dense.gap - result.certificate.gap) <= dense.rounding + result.certificate.rounding + stored


def tilted(size, seed=0):
    """Return a problem, an orthonormal basis of its span, and a core with eigenvalues from 1e-3 to 1e3."""
    rng = np.random.default_rng(seed)
    examples = rng.standard_normal((4, size, 1))
    problem = MetricProblem(
        examples, [[0, 1], [0, 2], [0, 3], [1, 2]], [1, -1, 1, -1], [1e-3, 1e5, 2e-3, 2e5], 1.0, "l2"
    )
    Q = np.linalg.qr(np.hstack([examples[i] - examples[0] for i in (1, 2, 3)]))[0]
    U = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    V = (U * [1e-3, 1.0, 1e3]) @ U.T
    return problem, Q, 0.5 * (V + V.T), rng


def perturbed(kind, problem, Q, rng):
    """Return a basis and the problem in its coordinates, with an error of 1e-9 in one of them."""
    if kind == "not orthogonal":
        Q = Q @ (np.eye(3) + 1e-9 * rng.standard_normal((3, 3)))
    elif kind == "not of unit length":
        Q = Q * (1.0 + 1e-9)
    elif kind == "not in the span":
        Q = np.linalg.qr(Q + 1e-9 * rng.standard_normal(Q.shape))[0]
    reduced = reduce_to_basis(problem, Q).problem
    if kind == "wrong coordinates":
        errors = 1e-9 * rng.standard_normal(reduced.sums.rows.shape)
        norms = np.linalg.norm(errors, axis=(1, 2)) + reduced.sums.coordinates.examples
        error = CoordinateError(norms, reduced.sums.coordinates.orthogonality)
        reduced = reduced.with_sums(PairSums(reduced.sums.rows + errors, problem.pairs, error))
    return Q, reduced


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["not orthogonal", "not of unit length", "not in the span", "wrong coordinates"])
def test_errors_of_basis_and_coordinates_are_bounded(kind, seed, monkeypatch):
    """They move P and g by more than the rounding errors, unless they are orthogonal to the span."""
    monkeypatch.setattr(span_module, "_RELATIVE_ERROR", 1.0)
    problem, Q, V, rng = tilted(6, seed)
    Q, reduced = perturbed(kind, problem, Q, rng)
    plain = reduced.with_sums(PairSums(reduced.sums.rows, problem.pairs))
    alpha = np.array([2e2, 1e-3, 3e2, 1e-3])
    with np.errstate(all="ignore"):
        primal, plain_primal = (p._primal.point(V, 1e-15) for p in (reduced, plain))
        dual, plain_dual = (p._dual.point(alpha, 1e-15) for p in (reduced, plain))
    W = exact_metric(SimpleNamespace(basis=Q, core=V))
    for point, without, exact in (
        (primal, plain_primal, exact_primal(problem, W)),
        (dual, plain_dual, exact_dual(problem, alpha)),
    ):
        error = abs(point.value - exact)
        assert error <= point.rounding < 1e-3 * max(1.0, abs(point.value))
        assert (error > 2.0 * without.rounding) is (kind != "not in the span")


@pytest.mark.parametrize("seed", range(3))
def test_error_of_trace_and_determinant_is_bounded(seed, monkeypatch):
    """All bounds hold, so that P consists of the trace and the determinant of W."""
    monkeypatch.setattr(span_module, "_RELATIVE_ERROR", 1.0)
    problem, Q, V, _ = tilted(6, seed)
    problem = problem.replace(keep=[0, 2], bounds=1e9)
    Q, reduced = perturbed("not of unit length", problem, Q, None)
    with np.errstate(all="ignore"):
        point = reduced._primal.point(V, 1.0)
    error = abs(point.value - exact_primal(problem, exact_metric(SimpleNamespace(basis=Q, core=V))))
    assert 1e-6 < error <= point.rounding < 1e-5


def test_pickled_problems_keep_the_error_of_their_coordinates():
    problem, Q, V, _ = tilted(6)
    reduced = reduce_to_basis(problem, Q).problem
    again = pickle.loads(pickle.dumps(reduced))
    assert again.certify(V) == reduced.certify(V)
    assert again.certify(V).rounding > reduced.with_sums(PairSums(reduced.sums.rows, problem.pairs)).certify(V).rounding
    fewer = reduced.replace(keep=[0, 2])
    assert fewer.sums.coordinates is reduced.sums.coordinates


def test_bounds_are_the_documented_formulas():
    rng = np.random.default_rng(0)
    examples, delta = np.array([1e-9, 2e-9, 4e-9]), 3e-9
    error = CoordinateError(examples, delta)
    pairs = np.array([[0, 1], [1, 2]])
    epsilon = np.array([3e-9, 6e-9])
    np.testing.assert_allclose(error.deviations(pairs), epsilon)
    A = rng.standard_normal((4, 4))
    V = A @ A.T + 0.01 * np.eye(4)
    f = rng.standard_normal((2, 4))
    b, alpha = np.array([2.0, 0.1]), np.array([0.5, 7.0])
    d = np.einsum("ki,ij,kj->k", f, V, f)
    norms = (f**2).sum(axis=1)
    eta = epsilon + delta * np.sqrt(norms)
    v = np.linalg.norm(V)
    expected = (2.0 * eta * np.sqrt(v * d) + v * eta**2 + delta * norms) / b
    np.testing.assert_allclose(error.ratio_shift(V, d / b, b, norms, pairs), expected, rtol=1e-12)
    inverse = np.linalg.inv(np.linalg.cholesky(V))
    expected = delta * (v + 2.0 * 2.0 + np.trace(np.linalg.inv(V)))
    assert error.primal_error(V, inverse) == pytest.approx(expected, rel=1e-9)
    gram = np.einsum("k,ki,kj->ij", alpha, f, f)
    expected = delta * (2.0 + v) + 2.0 * np.sqrt(v * (alpha @ epsilon**2) * (alpha @ d)) + v * (alpha @ epsilon**2)
    assert error.dual_error(V, float(alpha @ error.deviations(pairs) ** 2), gram) == pytest.approx(expected, rel=1e-9)
    # Outside of the span, the metric is the identity: its largest eigenvalue is at least 1.
    small = error.ratio_shift(1e-6 * V, 1e-6 * d / b, b, norms, pairs)
    expected = (2.0 * eta * np.sqrt(1e-6 * d) + eta**2 + delta * norms) / b
    np.testing.assert_allclose(small, expected, rtol=1e-12)


def test_errors_beyond_the_reach_of_first_order_bounds_are_infinite():
    error = CoordinateError(np.array([0.1, 0.1]), 0.0)
    pairs = np.array([[0, 1]])
    assert error.dual_error(np.eye(2), float(error.deviations(pairs)[0] ** 2), np.eye(2)) == np.inf
    assert CoordinateError(np.zeros(2), 0.02).primal_error(np.eye(2), np.eye(2)) == np.inf
    assert np.isfinite(CoordinateError(np.zeros(2), 0.01).primal_error(np.eye(2), np.eye(2)))
