"""The choice of the solver by name, and by "auto"."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import Dykstra, MetricProblem, make_paper_problem
from covmetric.solvers import SOLVERS, choose_solver, get_solver


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
    problem = MetricProblem.from_differences(np.ones((K, n, m)), np.ones(K), 1.0, 1.0)
    chosen = choose_solver("auto", problem)
    assert (chosen.name, chosen.first) == ("hybrid", first)


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
