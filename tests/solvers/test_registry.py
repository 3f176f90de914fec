"""The choice of the solver by name, and by "auto"."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import Dykstra, MetricProblem, make_paper_problem
from covmetric.solvers import SOLVERS, choose_solver, get_solver, registry
from covmetric.solvers.newton import start


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        ((10, 10, 50), "newton"),
        ((100, 100, 50), "newton"),
        ((5, 5, 11_100), "newton"),
        ((50, 50, 1000), "newton"),
        ((300, 1, 1125), "dykstra"),
        ((78, 1, 5013), "newton"),
    ],
)
def test_auto_begins_with_the_cheaper_iteration(shape, first):
    n, m, K = shape
    problem = MetricProblem.from_differences(np.ones((K, n, m)), np.ones(K), 1.0, 1e3)
    chosen = choose_solver("auto", problem)
    assert (chosen.name, chosen.first) == ("hybrid", first)


def with_stiffness(problem, stiffness):
    """Return the problem with weights for which the losses have this curvature in the best multiple of the identity."""
    weights = 1.0
    for _ in range(200):  # the best multiple depends on the weights
        scaled = problem.replace(weights=weights)
        weights *= (stiffness / start.stiffness(scaled, start.best_multiple(scaled, 1.0)[1])) ** 0.5
    return scaled


def thin(K, slack):
    rng = np.random.default_rng(0)
    F, signs = rng.standard_normal((K, 8, 2)), rng.choice([-1.0, 1.0], K)
    return MetricProblem.from_differences(F, signs, 8.0, 1.0, slack)


@pytest.fixture
def epoch(monkeypatch):
    """Set the time of an epoch, in units of the time of a Newton step."""
    monkeypatch.setattr(registry, "newton_seconds", lambda n, m, K, examples: 1.0)
    return lambda seconds: monkeypatch.setattr(registry, "sweep_seconds", lambda n, m, moved, idle: seconds)


@pytest.mark.parametrize("K", [20, 40])
def test_auto_begins_with_dykstra_if_newton_would_be_slow(K, epoch):
    problems = [with_stiffness(thin(K, "l2"), stiffness) for stiffness in (5.5, 6.5)]
    either, by_stiffness, neither = ("dykstra", "dykstra"), ("newton", "dykstra"), ("newton", "newton")
    for seconds, expected in ((0.24, either), (0.26, by_stiffness), (2.99, by_stiffness), (3.01, neither)):
        epoch(seconds)
        assert tuple(choose_solver("auto", problem).first for problem in problems) == expected, seconds


def test_newtons_steps_count_the_pairs_that_are_active(monkeypatch):
    """Similar pairs that are far too close cost an epoch something, and a step of Newton's method nothing."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((40, 8, 2))
    F[:30] *= 1e-3
    problem = with_stiffness(MetricProblem.from_differences(F, np.ones(40), 8.0, 1.0, "l2"), 20.0)
    moved, active = (
        int((ratios > 1.0).sum()) for ratios in (problem.squared_norms / 8.0, start.best_multiple(problem, 1.0)[1])
    )
    assert 0 < active <= moved <= 10
    monkeypatch.setattr(registry, "newton_seconds", lambda n, m, K, examples: float(K))
    for factor, first in ((0.99, "dykstra"), (1.01, "newton")):
        limit = factor * 3.0 * active / (moved + 0.1 * (40 - moved))
        monkeypatch.setattr(
            registry, "sweep_seconds", lambda n, m, moved, idle, limit=limit: limit * (moved + 0.1 * idle)
        )
        assert choose_solver("auto", problem).first == first


def test_newton_begins_where_dykstra_would_crawl(epoch, monkeypatch):
    """Unless Newton's path is long: Dykstra's first epochs then cost little, and interior points follow."""
    easier, harder = (with_stiffness(thin(20, "l2"), stiffness) for stiffness in (9e3, 1.1e4))
    for seconds, is_long, expected in (
        (2.99, False, ("dykstra", "newton")),
        (2.99, True, ("dykstra", "dykstra")),
        (3.01, True, ("newton", "newton")),
        (0.21, False, ("dykstra", "newton")),
    ):
        epoch(seconds)
        monkeypatch.setattr(registry, "newton_path_is_long", lambda problem, is_long=is_long: is_long)
        assert tuple(choose_solver("auto", problem).first for problem in (easier, harder)) == expected


def test_stiffness_is_the_curvature_along_multiples():
    """d^2/dt^2 of the losses at exp(t) W, without the term of the gradient, and n log det has n."""
    problem = make_paper_problem(5, 30, 1e-2, 0, "l2")
    ratios = problem.squared_norms / problem.bounds
    active = (problem.similar * (ratios - 1.0) > 0.0) & (ratios > 0.0)
    expected = (problem.weights * ratios**2)[active].sum() / 5
    assert start.stiffness(problem, ratios) == pytest.approx(expected)


def test_names_and_objects_are_resolved():
    problem = make_paper_problem(3, 5, 1e-2, 0)
    for name, cls in SOLVERS.items():
        assert type(get_solver(name)) is type(choose_solver(name, problem)) is cls
    solver = Dykstra("rand")
    assert get_solver(solver) is choose_solver(solver, problem) is solver
    assert get_solver("auto") is None


def test_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"solver must be one of 'auto', .*'newton'.*got 'simplex'"):
        get_solver("simplex")
