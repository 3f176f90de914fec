"""The root finder of the projection: a unique root inside its interval, at all scales."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from covmetric.slacks import get_slack
from covmetric.solvers.kernels.projection import tridiagonal_loops
from covmetric.solvers.kernels.root import _sums, find_root
from covmetric.solvers.kernels.slack import compile_slack
from tests import naive
from tests.problems import SLACKS

COMPILED = {name: compile_slack(get_slack(name)) for name in SLACKS}


def root(eigenvalues, b, c, t, slack, limit=0.0):
    d = np.ascontiguousarray(eigenvalues, dtype=float)
    return find_root(d, np.zeros_like(d), d.sum(), b, c, t, limit, *COMPILED[slack].addresses)


logs = st.floats(-12, 12)


@settings(max_examples=500)
@given(
    exponents=st.lists(logs, min_size=1, max_size=12),
    b=logs,
    c=logs,
    closeness=st.floats(0, 15),
    far=st.floats(-3, 12),
    similar=st.booleans(),
    slack=st.sampled_from(SLACKS),
)
@example([0.0], 0.0, 0.0, 15.0, 0.0, True, "is")
@example([12.0], -12.0, -12.0, 0.0, 0.0, True, "l2")
@example([-12.0], 12.0, -12.0, 0.0, 12.0, False, "re")
def test_root_is_unique_and_inside_the_papers_interval(exponents, b, c, closeness, far, similar, slack):
    """Scales 1e-12..1e12, t near 0, near the pole and far out: |J| is tiny, or J changes sign at the next float."""
    lam, b, c = 10.0 ** np.array(exponents), 10.0**b, 10.0**c
    if similar:
        t = 1.0 - 10.0**-closeness if slack == "is" else min(10.0**far, get_slack(slack).t_max)
    elif slack == "is":
        t = -(10.0**far)
    else:
        t = -min(10.0**far, 0.999 if get_slack(slack).t_min > -np.inf else 30.0)
    u = root(lam, b, c, t, slack)

    def J(u):
        with np.errstate(all="ignore"):
            tau = t + u * (b / c)  # rounded as the kernel does: near the pole an ulp of t moves J visibly
            if (1.0 + u * lam <= 0.0).any():
                return np.inf  # at and left of the pole
            total = np.sum(lam / (1.0 + u * lam))
            if slack == "is" and tau >= 1.0:
                return -np.inf
            return total - b * COMPILED[slack].xi.ctypes(tau)

    assert (1.0 + u * lam > 0.0).all()
    if slack == "is":
        assert u <= (1.0 - t) * c / b
    total = np.sum(lam / (1.0 + u * lam))
    small = abs(J(u)) <= 1e-9 * max(b, total)
    crosses = J(np.nextafter(u, -np.inf)) >= 0.0 >= J(u) or J(u) >= 0.0 >= J(np.nextafter(u, np.inf))
    assert small or crosses, (u, J(u), total)


@settings(max_examples=300)
@given(
    exponents=st.lists(st.floats(-3, 3), min_size=1, max_size=8),
    b=st.floats(-3, 3),
    c=st.floats(-3, 3),
    size=st.floats(0.01, 0.99),
    similar=st.booleans(),
    slack=st.sampled_from(SLACKS),
)
def test_J_decreases_so_its_root_is_the_only_one(exponents, b, c, size, similar, slack):
    lam, b, c = 10.0 ** np.array(exponents), 10.0**b, 10.0**c
    t = size if similar else -size
    low = -1.0 / lam.max()
    high = (1.0 - t) * c / b if slack == "is" else 10.0 * max(c / b, 1.0 / lam.min())
    grid = low + (high - low) * np.linspace(0.001, 0.999, 200)
    if slack == "l2":
        grid = grid[1.0 + t + grid * b / c > 0.0]
    if slack == "re":
        grid = grid[t + grid * b / c < 300.0]
    assume(len(grid) > 2)
    values = np.array([naive.J(u, lam, b, c, t, get_slack(slack)) for u in grid])
    assert (np.diff(values) < 0.0).all()
    u = root(lam, b, c, t, slack)
    assert (values[grid < u * (1 - 1e-9 * np.sign(u))] > -1e-9 * np.abs(values).max()).all()


@given(limit=st.floats(-5, 5), slack=st.sampled_from(SLACKS))
def test_a_multiplier_never_becomes_negative(limit, slack):
    """Where the root lies beyond u = -y alpha, that u is returned exactly: the multiplier becomes 0, not almost 0."""
    lam, b, c = np.array([0.5, 1.0, 2.0]), 3.0, 4.0
    alpha, y = abs(limit), -np.sign(limit) or 1.0
    t = y * alpha * b / c
    assume(t < 1.0)
    free = root(lam, b, c, t, slack, limit=0.0)
    assume(slack != "l2" or t > -1.0)
    got = root(lam, b, c, t, slack, limit=-y * alpha)
    beyond = y * free < -alpha
    if beyond:
        assert got == -y * alpha
    else:
        assert got == pytest.approx(free, rel=1e-9, abs=1e-12)


@given(seed=st.integers(0, 10_000), m=st.integers(1, 40))
def test_tridiagonal_form_keeps_the_trace_function(seed, m):
    """tr(M (I + u M)^-1) and its derivative from the recurrence, against eigenvalues."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((m, max(1, m - seed % 3)))
    M = F @ F.T
    d, e2, v, w = (np.zeros(m) for _ in range(4))
    tridiagonal_loops(M.copy(), d, e2, v, w)
    lam = np.maximum(np.linalg.eigvalsh(M), 0.0)
    for u in (0.0, 0.7, 30.0, -0.9 / lam[-1]):
        total, squares = _sums(d, e2, u)
        ratio = lam / (1.0 + u * lam)
        assert total == pytest.approx(ratio.sum(), rel=1e-9)
        assert squares == pytest.approx((ratio**2).sum(), rel=1e-8)
    assert _sums(d, e2, -1.0 / lam[-1] * (1 + 1e-9))[0] == np.inf
