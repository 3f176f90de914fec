"""Random pairs, as in the paper."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, is_number
from covmetric.constraints.base import LabelledPairs, PairSelection


class RandomPairs(PairSelection):
    """Pairs drawn at random without repetition; all of them where there are no more.

    Parameters
    ----------
    budget : int or None, default=None
        Pairs per class, so that K is at most budget times the number of classes. None: 100, as in the paper.
    balance : float or None, default=0.5
        The share of similar pairs, in [0, 1]. Each class gets the same number of both kinds, as far as it has them.
        None: uniform over all pairs, of which few are similar when there are many classes.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.repeat([0, 1, 2], 40)
    >>> chosen = RandomPairs(budget=10).select(np.empty((120, 0)), codes, np.random.default_rng(0))
    >>> len(chosen.pairs), int((chosen.similar > 0).sum())
    (30, 15)
    """

    name = "random"
    default_budget = 100

    def __init__(self, budget: int | None = None, balance: float | None = 0.5) -> None:
        super().__init__(budget)
        self.balance = balance

    def check(self) -> int:
        if self.balance is not None and not (is_number(self.balance) and 0.0 <= self.balance <= 1.0):
            raise ValueError(f"balance must be None or a number from 0 to 1, got {self.balance!r}")
        return super().check()

    def select(
        self,
        vectors: FloatArray,  # noqa: ARG002
        codes: IntArray,
        rng: np.random.Generator,
        old: int = 0,
    ) -> LabelledPairs:
        per_class, count, classes = self.check(), len(codes), int(codes.max()) + 1
        new, earlier = np.arange(old, count), np.arange(old)
        if self.balance is None:
            wanted = _part(per_class * classes, len(new), count)
            return LabelledPairs.from_codes(_draw_among(new, earlier, wanted, rng), codes)
        near = round(self.balance * per_class)
        chosen: list[IntArray] = []
        taken = np.empty(0, dtype=np.int64)
        for c in range(classes):
            mine, others = new[codes[new] == c], np.flatnonzero(codes != c)
            members = int((codes == c).sum())
            chosen.append(_draw_among(mine, earlier[codes[earlier] == c], _part(near, len(mine), members), rng))
            across = _draw_across(mine, others, _part(per_class - near, len(mine), members), taken, rng)
            taken = np.concatenate([taken, _keys(across)])
            chosen.append(across)
        return LabelledPairs.from_codes(np.concatenate(chosen), codes)


def _draw(rng: np.random.Generator, population: int, count: int) -> IntArray:
    """`count` distinct numbers below `population`, or all of them, in random order."""
    if population <= count:
        return np.asarray(rng.permutation(population), dtype=np.int64)
    return np.asarray(rng.choice(population, count, replace=False), dtype=np.int64)


def _draw_among(new: IntArray, earlier: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """`count` distinct pairs (or all) of two new examples, or of a new and an earlier one."""
    grid = len(new) * len(earlier)
    ranks = _draw(rng, grid + len(new) * (len(new) - 1) // 2, count)
    mixed, both = ranks[ranks < grid], ranks[ranks >= grid] - grid
    pairs = new[_unordered(both)]
    if len(mixed):
        pairs = np.concatenate([pairs, np.stack([new[mixed // len(earlier)], earlier[mixed % len(earlier)]], axis=1)])
    return np.asarray(pairs)


def _draw_across(mine: IntArray, others: IntArray, count: int, taken: IntArray, rng: np.random.Generator) -> IntArray:
    """`count` distinct pairs (or all) of one of mine with one of the others, but for those taken already."""
    ranks = _draw(rng, len(mine) * len(others), count + len(taken))
    if len(ranks) == 0:
        return np.empty((0, 2), dtype=np.int64)
    pairs = np.stack([mine[ranks // len(others)], others[ranks % len(others)]], axis=1)
    return np.asarray(pairs[~np.isin(_keys(pairs), taken)][:count])


def _keys(pairs: IntArray) -> IntArray:
    """A number for each unordered pair."""
    return np.asarray((pairs.min(axis=1) << 32) + pairs.max(axis=1))


def _unordered(ranks: IntArray) -> IntArray:
    """The pairs (i, j), i < j, with these ranks in the order (0,1), (0,2), (1,2), (0,3), ..."""
    j = np.floor((1.0 + np.sqrt(1.0 + 8.0 * ranks)) / 2.0).astype(np.int64)
    # The square root may be off by one where the ranks are large.
    j -= j * (j - 1) // 2 > ranks
    j += (j + 1) * j // 2 <= ranks
    return np.stack([ranks - j * (j - 1) // 2, j], axis=1)


def _part(budget: int, new: int, everyone: int) -> int:
    """The share of a budget that is due to the new ones among all."""
    return -(-budget * new // everyone) if everyone else 0
