"""The certificate: its numbers, its verdicts and its text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric import Certificate, MetricProblem, make_paper_problem
from covmetric.problem import divergence_roots


def certificate(primal=1.0, dual=1.0, tol=1e-6, rounding=0.0):
    return Certificate.from_values(primal, dual, max_violation=0.25, tol=tol, rounding=rounding)


def test_from_values_computes_the_gaps():
    got = certificate(-10.0, -14.0, tol=0.5, rounding=0.125)
    assert (got.primal, got.dual, got.gap, got.relative_gap) == (-10.0, -14.0, 4.0, 0.4)
    assert (got.max_violation, got.tol, got.rounding) == (0.25, 0.5, 0.125)
    assert certificate(0.5, 0.25).relative_gap == 0.25, "relative to at least 1"


def test_bound_adds_the_rounding_error():
    assert certificate(3.0, 1.0, rounding=0.5).bound == 2.5
    assert certificate(1.0, 3.0, rounding=0.5).bound == 0.5, "a negative gap does not reduce the rounding error"
    assert certificate(rounding=np.nan).bound == np.inf
    assert certificate(np.nan).bound == np.inf


@pytest.mark.parametrize(
    ("primal", "gap", "rounding", "trusted", "solved"),
    [
        (1.0, 0.0, 0.0, True, True),
        (1.0, 0.5, 0.0, True, True),  # exactly the tolerance
        (1.0, 0.75, 0.0, True, False),
        (1.0, 0.0, 0.5, True, True),
        (1.0, 0.0, 0.75, False, False),
        (1.0, 0.375, 0.25, True, False),  # the sum is above the tolerance
        (1.0, -0.25, 0.25, True, True),  # a negative gap that its rounding error explains
        (1.0, -0.25, 0.125, False, False),  # and one that it does not, although both are within the tolerance
        (1.0, 0.0, -0.125, False, False),  # a rounding error is never negative
        (1.0, 0.25, -0.125, False, False),  # not even beside a larger gap
        (-8.0, 4.0, 0.0, True, True),  # the tolerance is relative to |primal| above 1
        (-8.0, 4.5, 0.0, True, False),
        (-8.0, 0.0, 4.0, True, True),
        (-8.0, 0.0, 4.5, False, False),
        (-8.0, -4.0, 4.0, True, True),
        (-8.0, -4.0, 3.5, False, False),
        (0.125, 0.5, 0.0, True, True),  # and absolute below 1
        (0.125, 0.75, 0.0, True, False),
        (0.125, 0.0, 0.5, True, True),
    ],
)
def test_trusted_and_solved(primal, gap, rounding, trusted, solved):
    got = certificate(primal, primal - gap, tol=0.5, rounding=rounding)
    assert (got.trusted, got.solved) == (trusted, solved)


@pytest.mark.parametrize("primal", [np.inf, np.nan])
def test_an_objective_that_is_not_finite_is_never_solved(primal):
    got = certificate(primal, 1.0)
    assert not got.solved
    assert got.distance_factor == (0.0, np.inf)
    assert "NOT proven" in str(got) and "between 0 and infinity" in str(got)


@given(gap=st.floats(1e-14, 1e6))
def test_divergence_roots(gap):
    lo, hi = divergence_roots(gap)
    assert 0.0 <= lo < 1.0 < hi
    assert hi - np.log(hi) - 1.0 == pytest.approx(gap, rel=1e-6, abs=1e-15)
    if lo > 1e-300:
        assert lo - np.log(lo) - 1.0 == pytest.approx(gap, rel=1e-6, abs=1e-15)
    if gap < 1e-6:
        assert lo == pytest.approx(1.0 - np.sqrt(2.0 * gap), abs=gap)
        assert hi == pytest.approx(1.0 + np.sqrt(2.0 * gap), abs=gap)


def test_divergence_roots_at_the_ends():
    assert divergence_roots(0.0) == (1.0, 1.0)
    assert divergence_roots(-1e-18) == (1.0, 1.0)
    assert divergence_roots(np.inf) == (0.0, np.inf)
    with pytest.raises(ValueError, match="NaN"):
        divergence_roots(np.nan)


@pytest.mark.parametrize("gap", [4.9e-11, 5.1e-11, 1e-5, 0.1, 3.0, 500.0])
def test_divergence_roots_are_accurate_on_both_sides_of_the_series(gap):
    """log1p keeps the digits of mu - log mu - 1 for roots near 1."""
    for mu in divergence_roots(gap):
        x = mu - 1.0
        if mu > 1e-200:
            value = x - np.log1p(x)
            assert value == pytest.approx(gap, rel=1e-8, abs=0)


def test_distance_factor_uses_the_bound():
    assert certificate(1.5, 1.0, rounding=0.25).distance_factor == divergence_roots(0.75)


def test_text_gives_the_verdict_and_rounds_outwards():
    solved = certificate(2.0, 2.0 - 1e-9, tol=1e-6)  # the difference is slightly larger in floating point
    assert str(solved) == (
        "objective 2, at most 1.1e-09 above the optimum (relative 5.1e-10, within the tolerance 1.0e-06); every "
        "squared distance is between 0.999955 and 1.000045 times that of the optimal metric"
    )
    assert "NOT proven within the tolerance" in str(certificate(3.0, 1.0))
    assert "between 0.05 and 4.51 times" in str(certificate(3.0, 1.0)), "the roots are 0.0525 and 4.505"
    assert "between 1.0000000000000000 and 1.0000000000000000" in str(certificate())


def test_certify_passes_the_tolerance_on():
    problem = make_paper_problem(3, 5, 1e-2, 0)
    assert problem.certify(np.eye(3), tol=0.125).tol == 0.125
    with pytest.raises(ValueError, match=r"tol must be a number >= 0, got -1"):
        problem.certify(np.eye(3), tol=-1)


@pytest.mark.parametrize("slack", ["is", "l2", "re"])
def test_an_infinite_loss_has_an_infinite_rounding_and_relative_gap(slack):
    """The second pair has a squared distance of zero in the metric of the first; with `is` its loss is infinite."""
    problem = MetricProblem.from_differences([[[1e20], [0.0]], [[1e-155], [0.0]]], [1, -1], 1.0, 10.0, slack)
    certificate = problem.certify(problem.metric([1.0, 0.0]), [1.0, 0.0])
    assert not np.isnan([certificate.rounding, certificate.relative_gap, certificate.gap, certificate.bound]).any()
    if slack == "is":
        assert certificate.gap == certificate.relative_gap == certificate.rounding == np.inf
    assert "nan" not in str(certificate)
    assert not certificate.solved
