"""Random pairs, as many as in the paper."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, is_number
from covmetric.constraints.base import LabelledPairs, PairSelection
from covmetric.constraints.groups import GroupFilter


class RandomPairs(PairSelection):
    """Pairs drawn at random without replacement. If there are fewer pairs than the budget, all of them are used.

    Parameters
    ----------
    budget : int or None, default=None
        The number of pairs per class, so that K is at most the budget times the number of classes. None means 100,
        as in the paper.
    balance : float or None, default=0.5
        The fraction of similar pairs, from 0 to 1. Each class has the same number of pairs of each kind, if enough
        exist. None draws uniformly from all pairs, few of which are similar if there are many classes. The paper does
        not say how it draws its pairs.
    groups : {'across', 'within', 'ignore'}, default='across'
        What the selection does if examples have groups, as in `PairSelection`.

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

    def __init__(self, budget: int | None = None, balance: float | None = 0.5, groups: str = "across") -> None:
        super().__init__(budget, groups)
        self.balance = balance

    def check(self) -> int:
        if self.balance is not None and not (is_number(self.balance) and 0.0 <= self.balance <= 1.0):
            raise ValueError(f"balance must be None or a number from 0 to 1, got {self.balance!r}")
        return super().check()

    def select(
        self,
        vectors: FloatArray,
        codes: IntArray,
        rng: np.random.Generator,
        old: int = 0,
        groups: IntArray | None = None,
    ) -> LabelledPairs:
        budget, n_examples, n_classes = self.check(), len(codes), int(codes.max()) + 1
        new, previous = np.arange(old, n_examples), np.arange(old)
        allowed = GroupFilter.create(self.groups, codes, groups)
        if self.balance is None:
            count = _proportional_budget(budget * n_classes, len(new), n_examples)
            pairs = _draw_allowed(partial(_draw_within, new, previous, rng=rng), count, allowed)
            return LabelledPairs.from_codes(pairs, codes)
        n_similar = round(self.balance * budget)
        chosen: list[IntArray] = []
        drawn = np.empty(0, dtype=np.int64)
        for c in range(n_classes):
            members = np.flatnonzero(codes == c)
            new_members, others = members[members >= old], np.flatnonzero(codes != c)
            count = _proportional_budget(n_similar, len(new_members), len(members))
            old_members = members[members < old]
            chosen.append(_draw_allowed(partial(_draw_within, new_members, old_members, rng=rng), count, allowed))
            count = _proportional_budget(budget - n_similar, len(new_members), len(members))
            across = _draw_allowed(partial(_draw_across, new_members, others, drawn=drawn, rng=rng), count, allowed)
            drawn = np.concatenate([drawn, _pair_keys(across)])
            chosen.append(across)
        return LabelledPairs.from_codes(np.concatenate(chosen), codes)


def _draw(rng: np.random.Generator, population: int, count: int) -> IntArray:
    """Draw `count` distinct numbers below `population`, or all of them, in random order."""
    if population <= count:
        return np.asarray(rng.permutation(population), dtype=np.int64)
    return np.asarray(rng.choice(population, count, replace=False), dtype=np.int64)


def _draw_allowed(draw: Callable[[int], IntArray], count: int, allowed: GroupFilter | None) -> IntArray:
    """Draw `count` pairs that are allowed, or all of them; `draw` returns that many pairs, or all pairs."""
    n_drawn = count
    while True:
        pairs = draw(n_drawn)
        kept = pairs if allowed is None else pairs[allowed.allows(pairs[:, 0], pairs[:, 1])]
        if len(kept) >= count or len(pairs) < n_drawn:
            return kept[:count]
        n_drawn *= 2


def _draw_within(new: IntArray, previous: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """Draw `count` distinct pairs, or all of them, of two new examples or of a new and a previous example."""
    n_mixed = len(new) * len(previous)
    ranks = _draw(rng, n_mixed + len(new) * (len(new) - 1) // 2, count)
    mixed, both_new = ranks[ranks < n_mixed], ranks[ranks >= n_mixed] - n_mixed
    pairs = new[_pairs_of_ranks(both_new)]
    if len(mixed):
        pairs = np.concatenate(
            [pairs, np.stack([new[mixed // len(previous)], previous[mixed % len(previous)]], axis=1)]
        )
    return np.asarray(pairs)


def _draw_across(
    members: IntArray, others: IntArray, count: int, drawn: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw `count` distinct pairs, or all of them, of a member and another example, without the drawn keys."""
    ranks = _draw(rng, len(members) * len(others), count + len(drawn))
    if len(ranks) == 0:
        return np.empty((0, 2), dtype=np.int64)
    pairs = np.stack([members[ranks // len(others)], others[ranks % len(others)]], axis=1)
    return np.asarray(pairs[~np.isin(_pair_keys(pairs), drawn)][:count])


def _pair_keys(pairs: IntArray) -> IntArray:
    """Return a unique number for each unordered pair."""
    return np.asarray((pairs.min(axis=1) << 32) + pairs.max(axis=1))


def _pairs_of_ranks(ranks: IntArray) -> IntArray:
    """Return the pairs (i, j), i < j, that have these ranks in the order (0,1), (0,2), (1,2), (0,3), ..."""
    j = np.floor((1.0 + np.sqrt(1.0 + 8.0 * ranks)) / 2.0).astype(np.int64)
    # The square root of a large rank may be off by one.
    j -= j * (j - 1) // 2 > ranks
    j += (j + 1) * j // 2 <= ranks
    return np.stack([ranks - j * (j - 1) // 2, j], axis=1)


def _proportional_budget(budget: int, n_new: int, n_all: int) -> int:
    """Return the part of a budget that belongs to new examples among all examples, rounded up."""
    return -(-budget * n_new // n_all) if n_all else 0
