"""The contract of a slack divergence; every entry of the registry meets it."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.slacks import SLACKS, get_slack
from tests import naive

S = np.geomspace(1e-6, 1e6, 41)


def t_values(slack):
    """t inside the domain, away from its ends."""
    low, high = max(slack.t_min, -20.0), min(slack.t_max, 5.0)
    return np.linspace(low + 1e-3, high - 1e-3, 41)


@pytest.fixture(params=sorted(SLACKS))
def slack(request):
    return get_slack(request.param)


def test_matches_the_formulas(slack):
    t = t_values(slack)
    np.testing.assert_allclose(
        slack.divergence(S), [naive.DIVERGENCE[slack.name](s) for s in S], rtol=1e-13, atol=1e-15
    )
    np.testing.assert_allclose(slack.gradient(S), [naive.GRADIENT[slack.name](s) for s in S], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(slack.xi(t), [naive.XI[slack.name](x) for x in t], rtol=1e-13)
    np.testing.assert_allclose(slack.xi_prime(t), [naive.XI_PRIME[slack.name](x) for x in t], rtol=1e-13)
    np.testing.assert_allclose(slack.conjugate(t), [naive.CONJUGATE[slack.name](x) for x in t], rtol=1e-12, atol=1e-15)


def test_divergence_is_zero_and_flat_at_one_and_positive_elsewhere(slack):
    one = np.ones(1)
    assert slack.divergence(one) == 0.0
    assert slack.gradient(one) == 0.0
    assert (slack.divergence(S[S != 1.0]) > 0.0).all()


def test_derivatives_by_differences(slack):
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


def test_xi_inverts_the_gradient(slack):
    np.testing.assert_allclose(slack.xi(slack.gradient(S)), S, rtol=1e-9)


def test_conjugate_is_the_minimum(slack):
    """h(t) = min over s of d(s) - t s: attained at xi(t), and never beaten on a grid."""
    t = t_values(slack)
    s = slack.xi(t)
    np.testing.assert_allclose(slack.divergence(s) - t * s, slack.conjugate(t), rtol=1e-9, atol=1e-12)
    grid = np.geomspace(1e-12, 1e12, 2000)[:, None]
    assert (slack.divergence(grid) - t * grid >= slack.conjugate(t) - 1e-9 * (1 + np.abs(slack.conjugate(t)))).all()


def test_scalars_are_the_same_functions(slack):
    for t in t_values(slack):
        assert slack.scalar_xi(t) == pytest.approx(slack.xi(np.array(t)), rel=1e-14)
        assert slack.scalar_xi_prime(t) == pytest.approx(slack.xi_prime(np.array(t)), rel=1e-14)
    for s in S:
        assert slack.scalar_gradient(s) == pytest.approx(slack.gradient(np.array(s)), rel=1e-9, abs=1e-15)


def test_reciprocal_of_xi_is_convex(slack):
    """What makes the kernel's root finder fast."""
    t = t_values(slack)
    second = np.diff(1.0 / slack.xi(t), 2)
    assert (second >= -1e-9 * np.abs(1.0 / slack.xi(t)).max()).all()


def test_price_of_distance_zero(slack):
    zero = np.zeros(1)
    with np.errstate(divide="ignore"):
        price = slack.divergence(zero)[0]
    assert price == {"is": np.inf, "l2": 0.5, "re": 1.0}[slack.name]
    if np.isfinite(price):
        t = slack.gradient(zero)
        assert slack.conjugate(t)[0] == price
        assert slack.scalar_gradient(0.0) == t[0]


def test_unknown_name():
    with pytest.raises(
        ValueError, match=r"slack must be one of 'is', 'l2', 're', or an object of the class Slack; got 'kl'"
    ):
        get_slack("kl")


def test_an_object_is_taken_as_it_is(slack):
    assert get_slack(slack) is slack
