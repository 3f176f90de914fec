"""Random pairs, as in the paper."""

from __future__ import annotations

import numpy as np

from covmetric._validation import FloatArray, IntArray, is_number
from covmetric.constraints.base import LabelledPairs, PairSelection


class RandomPairs(PairSelection):
    """Pairs drawn at random without repetition; all pairs where they are few.

    Parameters
    ----------
    budget : int or None, default=None
        Pairs per class, K = budget times the number of classes. None: 100, as in the paper.
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

    def select(
        self,
        vectors: FloatArray,  # noqa: ARG002
        codes: IntArray,
        rng: np.random.Generator,
        old: int = 0,
    ) -> LabelledPairs:
        if self.balance is not None and not (is_number(self.balance) and 0.0 <= self.balance <= 1.0):
            raise ValueError(f"balance must be None or a number from 0 to 1, got {self.balance!r}")
        per_class, count, classes = self._budget(), len(codes), int(codes.max()) + 1
        everything = count * (count - 1) // 2
        if everything <= per_class * classes:
            every = np.stack(np.triu_indices(count, 1), axis=1).astype(np.int64)
            return LabelledPairs.of(every[every[:, 1] >= old], codes)
        if self.balance is None:
            if old:
                wanted = _part(per_class * classes, count - old, count)
                return LabelledPairs.of(_across(np.arange(old, count), np.arange(count), wanted, rng), codes)
            return LabelledPairs.of(_unordered(rng.choice(everything, per_class * classes, replace=False)), codes)
        near = round(self.balance * per_class)
        chosen: list[IntArray] = []
        for c in range(classes):
            members, others = np.flatnonzero(codes == c), np.flatnonzero(codes != c)
            fresh = members[members >= old]
            if old:
                chosen.append(_across(fresh, members, _part(near, len(fresh), len(members)), rng))
            else:
                chosen.append(members[_unordered(_draw(rng, len(members) * (len(members) - 1) // 2, near))])
            chosen.append(_across(fresh, others, _part(per_class - near, len(fresh), len(members)), rng))
        # A dissimilar pair that two classes have chosen counts once.
        return LabelledPairs.of(np.concatenate(chosen), codes)


def _draw(rng: np.random.Generator, population: int, count: int) -> IntArray:
    """`count` distinct numbers below `population`, or all of them."""
    if population <= count:
        return np.arange(population)
    return np.asarray(rng.choice(population, count, replace=False), dtype=np.int64)


def _unordered(ranks: IntArray) -> IntArray:
    """The pairs (i, j), i < j, with these ranks in the order (0,1), (0,2), (1,2), (0,3), ..."""
    j = np.floor((1.0 + np.sqrt(1.0 + 8.0 * ranks)) / 2.0).astype(np.int64)
    # The square root may be off by one where the ranks are large.
    j -= j * (j - 1) // 2 > ranks
    j += (j + 1) * j // 2 <= ranks
    return np.stack([ranks - j * (j - 1) // 2, j], axis=1)


def _across(firsts: IntArray, seconds: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """`count` pairs (or all of them) of one of the firsts with one of the seconds, none with itself."""
    if len(firsts) == 0 or len(seconds) == 0:
        return np.empty((0, 2), dtype=np.int64)
    ranks = _draw(rng, len(firsts) * len(seconds), count)
    pairs = np.stack([firsts[ranks // len(seconds)], seconds[ranks % len(seconds)]], axis=1)
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])


def _part(budget: int, fresh: int, everyone: int) -> int:
    """The share of a budget that is due to the new ones among all."""
    return -(-budget * fresh // everyone) if everyone else 0
