"""What every search of neighbours shares: the checks, the units, and the distances that are returned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, as_floats, first_index, is_count

_FREE = 8  # a spread within 2**-8 and 2**8 needs no scaling


class Search(ABC):
    """The exact k nearest of vectors (l, q), in Euclidean distance.

    However a search finds them, their distances come from differences of the vectors as they were given, so that every
    search returns the same bits. Those that tie come in the order of their indices.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads, as in joblib. The result does not depend on it.
    """

    name: ClassVar[str]

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_jobs={self.n_jobs})"

    def fit(self, vectors: Any) -> Self:
        """Remember the vectors to search among, shape (l, q), finite, l >= 1 and q >= 1."""
        array = as_floats("vectors", vectors)
        if array.ndim != 2 or 0 in array.shape:
            raise ValueError(f"vectors must have shape (l, q) with l >= 1 and q >= 1, got {array.shape}")
        # A spread near 1 keeps squares from over- and underflowing, in float32, too (EEG in volts is near 1e-6); powers
        # of two leave the digits alone.
        exponent = -int(np.frexp(np.ptp(array, axis=0).max())[1])
        self._exponent = exponent if abs(exponent) > _FREE else 0
        self._vectors: FloatArray = self._scaled(array)
        # Distances by a matrix product lose the digits that the vectors have in common.
        self._centre: FloatArray = self._vectors.mean(axis=0)
        self._fit()
        return self

    def nearest(self, vectors: Any, k: int) -> tuple[FloatArray, IntArray]:
        """The k nearest of each vector, in ascending order.

        Parameters
        ----------
        vectors : array, shape (l, q), or None
            None: the k nearest of each fitted vector among the others.
        k : int >= 1

        Returns
        -------
        distances : array, shape (l, k)
            Not squared.
        indices : array of int64, shape (l, k)
        """
        count, q = self._vectors.shape
        own = vectors is None
        if not (is_count(k) and 1 <= k <= count - own):
            among = f"{count} vectors are fitted" + (", each of which is no neighbour of its own" if own else "")
            raise ValueError(f"k must be an integer from 1 to {count - own}, got {k!r}: {among}; fit more or lower k")
        if own:
            queries = self._vectors
        else:
            queries = _as_floats(vectors)
            if queries.ndim != 2 or queries.shape[1] != q:
                raise ValueError(f"vectors must have shape (l, {q}), as those that were fitted; got {queries.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            queries = queries if own else self._scaled(queries)
            squared, indices = self._nearest(queries, int(k), np.arange(count) if own else None)
        if not np.isfinite(squared).all():
            where = first_index(~np.isfinite(squared))[0]
            raise ValueError(f"vectors[{where}] is too far from the fitted vectors: its squared distance overflows")
        return np.ldexp(np.sqrt(squared), -self._exponent), indices

    def _scaled(self, array: FloatArray) -> FloatArray:
        return np.ldexp(array, self._exponent) if self._exponent else array

    @abstractmethod
    def _fit(self) -> None:
        """Prepare `_vectors`, whose mean is `_centre`."""

    @abstractmethod
    def _nearest(self, queries: FloatArray, k: int, own: IntArray | None) -> tuple[FloatArray, IntArray]:
        """Squared distances and indices, each (l, k); own: the vector that is not to be found, for each query."""


def _as_floats(vectors: Any) -> FloatArray:
    """`as_floats`, without a copy where there is no need."""
    ready = isinstance(vectors, np.ndarray) and vectors.dtype == np.float64 and vectors.flags.c_contiguous
    return vectors if ready and np.isfinite(vectors).all() else as_floats("vectors", vectors)
