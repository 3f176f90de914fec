"""Which pairs are active, and which are coincident."""

from __future__ import annotations

import numpy as np

from covmetric import MetricProblem


def test_active_pairs_are_on_the_wrong_side_of_their_bound():
    problem = MetricProblem.from_differences(np.ones((6, 1, 1)), [1, 1, 1, -1, -1, -1], 1.0, 1.0)
    ratios = np.array([0.5, 1.0, 1.5, 0.5, 1.0, 1.5])
    np.testing.assert_array_equal(problem.terms.active(ratios), [False, False, True, True, False, False])


def test_coincident_pairs_are_dissimilar_and_equal():
    F = np.array([[[0.0]], [[0.0]], [[1e-160]], [[1.0]]])
    problem = MetricProblem.from_differences(F, [1, -1, -1, -1], 1.0, 1.0, "l2")
    np.testing.assert_array_equal(problem.terms.coincident, [False, True, False, False])


def test_terms_hold_the_arrays_of_the_problem():
    problem = MetricProblem.from_differences(np.ones((2, 1, 1)), [1, -1], [1.0, 2.0], [3.0, 4.0], "re")
    terms = problem.terms
    assert terms.sums is problem.sums and terms.slack is problem.slack
    assert (
        (terms.similar is problem.similar) and (terms.bounds is problem.bounds) and (terms.weights is problem.weights)
    )
