"""Class means that blend the examples of `fit` with the few labelled examples that come later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, is_count, is_number
from covmetric.learning.centring import prior_strength


@dataclass(frozen=True)
class MeanBlend:
    """The weights of examples in class means.

    The mean of class c is (kappa m_c + sum of the later vectors of c) / (kappa + their number), where m_c is the mean
    of the vectors of c among the first `n_first` examples.

    Attributes
    ----------
    n_first : int
        The number of examples that were there first.
    strength : float
        The weight kappa of their mean in each class, as a number of examples.
    """

    n_first: int
    strength: float

    @classmethod
    def create(cls, strength: Any, vectors: FloatArray, codes: IntArray, groups: IntArray | None) -> Self:
        """Return the weights for first examples.

        Parameters
        ----------
        strength : 'auto' or float
            The weight kappa. 'auto' estimates it from the groups; see `strength_of_groups`.
        vectors : array of shape (l, q)
            The first examples, as vectors of the metric.
        codes : array of int of shape (l,)
            Their classes.
        groups : array of int of shape (l,) or None
            Their groups, which 'auto' needs.

        Returns
        -------
        MeanBlend
            The weights.

        Raises
        ------
        ValueError
            If the strength is invalid, or if the groups do not determine it.
        """
        if isinstance(strength, str) and strength == "auto":
            return cls(len(codes), strength_of_groups(vectors, codes, groups))
        if not (is_number(strength) and strength >= 0):
            raise ValueError(f"mean_strength must be None, 'auto' or a number >= 0, got {strength!r}")
        return cls(len(codes), float(strength))

    @classmethod
    def from_state(cls, state: Any, n_examples: int) -> Self | None:
        """Return the weights in a model file; raise ValueError if they are invalid.

        Parameters
        ----------
        state : object
            A tuple of the two attributes, or None.
        n_examples : int
            The number of all examples.

        Returns
        -------
        MeanBlend or None
            The weights; None if the file has none.
        """
        if state is None:
            return None
        valid = isinstance(state, tuple) and len(state) == 2 and is_count(state[0]) and is_number(state[1])
        if not valid or not 1 <= state[0] <= n_examples or state[1] < 0:
            raise ValueError("the weights of the class means must be a number of references and a number >= 0")
        return cls(int(state[0]), float(state[1]))

    def weights(self, codes: IntArray) -> FloatArray:
        """Return the weight of each example in the mean of its class.

        Parameters
        ----------
        codes : array of int of shape (l,)
            The classes of all examples; those that were there first come first.

        Returns
        -------
        array of shape (l,)
            The weights. A class without later examples keeps the mean of its first examples, even if kappa is 0.
        """
        weights = np.ones(len(codes))
        first = np.arange(len(codes)) < self.n_first
        for c in np.unique(codes[first]):
            members = first & (codes == c)
            if self.strength > 0.0 or (~first & (codes == c)).any():
                weights[members] = self.strength / np.count_nonzero(members)
        return weights


def strength_of_groups(vectors: FloatArray, codes: IntArray, groups: IntArray | None) -> float:
    """Estimate how many examples of a new group the class means of the other groups are worth.

    Parameters
    ----------
    vectors : array of shape (l, q)
        The examples.
    codes : array of int of shape (l,)
        Their classes.
    groups : array of int of shape (l,) or None
        Their groups.

    Returns
    -------
    float
        The variance within classes and groups, divided by the variance of the class means from group to group.

    Raises
    ------
    ValueError
        If no class has examples of two groups, one of them with two examples.
    """
    sizes: list[int] = []
    within = between = 0.0
    between_freedom = 0
    for c in np.unique(codes) if groups is not None else ():
        cells = [vectors[(codes == c) & (groups == g)] for g in np.unique(groups[codes == c])]  # type: ignore[index]
        means = np.stack([cell.mean(axis=0) for cell in cells])
        within += sum(float(((cell - mean) ** 2).sum()) for cell, mean in zip(cells, means, strict=True))
        between += float(((means - means.mean(axis=0)) ** 2).sum())
        between_freedom += len(cells) - 1
        sizes += [len(cell) for cell in cells]
    within_freedom = sum(sizes) - len(sizes)
    if between_freedom == 0 or within_freedom == 0:
        raise ValueError(
            "mean_strength='auto' needs groups in which a class has several examples, and at least two groups per "
            "class: pass groups to fit, or a number as mean_strength"
        )
    return prior_strength(within / within_freedom, between / between_freedom, np.array(sizes))
