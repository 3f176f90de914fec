"""Warnings point at the user's line, not into the package or into scikit-learn."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, make_paper_problem, solve, solve_path
from covmetric.datasets import make_spd_classes

DATA = make_spd_classes(n_per_class=8)


def fit(estimator):
    return estimator.fit(DATA.X, DATA.y)


def transform(estimator):
    return estimator.fit_transform(DATA.X, DATA.y)


def one_step(problem):
    return solve(problem, "newton", max_iter=1)


def one_step_each(problem):
    return solve_path(problem, [1.0], "newton", max_iter=1)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (fit, CovMetric(max_iter=1)),
        (transform, CovMetric(max_iter=1)),
        (fit, make_pipeline(FunctionTransformer(), CovMetric(max_iter=1))),
        (fit, CovMetricClassifier(CovMetric(max_iter=1))),
        (one_step, make_paper_problem(10, 50, 1e-4, 0)),
        (one_step_each, make_paper_problem(10, 50, 1e-4, 0)),
    ],
)
def test_convergence_warning_points_at_the_line_of_the_call(call, argument):
    with pytest.warns(ConvergenceWarning, match="MAX_ITER after 1 iterations") as caught:
        call(argument)
    lines, first_line = inspect.getsourcelines(call)
    assert caught[0].filename == __file__
    assert caught[0].lineno == first_line + len(lines) - 1


def test_warning_of_the_search_points_at_this_file():
    X = DATA.X.copy()
    X[3] = np.outer(X[3, 0], X[3, 0])  # singular: it has no logarithm
    with pytest.warns(UserWarning, match="some candidates failed") as caught:
        CovMetricCV(["id", "log"], random_state=0).fit(X, DATA.y)
    assert caught[0].filename == __file__
