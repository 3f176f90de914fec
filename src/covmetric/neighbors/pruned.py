"""Distances are bounded from below in a few dimensions; only those that may be among the nearest are worked out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from covmetric._utils.distances import smallest, squared_distances
from covmetric._utils.tuning import (
    BOUND_ENTRIES,
    PRUNED_BOUND,
    PRUNED_BRUTE,
    PRUNED_EXACT,
    PRUNED_FILTER,
    PRUNED_LEARN,
    PRUNED_TRY,
)
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.neighbors.brute import TINY, BruteSearch, rounding

SingleArray = npt.NDArray[np.float32]
Found = tuple[FloatArray, IntArray, int]

_LARGEST = 1e12  # norm that is searched in float32, at a spread near 1


class PrunedSearch(BruteSearch):
    """The nearest by lower bounds in r principal directions where they rule out nearly all, else by brute force.

    With P the projection onto the directions, ``|P (x - y)|^2 + (|x - P x| - |y - P y|)^2 <= |x - y|^2``. The left side
    is a squared distance in r + 1 dimensions: one small matrix product in float32 gives it for all pairs.

    Attributes
    ----------
    n_directions_ : int
        r, by the costs in a sample of the fitted vectors; 0: brute force is expected to be faster.
    n_exact_ : int
        How many distances the last `nearest` worked out in all q dimensions, those of brute force included.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.standard_normal((2000, 100)) * 0.5 ** np.arange(100)
    >>> search = PrunedSearch().fit(vectors)
    >>> distances, indices = search.nearest(vectors[:50], 3)
    >>> search.n_exact_ < 0.01 * 50 * 2000
    True
    """

    name = "pruned"

    def _fit(self) -> None:
        self._basis = self._directions()
        self._can_fall_back = False
        q, self.n_directions_ = self._basis.shape
        if self.n_directions_ == 0:
            return
        z = self._compress(self._vectors)[0].astype(np.float32)
        squares = np.einsum("ir,ir->i", z, z, dtype=np.float64)[:, None]
        self._references = np.hstack([z, squares.astype(np.float32)])
        # x - P x comes from |x|^2 - |P x|^2, which leaves half of the digits where it is small.
        self._blur = 2.0 * np.sqrt(rounding(q, np.float64) * self.n_directions_**0.5) + np.finfo(np.float32).eps
        self._product_error = rounding(self.n_directions_ + 2, np.float32)

    def _directions(self) -> FloatArray:
        """An orthonormal basis, shape (q, r), of as many principal directions of a sample as pay; r = 0: none."""
        total, q = self._vectors.shape
        sample = np.random.default_rng(0).permutation(total)[: PRUNED_LEARN + PRUNED_TRY]
        centred = self._vectors[sample] - self._centre
        first, second = np.split(centred, [len(sample) * PRUNED_LEARN // (PRUNED_LEARN + PRUNED_TRY)])
        values, vectors = np.linalg.eigh(first @ first.T)
        sound = np.flatnonzero(values > 1e-10 * np.abs(values).max(initial=0.0))[::-1]
        axes = vectors[:, sound] / np.sqrt(values[sound])
        products = second @ centred.T
        z, squares = products[:, : len(first)] @ axes, np.einsum("iq,iq->i", centred, centred)
        own = squares[len(first) :]
        D = own[:, None] + squares - 2.0 * products
        np.fill_diagonal(D[:, len(first) :], np.inf)
        nearest = D.min(axis=1, initial=np.inf)[:, None]
        costs = {0: PRUNED_BRUTE * q}
        for r in (2**j for j in range(3, 10)):
            if r > min(len(sound), q // 4):
                break
            kept = np.einsum("ir,ir->i", z[:, :r], z[:, :r])
            w = np.column_stack([z[:, :r], np.sqrt(np.maximum(own - kept, 0.0))])
            share = float((own[:, None] + own - 2.0 * w @ w.T <= nearest).mean())
            # The last term: projecting a query, and as many fitted vectors.
            costs[r] = PRUNED_FILTER + PRUNED_BOUND * r + PRUNED_EXACT * q * share + 2.0 * PRUNED_BRUTE * q * r / total
        return np.linalg.qr(first.T @ axes[:, : min(costs, key=lambda r: costs[r])])[0]

    def _compress(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The vectors in r + 1 dimensions, and their norms; by blocks, for the sake of the centred copy."""
        z, norms = np.empty((len(vectors), self.n_directions_ + 1)), np.empty(len(vectors))
        size = max(1, BOUND_ENTRIES // vectors.shape[1])
        for start in range(0, len(vectors), size):
            block = slice(start, start + size)
            centred = vectors[block] - self._centre
            squares = np.einsum("iq,iq->i", centred, centred)
            z[block, :-1] = w = centred @ self._basis
            z[block, -1] = np.sqrt(np.maximum(squares - np.einsum("ir,ir->i", w, w), 0.0))
            norms[block] = np.sqrt(squares)
        return z, norms

    def _nearest(self, queries: FloatArray, k: int, own: IntArray | None) -> tuple[FloatArray, IntArray]:
        found = self._prune_all(queries, k, own)
        squared, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        rest, self.n_exact_ = np.ones(len(queries), dtype=bool), 0
        for block, one in found:
            squared[block], indices[block] = one[:2]
            self.n_exact_ += one[2]
            rest[block] = False
        if rest.any():
            self.n_exact_ += int(rest.sum()) * len(self._vectors)
            squared[rest], indices[rest] = self._by_brute_force(queries, k, own, rest)
        return squared, indices

    def _by_brute_force(
        self, queries: FloatArray, k: int, own: IntArray | None, rest: npt.NDArray[np.bool_]
    ) -> tuple[FloatArray, IntArray]:
        if not self._can_fall_back:
            super()._fit()
            self._can_fall_back = True
        if rest.all():
            return super()._nearest(queries, k, own)
        return super()._nearest(queries[rest], k, None if own is None else own[rest])

    def _prune_all(self, queries: FloatArray, k: int, own: IntArray | None) -> list[tuple[slice, Found]]:
        """Blocks of queries, and what was found for them; those that are left to brute force are not listed."""
        total = len(self._vectors)
        if self.n_directions_ == 0 or 8 * k > total or len(queries) == 0:
            return []
        size = max(1, BOUND_ENTRIES // total)
        blocks = [slice(start, start + size) for start in range(0, len(queries), size)]
        work = [(queries[block], k, None if own is None else own[block]) for block in blocks]
        # Where the bounds of the first queries rule out too little, the others are not tried.
        found = [self._prune(*work[0])]
        if found[0] is not None:
            found += Parallel(self.n_jobs, prefer="threads")(delayed(self._prune)(*one) for one in work[1:])
        return [(block, one) for block, one in zip(blocks, found, strict=False) if one is not None]

    def _prune(self, queries: FloatArray, k: int, own: IntArray | None) -> Found | None:
        """Squared distances and indices (l, k), and how many distances it took; None where brute force is faster."""
        z, norms = self._compress(queries)
        if norms.max() > _LARGEST:
            return None
        z32 = z.astype(np.float32)
        each = np.arange(len(queries))
        # Squared distances in r + 1 dimensions, less the squared norm of the query.
        bounds = np.hstack([-2.0 * z32, np.ones((len(z), 1), dtype=np.float32)]) @ self._references.T
        offsets = np.einsum("ir,ir->i", z32, z32, dtype=np.float64)
        if own is not None:
            bounds[each, own] = np.inf
        seeds = _leaders(bounds, k)
        rows, columns = np.repeat(each, k), seeds.ravel()
        squared = squared_distances(queries, self._vectors, rows, columns)
        bounds[rows, columns] = np.inf
        d = np.sqrt(squared.reshape(-1, k).max(axis=1))
        limits = self._limits(norms, d, offsets)
        more = np.flatnonzero(bounds <= limits[:, None])
        if len(more) * PRUNED_EXACT > bounds.size * PRUNED_BRUTE:
            return None
        more_rows, more_columns = np.divmod(more, bounds.shape[1])
        rows, columns = np.concatenate([rows, more_rows]), np.concatenate([columns, more_columns])
        squared = np.concatenate([squared, squared_distances(queries, self._vectors, more_rows, more_columns)])
        return *smallest(len(queries), k, rows, columns, squared), len(rows)

    def _limits(self, norms: FloatArray, d: FloatArray, offsets: FloatArray) -> SingleArray:
        """What the computed bound of a vector within the distance d does not exceed; see `BruteSearch` for |y|."""
        reach = 2.0 * norms + d
        limits = (d + self._blur * reach) ** 2 + self._product_error * reach**2 + TINY
        return np.asarray(limits - offsets, dtype=np.float32)


def _leaders(bounds: SingleArray, k: int) -> IntArray:
    """k columns of small bounds in each row: the best of the leaders of groups, for a full partition takes long."""
    groups = min(max(64, 4 * k), bounds.shape[1] // 2)
    width = bounds.shape[1] // groups
    leaders = bounds[:, : groups * width].reshape(len(bounds), groups, width).argmin(axis=2)
    leaders += np.arange(groups) * width
    order = np.take_along_axis(bounds, leaders, axis=1).argpartition(k - 1, axis=1)[:, :k]
    return np.asarray(np.take_along_axis(leaders, order, axis=1), dtype=np.int64)
