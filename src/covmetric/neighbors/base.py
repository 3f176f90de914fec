"""The base class of the searches: the checks of the input, its scaling, and the distances that are returned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, as_floats, check_n_jobs, first_index, is_count

_UNSCALED_EXPONENT = 8  # a spread between 2**-8 and 2**8 needs no scaling


class Search(ABC):
    """Base class of the exact searches for the k nearest vectors, in Euclidean distance.

    Every search computes the returned distances from differences of the given vectors. All searches therefore return
    the same bits, however they find the neighbours. Vectors at the same distance are sorted by their index.

    A subclass has a `name` and implements `_fit` and `_nearest`.

    Parameters
    ----------
    n_jobs : int or None, default=None
        The number of threads, as in joblib. The result does not depend on it.

    Examples
    --------
    >>> from covmetric.neighbors import get_search
    >>> distances, indices = get_search("brute").fit([[0.0], [1.0], [3.0]]).nearest([[0.9]], 2)
    >>> indices
    array([[1, 0]])
    """

    name: ClassVar[str]

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_jobs={self.n_jobs})"

    def fit(self, vectors: Any) -> Self:
        """Store the vectors to search among.

        Parameters
        ----------
        vectors : array of shape (l, q)
            Finite vectors, with l >= 1 and q >= 1. They are copied.

        Returns
        -------
        Search
            The search itself.

        Raises
        ------
        ValueError
            If the array has the wrong shape, or has NaN or infinite entries.
        """
        check_n_jobs(self.n_jobs)
        array = as_floats("vectors", vectors)
        if array.ndim != 2 or 0 in array.shape:
            raise ValueError(f"vectors must have shape (l, q) with l >= 1 and q >= 1, got {array.shape}")
        # A spread near 1 prevents overflow and underflow of the squares, also in float32 (EEG in volts is near 1e-6).
        # Powers of two do not change the digits.
        exponent = -int(np.frexp(np.ptp(array, axis=0).max())[1])
        self._exponent = exponent if abs(exponent) > _UNSCALED_EXPONENT else 0
        self._vectors: FloatArray = self._scaled(array)
        # Distances from a matrix product lose the digits that the vectors have in common, so centre the vectors first.
        self._centre: FloatArray = self._vectors.mean(axis=0)
        self._fit()
        return self

    def nearest(self, vectors: Any, k: int) -> tuple[FloatArray, IntArray]:
        """Return the k nearest fitted vectors of each query, in ascending order of distance.

        Parameters
        ----------
        vectors : array of shape (l, q) or None
            The queries. None means the fitted vectors, which are then not their own neighbours.
        k : int
            The number of neighbours, at least 1.

        Returns
        -------
        distances : array of shape (l, k)
            The distances, not squared.
        indices : array of int of shape (l, k)
            The indices into the fitted vectors. Vectors at the same distance are sorted by their index.

        Raises
        ------
        ValueError
            If there are fewer than k vectors, if the queries and the fitted vectors have different lengths, or if a
            squared distance overflows.
        """
        squared, indices, exponent = self.nearest_squared(vectors, k)
        return np.ldexp(np.sqrt(squared), -exponent), indices

    def nearest_squared(self, vectors: Any, k: int) -> tuple[FloatArray, IntArray, int]:
        """Return what `nearest` returns, with squared distances in the units that the search computes in.

        Different squared distances may have the same root. Neighbours from several searches therefore have to be
        merged by their squared distances. The units are powers of two, so that changing them does not round.

        Parameters
        ----------
        vectors : array of shape (l, q) or None
            The queries, as in `nearest`.
        k : int
            The number of neighbours, at least 1.

        Returns
        -------
        squared : array of shape (l, k)
            The squared distances, times ``4.0**exponent``.
        indices : array of int of shape (l, k)
            The indices into the fitted vectors.
        exponent : int
            The exponent of the units.

        Raises
        ------
        ValueError
            As in `nearest`.
        """
        count, q = self._vectors.shape
        among_fitted = vectors is None
        available = count - among_fitted
        if not (is_count(k) and 1 <= k <= available):
            reason = f"{count} vectors are fitted" + (", and no vector is its own neighbour" if among_fitted else "")
            raise ValueError(f"k must be an integer from 1 to {available}, got {k!r}: {reason}; fit more or lower k")
        if among_fitted:
            queries = self._vectors
        else:
            queries = _as_floats(vectors)
            if queries.ndim != 2 or queries.shape[1] != q:
                raise ValueError(f"vectors must have shape (l, {q}), like the fitted vectors; got {queries.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            queries = queries if among_fitted else self._scaled(queries)
            squared, indices = self._nearest(queries, int(k), np.arange(count) if among_fitted else None)
        if not np.isfinite(squared).all():
            where = first_index(~np.isfinite(squared))[0]
            raise ValueError(f"vectors[{where}] is too far from the fitted vectors: its squared distance overflows")
        return squared, indices, self._exponent

    def _scaled(self, array: FloatArray) -> FloatArray:
        return np.ldexp(array, self._exponent) if self._exponent else array

    @abstractmethod
    def _fit(self) -> None:
        """Prepare the search among `_vectors`, whose mean is `_centre`."""

    @abstractmethod
    def _nearest(self, queries: FloatArray, k: int, excluded: IntArray | None) -> tuple[FloatArray, IntArray]:
        """Return squared distances and indices, each (l, k); `excluded` has one index per query that is left out."""


def _as_floats(vectors: Any) -> FloatArray:
    """Return `as_floats` of the vectors, without a copy if possible."""
    ready = isinstance(vectors, np.ndarray) and vectors.dtype == np.float64 and vectors.flags.c_contiguous
    return vectors if ready and np.isfinite(vectors).all() else as_floats("vectors", vectors)
