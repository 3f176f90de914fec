"""Exact neighbours among references in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import CovMetric
from covmetric.distributed import BlockError, kneighbors, transform_blocks
from covmetric.neighbors import get_search
from tests import naive
from tests.data import classes_of_matrices
from tests.neighbors.contract import KINDS, vectors

dask = pytest.importorskip("dask", reason='Dask is not installed: pip install "dask[array]" distributed')
da = pytest.importorskip("dask.array")


def here(lazy):
    return dask.compute(*lazy, scheduler="synchronous")


def assert_same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [300, 70, 3])
def test_bits_are_those_of_a_search_in_memory(kind, rows):
    references, k = vectors(kind), 5
    queries = np.vstack([references[::30], vectors(kind, 20, seed=1)])
    found = here(kneighbors(queries, da.from_array(references, chunks=(rows, 13)), k))
    assert_same_bits(found, get_search("brute").fit(references).nearest(queries, k))


@pytest.mark.parametrize("algorithm", ["brute", "pruned"])
def test_ties_across_blocks_are_sorted_by_index(algorithm):
    references = np.random.default_rng(0).integers(0, 2, (600, 6)).astype(float)
    queries = references[:50]
    found = here(kneighbors(queries, da.from_array(references, chunks=(32, 6)), 40, algorithm))
    assert_same_bits(found, naive.nearest(references, queries, 40))


def test_squared_distances_decide_where_roots_are_equal():
    # 1 + eps and 1 are different squared distances with the same root.
    references = np.array([[1.0, np.finfo(float).eps ** 0.5], [1.0, 0.0]])
    queries = np.zeros((1, 2))
    expected = get_search("brute").fit(references).nearest(queries, 2)
    assert expected[0][0, 0] == expected[0][0, 1]
    assert expected[1].tolist() == [[1, 0]]
    assert_same_bits(here(kneighbors(queries, da.from_array(references, chunks=(1, 2)), 2)), expected)


def test_blocks_of_different_units_are_merged():
    rng = np.random.default_rng(0)
    references = np.vstack([scale * rng.standard_normal((10, 3)) for scale in (1e-6, 1.0, 1e6, 1e-3)])
    queries = references[::3] + 1e-7
    lazy = kneighbors(queries, da.from_array(references, chunks=(10, 3)), 12)
    assert_same_bits(here(lazy), get_search("brute").fit(references).nearest(queries, 12))


def test_queries_may_be_in_blocks_and_lengths_unknown(client):
    X, y = classes_of_matrices(90, n=4)
    metric = CovMetric(random_state=0).fit(X, y).metric_
    lazy = transform_blocks(metric, da.from_array(X, chunks=(20, 4, 4)))
    known = kneighbors(lazy[:31], lazy, 4)
    number = da.arange(90, chunks=20)
    unknown = kneighbors(lazy[number < 31], lazy[number < 85], 4)
    assert np.isnan(unknown[0].shape[0])
    for found, count in ((known, 90), (unknown, 85)):
        expected = get_search("brute").fit(metric.transform(X)[:count]).nearest(metric.transform(X)[:31], 4)
        assert_same_bits(dask.compute(*found), expected)


def test_shapes_are_known_before_the_search():
    distances, indices = kneighbors(np.zeros((7, 2)), da.zeros((30, 2), chunks=(4, 2)), 3)
    assert distances.shape == indices.shape == (7, 3)
    assert (distances.dtype, indices.dtype) == (np.float64, np.int64)


def test_blocks_may_be_empty_or_shorter_than_k():
    references = np.random.default_rng(0).standard_normal((20, 2))
    lazy = da.from_array(references, chunks=(3, 2))[da.from_array(np.arange(20) >= 4, chunks=3)]
    expected = get_search("brute").fit(references[4:]).nearest(references, 16)
    assert_same_bits(here(kneighbors(references, lazy, 16)), expected)
    assert here(kneighbors(np.empty((0, 2)), lazy, 2))[0].shape == (0, 2)


LAZY = da.ones((5, 2), chunks=(2, 2))


@pytest.mark.parametrize(
    ("queries", "references", "k", "message"),
    [
        (np.ones((1, 2)), np.ones((5, 2)), 1, "references must be an array of Dask.*get_search"),
        (np.ones((1, 2)), da.ones((5, 2, 2)), 1, r"references must have shape \(l, q\)"),
        (np.ones((1, 3)), LAZY, 1, r"queries must have shape \(l, 2\), got \(1, 3\)"),
        (np.ones(2), LAZY, 1, r"queries must have shape \(l, 2\), got \(2,\)"),
        (np.ones((1, 2)), LAZY, 0, "k must be an integer >= 1, got 0"),
        (np.ones((1, 2)), LAZY, 1.5, r"k must be an integer >= 1, got 1\.5"),
        (np.ones((1, 2)), LAZY, 6, "k must be an integer from 1 to 5, the number of references; got 6"),
    ],
)
def test_invalid_arguments(queries, references, k, message):
    with pytest.raises(ValueError, match=message):
        kneighbors(queries, references, k)


def test_too_large_k_is_found_out_with_the_lengths():
    lazy = LAZY[da.from_array(np.arange(5) < 3, chunks=2)]
    with pytest.raises(ValueError, match="k must be an integer from 1 to 3, the number of references; got 4"):
        here(kneighbors(np.ones((1, 2)), lazy, 4))


def test_bad_references_are_named():
    references = np.ones((5, 2))
    references[3, 1] = np.nan
    with pytest.raises(BlockError, match=r"block 1: vectors\[1, 1\] is nan"):
        here(kneighbors(np.ones((1, 2)), da.from_array(references, chunks=(2, 2)), 1))
