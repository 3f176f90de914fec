"""The rounding bound of values that are corrected for the residual of the factor, against docs/theory/rounding.md.

A factor that is off by far more than rounding makes every term of the bound large enough to be seen, and the correction
has to make up for it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from covmetric import MetricProblem
from tests import naive
from tests.exact import exact_dual, exact_primal
from tests.problems import SLACKS

U = 2.0**-53
SMALL = 1e-15  # a tolerance for which working precision is not enough


def literal_logdet_rounding(factor, x):
    """Return the bound for 2 sum log L_ii + sum log(1 + x_i), without its share of the last sums."""
    n = len(factor)
    condition = np.linalg.norm(factor) * np.linalg.norm(np.linalg.inv(factor))
    return (2 * n + 6) * U * condition * np.sum(np.abs(x)), 2.0 * np.sum(np.abs(np.log(np.diag(factor))))


def literal_shift(n, m, trace, norm, s):
    """Return the bound on the error of s = ||L^T F||^2 + <A, E>; `norm` is ||F||^2 / b."""
    noise = (n + 3) * U * np.sqrt(trace * norm)
    squares = (m * n + 6) * U * s
    residual = (n + m * n + 4) * (n + 1) * U**2 * trace * norm
    return squares + 2.0 * noise * np.sqrt(s) + noise**2 + residual


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("x", [[0.25, -0.125, 0.5], [-0.25, 0.125, -0.375]], ids=["upwards", "downwards"])
def test_corrected_primal_rounding_is_the_documented_bound(x, slack):
    """All entries are small dyadic numbers, so that W = L (I + X) L^T is exact."""
    n, m = 3, 1
    L = np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 0.5, 0.25]])
    W = L @ np.diag(1.0 + np.array(x)) @ L.T
    F = np.array([[[1.0], [0.5], [0.0]], [[0.0], [1.0], [-2.0]], [[1.0], [0.0], [0.0]]])
    problem = MetricProblem.from_differences(F, [1, -1, 1], [0.5, 64.0, 1e3], [0.25, 0.5, 1.0], slack)
    with np.errstate(all="ignore"):
        point = problem._primal._accurate(W, L, np.linalg.inv(L))
    total, logs = literal_logdet_rounding(L, x)
    losses = 0.0
    for k in range(2):  # the third pair is inactive
        b, c, d = problem.bounds[k], problem.weights[k], naive.divergence(problem.slack)
        s = (F[k].T @ W @ F[k]).item() / b
        slope = abs(naive.gradient(problem.slack)(s))
        total += c * slope * literal_shift(n, m, np.trace(W), np.sum(F[k] ** 2) / b, s)
        total += 8.0 * U * c * (d(s) + slope * s)
        losses += c * d(s)
    total += 192.0 * U * losses
    total += U * ((n + 4) * (logs + np.trace(W) + n) + 4.0 * (abs(np.sum(np.log1p(x))) + losses))
    assert point.rounding == pytest.approx(total, rel=1e-6, abs=0.0)
    assert point.value == pytest.approx(exact_primal(problem, W), rel=0.0, abs=point.rounding)
    np.testing.assert_allclose(point.ratios * problem.bounds, np.einsum("kia,ij,kja->k", F, W, F), rtol=1e-14)


def test_second_order_terms_bound_a_distance_that_is_almost_zero():
    """The squared distance is 2^-97 of tr W ||F||^2: of the size of the squared error of L^T F, and above its bound.

    The loss of slack 'is' is -log s for a small s, so that its bound shows the terms of order u^2.
    """
    n, m, t = 3, 1, 2.0**-48
    W = np.diag([t**2, 1.0, 1.0])
    problem = MetricProblem.from_differences([[[1.0], [0.0], [0.0]]], [-1], 1.0, 1.0, "is")
    with np.errstate(all="ignore"):
        point = problem._primal.point(W, SMALL)
    shift = literal_shift(n, m, 2.0, 1.0, t**2)
    assert 0.5 * t**2 < shift < 0.8 * t**2
    assert point.ratios[0] == t**2
    assert point.rounding == pytest.approx(-np.log1p(-shift / t**2), rel=1e-6, abs=0.0)


def test_a_squared_distance_that_rounding_makes_negative_counts_as_zero():
    """Each square underflows to zero, and the correction <A, E>, summed row by row, to the smallest negative number."""
    n = 25
    v = np.full(n, np.sqrt(0.5 / n))
    v[0] = np.sqrt(0.5 + 0.5 / n)
    W = np.eye(n) - 0.45 * np.outer(v, v)
    problem = MetricProblem.from_differences([np.full((n, 1), 0.7 * 2.0**-537)], [1], 1e-300, 1.0, "l2")
    assert problem.sums.squared_distances(np.eye(n))[0] == 0.0
    assert problem.sums.inner_products(W - np.eye(n))[0] < 0.0
    with np.errstate(all="ignore"):
        point = problem._primal._accurate(W, np.eye(n), np.eye(n))
    assert point.ratios[0] == 0.0


@pytest.mark.parametrize(("x", "used"), [(-0.45, True), (-0.55, False), (-1.0, False), (-1.5, False)])
def test_a_primal_factor_that_is_twice_too_large_is_not_used(x, used):
    """log(1 + x) has a slope of more than 2 there, and W may be indefinite."""
    problem = MetricProblem.from_differences([[[1.0], [0.0]]], [1], 0.25, 1.0, "l2")
    W = np.diag([1.0 + x, 1.0])
    with np.errstate(all="ignore"):
        point = problem._primal._accurate(W, np.eye(2), np.eye(2))
    assert (point is not None) == used
    if used:
        assert point.value == pytest.approx(exact_primal(problem, W), rel=0.0, abs=point.rounding)


@pytest.mark.parametrize(("smallest", "used"), [(2.0**-46, True), (2.0**-52, False)])
def test_a_primal_correction_beyond_first_order_is_not_used(smallest, used):
    """The correction itself is off by (2n+6) u cond(L) sum |x|, which has to be below a tenth."""
    problem = MetricProblem.from_differences([[[1.0], [0.0]]], [1], 0.25, 1.0, "l2")
    L = np.diag([1.0, smallest])
    W = 1.25 * L**2
    with np.errstate(all="ignore"):
        point = problem._primal._accurate(W, L, np.diag([1.0, 1.0 / smallest]))
    assert (point is not None) == used
    if used:
        assert point.rounding == pytest.approx(10.0 * U * 0.5 / smallest, rel=1e-3, abs=0.0)


def perturbed_factor(F, alpha, off):
    """Return the upper triangular factor of I + alpha F F^T, for n = 2, with its second pivot multiplied by `off`."""
    (a,), (b,) = F
    first = np.sqrt(1.0 + alpha * a * a)
    return np.array([[first, alpha * a * b / first], [0.0, off * np.sqrt(1.0 + alpha * (a * a + b * b)) / first]])


def exact_spectrum(F, alpha, R):
    """Return the eigenvalues of R^-T (I + alpha F F^T) R^-1 - I, for n = 2, from its exact entries."""
    (a,), (b,) = ([Fraction(float(v)) for v in row] for row in F)
    p, q, r = (Fraction(float(v)) for v in (R[0, 0], R[0, 1], R[1, 1]))
    v = Fraction(alpha)
    # E = I + S - R^T R, and R^-1 = [[1/p, -q/(p r)], [0, 1/r]].
    e, f, g = 1 + v * a * a - p * p, v * a * b - p * q, 1 + v * b * b - q * q - r * r
    x11, x12 = e / p**2, (f - q * e / p) / (p * r)
    x22 = (g - 2 * q * f / p + q * q * e / p**2) / r**2
    return np.linalg.eigvalsh(np.array([[float(x11), float(x12)], [float(x12), float(x22)]]))


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("size", "off"), [(1.0, 0.9), (1.0, 1.1), (2.0**25, 1.0 + 2.0**-14)])
def test_corrected_dual_rounding_is_the_documented_bound(size, off, sign, slack, monkeypatch):
    """The last case has a sum in two doubles of 2^50 beside the identity; QR may return rows of either sign."""
    n, alpha = 2, 0.75
    F = size * np.array([[0.75], [1.25]])
    problem = MetricProblem.from_differences([F], [1], 0.5, 2.0, slack)
    R = perturbed_factor(F, alpha, off)
    monkeypatch.setattr(problem.sums, "triangular_factor", lambda _: np.array([[1.0], [sign]]) * R)
    with np.errstate(all="ignore"):
        point = problem._dual.point(np.array([alpha]), SMALL)
    x = exact_spectrum(F, alpha, R)
    total, logs = literal_logdet_rounding(R, x)
    spread = np.abs(np.linalg.inv(R)).T @ np.sqrt(1.0 + alpha * F[:, 0] ** 2)
    total += 2.0**-98 * np.sum(spread**2)  # the sum in two doubles
    t = alpha * 0.5 / 2.0
    h, xi = naive.conjugate(problem.slack)(t), naive.xi(problem.slack)(t)
    total += U * (200.0 * 2.0 * abs(h) + 12.0 * 2.0 * t * xi)
    total += U * ((n + 4) * logs + 4.0 * (abs(np.sum(np.log1p(x))) + 2.0 * abs(h)))
    assert point.rounding == pytest.approx(total, rel=1e-6, abs=0.0)
    assert point.value == pytest.approx(exact_dual(problem, [alpha]), rel=0.0, abs=point.rounding)


@pytest.mark.parametrize(("off", "used"), [(0.8, True), (1.3, True), (1.5, False), (3.0, False)])
def test_a_dual_factor_that_is_twice_too_large_is_not_used(off, used, monkeypatch):
    """x = off^-2 - 1 is below -1/2 for a pivot that is off by more than sqrt(2)."""
    problem = MetricProblem.from_differences([[[0.75], [1.25]]], [1], 0.5, 2.0, "l2")
    R = perturbed_factor([[0.75], [1.25]], 0.75, off)
    monkeypatch.setattr(problem.sums, "triangular_factor", lambda _: R)
    with np.errstate(all="ignore"):
        point = problem._dual.point(np.array([0.75]), SMALL)
    assert (point is not None) == used
    if used:
        assert point.value == pytest.approx(exact_dual(problem, [0.75]), rel=0.0, abs=point.rounding)


def test_multipliers_whose_sum_in_two_doubles_is_too_coarse_are_not_used(monkeypatch):
    """Beside 2^102, an identity is below the resolution of two doubles, so that I + S may be anything."""
    problem = MetricProblem.from_differences([[[2.0**51], [2.0**51]]], [1], 1.0, 2.0, "l2")
    R = np.array([[2.0**51, 2.0**51], [0.0, np.sqrt(2.0)]])
    monkeypatch.setattr(problem.sums, "triangular_factor", lambda _: R)
    with np.errstate(all="ignore"):
        assert problem._dual.point(np.array([1.0]), SMALL) is None


@pytest.mark.parametrize("pivot", [0.0, 1e-170, np.inf, np.nan])
@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("similar", [[1, 1], [1, -1]])
def test_a_dual_factor_that_cannot_be_inverted_is_not_used(similar, index, pivot, monkeypatch):
    """QR returns such a factor for numbers beyond the range of doubles; eigenvalues of NaN may be zeros, or raise."""
    F = [[[0.75], [1.25], [0.5]], [[0.5], [0.0], [0.25]]]
    problem = MetricProblem.from_differences(F, similar, 0.5, 2.0, "l2")
    R = np.array([[1.0, 0.25, 0.5], [0.0, 1.0, 0.25], [0.0, 0.0, 1.0]])
    R[index, index] = pivot
    monkeypatch.setattr(problem.sums, "triangular_factor", lambda _: R.copy())
    with np.errstate(all="ignore"):
        assert problem._dual.point(np.array([0.75, 0.25]), SMALL) is None


@pytest.mark.parametrize("size", [1e100, 1e150, 1e154])
@pytest.mark.parametrize("alpha", [1.0, 1e-10, 1e-155])
@pytest.mark.parametrize("similar", [1, -1])
def test_sums_near_overflow_have_no_dual_point(similar, alpha, size):
    problem = MetricProblem.from_differences([[[size], [0.5 * size]]], [similar], 1e300, 1.0, "l2")
    with np.errstate(all="ignore"):
        assert problem._dual.point(np.array([alpha]), SMALL) is None
    certificate = problem.certify(None, [alpha])
    assert certificate.rounding >= 0.0
    assert np.isfinite(certificate.dual)


@pytest.mark.parametrize("pivot", [1e-170, 1e-320])
def test_a_primal_factor_that_cannot_be_inverted_is_not_used(pivot):
    problem = MetricProblem.from_differences([[[1.0], [0.0]]], [1], 0.25, 1.0, "l2")
    L = np.diag([1.0, pivot])
    with np.errstate(all="ignore"):
        assert problem._primal._accurate(np.eye(2), L, np.diag(1.0 / L.diagonal())) is None
