"""Pairs of nearest neighbours, against a literal search."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric._utils import distances
from covmetric.constraints import AbsoluteBounds, NeighborPairs, constrain
from tests import naive
from tests.constraints.examples import labelled_vectors


def select(selection, vectors, codes, old=0):
    return selection.select(vectors, codes, np.random.default_rng(0), old).pairs


@pytest.mark.parametrize("k", [1, 3, 200])
def test_pairs_equal_a_literal_search(k):
    vectors, codes = labelled_vectors([15, 20, 1])
    np.testing.assert_array_equal(select(NeighborPairs(k), vectors, codes), naive.neighbor_pairs(vectors, codes, k))


def test_new_examples_are_paired_with_their_neighbors_among_all():
    vectors, codes = labelled_vectors([15, 20])
    expected = set()
    for i in range(30, 35):
        for same in (True, False):
            others = [j for j in range(35) if j != i and (codes[j] == codes[i]) == same]
            others.sort(key=lambda j: float(((vectors[i] - vectors[j]) ** 2).sum()))
            expected.update((min(i, j), max(i, j)) for j in others[:2])
    assert {tuple(pair) for pair in select(NeighborPairs(2), vectors, codes, old=30).tolist()} == expected


def test_blocks_do_not_change_the_pairs(monkeypatch):
    vectors, codes = labelled_vectors([30, 40])
    whole = select(NeighborPairs(4), vectors, codes)
    monkeypatch.setattr(distances, "DISTANCE_BLOCK_BYTES", 8 * 70 * 9)
    np.testing.assert_array_equal(select(NeighborPairs(4), vectors, codes), whole)


def test_the_factor_of_a_metric_changes_the_neighbors():
    rng = np.random.default_rng(0)
    embedded, codes = rng.standard_normal((40, 2, 1)), rng.integers(2, size=40)
    # L is not symmetric: the vectors are L^T Phi, in which the second row is negligible.
    L = np.array([[1.0, 0.0], [1.0, 1e-6]])
    found = constrain(embedded, codes, NeighborPairs(2), AbsoluteBounds(), "median", rng, L.T @ embedded)
    expected = naive.neighbor_pairs(embedded[:, :1, 0] + embedded[:, 1:, 0], codes, 2)
    np.testing.assert_array_equal(found.pairs, expected)


@pytest.mark.parametrize("rounds", [0, 1.5, True])
def test_invalid_rounds_are_refused(rounds):
    with pytest.raises(ValueError, match=rf"rounds must be an integer >= 1, got {rounds!r}"):
        select(NeighborPairs(2, rounds=rounds), *labelled_vectors([5, 5]))
