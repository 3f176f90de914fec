"""Recipes: pairs that are made again whenever they are needed, so that they are never all in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from covmetric._utils.validation import IntArray, is_count, is_number
from covmetric.constraints.base import LabelledPairs


class PairRecipe(ABC):
    """A deterministic sequence of labelled pairs that is produced block by block.

    Attributes
    ----------
    n_pairs : int
        The number of pairs, K.
    n_examples : int
        The number of examples that the pairs index.

    Examples
    --------
    >>> from covmetric.constraints import PairRecipe, RandomPairRecipe
    >>> issubclass(RandomPairRecipe, PairRecipe)
    True
    """

    n_pairs: int
    n_examples: int

    @abstractmethod
    def make(self, index: int, count: int) -> LabelledPairs:
        """Return the pairs of a block. Equal arguments always give equal pairs.

        Parameters
        ----------
        index : int
            The number of the block, from 0.
        count : int
            The number of its pairs.

        Returns
        -------
        LabelledPairs
            Exactly `count` pairs. Pairs may occur more than once.
        """


class RandomPairRecipe(PairRecipe):
    """Pairs drawn at random with replacement, each block from a generator of its own.

    Parameters
    ----------
    labels : array of shape (l,)
        The classes of the examples. At least one class needs two examples.
    n_pairs : int
        The number of pairs, K.
    balance : float, default=0.5
        The fraction of similar pairs. A similar pair is drawn by its first example, and then by another example of the
        same class; a dissimilar pair likewise, with an example of another class.
    seed : int, default=0
        The seed. Block i uses the i-th independent stream of it.

    Raises
    ------
    ValueError
        If an argument is invalid, or if there are no pairs of a requested kind.

    Examples
    --------
    >>> import numpy as np
    >>> recipe = RandomPairRecipe(np.array(["a", "a", "b", "b", "b"]), n_pairs=1000, seed=1)
    >>> block = recipe.make(3, 4)
    >>> block.similar
    array([ 1.,  1., -1., -1.])
    >>> bool((block.pairs == recipe.make(3, 4).pairs).all())
    True
    """

    def __init__(self, labels: Any, n_pairs: int, balance: float = 0.5, seed: int = 0) -> None:
        array = np.asarray(labels)
        if array.ndim != 1 or len(array) < 2:
            raise ValueError(f"labels must have shape (l,) with l >= 2, got {array.shape}")
        if not (is_count(n_pairs) and n_pairs >= 1):
            raise ValueError(f"n_pairs must be an integer >= 1, got {n_pairs!r}")
        if not (is_number(balance) and 0.0 <= balance <= 1.0):
            raise ValueError(f"balance must be a number from 0 to 1, got {balance!r}")
        if not is_count(seed):
            raise ValueError(f"seed must be an integer >= 0, got {seed!r}")
        self.n_pairs, self.balance, self.seed = int(n_pairs), float(balance), int(seed)
        self.n_examples = len(array)
        codes = np.unique(array, return_inverse=True)[1]
        # The examples sorted by class, so that the members of a class are a range.
        self._order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes)
        self._first = (np.cumsum(counts) - counts)[codes]
        self._count = counts[codes]
        self._position = np.empty(len(codes), dtype=np.int64)
        self._position[self._order] = np.arange(len(codes))
        self._paired = np.flatnonzero(self._count > 1)
        if balance > 0.0 and len(self._paired) == 0:
            raise ValueError("labels has no two examples of one class: there are no similar pairs; set balance=0")
        if balance < 1.0 and len(counts) == 1:
            raise ValueError("labels has a single class: there are no dissimilar pairs; set balance=1")

    def make(self, index: int, count: int) -> LabelledPairs:
        rng = np.random.default_rng([self.seed, index])
        n_similar = round(self.balance * count)
        pairs = np.concatenate([self._draw_similar(rng, n_similar), self._draw_dissimilar(rng, count - n_similar)])
        return LabelledPairs(pairs, np.where(np.arange(count) < n_similar, 1.0, -1.0))

    def _draw_similar(self, rng: np.random.Generator, count: int) -> IntArray:
        """Draw an example, and then another one of its class."""
        if count == 0:
            return np.empty((0, 2), dtype=np.int64)
        first = self._paired[rng.integers(len(self._paired), size=count)]
        step = 1 + (rng.random(count) * (self._count[first] - 1)).astype(np.int64)
        within = (self._position[first] - self._first[first] + step) % self._count[first]
        return np.stack([first, self._order[self._first[first] + within]], axis=1)

    def _draw_dissimilar(self, rng: np.random.Generator, count: int) -> IntArray:
        """Draw an example, and then one that is not of its class."""
        if count == 0:
            return np.empty((0, 2), dtype=np.int64)
        first = rng.integers(self.n_examples, size=count)
        n_others = self.n_examples - self._count[first]
        # Positions that follow the members of the class, around the end of the sorted examples.
        shift = (rng.random(count) * n_others).astype(np.int64)
        other = (self._first[first] + self._count[first] + shift) % self.n_examples
        return np.stack([first, self._order[other]], axis=1)
