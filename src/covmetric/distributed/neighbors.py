"""Exact nearest neighbours among vectors that do not fit in memory: a search per block, and a merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.distances import smallest
from covmetric._utils.validation import FloatArray, IntArray, is_count
from covmetric.distributed.blocks import aligned, import_dask, in_block, is_dask_array, one_block_per_row_range
from covmetric.neighbors import get_search

_MERGED_AT_ONCE = 8  # lists of neighbours per task: few tasks, and few lists in memory


def kneighbors(queries: Any, references: Any, k: int, algorithm: str = "auto") -> tuple[Any, Any]:
    """Find the k nearest references of each query lazily, with references that need not fit in memory.

    Every block of references is searched by itself, and the lists of neighbours are merged. For distances in a learned
    metric, transform the examples first, with `transform_blocks`.

    Parameters
    ----------
    queries : array of shape (l1, q) or dask.array.Array
        The vectors whose neighbours are sought.
    references : dask.array.Array of shape (l2, q)
        The vectors to search among, in blocks of rows.
    k : int
        The number of neighbours, from 1 to l2.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'}, default='auto'
        How a block is searched; see `get_search`. The result does not depend on it.

    Returns
    -------
    distances : dask.array.Array of shape (l1, k)
        The distances, not squared, in ascending order.
    indices : dask.array.Array of int of shape (l1, k)
        The indices into the references. References at the same distance are sorted by their index.

    Raises
    ------
    ValueError
        If the shapes do not fit, or `k` is not an integer from 1 to l2. If the lengths of the blocks are unknown, `k`
        is compared with l2 when the result is computed.
    ImportError
        If Dask is not installed.

    See Also
    --------
    transform_blocks : The vectors of examples in a learned metric.

    Notes
    -----
    The result has the bits of a search among all references in memory. Compute both arrays at once,
    ``dask.compute(distances, indices)``, because they come from the same searches. A worker needs memory for a block of
    references and a block of queries per thread. All blocks of queries meet each block of references, so that queries
    that are expensive to make should be computed or persisted first.

    Examples
    --------
    >>> import dask.array
    >>> import numpy as np
    >>> references = dask.array.from_array(np.arange(10.0)[:, None], chunks=4)
    >>> distances, indices = dask.compute(*kneighbors(np.array([[2.2]]), references, 3), scheduler="synchronous")
    >>> indices
    array([[2, 3, 1]])
    """
    dask, da = import_dask("dask"), import_dask("dask.array")
    queries, references = _check(queries, references, k)
    parts = [block for (block,) in references.to_delayed()]
    search, merge = dask.delayed(_search), dask.delayed(_merge)
    distances_of, indices_of = dask.delayed(_distances), dask.delayed(_indices)
    distances, indices = [], []
    token = dask.base.tokenize(queries.name, references.name, k, algorithm)
    for row, (block,) in enumerate(queries.to_delayed()):
        found = [
            search(block, part, k, algorithm, number, dask_key_name=f"neighbors-{token}-queries-{row}-block-{number}")
            for number, part in enumerate(parts)
        ]
        while len(found) > 1:
            found = [merge(found[i : i + _MERGED_AT_ONCE], k) for i in range(0, len(found), _MERGED_AT_ONCE)]
        shape = (queries.chunks[0][row], k)
        distances.append(da.from_delayed(distances_of(found[0], k), shape, meta=np.empty((0, k))))
        indices.append(da.from_delayed(indices_of(found[0]), shape, meta=np.empty((0, k), dtype=np.int64)))
    join = {"allow_unknown_chunksizes": True}
    return da.concatenate(distances, **join), da.concatenate(indices, **join)


@dataclass(frozen=True)
class _Found:
    """The nearest of the references of some consecutive blocks.

    Attributes
    ----------
    squared : array of shape (l1, min(k, count))
        The squared distances, times ``4.0**exponent``.
    indices : array of int of shape (l1, min(k, count))
        The indices, which start at 0 in the first block.
    exponent : int
        The exponent of the units of the squared distances.
    count : int
        The number of references.
    """

    squared: FloatArray
    indices: IntArray
    exponent: int
    count: int


def _search(queries: FloatArray, references: FloatArray, k: int, algorithm: str, number: int) -> _Found:
    count = len(references)
    if count == 0 or len(queries) == 0:
        shape = len(queries), min(k, count)
        return _Found(np.empty(shape), np.empty(shape, dtype=np.int64), 0, count)
    with in_block(number):
        search = get_search(algorithm, shape=references.shape).fit(aligned(references))
        return _Found(*search.nearest_squared(aligned(queries), min(k, count)), count)


def _merge(found: Sequence[_Found], k: int) -> _Found:
    """Merge the neighbours of consecutive blocks, with the order among equals of a search among all of them."""
    exponent = min(one.exponent for one in found)  # the units of the largest spread, as in a search among all
    starts = np.cumsum([0, *(one.count for one in found)])
    squared = np.hstack([np.ldexp(one.squared, 2 * (exponent - one.exponent)) for one in found])
    indices = np.hstack([one.indices + start for one, start in zip(found, starts[:-1], strict=True)])
    rows, columns = squared.shape
    kept = smallest(rows, min(k, columns), np.repeat(np.arange(rows), columns), indices.ravel(), squared.ravel())
    return _Found(*kept, exponent, int(starts[-1]))


def _distances(found: _Found, k: int) -> FloatArray:
    if found.count < k:
        raise ValueError(f"k must be an integer from 1 to {found.count}, the number of references; got {k}")
    result: FloatArray = np.ldexp(np.sqrt(found.squared), -found.exponent)
    return result


def _indices(found: _Found) -> IntArray:
    return found.indices


def _check(queries: Any, references: Any, k: int) -> tuple[Any, Any]:
    """Return queries and references as arrays of Dask, in blocks of rows."""
    if not is_dask_array(references):
        raise ValueError(
            f"references must be an array of Dask, got {type(references)}; for an array in memory use "
            "covmetric.neighbors.get_search"
        )
    if not is_dask_array(queries):
        array = np.asarray(queries, dtype=np.float64)
        queries = import_dask("dask.array").from_array(array, chunks=-1)
    if references.ndim != 2 or 0 in references.shape or references.shape[1] is np.nan:
        raise ValueError(f"references must have shape (l, q) with l >= 1 and q >= 1, got {references.shape}")
    if queries.ndim != 2 or queries.shape[1] != references.shape[1]:
        raise ValueError(f"queries must have shape (l, {references.shape[1]}), got {queries.shape}")
    if not (is_count(k) and k >= 1):
        raise ValueError(f"k must be an integer >= 1, got {k!r}")
    if references.shape[0] < k:
        raise ValueError(f"k must be an integer from 1 to {references.shape[0]}, the number of references; got {k}")
    return one_block_per_row_range(queries), one_block_per_row_range(references)
