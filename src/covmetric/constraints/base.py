"""Labelled pairs, and the base class of pair selections."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, is_count
from covmetric._utils.warning import warn
from covmetric.constraints.groups import GROUPS


@dataclass(frozen=True)
class LabelledPairs:
    """Index pairs, labelled as similar or dissimilar.

    Attributes
    ----------
    pairs : array of int of shape (K, 2)
        The indices of the two examples of each pair, which differ. Only `from_codes` puts the smaller index first, and
        leaves repetitions out.
    similar : array of shape (K,)
        +1 for two examples of the same class, -1 otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> LabelledPairs.from_codes(np.array([[2, 0], [0, 1]]), np.array([0, 0, 1]))
    LabelledPairs(pairs=array([[0, 1],
           [0, 2]]), similar=array([ 1., -1.]))
    """

    pairs: IntArray
    similar: FloatArray

    @classmethod
    def from_codes(cls, pairs: IntArray, codes: IntArray) -> LabelledPairs:
        """Label pairs by the classes of their examples.

        Parameters
        ----------
        pairs : array of int of shape (K, 2)
            Index pairs, in any order and orientation, possibly with repetitions.
        codes : array of int of shape (l,)
            The class of each example, from 0 to n_c - 1.

        Returns
        -------
        LabelledPairs
            The distinct pairs in ascending order.
        """
        # Each pair becomes one number, because finding unique rows takes ten times as long.
        smaller, larger = np.sort(pairs, axis=1).T
        ordered = np.stack(np.divmod(np.unique(smaller * len(codes) + larger), len(codes)), axis=1)
        return cls(ordered, np.where(codes[ordered[:, 0]] == codes[ordered[:, 1]], 1.0, -1.0))

    @classmethod
    def of(cls, pairs: IntArray, codes: IntArray) -> LabelledPairs:
        """Label pairs by the classes of their examples; deprecated alias of `from_codes`.

        Parameters
        ----------
        pairs, codes : arrays of int
            As in `from_codes`.

        Returns
        -------
        LabelledPairs
            As in `from_codes`.
        """
        warn("LabelledPairs.of is deprecated, use LabelledPairs.from_codes", FutureWarning)
        return cls.from_codes(pairs, codes)


class PairSelection(ABC):
    """A way to select the pairs from which the metric is learned.

    A new selection is one file with a subclass, which sets `name` and `default_budget`, and one line in
    `covmetric.constraints.PAIRS`.

    Parameters
    ----------
    budget : int or None, default=None
        The number of pairs; each subclass documents what it counts. None means `default_budget`.
    groups : {'across', 'within', 'ignore'}, default='across'
        What the selection does if examples have groups (recordings, sessions, objects). 'across' takes similar pairs
        from different groups, so that the metric learns to ignore what differs between the groups of a class. A class
        with a single group keeps its pairs. 'within' takes all pairs from within a group, so that the metric never
        compares groups. 'ignore' does not use groups.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.constraints import get_pairs
    >>> selection = get_pairs("random", budget=1)
    >>> len(selection.select(np.zeros((4, 0)), np.array([0, 0, 1, 1]), np.random.default_rng(0)).pairs)
    2
    """

    #: The name of the selection in `PAIRS`.
    name: ClassVar[str]
    #: The budget if the user does not set one, which `check` returns.
    default_budget: ClassVar[int]
    #: The number of selections: the first under W = I, the others under the metric learned from the previous pairs.
    rounds: int = 1

    def __init__(self, budget: int | None = None, groups: str = "across") -> None:
        self.budget = budget
        self.groups = groups

    @abstractmethod
    def select(
        self,
        vectors: FloatArray,
        codes: IntArray,
        rng: np.random.Generator,
        old: int = 0,
        groups: IntArray | None = None,
    ) -> LabelledPairs:
        """Select pairs of examples.

        Parameters
        ----------
        vectors : array of shape (l, q)
            The examples as vectors, whose Euclidean distances are the distances of the current metric.
        codes : array of int of shape (l,)
            The class of each example, from 0 to n_c - 1.
        rng : numpy.random.Generator
            The random generator, which is the only source of randomness.
        old : int, default=0
            The number of leading examples whose pairs have already been selected. Every selected pair contains at least
            one later example.
        groups : array of int of shape (l,) or None, default=None
            The group of each example. None means that there are no groups.

        Returns
        -------
        LabelledPairs
            The selected pairs.

        Raises
        ------
        ValueError
            If a setting is invalid.
        """

    def check(self) -> int:
        """Validate the settings.

        Returns
        -------
        int
            The budget.

        Raises
        ------
        ValueError
            If a setting is invalid.
        """
        budget = self.default_budget if self.budget is None else self.budget
        if not (is_count(budget) and budget >= 1):
            raise ValueError(f"budget must be None or an integer >= 1, got {self.budget!r}")
        if self.groups not in GROUPS:
            raise ValueError(f"groups must be one of {', '.join(map(repr, GROUPS))}, got {self.groups!r}")
        return int(budget)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


def select_pairs(
    selection: PairSelection,
    vectors: FloatArray,
    codes: IntArray,
    rng: np.random.Generator,
    groups: IntArray | None = None,
    old: int = 0,
) -> LabelledPairs:
    """Select pairs of examples, by groups if there are any and the selection uses them.

    Parameters
    ----------
    selection : PairSelection
        The selection. Its method `select` may lack the argument `groups`.
    vectors : array of shape (l, q)
        The examples as vectors, whose Euclidean distances are the distances of the current metric.
    codes : array of int of shape (l,)
        The class of each example, from 0 to n_c - 1.
    rng : numpy.random.Generator
        The random generator.
    groups : array of int of shape (l,) or None, default=None
        The group of each example. None means that there are no groups.
    old : int, default=0
        The number of leading examples whose pairs have already been selected.

    Returns
    -------
    LabelledPairs
        The selected pairs.

    Raises
    ------
    ValueError
        If squared distances overflow.
    """
    with np.errstate(over="ignore"):
        if not np.isfinite((vectors**2).sum()):
            raise ValueError("squared distances of the embedded examples overflow or vanish: rescale X")
    if groups is None or "groups" not in inspect.signature(selection.select).parameters:
        return selection.select(vectors, codes, rng, old)
    return selection.select(vectors, codes, rng, old, groups=groups)
