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
        ((78, 1, 5013), "dykstra"),
    ],
)
def test_auto_begins_with_the_cheaper_iteration(shape, first):
    n, m, K = shape
    problem = MetricProblem.from_differences(np.ones((K, n, m)), np.ones(K), 1.0, 1e3)
    chosen = choose_solver("auto", problem)
    assert (chosen.name, chosen.first) == ("hybrid", first)


def thin(K=40, n=8, m=2):
    rng = np.random.default_rng(0)
    F, signs = rng.standard_normal((K, n, m)), rng.choice([-1.0, 1.0], K)
    return MetricProblem.from_differences(F, signs, 8.0, 1.0, "l2")


@pytest.fixture
def seconds(monkeypatch):
    """Set the time of an epoch, in units of the time of a Newton step."""
    monkeypatch.setattr(registry, "newton_seconds", lambda n, m, K, examples: 1.0)
    return lambda epoch: monkeypatch.setattr(registry, "sweep_seconds", lambda n, m, moved, idle: epoch)


@pytest.mark.parametrize("sizes", [(40, 8, 2), (400, 8, 2), (40, 16, 2), (40, 8, 8), (40, 4, 8)])
@pytest.mark.parametrize("weight", [1.0, 1e4])
def test_auto_begins_with_dykstra_if_newton_would_be_slower(weight, sizes, seconds):
    """4 (m/n)^0.5 K^0.15 epochs, or four times as many, and 2 steps against 3 (P/n)^0.36 n^0.2 steps."""
    K, n, m = sizes
    problem = thin(*sizes).replace(weights=weight)
    factor, _ = start.best_multiple(problem, 1.0)
    objective = max(problem.primal(factor @ factor.T) / n, 0.05)
    steps = 3.0 * objective**0.36 * n**0.2
    epochs = (4.0 if 4 * m <= n else 16.0) * (min(m, n) / n) ** 0.5 * K**0.15
    assert steps > 2.0
    limit = (steps - 2.0) / epochs
    for factor, first in ((0.99, "dykstra"), (1.01, "newton")):
        seconds(factor * limit)
        assert choose_solver("auto", problem).first == first


def test_newton_solves_problems_that_take_it_two_steps(seconds):
    seconds(0.0)
    assert [choose_solver("auto", thin().replace(weights=weight)).first for weight in (1e-6, 1.0)] == [
        "newton",
        "dykstra",
    ]


def test_newtons_steps_count_the_pairs_that_are_active(monkeypatch):
    """Similar pairs that are far too close cost an epoch something, and a step of Newton's method nothing."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((40, 8, 2))
    F[:30] *= 1e-3
    problem = MetricProblem.from_differences(F, np.ones(40), 8.0, 10.0, "l2")
    moved, active = (
        int((ratios > 1.0).sum()) for ratios in (problem.squared_norms / 8.0, start.best_multiple(problem, 1.0)[1])
    )
    assert 0 < active < moved <= 10
    called = {}
    monkeypatch.setattr(registry, "newton_seconds", lambda n, m, K, examples: called.setdefault("step", K))
    monkeypatch.setattr(registry, "sweep_seconds", lambda n, m, *pairs: called.setdefault("epoch", pairs) and 1.0)
    choose_solver("auto", problem)
    assert called == {"step": active, "epoch": (moved, 40 - moved)}


@pytest.mark.parametrize("slack", ["is", "l2", "re"])
def test_objective_per_row_is_that_of_the_problem(slack):
    problem = make_paper_problem(5, 30, 1e-2, 0, slack)
    factor, ratios = start.best_multiple(problem, 1.0)
    assert factor[0, 0] != 1.0
    assert start.objective_per_row(problem, factor, ratios) == pytest.approx(problem.primal(factor @ factor.T) / 5)


def test_steps_from_the_identity_follow_the_objective(monkeypatch):
    """2.7 (P/n)^0.22 n^0.2, or 3.5 + n/30 for each point of the path."""
    problem = make_paper_problem(5, 30, 1e-2, 0)
    factor, _ = start.best_multiple(problem, 1.0)
    objective = problem.primal(factor @ factor.T) / 5
    assert objective > 0.05
    assert start.steps_from_identity(problem) == pytest.approx(2.7 * objective**0.22 * 5**0.2)
    idle = problem.replace(weights=1e-12)
    assert start.steps_from_identity(idle) == pytest.approx(2.7 * 0.05**0.22 * 5**0.2)
    for fraction, points in ((0.9, 2), (0.4, 2), (0.51 / 10.0, 2), (0.49 / 10.0, 3), (0.49 / 100.0, 4)):
        monkeypatch.setattr(start, "first_weight_fraction", lambda problem, ratios, fraction=fraction: fraction)
        assert start.steps_from_identity(problem) == pytest.approx(points * (3.5 + 5 / 30))


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
