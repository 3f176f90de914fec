"""The bound on the rounding error of a certificate, term by term, against the formulas in docs/theory/rounding.md.

The literal bounds below share no code with the library; a term that is dropped or scaled changes the comparison.
"""

from __future__ import annotations

import dataclasses
import warnings
from contextlib import suppress
from decimal import Decimal, localcontext

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, Dykstra, MetricProblem, Status, solve
from tests import naive
from tests.exact import divergence, exact_dual, exact_primal
from tests.problems import SLACKS, problem_seeds, random_problem

U = 2.0**-53
COARSE = 1.0  # a tolerance for which working precision is enough


def random_metric(n, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, 2 * n))
    W = A @ A.T / (2 * n) + 0.1 * np.eye(n)
    return 0.5 * (W + W.T)


def literal_primal_rounding(problem, W):
    """Return the bound for the objective in working precision."""
    n, m = problem.n, problem.m
    length = n * (n + 1) // 2 + m if problem.sums.lower_triangles() is not None else n + m * n
    L = np.linalg.cholesky(W)
    w = np.sqrt(np.diag(W))
    total = (n + 1) * U * np.sum((np.abs(np.linalg.inv(L)) @ w) ** 2)  # the Cholesky factor
    losses = 0.0
    for k, A in enumerate(naive.matrices(problem)):
        y, b, c = problem.similar[k], problem.bounds[k], problem.weights[k]
        s, shift = np.sum(A * W) / b, (length + 4) * U * np.trace(W) * np.trace(A) / b
        d = naive.divergence(problem.slack)

        def loss(ratio, y=y, d=d):
            return d(ratio) if y * (ratio - 1.0) > 0.0 else 0.0

        slope = abs(naive.gradient(problem.slack)(s)) if s > 0.0 else 0.0
        if y * (s - 1.0) > shift and shift < 1e-3 * s:  # the change to second order, of which the first is enough here
            assert shift < 1e-9 * s
            total += c * slope * shift
        else:
            total += c * max(abs(loss(s + shift) - loss(s)), abs(loss(max(s - shift, 0.0)) - loss(s)))
        if loss(s) > 0.0:
            total += c * 8.0 * U * (loss(s) + slope * s)  # the evaluation of d
        losses += c * loss(s)
    total += 192.0 * U * losses  # the sum over the pairs
    logs = 2.0 * np.sum(np.abs(np.log(np.diag(L))))
    return total + U * ((n + 4) * (logs + np.trace(W) + n) + 4.0 * losses)  # the sums of log det, of tr W, of P


def literal_dual_rounding(problem, alpha):
    """Return the bound for the dual objective in working precision."""
    n, m, K = problem.n, problem.m, problem.n_pairs
    chunk = max(1, 2**19 // (8 * m * n))
    kept = problem.sums.lower_triangles() is not None
    length = min(K, 1024) + -(-K // 1024) + m if kept else m * min(K, chunk) + -(-K // chunk) + 2
    A = naive.matrices(problem)
    size = np.sqrt(1.0 + sum(a * np.diag(M) for a, M in zip(alpha, A, strict=True)))
    H = np.eye(n) + sum(y * a * M for y, a, M in zip(problem.similar, alpha, A, strict=True))
    R = np.linalg.cholesky(H).T
    total = (length + n + 8) * U * np.sum((np.abs(np.linalg.inv(R)).T @ size) ** 2)  # I + S and its factor
    t = problem.similar * alpha * problem.bounds / problem.weights
    h = np.array([naive.conjugate(problem.slack)(x) for x in t])
    xi = np.array([naive.xi(problem.slack)(x) for x in t])
    total += 200.0 * U * np.sum(problem.weights * np.abs(h))  # the evaluation of h and the sum over the pairs
    total += 12.0 * U * np.sum(problem.weights * np.abs(t) * xi)  # t itself
    logs = 2.0 * np.sum(np.abs(np.log(np.diag(R))))
    return total + U * ((n + 4) * logs + 4.0 * abs(np.sum(problem.weights * h)))  # the sums of log det and of g


@pytest.mark.parametrize("seed", problem_seeds(9))
def test_primal_rounding_is_the_documented_bound(seed):
    problem = random_problem(seed)
    W = random_metric(problem.n, seed)
    with np.errstate(all="ignore"):
        point = problem._primal.point(W, COARSE)
    # A pair of equal examples makes the library subtract losses of all pairs, which leaves two digits of their change.
    rel = 1e-6 if problem.squared_norms.all() else 0.03
    assert point.rounding == pytest.approx(literal_primal_rounding(problem, W), rel=rel, abs=0.0)
    assert abs(point.value - float(exact_primal(problem, W))) <= point.rounding


@pytest.mark.parametrize("n", [2, 5, 9])
def test_primal_rounding_without_losses_is_that_of_the_factor_and_the_sums(n):
    """All bounds hold, so that only log det and tr W are left."""
    W = random_metric(n, n)
    problem = MetricProblem.from_differences(np.ones((3, n, 2)), [1, 1, 1], 1e6, 1.0)
    with np.errstate(all="ignore"):
        point = problem._primal.point(W, COARSE)
    assert point.rounding == pytest.approx(literal_primal_rounding(problem, W), rel=1e-9, abs=0.0)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("w", [0.3, 2.0])
def test_primal_rounding_at_a_multiple_of_the_identity(w, slack):
    """The ratios are then w ||F||^2 / b, without a sum over the entries of W."""
    n, m = 3, 2
    F = np.random.default_rng(0).standard_normal((4, n, m))
    problem = MetricProblem.from_differences(F, [1, -1, 1, -1], [1e-3, 1e3, 2e-3, 2e3], 1e4, slack)
    with np.errstate(all="ignore"):
        point = problem._primal.point(w * np.eye(n), COARSE)
    total = (n + 1) * U * n
    losses = 0.0
    for k, A in enumerate(naive.matrices(problem)):
        s = w * np.trace(A) / problem.bounds[k]
        d, slope = naive.divergence(problem.slack)(s), abs(naive.gradient(problem.slack)(s))
        total += 1e4 * (slope * (m * n + 6) * U * s + 8.0 * U * (d + slope * s))
        losses += 1e4 * d
    total += 192.0 * U * losses + U * ((n + 4) * (n * abs(np.log(w)) + w * n + n) + 4.0 * losses)
    assert point.rounding == pytest.approx(total, rel=1e-6, abs=0.0)


def test_a_pair_that_may_be_active_has_the_bound_of_its_loss():
    """The computed ratios are 1, and wrong by up to 1e-3."""
    W = np.array([[1.0, 1.0 - 2.0**-40], [1.0 - 2.0**-40, 1.0]])
    problem = MetricProblem.from_differences([[[1.0], [-1.0]]] * 2, [1, -1], 2.0**-39, [1.0, 3.0], "l2")
    with np.errstate(all="ignore"):
        point = problem._primal.point(W, COARSE)
    np.testing.assert_array_equal(point.ratios, [1.0, 1.0])
    assert point.rounding == pytest.approx(literal_primal_rounding(problem, W), rel=1e-6, abs=0.0)
    without = problem.replace(bounds=[1.0, 2.0**-60])  # far from both bounds
    with np.errstate(all="ignore"):
        assert point.rounding > without._primal.point(W, COARSE).rounding + 1e-7


def test_a_primal_factor_beyond_first_order_is_corrected():
    """The first-order bound of log det is 0.6, which the tolerance would allow; with the residual it is tiny."""
    n = 4
    W = np.eye(n)
    W[0, 1] = W[1, 0] = 1.0 - 2.0**-49
    problem = MetricProblem.from_differences(np.ones((1, n, 1)), [1], 1e6, 1.0)
    with np.errstate(all="ignore"):
        point = problem._primal.point(W, COARSE)
    assert 0.1 < literal_primal_rounding(problem, W) < 0.1 * COARSE * abs(point.value)
    assert abs(point.value - exact_primal(problem, W)) <= point.rounding < 1e-6


@pytest.mark.parametrize("slack", SLACKS)
def test_a_dual_sum_beyond_first_order_is_corrected(slack):
    """Two multipliers of 2^46 cancel to 0.5; the first-order bound is 0.1, which the tolerance would allow."""
    alpha = np.array([2.0**46, 2.0**46 - 0.5])
    problem = MetricProblem.from_differences([[[1.0]], [[1.0]]], [1, -1], 100.0 * 0.5 / alpha, 100.0, slack)
    with np.errstate(all="ignore"):
        point = problem._dual.point(alpha, COARSE)
    assert 0.1 < literal_dual_rounding(problem, alpha) < 0.1 * COARSE * abs(point.value)
    assert abs(point.value - exact_dual(problem, alpha)) <= point.rounding < 1e-6


@pytest.mark.parametrize("tol", [1e-9, 1e-14])
def test_the_tolerance_of_both_values_is_relative(tol):
    """Working precision is enough for a rounding error below a tenth of the tolerance, relative to a large value."""
    problem = MetricProblem.from_differences([[[1.0], [2.0]]], [1], 1.0, 1e6, "l2")
    W, alpha = np.diag([1.0, 2.0]), np.array([1e6])
    with np.errstate(all="ignore"):
        primal, dual = problem._primal.point(W, tol), problem._dual.point(alpha, tol)
    quick = tol == 1e-9
    for point, literal in (
        (primal, literal_primal_rounding(problem, W)),
        (dual, literal_dual_rounding(problem, alpha)),
    ):
        assert 0.1 * tol < literal and (literal < 0.1 * tol * abs(point.value)) == quick
        assert (point.rounding == pytest.approx(literal, rel=1e-6, abs=0.0)) == quick


@pytest.mark.parametrize("seed", problem_seeds(9))
def test_dual_rounding_is_the_documented_bound(seed):
    problem = random_problem(seed)
    alpha = 0.5 * solve(problem, "newton", tol=1e-4).multipliers
    if seed != 4:  # its only pair is inactive
        assert (alpha > 0.0).any()
    with np.errstate(all="ignore"):
        point = problem._dual.point(alpha, COARSE)
    assert point.rounding == pytest.approx(literal_dual_rounding(problem, alpha), rel=1e-6, abs=0.0)
    assert abs(point.value - float(exact_dual(problem, alpha))) <= point.rounding


@pytest.mark.parametrize("slack", SLACKS)
def test_certificate_adds_the_two_bounds_and_the_subtraction(slack):
    problem = MetricProblem.from_differences(np.eye(3)[:, :, None] * 2.0, [1, -1, 1], 1.0, 3.0, slack)
    W, alpha = np.diag([0.4, 0.3, 0.2]), np.array([0.2, 0.1, 0.3])
    got = problem.certify(W, alpha, COARSE)
    with np.errstate(all="ignore"):
        parts = problem._primal.point(W, COARSE).rounding + problem._dual.repaired(alpha, COARSE).rounding
    assert got.rounding == parts + U * abs(got.gap)
    assert got.distance_factor[1] > got.distance_factor[0]


def test_a_negative_gap_does_not_reduce_the_rounding(monkeypatch):
    problem = MetricProblem.from_differences(np.eye(3)[:, :, None] * 2.0, [1, -1, 1], 1.0, 3.0, "l2")
    W, alpha = np.diag([0.4, 0.3, 0.2]), np.array([0.2, 0.1, 0.3])
    with np.errstate(all="ignore"):
        primal, dual = problem._primal.point(W, COARSE), problem._dual.repaired(alpha, COARSE)
    lower = dataclasses.replace(primal, value=dual.value - 1e3)
    monkeypatch.setattr(problem._primal, "point", lambda *_: lower)
    got = problem.certify(W, alpha, COARSE)
    assert got.gap == pytest.approx(-1e3)
    assert got.rounding == primal.rounding + dual.rounding + U * abs(got.gap)
    assert not got.solved


@pytest.mark.parametrize("slack", SLACKS)
def test_small_tolerances_sum_in_two_doubles(slack):
    """The corrected point is closer to the exact value than the bound of the quick one, and bounds its own error."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((6, 4, 2)) * np.array([1e3, 1.0, 1.0, 1e-2])[:, None]
    problem = MetricProblem.from_differences(F, [1, -1, 1, -1, 1, -1], 1e3, 5.0, slack)
    W = random_metric(4, 0)
    with np.errstate(all="ignore"):
        quick, accurate = (problem._primal.point(W, tol) for tol in (COARSE, 1e-15))
    exact = float(exact_primal(problem, W))
    assert accurate.rounding < quick.rounding
    assert abs(accurate.value - exact) <= accurate.rounding
    assert abs(quick.value - exact) <= quick.rounding


def loss_of(problem, s, shift):
    """Return the loss of the one pair of a problem at a ratio, and its error if `shift` bounds that of the ratio."""
    losses = problem._primal._loss_sum(np.array([s]), np.array([shift]))
    return losses.value, losses.error


@pytest.mark.parametrize("slack", SLACKS)
def test_a_distance_that_may_be_zero_has_the_bound_of_its_loss_there(slack):
    """With slack 'is' a dissimilar pair at distance zero costs infinitely much, so no finite bound exists."""
    problem = MetricProblem.from_differences([[[1.0], [1.0]]], [-1], 1.0, 2.0, slack)
    with np.errstate(all="ignore"):
        loss, error = loss_of(problem, 1e-3, 2e-3)
        at_zero = float(problem.slack.divergence(np.zeros(1))[0])
    assert loss == pytest.approx(2.0 * naive.divergence(problem.slack)(1e-3))
    assert error == np.inf if np.isinf(at_zero) else error >= 2.0 * at_zero - loss


def exact_loss(problem, s):
    with localcontext() as context:
        context.prec = 60
        return divergence(problem.slack)(s)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize(("similar", "s"), [(1, 1.5), (1, 40.0), (-1, 0.7), (-1, 1e-6), (-1, 1e-99)])
@pytest.mark.parametrize("relative", [0.9e-3, 1.1e-3])
def test_the_error_of_a_loss_covers_both_ends_of_its_ratio(relative, similar, s, slack):
    """The change is expanded to second order below a shift of 1e-3 s, and evaluated at both ends above."""
    problem = MetricProblem.from_differences([[[1.0]]], [similar], 1.0, 2.0, slack)
    shift = relative * s
    with np.errstate(all="ignore"):
        loss, error = loss_of(problem, s, shift)
    exact = [exact_loss(problem, Decimal(s) + sign * Decimal(shift)) for sign in (-1, 0, 1)]
    deviation = 2.0 * float(max(abs(exact[0] - exact[1]), abs(exact[2] - exact[1])))
    assert loss == pytest.approx(2.0 * float(exact[1]), rel=1e-12)
    assert deviation <= error <= 1.002 * deviation + 500 * U * (loss + 2.0 * deviation / relative)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("similar", [1, -1])
def test_an_inactive_pair_that_may_be_active_costs_nothing(similar, slack):
    """Its loss is zero, and its error is the loss at the end of its range, without a term for its evaluation."""
    problem = MetricProblem.from_differences([[[1.0]]], [similar], 1.0, 2.0, slack)
    shift = 1e-6
    s = 1.0 - similar * 0.5 * shift
    with np.errstate(all="ignore"):
        loss, error = loss_of(problem, s, shift)
    assert loss == 0.0
    end = exact_loss(problem, Decimal(s) + similar * Decimal(shift))
    assert error == pytest.approx(2.0 * float(end), rel=1e-3, abs=1e-16)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("s", [1e-101, 1e-160, 1e-300, 5e-324])
@pytest.mark.parametrize("relative", [0.0, 1e-6, 0.5, 2.0])
def test_the_error_of_a_loss_near_underflow_is_never_nan(relative, s, slack):
    problem = MetricProblem.from_differences([[[1.0]]], [-1], 1.0, 2.0, slack)
    with np.errstate(all="ignore"):
        _, error = loss_of(problem, s, relative * s)
    assert error >= 0.0


@pytest.mark.parametrize("slack", SLACKS)
def test_a_similar_pair_at_distance_zero_has_the_bound_of_its_loss_at_the_shift(slack):
    """The slope of the loss may be infinite at zero, but the pair is inactive there."""
    problem = MetricProblem.from_differences([[[1.0]]], [1], 1.0, 2.0, slack)
    with np.errstate(all="ignore"):
        loss, error = loss_of(problem, 0.0, 3.0)
    assert loss == 0.0
    assert error == pytest.approx(2.0 * naive.divergence(problem.slack)(3.0), rel=1e-12)


def rough_point(seed, scale):
    """Return a problem, a metric and multipliers with numbers over many decades."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((problem.n, problem.n)) * 10.0 ** rng.uniform(-scale, scale, (problem.n, 1))
    alpha = 10.0 ** rng.uniform(-scale, scale, problem.n_pairs) * problem.weights / problem.bounds
    return problem, A @ A.T, alpha


@pytest.mark.parametrize("scale", [1.0, 4.0, 30.0, 150.0])
@pytest.mark.parametrize("seed", problem_seeds(18))
def test_rounding_is_never_negative_or_nan(seed, scale):
    problem, W, alpha = rough_point(seed, scale)
    certificates = [problem.certify(None, alpha)]
    with suppress(ValueError):  # W may be too close to singular
        certificates.append(problem.certify(W, alpha))
    assert len(certificates) == 2 or scale > 1.0
    for certificate in certificates:
        assert certificate.rounding >= 0.0
        assert certificate.gap >= -certificate.rounding
        assert str(certificate)


def test_a_metric_with_a_zero_eigenvalue_in_floating_point_is_not_solved():
    """The reproduction of a false proof: a rounding error of -622 and negative squared distances."""
    v = np.array([[0.1], [-1.1]])
    problem = MetricProblem.from_differences([v * 1e8, v * 2e4], [1, -1], [1e-5, 1.0], [300.0, 1e7], "re")
    with pytest.warns(match="NUMERICAL_ERROR"):
        result = solve(problem, Dykstra("cyclic"))
    assert result.status is Status.NUMERICAL_ERROR
    assert result.certificate.rounding >= 0.0
    assert (problem.squared_distances(result.W) >= 0.0).all()


@pytest.mark.parametrize("slack", SLACKS)
def test_examples_that_nearly_coincide_have_a_finite_rounding_error(slack):
    examples = np.array([[[1.0], [0.0]], [[1.0], [1e-100]], [[0.0], [0.0]]])
    problem = MetricProblem(examples, [[0, 1], [0, 2]], [-1, 1], 1.0, 1.0, slack)
    certificate = problem.certify(np.diag([0.5, 2.0]))
    assert np.isfinite(certificate.rounding) and certificate.rounding >= 0.0
    assert "above the optimum" in str(certificate)


@pytest.mark.parametrize("slack", SLACKS)
def test_a_classifier_of_examples_that_nearly_coincide_prints_and_saves(slack, tmp_path):
    """Two examples of different classes differ by 1e-100."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3)) + np.repeat([[0.0], [2.0]], 6, axis=0)
    X[6] = X[0] = 0.0
    X[6, 0] = 1e-100
    y = np.repeat([0, 1], 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CovMetricClassifier(CovMetric(phi="vector", slack=slack)).fit(X, y)
    certificate = model.learner_.result_.certificate
    assert certificate.rounding >= 0.0
    assert "above the optimum" in str(certificate)
    path = tmp_path / "model.npz"
    model.save(path)
    again = CovMetricClassifier.load(path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
