"""Multipliers as descriptions from which each block computes its own, so that no array over all pairs is needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.problem.blocks.sources import PairBlock


@dataclass(frozen=True)
class PairMultipliers(ABC):
    """Multipliers of all pairs, each within its domain.

    Attributes
    ----------
    theta : float
        The scale by which the repair of multipliers has multiplied them, in (0, 1].

    Examples
    --------
    >>> from covmetric.problem.blocks import ZeroMultipliers
    >>> (0.5 * ZeroMultipliers()).theta
    0.5
    """

    theta: float = 1.0

    def __rmul__(self, theta: float) -> Any:
        """Return the same multipliers, scaled."""
        return replace(self, theta=theta * self.theta)

    def of_block(self, block: PairBlock) -> FloatArray:
        """Return the multipliers of the pairs of a block.

        Parameters
        ----------
        block : PairBlock
            The block.

        Returns
        -------
        array of shape (q,)
        """
        raw = self.raw(block)
        clipped = block.problem.clipped(np.where(np.isfinite(raw), raw, 0.0))
        return clipped if self.theta == 1.0 else self.theta * clipped

    @abstractmethod
    def raw(self, block: PairBlock) -> FloatArray:
        """Return the multipliers of a block before they are scaled, and clipped to their domains.

        Parameters
        ----------
        block : PairBlock
            The block.

        Returns
        -------
        array of shape (q,)
        """


@dataclass(frozen=True)
class ZeroMultipliers(PairMultipliers):
    """Multipliers that are all zero."""

    def raw(self, block: PairBlock) -> FloatArray:
        return np.zeros(block.problem.n_pairs)


@dataclass(frozen=True)
class GivenMultipliers(PairMultipliers):
    """Multipliers that are given as an array.

    Attributes
    ----------
    values : array of shape (K,) or None
        The multipliers of all pairs.
    """

    values: FloatArray | None = None

    def raw(self, block: PairBlock) -> FloatArray:
        assert self.values is not None
        return self.values[block.start : block.start + block.problem.n_pairs]


@dataclass(frozen=True)
class MetricMultipliers(PairMultipliers):
    """The multipliers y (c/b) d'(s) of the pairs that are active in a metric.

    Attributes
    ----------
    W : array of shape (n, n) or None
        The metric.
    """

    W: FloatArray | None = None

    def raw(self, block: PairBlock) -> FloatArray:
        assert self.W is not None
        problem = block.problem
        return problem._primal.multipliers(problem.sums.inner_products(self.W) / problem.bounds)
