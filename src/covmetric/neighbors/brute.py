"""Brute force: candidates from matrix products, distances from differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from covmetric._utils.distances import smallest, squared_distances
from covmetric._utils.tuning import FEW_DISTANCES, LIST_ENTRIES
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.neighbors.base import Search

TINY = 1e-30  # exceeds the sum of everything that underflows in float32, for any q, at a spread near 1


class BruteSearch(Search):
    """Exact search by scikit-learn's brute force, with a proof that rounding has not hidden any neighbour.

    Parameters
    ----------
    n_jobs : int or None, default=None
        The number of threads, as in joblib. The result does not depend on it.

    Notes
    -----
    A matrix product gives, for each query x, a list of the candidates with the smallest computed squared distances. The
    distances of the candidates are then computed again, from differences. Let d be the k-th smallest of these.

    The computed squared distance between centred vectors x and y is off by at most ``allowance (|x| + |y|)^2``. A
    vector y within the distance d has |y| <= |x| + d, and therefore a computed squared distance of at most
    ``d^2 + allowance (2 |x| + d)^2``. If the last distance on the list exceeds this, no vector beyond the list is a
    neighbour. Otherwise the query is searched again with a longer list.

    Examples
    --------
    >>> distances, indices = BruteSearch().fit([[0.0], [1.0], [3.0]]).nearest([[0.9]], 2)
    >>> indices
    array([[1, 0]])
    """

    name = "brute"

    def _fit(self) -> None:
        self._centred = self._vectors - self._centre
        self._norms = np.einsum("iq,iq->i", self._centred, self._centred)
        self._index: Any = None
        self._allowance = relative_rounding(self._vectors.shape[1], np.float64)

    def _candidates(self, centred: FloatArray, count: int) -> tuple[FloatArray, IntArray]:
        """Return the `count` smallest squared distances, ascending, and their indices, each of shape (l, count)."""
        if len(centred) * len(self._vectors) <= FEW_DISTANCES:
            squared = np.einsum("iq,iq->i", centred, centred)[:, None] + self._norms - 2.0 * centred @ self._centred.T
            candidates = np.argpartition(squared, count - 1, axis=1)[:, :count]
            values = np.take_along_axis(squared, candidates, axis=1)
            order = values.argsort(axis=1)
            return np.take_along_axis(values, order, axis=1), np.take_along_axis(candidates, order, axis=1)
        if self._index is None:
            self._index = NearestNeighbors(algorithm="brute", n_jobs=self.n_jobs).fit(self._centred)
        distances, indices = self._index.kneighbors(centred, count)
        return distances**2, indices

    def _nearest(self, queries: FloatArray, k: int, excluded: IntArray | None) -> tuple[FloatArray, IntArray]:
        return self._from_candidates(queries, k, excluded, k + (excluded is not None) + 1)

    def _from_candidates(
        self, queries: FloatArray, k: int, excluded: IntArray | None, count: int
    ) -> tuple[FloatArray, IntArray]:
        """Return `_nearest` from lists of `count` candidates, and from longer lists where the proof fails."""
        total = len(self._vectors)
        # Taking all vectors is faster than selecting half of them.
        complete = 2 * count >= total
        count = total if complete else count
        squared, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        proven = np.ones(len(queries), dtype=bool)
        size = max(1, LIST_ENTRIES // count)
        for start in range(0, len(queries), size):
            block = slice(start, start + size)
            block_excluded = None if excluded is None else excluded[block]
            if complete:
                candidates = np.broadcast_to(np.arange(total), (len(queries[block]), total))
                squared[block], indices[block] = self._select(queries[block], k, block_excluded, candidates)
            else:
                centred = queries[block] - self._centre
                computed, candidates = self._candidates(centred, count)
                # The last candidate is only used for the proof.
                squared[block], indices[block] = self._select(queries[block], k, block_excluded, candidates[:, :-1])
                d = np.sqrt(squared[block, -1])
                reach = 2.0 * np.sqrt(np.einsum("iq,iq->i", centred, centred)) + d
                proven[block] = computed[:, -1] > d**2 + self._allowance * reach**2 + TINY
        if not proven.all():
            rest = np.flatnonzero(~proven)
            rest_excluded = None if excluded is None else excluded[rest]
            squared[rest], indices[rest] = self._from_candidates(queries[rest], k, rest_excluded, 4 * count)
        return squared, indices

    def _select(
        self, queries: FloatArray, k: int, excluded: IntArray | None, candidates: IntArray
    ) -> tuple[FloatArray, IntArray]:
        """Return the k nearest of the candidates (l, count) of each query, by distances from differences."""
        rows, columns = np.repeat(np.arange(len(queries)), candidates.shape[1]), candidates.ravel()
        squared = squared_distances(queries, self._vectors, rows, columns)
        if excluded is not None:
            squared[columns == excluded[rows]] = np.inf
        return smallest(len(queries), k, rows, columns, squared)


def relative_rounding(q: int, dtype: type[np.floating]) -> float:
    """Return a bound on the rounding error of |x|^2 - 2 <x, y> + |y|^2, in units of (|x| + |y|)^2.

    A sum of q products has q rounding errors, and centring, the additions and the final distances add a few more. Each
    error is at most eps / 2, so the bound is twice as large as needed.

    Parameters
    ----------
    q : int
        The number of dimensions.
    dtype : type
        Type of the floating-point numbers.

    Returns
    -------
    float
        The bound, which is relative to (|x| + |y|)^2.
    """
    return float((q + 16) * np.finfo(dtype).eps)
