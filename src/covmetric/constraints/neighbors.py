"""Pairs of near neighbours: where a classifier by neighbours is right or wrong."""

from __future__ import annotations

import numpy as np

from covmetric._utils.distances import distance_blocks, nearest_columns
from covmetric._utils.validation import FloatArray, IntArray, is_count
from covmetric.constraints.base import LabelledPairs, PairSelection


class NeighborPairs(PairSelection):
    """Each example with its nearest examples of its own class and with its nearest of other classes.

    Parameters
    ----------
    budget : int or None, default=None
        Neighbours of either kind per example. None: 5.
    rounds : int, default=1
        How often the neighbours are chosen: once under W = I, then again under each learned metric.

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

    def __init__(self, budget: int | None = None, rounds: int = 1) -> None:
        super().__init__(budget)
        self.rounds = rounds

    def check(self) -> int:
        if not (is_count(self.rounds) and self.rounds >= 1):
            raise ValueError(f"rounds must be an integer >= 1, got {self.rounds!r}")
        return super().check()

    def select(
        self,
        vectors: FloatArray,
        codes: IntArray,
        rng: np.random.Generator,  # noqa: ARG002
        old: int = 0,
    ) -> LabelledPairs:
        k = self.check()
        members = [np.flatnonzero(codes == c) for c in range(int(codes.max(initial=-1)) + 1)]
        chosen: list[IntArray] = [np.empty((0, 2), dtype=np.int64)]
        for part, squared in distance_blocks(vectors, old):
            rows = np.arange(part.start, part.stop)
            squared[np.arange(len(rows)), rows] = np.inf
            for own in members:
                mine = own[(own >= part.start) & (own < part.stop)]
                if len(mine):
                    within = np.ix_(mine - part.start, own)
                    chosen.append(_nearest(squared[within], mine, own, k))
                    squared[within] = np.inf
            chosen.append(_nearest(squared, rows, np.arange(len(codes)), k))
        return LabelledPairs.from_codes(np.concatenate(chosen), codes)


def _nearest(squared: FloatArray, rows: IntArray, columns: IntArray, k: int) -> IntArray:
    """Pairs of each row's example with those, of the columns, at the k smallest finite squared distances."""
    nearest = nearest_columns(squared, k)
    pairs = np.stack([np.repeat(rows, nearest.shape[1]), columns[nearest].ravel()], axis=1)
    return pairs[np.isfinite(np.take_along_axis(squared, nearest, axis=1)).ravel()]
