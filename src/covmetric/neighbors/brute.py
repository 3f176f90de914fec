"""All distances by matrix products, proved by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from covmetric._utils.distances import smallest, squared_distances
from covmetric._utils.tuning import FEW_DISTANCES, LIST_ENTRIES
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.neighbors.base import Search

TINY = 1e-30  # what underflows in float32, summed up over any q, at a spread near 1


class BruteSearch(Search):
    """The nearest by scikit-learn's brute force, and a few more, to prove that rounding has hidden none.

    A computed squared distance of centred x and y is off by at most ``allowance (|x| + |y|)^2``. For the k-th smallest
    distance d of those on the list, by differences, any y off the list at distance d or less has |y| <= |x| + d, and
    with it a computed value of at most ``d^2 + allowance (2 |x| + d)^2``. If the last on the list has more, there is
    no such y; if not, the list gets longer.

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
        self._allowance = rounding(self._vectors.shape[1], np.float64)

    def _list(self, centred: FloatArray, count: int) -> tuple[FloatArray, IntArray]:
        """The `count` smallest squared distances, ascending, and their indices, each of shape (l, count)."""
        if len(centred) * len(self._vectors) <= FEW_DISTANCES:
            squared = np.einsum("iq,iq->i", centred, centred)[:, None] + self._norms - 2.0 * centred @ self._centred.T
            listed = np.argpartition(squared, count - 1, axis=1)[:, :count]
            values = np.take_along_axis(squared, listed, axis=1)
            order = values.argsort(axis=1)
            return np.take_along_axis(values, order, axis=1), np.take_along_axis(listed, order, axis=1)
        if self._index is None:
            self._index = NearestNeighbors(algorithm="brute", n_jobs=self.n_jobs).fit(self._centred)
        distances, indices = self._index.kneighbors(centred, count)
        return distances**2, indices

    def _nearest(self, queries: FloatArray, k: int, own: IntArray | None) -> tuple[FloatArray, IntArray]:
        return self._by_lists(queries, k, own, k + (own is not None) + 1)

    def _by_lists(self, queries: FloatArray, k: int, own: IntArray | None, count: int) -> tuple[FloatArray, IntArray]:
        """`_nearest` from lists of `count` entries, by blocks of queries; longer ones where these prove too little."""
        total = len(self._vectors)
        # A list of half of all takes longer to make than to leave out.
        complete = 2 * count >= total
        count = total if complete else count
        squared, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        proved = np.ones(len(queries), dtype=bool)
        size = max(1, LIST_ENTRIES // count)
        for start in range(0, len(queries), size):
            block = slice(start, start + size)
            mine = None if own is None else own[block]
            if complete:
                listed = np.broadcast_to(np.arange(total), (len(queries[block]), total))
                squared[block], indices[block] = self._best(queries[block], k, mine, listed)
            else:
                centred = queries[block] - self._centre
                computed, listed = self._list(centred, count)
                # The last one is the proof, not a candidate.
                squared[block], indices[block] = self._best(queries[block], k, mine, listed[:, :-1])
                d = np.sqrt(squared[block, -1])
                reach = 2.0 * np.sqrt(np.einsum("iq,iq->i", centred, centred)) + d
                proved[block] = computed[:, -1] > d**2 + self._allowance * reach**2 + TINY
        if not proved.all():
            rest = np.flatnonzero(~proved)
            others = None if own is None else own[rest]
            squared[rest], indices[rest] = self._by_lists(queries[rest], k, others, 4 * count)
        return squared, indices

    def _best(self, queries: FloatArray, k: int, own: IntArray | None, listed: IntArray) -> tuple[FloatArray, IntArray]:
        """The k nearest of those listed for each query, shape (l, count)."""
        rows, columns = np.repeat(np.arange(len(queries)), listed.shape[1]), listed.ravel()
        squared = squared_distances(queries, self._vectors, rows, columns)
        if own is not None:
            squared[columns == own[rows]] = np.inf
        return smallest(len(queries), k, rows, columns, squared)


def rounding(q: int, dtype: type[np.floating]) -> float:
    """The relative error of |x|^2 - 2 <x, y> + |y|^2 in q dimensions, in units of (|x| + |y|)^2.

    q roundings in each sum of products and a few more: centring, the additions, the final distances. eps is two of
    them, so that there are twice as many as needed.
    """
    return float((q + 16) * np.finfo(dtype).eps)
