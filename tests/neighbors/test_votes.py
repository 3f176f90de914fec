"""The votes of neighbours, and checks of their number."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.neighbors.votes import available_neighbors, check_n_neighbors, count_votes

VOTES = np.array([[0, 0, 2, 0], [1, 1, 1, 1], [2, 1, 0, 2]])


def test_votes_are_counted_as_fractions():
    fractions = count_votes(VOTES, n_classes=4)
    expected = [[0.75, 0.0, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.5, 0.0]]
    np.testing.assert_array_equal(fractions, expected)
    assert fractions.dtype == np.float64


def test_invalid_votes_do_not_count():
    valid = np.array([[True, True, True, False], [False, False, False, True], [True, False, False, False]])
    fractions = count_votes(VOTES, n_classes=3, valid=valid)
    np.testing.assert_array_equal(fractions, [[2 / 3, 0.0, 1 / 3], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def test_fractions_are_zero_if_no_vote_counts():
    valid = np.array([[True] * 4, [False] * 4, [True] * 4])
    fractions = count_votes(VOTES, n_classes=3, valid=valid)
    np.testing.assert_array_equal(fractions, [[0.75, 0.0, 0.25], [0.0, 0.0, 0.0], [0.25, 0.25, 0.5]])


def test_one_vote_decides():
    np.testing.assert_array_equal(count_votes(np.array([[1], [0]]), n_classes=2), [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_no_votes_give_no_fractions(shape):
    np.testing.assert_array_equal(count_votes(np.empty(shape, dtype=np.int64), n_classes=2), np.zeros((shape[0], 2)))


def test_votes_are_not_changed():
    votes, valid = VOTES.copy(), np.ones(VOTES.shape, dtype=bool)
    votes.flags.writeable = valid.flags.writeable = False
    np.testing.assert_array_equal(count_votes(votes, 3, valid), count_votes(VOTES, 3))


@pytest.mark.parametrize("n_neighbors", [1, 3, np.int64(2)])
def test_number_of_neighbors_is_accepted(n_neighbors):
    check_n_neighbors(n_neighbors)


@pytest.mark.parametrize("n_neighbors", [0, -1, 1.0, True, "3", None])
@pytest.mark.parametrize("check", [check_n_neighbors, lambda n_neighbors: available_neighbors(n_neighbors, 10)])
def test_invalid_number_of_neighbors_is_refused(check, n_neighbors):
    with pytest.raises(ValueError, match=f"n_neighbors must be an integer >= 1, got {n_neighbors!r}$"):
        check(n_neighbors)


@pytest.mark.parametrize("n_neighbors", [1, 5, np.int64(5)])
def test_available_number_of_neighbors_is_returned_as_int(n_neighbors):
    found = available_neighbors(n_neighbors, 5)
    assert found == n_neighbors and type(found) is int


def test_more_neighbors_than_examples_are_refused():
    with pytest.raises(ValueError, match="n_neighbors is 6, but there are only 5 training examples to choose from"):
        available_neighbors(6, 5)
