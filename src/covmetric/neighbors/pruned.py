"""Search with lower bounds in a few dimensions: only the distances of possible neighbours are computed in full."""

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
from covmetric.neighbors.brute import TINY, BruteSearch, relative_rounding

SingleArray = npt.NDArray[np.float32]
#: Squared distances and indices, each of shape (l, k), and the number of distances that were computed in full.
BlockResult = tuple[FloatArray, IntArray, int]

_MAX_NORM = 1e12  # the largest norm of a query in float32, at a spread near 1, so that squares do not overflow


class PrunedSearch(BruteSearch):
    """Exact search that discards most vectors by lower bounds on their distances.

    The bounds use r principal directions of the vectors. Where they discard too few vectors, the search falls back to
    brute force.

    Parameters
    ----------
    n_jobs : int or None, default=None
        The number of threads, as in joblib. The result does not depend on it.

    Attributes
    ----------
    n_directions_ : int
        The number of directions r, chosen by the estimated cost on a sample of the fitted vectors. It is 0 if brute
        force is expected to be faster.
    n_exact_ : int
        The number of distances that the last call of `nearest` computed in all q dimensions, including brute force.

    Notes
    -----
    Let P be the projection onto the directions. Then ``|P (x - y)|^2 + (|x - P x| - |y - P y|)^2 <= |x - y|^2``. The
    left side is a squared distance in r + 1 dimensions. A small matrix product in float32 gives it for all pairs.

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
        # |x - P x| comes from |x|^2 - |P x|^2. If it is small, only half of its digits are right.
        self._residual_error = (
            2.0 * np.sqrt(relative_rounding(q, np.float64) * self.n_directions_**0.5) + np.finfo(np.float32).eps
        )
        self._product_error = relative_rounding(self.n_directions_ + 2, np.float32)

    def _directions(self) -> FloatArray:
        """Return an orthonormal basis (q, r) of principal directions of a sample, with the r of lowest cost."""
        total, q = self._vectors.shape
        sample = np.random.default_rng(0).permutation(total)[: PRUNED_LEARN + PRUNED_TRY]
        centred = self._vectors[sample] - self._centre
        # The first part of the sample gives the directions; the second part serves as queries.
        learned, tried = np.split(centred, [len(sample) * PRUNED_LEARN // (PRUNED_LEARN + PRUNED_TRY)])
        values, vectors = np.linalg.eigh(learned @ learned.T)
        significant = np.flatnonzero(values > 1e-10 * np.abs(values).max(initial=0.0))[::-1]
        axes = vectors[:, significant] / np.sqrt(values[significant])
        products = tried @ centred.T
        z, squares = products[:, : len(learned)] @ axes, np.einsum("iq,iq->i", centred, centred)
        query_squares = squares[len(learned) :]
        D = query_squares[:, None] + squares - 2.0 * products
        np.fill_diagonal(D[:, len(learned) :], np.inf)
        nearest = D.min(axis=1, initial=np.inf)[:, None]
        costs = {0: PRUNED_BRUTE * q}
        for r in (2**j for j in range(3, 10)):
            if r > min(len(significant), q // 4):
                break
            projected_squares = np.einsum("ir,ir->i", z[:, :r], z[:, :r])
            w = np.column_stack([z[:, :r], np.sqrt(np.maximum(query_squares - projected_squares, 0.0))])
            kept_fraction = float((query_squares[:, None] + query_squares - 2.0 * w @ w.T <= nearest).mean())
            costs[r] = (
                PRUNED_FILTER
                + PRUNED_BOUND * r
                + PRUNED_EXACT * q * kept_fraction
                + 2.0 * PRUNED_BRUTE * q * r / total  # the projections of a query and of as many fitted vectors
            )
        return np.linalg.qr(learned.T @ axes[:, : min(costs, key=lambda r: costs[r])])[0]

    def _compress(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the vectors in r + 1 dimensions, and their norms; by blocks, to limit the centred copy."""
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

    def _nearest(self, queries: FloatArray, k: int, excluded: IntArray | None) -> tuple[FloatArray, IntArray]:
        squared, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        remaining, self.n_exact_ = np.ones(len(queries), dtype=bool), 0
        for block, (block_squared, block_indices, n_exact) in self._prune_blocks(queries, k, excluded):
            squared[block], indices[block] = block_squared, block_indices
            self.n_exact_ += n_exact
            remaining[block] = False
        if remaining.any():
            self.n_exact_ += int(remaining.sum()) * len(self._vectors)
            squared[remaining], indices[remaining] = self._by_brute_force(queries, k, excluded, remaining)
        return squared, indices

    def _by_brute_force(
        self, queries: FloatArray, k: int, excluded: IntArray | None, mask: npt.NDArray[np.bool_]
    ) -> tuple[FloatArray, IntArray]:
        """Return the neighbours of the queries in the mask."""
        if not self._can_fall_back:
            super()._fit()
            self._can_fall_back = True
        if mask.all():
            return super()._nearest(queries, k, excluded)
        return super()._nearest(queries[mask], k, None if excluded is None else excluded[mask])

    def _prune_blocks(self, queries: FloatArray, k: int, excluded: IntArray | None) -> list[tuple[slice, BlockResult]]:
        """Return blocks of queries with their results, without the blocks for which brute force is faster."""
        total = len(self._vectors)
        if self.n_directions_ == 0 or 8 * k > total or len(queries) == 0:
            return []
        size = max(1, BOUND_ENTRIES // total)
        blocks = [slice(start, start + size) for start in range(0, len(queries), size)]
        tasks = [(queries[block], k, None if excluded is None else excluded[block]) for block in blocks]
        # If the bounds discard too little for the first block, the other blocks are not tried.
        results = [self._prune(*tasks[0])]
        if results[0] is not None:
            results += Parallel(self.n_jobs, require="sharedmem")(delayed(self._prune)(*task) for task in tasks[1:])
        return [(block, result) for block, result in zip(blocks, results, strict=False) if result is not None]

    def _prune(self, queries: FloatArray, k: int, excluded: IntArray | None) -> BlockResult | None:
        """Return the neighbours of a block of queries, or None if brute force is faster."""
        z, norms = self._compress(queries)
        if norms.max() > _MAX_NORM:
            return None
        z32 = z.astype(np.float32)
        each = np.arange(len(queries))
        # Squared distances in r + 1 dimensions, minus the squared norm of the query.
        bounds = np.hstack([-2.0 * z32, np.ones((len(z), 1), dtype=np.float32)]) @ self._references.T
        offsets = np.einsum("ir,ir->i", z32, z32, dtype=np.float64)
        if excluded is not None:
            bounds[each, excluded] = np.inf
        # The distances of k vectors with small bounds limit the distance of the k-th neighbour.
        seeds = _columns_of_small_bounds(bounds, k)
        rows, columns = np.repeat(each, k), seeds.ravel()
        squared = squared_distances(queries, self._vectors, rows, columns)
        bounds[rows, columns] = np.inf
        d = np.sqrt(squared.reshape(-1, k).max(axis=1))
        limits = self._limits(norms, d, offsets)
        kept = np.flatnonzero(bounds <= limits[:, None])
        if len(kept) * PRUNED_EXACT > bounds.size * PRUNED_BRUTE:
            return None
        kept_rows, kept_columns = np.divmod(kept, bounds.shape[1])
        rows, columns = np.concatenate([rows, kept_rows]), np.concatenate([columns, kept_columns])
        squared = np.concatenate([squared, squared_distances(queries, self._vectors, kept_rows, kept_columns)])
        return *smallest(len(queries), k, rows, columns, squared), len(rows)

    def _limits(self, norms: FloatArray, d: FloatArray, offsets: FloatArray) -> SingleArray:
        """Return the largest bound that may be computed for a vector within the distance d; see `BruteSearch`."""
        reach = 2.0 * norms + d
        limits = (d + self._residual_error * reach) ** 2 + self._product_error * reach**2 + TINY
        return np.asarray(limits - offsets, dtype=np.float32)


def _columns_of_small_bounds(bounds: SingleArray, k: int) -> IntArray:
    """Return k columns with small bounds in each row: the best of the minima of groups of columns.

    They need not be the smallest. Finding the smallest by a full partition takes longer.
    """
    groups = min(max(64, 4 * k), bounds.shape[1] // 2)
    width = bounds.shape[1] // groups
    minima = bounds[:, : groups * width].reshape(len(bounds), groups, width).argmin(axis=2)
    minima += np.arange(groups) * width
    order = np.take_along_axis(bounds, minima, axis=1).argpartition(k - 1, axis=1)[:, :k]
    return np.asarray(np.take_along_axis(minima, order, axis=1), dtype=np.int64)
