"""The formulas of the paper's three divergences."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.slacks import SLACKS, get_slack
from tests import naive
from tests.data import quoted
from tests.slacks.test_contract import S, t_values


@pytest.fixture(params=sorted(naive.DIVERGENCE))
def slack(request):
    return get_slack(request.param)


def test_functions_equal_the_formulas_of_the_paper(slack):
    name, t = slack.name, t_values(slack)
    np.testing.assert_allclose(slack.divergence(S), [naive.DIVERGENCE[name](s) for s in S], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(slack.gradient(S), [naive.GRADIENT[name](s) for s in S], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(slack.xi(t), [naive.XI[name](x) for x in t], rtol=1e-13)
    np.testing.assert_allclose(slack.xi_prime(t), [naive.XI_PRIME[name](x) for x in t], rtol=1e-13)
    np.testing.assert_allclose(slack.conjugate(t), [naive.CONJUGATE[name](x) for x in t], rtol=1e-12, atol=1e-15)


def test_reciprocal_of_xi_is_convex(slack):
    """The root finder of the kernel then converges monotonically."""
    t = t_values(slack)
    second = np.diff(1.0 / slack.xi(t), 2)
    assert (second >= -1e-9 * np.abs(1.0 / slack.xi(t)).max()).all()


@pytest.mark.parametrize(("name", "cost"), [("is", np.inf), ("l2", 0.5), ("re", 1.0)])
def test_cost_of_distance_zero(name, cost):
    with np.errstate(divide="ignore"):
        assert get_slack(name).divergence(np.zeros(1))[0] == cost


def test_unknown_name_lists_the_names():
    with pytest.raises(
        ValueError, match=f"slack must be one of {quoted(SLACKS)}, or an object of the class Slack; got 'kl'"
    ):
        get_slack("kl")
