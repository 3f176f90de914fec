"""Descriptors and learned metrics, applied block by block."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from covmetric._utils.tuning import IMAGES_PER_JOB
from covmetric._utils.validation import FloatArray
from covmetric.descriptors import Descriptor
from covmetric.distributed.blocks import (
    aligned,
    empty_rows,
    import_dask,
    in_block,
    is_dask_array,
    one_block_per_row_range,
)
from covmetric.metric import LearnedMetric


def transform_blocks(transformer: Descriptor | LearnedMetric, X: Any) -> Any:
    """Apply a descriptor or a learned metric lazily to a collection of Dask, block by block.

    Nothing is read or computed until the result is. Then each block is one task, which reads its examples, transforms
    them and keeps only the result, so that a worker needs memory for a few examples per thread and for the results.

    Parameters
    ----------
    transformer : Descriptor or LearnedMetric
        A descriptor, such as ``ImageCovariances("colour")``, or a learned metric, such as ``CovMetric().fit(X,
        y).metric_``. `n_jobs` of a descriptor is ignored: Dask runs the blocks in parallel.
    X : dask.bag.Bag or dask.array.Array
        The examples: a bag of paths, images, image sets or series for a descriptor, or an array whose first axis runs
        over the examples.

    Returns
    -------
    dask.array.Array
        What ``transformer.transform`` returns, one block per partition of the bag or per block of the array. With a
        bag, the number of rows of each block is unknown before it is computed; ``compute_chunk_sizes`` finds out.

    Raises
    ------
    ValueError
        If the transformer or X is of another type, or if the transformer has a setting that refers to the positions
        of examples in the whole list.
    ImportError
        If Dask is not installed.

    See Also
    --------
    kneighbors : Exact neighbours among vectors in blocks.

    Notes
    -----
    The rows are those of ``transformer.transform`` on all examples, to the last bit, except for metrics that were
    learned in the span of the differences (``metric.basis`` is not None): BLAS may sum the products of a block of
    another size in another order.

    An example that cannot be transformed raises `BlockError` when the result is computed. The error names the block
    and, for files, the path. A block whose worker dies is computed again by another worker. After a number of deaths,
    ``distributed.scheduler.allowed-failures``, Dask raises ``KilledWorker``, which names the block, or one that waited
    on the same worker.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.bag
    >>> from covmetric.descriptors import ImageCovariances
    >>> rng = np.random.default_rng(0)
    >>> images = [rng.integers(256, size=(40, 60)) for _ in range(5)]
    >>> matrices = transform_blocks(ImageCovariances(), dask.bag.from_sequence(images, partition_size=2))
    >>> matrices.npartitions, matrices.compute(scheduler="synchronous").shape
    (3, (5, 5, 5))
    """
    if not isinstance(transformer, Descriptor | LearnedMetric):
        raise ValueError(f"transformer must be a Descriptor or a LearnedMetric, got {transformer!r:.80}")
    if not (is_dask_array(X) or isinstance(X, import_dask("dask.bag").Bag)):
        raise ValueError(
            f"X must be a bag or an array of Dask (dask.bag.from_sequence, dask.array.from_array), got {type(X)}"
        )
    prepared, tail = _prepare(transformer, X)
    blocks, lengths = _blocks_of(X)
    # As bytes the transformer reaches the workers with aligned arrays, and Dask need not look into it.
    work = partial(_transform_block, pickled=import_dask("cloudpickle").dumps(prepared), tail=tail)
    name = f"{type(transformer).__name__}-{import_dask('dask').base.tokenize(work, blocks.name)}"
    return _array(name, work, blocks, lengths, tail)


def _prepare(transformer: Descriptor | LearnedMetric, X: Any) -> tuple[Descriptor | LearnedMetric, tuple[int, ...]]:
    """Return the transformer of a block, and the shape of a row of its result."""
    if isinstance(transformer, LearnedMetric):
        return transformer, (math.prod(transformer.embedding.shape_out_),)
    transformer.check_blocks()
    descriptor = copy.copy(transformer).set_params(n_jobs=None)
    descriptor.check_settings()
    try:
        n = descriptor.matrix_size_
    except AttributeError:
        if not is_dask_array(X):
            raise ValueError(
                f"the size of the matrices of {transformer!r} depends on the examples, and those of a bag are not "
                "known yet: call its fit with one example first"
            ) from None
        # Values do not matter for the size, but constant examples have no covariance.
        n = descriptor.fit(np.random.default_rng(0).standard_normal((1, *X.shape[1:]))).matrix_size_
    return descriptor, (n, n)


def _blocks_of(X: Any) -> tuple[Any, tuple[float, ...]]:
    """Return a bag with one partition per block, and the numbers of rows of the blocks, NaN if they are unknown."""
    bags = import_dask("dask.bag")
    if isinstance(X, bags.Bag):
        return X, (np.nan,) * X.npartitions
    X = one_block_per_row_range(X)
    return bags.from_delayed(X.to_delayed().ravel().tolist()), X.chunks[0]


def _array(name: str, work: Any, blocks: Any, lengths: tuple[float, ...], tail: tuple[int, ...]) -> Any:
    """Return the array of the transformed blocks.

    Each task depends on one partition only. Dask then makes one task of it and of the steps of the bag before it, in
    which the examples come one by one from an iterator instead of a list.
    """
    graphs, bags, da = (import_dask(f"dask.{module}") for module in ("highlevelgraph", "bag", "array"))
    tasks = {(name, number): (work, (blocks.name, number), number) for number in range(blocks.npartitions)}
    graph = graphs.HighLevelGraph.from_collections(name, tasks, dependencies=[blocks])
    transformed = bags.Bag(graph, name, blocks.npartitions).to_delayed()
    parts = [
        da.from_delayed(part, (length, *tail), meta=empty_rows(tail))
        for part, length in zip(transformed, lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _transform_block(examples: Any, number: int, pickled: bytes, tail: tuple[int, ...]) -> FloatArray:
    transformer = pickle.loads(pickled)
    with in_block(number):
        if isinstance(examples, np.ndarray):
            parts = [transformer.transform(aligned(examples))] if len(examples) else []
        else:
            parts = [transformer.transform(batch) for batch in _batches(examples)]
        result: FloatArray = np.concatenate([empty_rows(tail), *parts])
    return result


def _batches(examples: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(examples)
    while batch := [aligned(one) if isinstance(one, np.ndarray) else one for one in islice(iterator, IMAGES_PER_JOB)]:
        yield batch
