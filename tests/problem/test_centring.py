"""References of the components of the pairs: which examples are centred, and by which."""

from __future__ import annotations

import numpy as np

from covmetric import MetricProblem
from covmetric.problem.centring import centre


def problem_of(examples, pairs):
    return MetricProblem(examples, pairs, np.ones(len(pairs)), 1.0, 1.0, "l2")


def test_the_example_with_most_pairs_of_each_component_is_its_reference():
    examples = np.random.default_rng(0).standard_normal((8, 5, 2))
    centring = centre(problem_of(examples, [[0, 2], [2, 3], [5, 6], [7, 6]]))  # examples 1 and 4 have no pairs
    assert centring.examples.tolist() == [0, 3, 5, 7]
    assert centring.references.tolist() == [2, 2, 6, 6]
    assert centring.original.tolist() == list(range(8))
    assert centring.n_columns == 8
    differences = np.swapaxes(examples[[0, 3, 5, 7]] - examples[[2, 2, 6, 6]], 1, 2)
    np.testing.assert_array_equal(centring.centred(), differences.reshape(8, 5))
    np.testing.assert_array_equal(centring.centred(slice(1, 3)), differences[1:3].reshape(4, 5))
    np.testing.assert_array_equal(centring.centred(np.array([3, 0])), differences[[3, 0]].reshape(4, 5))


def test_equal_examples_of_a_pair_count_as_one():
    examples = np.random.default_rng(0).standard_normal((5, 4, 1))
    examples[3] = examples[1]
    centring = centre(problem_of(examples, [[0, 1], [1, 3], [3, 2]]))
    assert centring.original.tolist() == [0, 1, 2, 1, 4]
    assert centring.examples.tolist() == [0, 2]
    assert centring.references.tolist() == [1, 1]


def test_nothing_is_centred_if_all_differences_are_zero_or_one_underflows():
    examples = np.zeros((3, 4, 1))
    assert centre(problem_of(examples, [[0, 1], [1, 2]])) is None
    examples[1, 0] = 1e-200
    examples[2] = 1.0
    assert centre(problem_of(examples, [[0, 1], [1, 2]])) is None
