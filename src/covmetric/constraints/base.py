"""What a selection of pairs is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, is_count
from covmetric._utils.warning import warn


@dataclass(frozen=True)
class LabelledPairs:
    """Index pairs and whether they should be near.

    Attributes
    ----------
    pairs : array of int, shape (K, 2)
        Each pair once, the smaller index first; none of an example with itself.
    similar : array, shape (K,)
        +1 for two examples of one class, -1 otherwise.
    """

    pairs: IntArray
    similar: FloatArray

    @classmethod
    def from_codes(cls, pairs: IntArray, codes: IntArray) -> LabelledPairs:
        """The distinct pairs among these, in ascending order, labelled by the classes of their examples."""
        # One number per pair: unique rows take ten times as long.
        smaller, larger = np.sort(pairs, axis=1).T
        ordered = np.stack(np.divmod(np.unique(smaller * len(codes) + larger), len(codes)), axis=1)
        return cls(ordered, np.where(codes[ordered[:, 0]] == codes[ordered[:, 1]], 1.0, -1.0))

    @classmethod
    def of(cls, pairs: IntArray, codes: IntArray) -> LabelledPairs:
        """Deprecated alias of `from_codes`.

        Parameters
        ----------
        pairs, codes : arrays of int
            As in `from_codes`.

        Returns
        -------
        LabelledPairs
        """
        warn("LabelledPairs.of is deprecated, use LabelledPairs.from_codes", FutureWarning)
        return cls.from_codes(pairs, codes)


class PairSelection(ABC):
    """A way to choose the pairs that the metric is learned from.

    Parameters
    ----------
    budget : int or None
        How many pairs; what is counted is for each selection to say. None: its own default.
    """

    name: ClassVar[str]
    default_budget: ClassVar[int]
    #: How often the pairs are chosen: first under W = I, then again under the metric learned from them.
    rounds: int = 1

    def __init__(self, budget: int | None = None) -> None:
        self.budget = budget

    @abstractmethod
    def select(self, vectors: FloatArray, codes: IntArray, rng: np.random.Generator, old: int = 0) -> LabelledPairs:
        """Pairs of the examples with these vectors, shape (l, q), and classes 0..n_c-1, shape (l,).

        The first `old` examples have their pairs already: only pairs that touch a later one are chosen.
        """

    def check(self) -> int:
        """Raise ValueError for settings that do not fit; returns the budget."""
        budget = self.default_budget if self.budget is None else self.budget
        if not (is_count(budget) and budget >= 1):
            raise ValueError(f"budget must be None or an integer >= 1, got {self.budget!r}")
        return int(budget)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"
