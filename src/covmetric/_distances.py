"""Squared Euclidean distances of vectors among themselves, by blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from covmetric._validation import FloatArray

_BLOCK_BYTES = 2**25


def distance_blocks(vectors: FloatArray, first: int = 0) -> Iterator[tuple[slice, FloatArray]]:
    """Blocks of the rows from `first` on, as slices, with their squared distances from all vectors, shape (q, l)."""
    count = len(vectors)
    # Distances by a matrix product lose the digits that the vectors have in common.
    centred = vectors - vectors.mean(axis=0)
    norms = np.einsum("iq,iq->i", centred, centred)
    size = max(1, _BLOCK_BYTES // (8 * count))
    for start in range(first, count, size):
        rows = slice(start, min(start + size, count))
        yield rows, norms[rows, None] + norms - 2.0 * centred[rows] @ centred.T
