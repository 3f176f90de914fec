"""The choice of the solver by name, and by "auto"."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import Dykstra, MetricProblem, make_paper_problem
from covmetric._utils.tuning import HEAVIEST_WEIGHTS, LIGHTEST_WEIGHTS, THIN_RATIO
from covmetric.solvers import SOLVERS, choose_solver, get_solver


@pytest.mark.parametrize(
    ("shape", "lam", "expected"),
    [
        ((10, 10, 50), 1e-2, "newton"),
        ((100, 100, 50), 1e-4, "newton"),
        ((5, 5, 11_100), 1e-1, "newton"),
        ((50, 1, 1000), 1e-2, "dykstra"),
        ((50, 1, 1000), 1e-5, "newton"),
        ((50, 1, 1000), 1e-1, "newton"),
        ((50, 50, 1000), 1e-3, "newton"),
    ],
)
def test_auto_chooses_by_size_and_weights(shape, lam, expected):
    n, m, K = shape
    rng = np.random.default_rng(0)
    problem = MetricProblem.from_differences(
        rng.standard_normal((K, n, m)), rng.choice([-1.0, 1.0], K), float(n * m), 1.0 / (lam * K)
    )
    assert choose_solver("auto", problem).name == expected


@pytest.mark.parametrize(
    ("rows", "n_pairs", "weight_sum", "expected"),
    [
        (2 * THIN_RATIO, 2 * THIN_RATIO, LIGHTEST_WEIGHTS, "dykstra"),
        (2 * THIN_RATIO, 2 * THIN_RATIO, HEAVIEST_WEIGHTS, "dykstra"),
        (2 * THIN_RATIO - 1, 2 * THIN_RATIO, LIGHTEST_WEIGHTS, "newton"),  # not thin
        (2 * THIN_RATIO, 2 * THIN_RATIO - 1, LIGHTEST_WEIGHTS, "newton"),  # fewer pairs than rows
        (2 * THIN_RATIO, 2 * THIN_RATIO, 0.99 * LIGHTEST_WEIGHTS, "newton"),
        (2 * THIN_RATIO, 2 * THIN_RATIO, 1.01 * HEAVIEST_WEIGHTS, "newton"),
    ],
)
def test_auto_at_the_ends_of_its_ranges(rows, n_pairs, weight_sum, expected):
    weights = np.zeros(n_pairs)
    weights[0] = weight_sum - 2.0**-20 * (n_pairs - 1)
    weights[1:] = 2.0**-20
    problem = MetricProblem.from_differences(np.ones((n_pairs, rows, 2)), np.ones(n_pairs), 1.0, weights)
    assert choose_solver("auto", problem).name == expected


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
