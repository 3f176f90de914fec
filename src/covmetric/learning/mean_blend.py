"""Class means that blend the examples of `fit` with the few labelled examples that come later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray, IntArray, is_count, is_number


@dataclass(frozen=True)
class MeanBlend:
    """The weights of examples in class means.

    The mean of class c is (kappa m_c + sum of the later vectors of c) / (kappa + their number), where m_c is the mean
    of the vectors of c among the first `n_first` examples.

    Attributes
    ----------
    n_first : int
        The number of examples that were there first.
    strength : float or None
        The weight kappa of their mean in each class, as a number of examples. None estimates it; see
        `estimated_strength`. It is then at most the number of first examples of the class.
    """

    n_first: int
    strength: float | None

    @classmethod
    def create(cls, strength: Any, n_first: int) -> Self:
        """Return the weights for a parameter of a user.

        Parameters
        ----------
        strength : 'auto' or float
            The weight kappa.
        n_first : int
            The number of examples that were there first.

        Returns
        -------
        MeanBlend
            The weights.

        Raises
        ------
        ValueError
            If the strength is invalid.
        """
        if isinstance(strength, str) and strength == "auto":
            return cls(n_first, None)
        if not (is_number(strength) and strength >= 0):
            raise ValueError(f"mean_strength must be None, 'auto' or a number >= 0, got {strength!r}")
        return cls(n_first, float(strength))

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
        valid = isinstance(state, tuple) and len(state) == 2 and is_count(state[0])
        if not valid or not 1 <= state[0] <= n_examples:
            raise ValueError("the weights of the class means must begin with a number of references")
        return cls.create("auto" if state[1] is None else state[1], int(state[0]))

    def kappa(self, vectors: FloatArray, codes: IntArray) -> float:
        """Return the weight of the mean of the first examples, as a number of examples.

        Parameters
        ----------
        vectors : array of shape (l, q)
            All examples, as vectors of the metric; those that were there first come first.
        codes : array of int of shape (l,)
            Their classes.

        Returns
        -------
        float
            The given or the estimated weight; inf if the later examples do not contradict the first ones.
        """
        return estimated_strength(vectors, codes, self.n_first) if self.strength is None else self.strength

    def weights(self, vectors: FloatArray, codes: IntArray) -> FloatArray:
        """Return the weight of each example in the mean of its class.

        Parameters
        ----------
        vectors : array of shape (l, q)
            All examples, as vectors of the metric; those that were there first come first.
        codes : array of int of shape (l,)
            Their classes.

        Returns
        -------
        array of shape (l,)
            The weights. A class without later examples keeps the mean of its first examples, even if kappa is 0.
        """
        weights, kappa = np.ones(len(codes)), self.kappa(vectors, codes)
        for members, later in _classes(codes, self.n_first):
            count = float(np.count_nonzero(members))
            if later.any():
                weights[members] = (kappa if self.strength is not None else min(kappa, count)) / count
        return weights


def estimated_strength(vectors: FloatArray, codes: IntArray, n_first: int) -> float:
    """Estimate how many later examples the class means of the first ones are worth, as James and Stein do.

    Let s2 be the variance of the first vectors around the means of their classes, and d_c the difference of the means
    of the later and of the first vectors of class c. If the new session had the class means of the others, |d_c|^2
    would be s2 (1/n_c + 1/N_c) in the mean, with n_c later and N_c first vectors. What it exceeds this by, in the mean
    over the classes, estimates the variance B of the class means from session to session, and kappa is s2 / B.

    Parameters
    ----------
    vectors : array of shape (l, q)
        All examples; those that were there first come first.
    codes : array of int of shape (l,)
        Their classes.
    n_first : int
        The number of examples that were there first.

    Returns
    -------
    float
        The weight kappa; inf if B is not positive, or if there are no later examples of a class of the first ones.
    """
    within, freedom, excesses = 0.0, 0, []
    for members, _ in _classes(codes, n_first):
        within += float(((vectors[members] - vectors[members].mean(axis=0)) ** 2).sum())
        freedom += int(np.count_nonzero(members)) - 1
    variance = within / freedom if freedom else 0.0
    for members, later in _classes(codes, n_first):
        if later.any():
            difference = vectors[later].mean(axis=0) - vectors[members].mean(axis=0)
            sampling = variance * (1.0 / np.count_nonzero(later) + 1.0 / np.count_nonzero(members))
            excesses.append(float(difference @ difference) - sampling)
    between = float(np.mean(excesses)) if excesses else 0.0
    return variance / between if between > 0.0 else np.inf


def _classes(codes: IntArray, n_first: int) -> list[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]]:
    """Return the masks of the first and of the later examples, for each class of the first examples."""
    first = np.arange(len(codes)) < n_first
    return [(first & (codes == c), ~first & (codes == c)) for c in np.unique(codes[first])]
