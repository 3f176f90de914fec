"""The contract of a slack divergence, for every entry of SLACKS. Everything is judged by the divergence alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from covmetric.slacks import SLACKS, get_slack
from covmetric.solvers.kernels.slack import compile_slack
from covmetric.tasks.card import setting_in_words

EPS = np.finfo(float).eps
S = np.geomspace(1e-6, 1e6, 41)
# Beyond any domain, for the scalar functions, which the root finder may call anywhere.
ANY_T = [-1e300, -1e9, -50.0, -1.0, -0.5, 0.0, 0.5, 1.0, 50.0, 1e9, 1e300]


@pytest.fixture(params=sorted(SLACKS))
def slack(request):
    return get_slack(request.param)


def t_values(slack):
    """Return dual variables inside the domain, away from its ends."""
    low, high = max(slack.t_min, -20.0), min(slack.t_max, 5.0)
    return np.linspace(low + 1e-3, high - 1e-3, 41)


def numerical_conjugate(slack, t):
    """Return the minimum over s >= 0 of d(s) - t s, from the divergence alone."""

    def lagrangian(s):
        with np.errstate(divide="ignore"):
            return float(slack.divergence(np.array(s))) - t * s

    grid = np.concatenate([[0.0], np.geomspace(1e-12, 1e12, 1001)])
    values = [lagrangian(s) for s in grid]
    best = int(np.argmin(values))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(lagrangian, bounds=bounds, method="bounded", options={"xatol": 1e-9 * bounds[1]})
    return min(found.fun, values[best])


def test_name_is_the_key_of_the_registry():
    assert all(cls.name == name for name, cls in SLACKS.items())


def test_title_is_shown_beside_the_name(slack):
    assert setting_in_words("slack", slack.name) == f"{slack.name} ({slack.title})"


def test_functions_keep_the_shape_and_are_finite(slack):
    s, t = np.abs(S).reshape(41, 1), t_values(slack).reshape(1, 41)
    for function, values in (
        (slack.divergence, s),
        (slack.gradient, s),
        (slack.curvature, s),
        (slack.xi, t),
        (slack.xi_prime, t),
        (slack.conjugate, t),
    ):
        before = values.copy()
        result = function(values)
        assert result.shape == values.shape
        assert result.dtype == np.float64
        assert np.isfinite(result).all()
        np.testing.assert_array_equal(values, before)


def test_divergence_is_zero_and_flat_at_one_and_positive_elsewhere(slack):
    one = np.ones(1)
    assert slack.divergence(one) == 0.0
    assert slack.gradient(one) == 0.0
    assert slack.scalar_gradient(1.0) == 0.0
    assert (slack.divergence(S[S != 1.0]) > 0.0).all()


def test_zero_multiplier_has_slack_one_and_costs_nothing(slack):
    zero = np.zeros(1)
    assert slack.t_min < 0.0 < slack.t_max
    assert slack.xi(zero) == 1.0
    assert slack.conjugate(zero) == 0.0


def test_divergence_is_convex(slack):
    assert (slack.curvature(S) > 0.0).all()
    assert (np.diff(slack.gradient(S)) > 0.0).all()
    s, r = np.meshgrid(S, S)
    middle = slack.divergence((s + r) / 2)
    chord = (slack.divergence(s) + slack.divergence(r)) / 2
    assert (middle <= chord + 1e-12 * (1.0 + chord)).all()


def test_derivatives_match_differences(slack):
    s, t = S[(S > 1e-3) & (S < 1e3)], t_values(slack)
    h = 1e-6 * s
    np.testing.assert_allclose(
        (slack.divergence(s + h) - slack.divergence(s - h)) / (2 * h), slack.gradient(s), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        (slack.gradient(s + h) - slack.gradient(s - h)) / (2 * h), slack.curvature(s), rtol=1e-6, atol=1e-6
    )
    h = 1e-7
    np.testing.assert_allclose((slack.xi(t + h) - slack.xi(t - h)) / (2 * h), slack.xi_prime(t), rtol=1e-5)
    np.testing.assert_allclose(
        (slack.conjugate(t + h) - slack.conjugate(t - h)) / (2 * h), -slack.xi(t), rtol=1e-6, atol=1e-8
    )


def test_domain_contains_the_gradient(slack):
    """Otherwise clipping to the domain would cut off optimal multipliers."""
    assert (slack.gradient(S) >= slack.t_min).all()
    assert (slack.gradient(S) <= slack.t_max).all()


def test_xi_inverts_the_gradient(slack):
    t = slack.gradient(S)
    # A rounding error of t changes xi by xi'(t) times the error.
    error = np.abs(slack.xi(t) - S)
    assert (error <= 1e-9 * S + 4.0 * EPS * np.maximum(np.abs(t), 1.0) * np.abs(slack.xi_prime(t))).all()
    np.testing.assert_allclose(slack.gradient(slack.xi(t_values(slack))), t_values(slack), rtol=1e-9, atol=1e-12)


def test_conjugate_is_the_minimum_of_the_lagrangian(slack):
    t = t_values(slack)
    expected = [numerical_conjugate(slack, x) for x in t]
    np.testing.assert_allclose(slack.conjugate(t), expected, rtol=1e-8, atol=1e-10)
    s = slack.xi(t)
    np.testing.assert_allclose(slack.divergence(s) - t * s, slack.conjugate(t), rtol=1e-9, atol=1e-12)


def test_conjugate_is_finite_up_to_the_ends_of_the_domain(slack):
    ends = np.array([max(slack.t_min, -1e6), min(slack.t_max, 1e6)])
    assert np.isfinite(slack.conjugate(ends)).all()
    assert (slack.xi(ends) >= 0.0).all() and np.isfinite(slack.xi(ends)).all()


def test_clipping_at_the_ends_of_the_domain_loses_nothing(slack):
    """Beyond t_min and t_max the dual is infinite or no better."""
    for end, sign in ((slack.t_min, -1.0), (slack.t_max, 1.0)):
        if not math.isfinite(end):
            continue
        beyond = end + sign * np.geomspace(1e-12, 100.0, 30)
        with np.errstate(all="ignore"):
            values = slack.conjugate(beyond)
        assert not (values[np.isfinite(values)] > slack.conjugate(np.array(end)) + 1e-12).any()


def test_cost_of_distance_zero(slack):
    """A dissimilar pair of equal examples: its cost is attained in the dual at a finite t, or infinite."""
    zero = np.zeros(1)
    with np.errstate(divide="ignore"):
        cost, t = slack.divergence(zero)[0], slack.gradient(zero)[0]
    assert slack.scalar_gradient(0.0) == t
    if np.isfinite(cost):
        assert cost == pytest.approx(slack.divergence(np.array([1e-300]))[0], rel=1e-12)
        assert slack.t_min <= t < 0.0
        assert slack.conjugate(np.array([t]))[0] == pytest.approx(cost, rel=1e-15)
    else:
        assert cost == np.inf and t == -np.inf
        assert slack.divergence(np.array([1e-300]))[0] > 100.0


def test_scalar_functions_equal_the_array_functions(slack):
    for t in t_values(slack):
        assert slack.scalar_xi(t) == pytest.approx(slack.xi(np.array(t)), rel=1e-14)
        assert slack.scalar_xi_prime(t) == pytest.approx(slack.xi_prime(np.array(t)), rel=1e-14)
    for s in S:
        assert slack.scalar_gradient(s) == pytest.approx(slack.gradient(np.array(s)), rel=1e-9, abs=1e-15)


def test_scalar_functions_never_fail(slack):
    xi = [slack.scalar_xi(t) for t in ANY_T]
    assert all(value >= 0.0 for value in xi)  # and not NaN
    assert xi == sorted(xi)
    assert all(slack.scalar_xi_prime(t) >= 0.0 for t in ANY_T)


def test_numba_compiles_the_scalar_functions(slack):
    compiled = compile_slack(slack)
    for t in [*t_values(slack), *ANY_T]:
        assert compiled.xi.ctypes(t) == pytest.approx(slack.scalar_xi(t), rel=1e-14)
        assert compiled.xi_prime.ctypes(t) == pytest.approx(slack.scalar_xi_prime(t), rel=1e-14)
    for s in [0.0, *S]:
        assert compiled.gradient.ctypes(s) == pytest.approx(slack.scalar_gradient(s), rel=1e-14)


def test_an_object_is_returned_unchanged(slack):
    assert get_slack(slack) is slack
