"""Pairs of nearest neighbours, which decide whether a nearest-neighbour classifier is right."""

from __future__ import annotations

import numpy as np

from covmetric._utils.distances import distance_blocks, nearest_columns
from covmetric._utils.validation import FloatArray, IntArray, is_count
from covmetric.constraints.base import LabelledPairs, PairSelection
from covmetric.constraints.groups import GroupFilter


class NeighborPairs(PairSelection):
    """Each example with its nearest examples of the same class, and with its nearest examples of other classes.

    Parameters
    ----------
    budget : int or None, default=None
        The number of neighbours of each kind per example. None means 5.
    rounds : int, default=1
        The number of selections of neighbours: the first under W = I, the others under the previous learned metric.
    groups : {'across', 'within', 'ignore'}, default='across'
        What the selection does if examples have groups, as in `PairSelection`.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([0, 0, 1, 1])
    >>> vectors = np.array([[0.0], [1.0], [3.0], [9.0]])
    >>> NeighborPairs(budget=1).select(vectors, codes, np.random.default_rng(0)).pairs.tolist()
    [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    """

    name = "neighbors"
    default_budget = 5

    def __init__(self, budget: int | None = None, rounds: int = 1, groups: str = "across") -> None:
        super().__init__(budget, groups)
        self.rounds = rounds

    def check(self) -> int:
        if not (is_count(self.rounds) and self.rounds >= 1):
            raise ValueError(f"rounds must be an integer >= 1, got {self.rounds!r}")
        return super().check()

    def select(
        self,
        vectors: FloatArray,
        codes: IntArray,
        rng: np.random.Generator,
        old: int = 0,
        groups: IntArray | None = None,
    ) -> LabelledPairs:
        k = self.check()
        allowed = GroupFilter.create(self.groups, codes, groups)
        classes = [np.flatnonzero(codes == c) for c in range(int(codes.max(initial=-1)) + 1)]
        chosen: list[IntArray] = [np.empty((0, 2), dtype=np.int64)]
        for block, squared in distance_blocks(vectors, old):
            rows = np.arange(block.start, block.stop)
            squared[np.arange(len(rows)), rows] = np.inf
            if allowed is not None:
                squared[~allowed.allows(rows[:, None], np.arange(len(codes)))] = np.inf
            for members in classes:
                in_block = members[(members >= block.start) & (members < block.stop)]
                if len(in_block):
                    within = np.ix_(in_block - block.start, members)
                    chosen.append(_nearest_pairs(squared[within], in_block, members, k))
                    squared[within] = np.inf
            # The remaining finite distances are between different classes.
            chosen.append(_nearest_pairs(squared, rows, np.arange(len(codes)), k))
        return LabelledPairs.from_codes(np.concatenate(chosen), codes)


def _nearest_pairs(squared: FloatArray, rows: IntArray, columns: IntArray, k: int) -> IntArray:
    """Return the index pairs of the k smallest finite squared distances of each row, shape (n_pairs, 2)."""
    nearest = nearest_columns(squared, k)
    pairs = np.stack([np.repeat(rows, nearest.shape[1]), columns[nearest].ravel()], axis=1)
    return pairs[np.isfinite(np.take_along_axis(squared, nearest, axis=1)).ravel()]
