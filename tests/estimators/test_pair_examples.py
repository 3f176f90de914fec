"""The examples of pairs, given as arrays or as indices."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.estimators.pair_examples import examples_of_pairs
from tests.data import spd

X = spd(6, 3)
INDEX = np.array([[4, 1], [1, 5], [0, 4]])


@pytest.mark.parametrize("examples", [X, X[:, 0]], ids=["matrices", "vectors"])
def test_arrays_are_cut_into_examples(examples):
    flat, index = examples_of_pairs(examples[INDEX])
    np.testing.assert_array_equal(flat[index], examples[INDEX])
    np.testing.assert_array_equal(index, [[0, 1], [2, 3], [4, 5]])


@pytest.mark.parametrize("preprocessor", [X, lambda indices: X[indices]], ids=["array", "function"])
def test_indices_give_each_example_once(preprocessor):
    distinct, index = examples_of_pairs(INDEX, preprocessor)
    np.testing.assert_array_equal(distinct, X[[0, 1, 4, 5]])
    np.testing.assert_array_equal(distinct[index], X[INDEX])


@pytest.mark.parametrize(
    ("pairs", "preprocessor", "message"),
    [
        (INDEX, None, r"pairs of shape \(3, 2\) are indices, which need a preprocessor"),
        (np.empty((0, 2), dtype=int), X, "pairs is empty: at least one pair is needed"),
        (INDEX + 0.5, X, r"pairs must be integers \(indices into preprocessor\), got dtype float64"),
        ([[0, 1], [2, 6]], X, r"pairs\[1, 1\] is 6: it must be in 0\.\.5"),
        ([[0, 1], [-1, 5]], X, r"pairs\[1, 0\] is -1: it must be in 0\.\.5"),
        (INDEX, lambda _: X, r"one example for each of the 4 indices that it is given; it returned .* \(6, 3, 3\)"),
        (INDEX, lambda _: np.ones(4), r"preprocessor must return one example .* shape \(4,\)"),
        (X, None, r"pairs must have shape \(K, 2, n, n\), or \(K, 2, d\) for vectors; got \(6, 3, 3\)"),
        (X[INDEX][:0], None, r"pairs must have shape .*got \(0, 2, 3, 3\)"),
        (X[INDEX][None], None, r"pairs must have shape .*got \(1, 3, 2, 3, 3\)"),
        (
            X[INDEX][..., :2],
            None,
            r"pairs must have shape .*got \(3, 2, 3, 2\)\. If these are series .*SeriesCovariances from covmetric",
        ),
        (np.where(np.arange(3) == 2, np.nan, X[INDEX]), None, r"pairs\[0, 0, 0, 2\] is nan"),
        ([4, 1], X, r"pairs must have shape .* for vectors, or \(K, 2\) for indices into preprocessor; got \(2,\)"),
        (
            INDEX,
            X[:, :, :2],
            r"preprocessor must hold square matrices, .*; got \(6, 3, 2\)\. If these are series .*SeriesCovariances",
        ),
    ],
)
def test_invalid_pairs_raise_value_error(pairs, preprocessor, message):
    with pytest.raises(ValueError, match=message):
        examples_of_pairs(pairs, preprocessor)
