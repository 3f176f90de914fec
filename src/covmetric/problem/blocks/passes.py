"""Passes over the pairs: what is computed for each block, and how the blocks are added up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.problem.blocks.multipliers import PairMultipliers, ZeroMultipliers
from covmetric.problem.blocks.sources import PairBlock
from covmetric.problem.checks import check_scale
from covmetric.problem.error_free import DoubleSum, weighted_gram
from covmetric.problem.metric_problem import MetricProblem
from covmetric.problem.sums import is_multiple_of_identity, triangular_factor_of


class PairPass(ABC):
    """A function of a block, and the way in which its values are combined.

    A pass is a small object that can be sent to a worker. Its value depends on the block and on its own attributes
    only, so that a block can be computed again anywhere, with the same bits.

    Examples
    --------
    >>> from covmetric.problem.blocks.passes import CheckPass
    >>> CheckPass().combine((1.0, 2.0), (3.0, 4.0))
    (4.0, 6.0)
    """

    @property
    def is_light(self) -> bool:
        """Whether a block takes a few operations per pair only, so that threads do not pay unless there are many."""
        return False

    @abstractmethod
    def of_block(self, block: PairBlock) -> Any:
        """Return the value of a block.

        Parameters
        ----------
        block : PairBlock
            The block.

        Returns
        -------
        tuple of float or array
        """

    def combine(self, first: Any, second: Any) -> Any:
        """Return the value of two parts together.

        Parameters
        ----------
        first, second : tuple of float or array
            The values of the two parts, in the order of the pairs.

        Returns
        -------
        tuple of float or array
            By default, their sum, entry by entry.
        """
        return tuple(a + b for a, b in zip(first, second, strict=True))


@dataclass(frozen=True)
class CheckPass(PairPass):
    """Checks every block for losses that overflow, or that are infinite in every metric."""

    def of_block(self, block: PairBlock) -> tuple[float]:
        check_scale(block.problem.terms, block.problem.squared_norms, block.start)
        return (0.0,)


@dataclass(frozen=True)
class LossPass(PairPass):
    """The sum of the losses of a metric, and a bound on its rounding error.

    If the factor L and the residual E of the metric are given, the losses are computed to a higher accuracy.
    """

    W: FloatArray
    factor: FloatArray | None = None
    E: FloatArray | None = None

    def of_block(self, block: PairBlock) -> tuple[float, float]:
        primal = block.problem._primal
        if self.factor is None or self.E is None:
            losses = primal.quick_losses(self.W)
        else:
            losses = primal.accurate_losses(self.W, self.factor, self.E)
        return losses.value, losses.error


@dataclass(frozen=True)
class DualPass(PairPass):
    """The sums that determine the dual value of multipliers, and the derivatives of the losses along their ray."""

    multipliers: PairMultipliers

    def of_block(self, block: PairBlock) -> tuple[Any, ...]:
        dual, alpha = block.problem._dual, self.multipliers.of_block(block)
        sums = dual.sums(alpha)
        deviation = 0.0 if block.problem.sums.coordinates is None else dual.squared_deviation(alpha)
        return (
            sums.plus,
            sums.minus,
            sums.loss,
            sums.loss_size,
            sums.moved,
            *dual.loss_derivatives(alpha),
            deviation,
        )


@dataclass(frozen=True)
class DualLossPass(PairPass):
    """The sum of the dual losses of multipliers, its size, and how far it moves with t."""

    multipliers: PairMultipliers

    @property
    def is_light(self) -> bool:
        return True

    def of_block(self, block: PairBlock) -> tuple[float, float, float]:
        return block.problem._dual.loss_sums(self.multipliers.of_block(block))


@dataclass(frozen=True)
class LossDerivativesPass(PairPass):
    """The derivatives of the dual losses along the ray of multipliers, at a scale theta."""

    multipliers: PairMultipliers
    theta: float

    @property
    def is_light(self) -> bool:
        return True

    def of_block(self, block: PairBlock) -> tuple[float, float]:
        return block.problem._dual.loss_derivatives(self.multipliers.of_block(block), self.theta)


def _ratios(problem: MetricProblem, W: FloatArray) -> FloatArray:
    """Return squared distances divided by their bounds."""
    if is_multiple_of_identity(W):
        return np.asarray(W[0, 0] * problem.squared_norms / problem.bounds)
    return problem.sums.inner_products(W) / problem.bounds


@dataclass(frozen=True)
class ViolationPass(PairPass):
    """The largest violation of a constraint in a metric, for the slacks that belong to multipliers."""

    W: FloatArray
    multipliers: PairMultipliers

    @property
    def is_light(self) -> bool:
        return is_multiple_of_identity(self.W) and isinstance(self.multipliers, ZeroMultipliers)

    def of_block(self, block: PairBlock) -> tuple[float]:
        ratios = _ratios(block.problem, self.W)
        return (block.problem.largest_violation(ratios, self.multipliers.of_block(block)),)

    def combine(self, first: tuple[float], second: tuple[float]) -> tuple[float]:
        return (max(first[0], second[0]),)


@dataclass(frozen=True)
class CertificatePass(PairPass):
    """The values of `LossPass`, `DualPass` and `ViolationPass` in one pass: all that most certificates need."""

    W: FloatArray
    multipliers: PairMultipliers

    def of_block(self, block: PairBlock) -> tuple[Any, ...]:
        problem = block.problem
        losses = problem._primal.quick_losses(self.W)
        violation = problem.largest_violation(losses.ratios, self.multipliers.of_block(block))
        dual = () if isinstance(self.multipliers, ZeroMultipliers) else DualPass(self.multipliers).of_block(block)
        return violation, losses.value, losses.error, *dual

    def combine(self, first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
        return max(first[0], second[0]), *super().combine(first[1:], second[1:])


@dataclass(frozen=True)
class SimilarFactorPass(PairPass):
    """The triangular factor of the similar part of S, by QR."""

    multipliers: PairMultipliers

    def of_block(self, block: PairBlock) -> FloatArray:
        signed = block.problem.similar * self.multipliers.of_block(block)
        return block.problem.sums.triangular_factor(signed, start=np.empty((0, block.problem.n)))

    def combine(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return triangular_factor_of(np.vstack([first, second]))


@dataclass(frozen=True)
class DissimilarGramPass(PairPass):
    """The dissimilar part of -S in other coordinates."""

    multipliers: PairMultipliers
    transform: FloatArray

    def of_block(self, block: PairBlock) -> tuple[FloatArray]:
        return (block.problem._dual.dissimilar_gram(self.multipliers.of_block(block), self.transform),)


@dataclass(frozen=True)
class ExactSumPass(PairPass):
    """S to about twice the working precision, in two doubles."""

    multipliers: PairMultipliers

    def of_block(self, block: PairBlock) -> tuple[FloatArray, FloatArray]:
        signed = block.problem.similar * self.multipliers.of_block(block)
        total = DoubleSum(np.zeros((block.problem.n,) * 2))
        weighted_gram(block.problem.sums.exact_rows(signed), total)
        return total.high, total.low

    def combine(
        self, first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        total = DoubleSum(first[0])
        total.add(second[0])
        return total.high, total.low + first[1] + second[1]


@dataclass(frozen=True)
class GatherPass(PairPass):
    """Multipliers, and the best slacks for a metric, of all pairs."""

    W: FloatArray
    multipliers: PairMultipliers

    def of_block(self, block: PairBlock) -> list[tuple[FloatArray, FloatArray]]:
        problem = block.problem
        ratios = _ratios(problem, self.W)
        return [(self.multipliers.of_block(block), problem.best_slacks(ratios))]

    def combine(self, first: list[Any], second: list[Any]) -> list[Any]:
        return first + second
