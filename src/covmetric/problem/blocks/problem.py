"""The learning problem in blocks: every sum over pairs is a pass, and everything else works on n x n matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.half_vectors import HalfVectors, half_vectors_of
from covmetric._utils.validation import FloatArray, as_floats, check_positive, read_only
from covmetric.constraints import PairRecipe
from covmetric.problem.blocks.executors import Executor, Threads
from covmetric.problem.blocks.multipliers import (
    GivenMultipliers,
    MetricMultipliers,
    PairMultipliers,
    ZeroMultipliers,
)
from covmetric.problem.blocks.passes import (
    CertificatePass,
    CheckPass,
    DissimilarGramPass,
    DualLossPass,
    DualPass,
    ExactSumPass,
    GatherPass,
    LossDerivativesPass,
    LossPass,
    PairPass,
    SimilarFactorPass,
    ViolationPass,
)
from covmetric.problem.blocks.sources import ArrayPairs, PairSource, RecipePairs
from covmetric.problem.certifying import CertifiedPoint, Certifying
from covmetric.problem.dual import Dual, DualPoint, DualSums
from covmetric.problem.error_free import DoubleSum, factor_residual
from covmetric.problem.examples import Examples
from covmetric.problem.metric_problem import MetricProblem
from covmetric.problem.primal import LossSum, Primal, PrimalPoint
from covmetric.slacks import Slack, get_slack

# The unit roundoff.
_UNIT = 2.0**-53


class BlockProblem(Certifying):
    """A problem whose pairs are split into blocks of a fixed size, with the same objective, dual and certificate.

    Arrays over all pairs are needed only where the pairs themselves are given as arrays. All values are added up over
    the blocks in a fixed binary tree, so that they have the same bits for any number of threads or workers.

    Parameters
    ----------
    source : PairSource
        The pairs.
    executor : Executor or None, default=None
        What runs the passes over the blocks. None means one thread.

    Attributes
    ----------
    source : PairSource
        The pairs.
    slack : Slack
        The divergence d.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.constraints import RandomPairRecipe
    >>> from covmetric.problem import BlockProblem
    >>> y = np.arange(40) % 2
    >>> embedded = np.random.default_rng(0).standard_normal((40, 3, 3)) + y[:, None, None]
    >>> recipe = RandomPairRecipe(y, n_pairs=100_000, seed=0)
    >>> problem = BlockProblem.from_recipe(embedded, recipe, bounds=(9.0, 36.0), weights=1e-2)
    >>> problem.n_pairs, problem.source.n_blocks
    (100000, 2)
    >>> from covmetric import solve
    >>> solve(problem).status.name
    'SOLVED'
    """

    in_memory = False

    def __init__(self, source: PairSource, executor: Executor | None = None) -> None:
        self.source, self.slack = source, source.slack
        self._executor = Threads() if executor is None else executor
        self._certified: _Certified | None = None
        self._primal: _BlockPrimal = _BlockPrimal(self)
        self._dual: _BlockDual = _BlockDual(self)

    @classmethod
    def from_recipe(
        cls, embedded: Any, recipe: PairRecipe, bounds: Any, weights: float, slack: str | Slack = "is"
    ) -> BlockProblem:
        """Create a problem whose pairs come from a recipe, so that they are never all in memory.

        Parameters
        ----------
        embedded : array of shape (l, n, m)
            The embedded examples Phi(X).
        recipe : PairRecipe
            The recipe of the pairs.
        bounds : pair of float
            The bounds on the squared distances of similar and of dissimilar pairs.
        weights : float
            The weight c of each pair, for example 1 / (lambda K).
        slack : {'is', 'l2', 're'} or Slack, default='is'
            The divergence d that penalises violated bounds.

        Returns
        -------
        BlockProblem

        Raises
        ------
        ValueError
            If an argument is invalid. The pairs are checked by the solve, which names the first invalid one.
        """
        examples = as_floats("embedded", embedded)
        if examples.ndim != 3 or 0 in examples.shape:
            raise ValueError(f"embedded must have shape (l, n, m) with l, n, m >= 1; got {examples.shape}")
        if not isinstance(recipe, PairRecipe):
            raise ValueError(f"recipe must be a PairRecipe, got {type(recipe).__name__}")
        if recipe.n_examples != len(examples):
            raise ValueError(f"recipe is for {recipe.n_examples} examples, but embedded has {len(examples)}")
        limits = as_floats("bounds", bounds)
        if limits.shape != (2,):
            raise ValueError(
                f"bounds must be two numbers, for similar and for dissimilar pairs; got shape {limits.shape}"
            )
        for k, limit in enumerate(limits):
            check_positive(f"bounds[{k}]", float(limit))
        check_positive("weights", weights)
        rows = read_only(np.array(np.swapaxes(examples, 1, 2), order="C"))
        source = RecipePairs(
            Examples(rows), recipe, (float(limits[0]), float(limits[1])), float(weights), get_slack(slack)
        )
        return cls(source)

    @classmethod
    def split(cls, problem: MetricProblem, executor: Executor | None = None, memory: float = 2**30) -> BlockProblem:
        """Split the pairs of a problem into blocks.

        Parameters
        ----------
        problem : MetricProblem
            The problem.
        executor : Executor or None, default=None
            What runs the passes over the blocks. None means one thread.
        memory : float, default=2**30
            The bytes that the blocks may keep, in addition to the pairs.

        Returns
        -------
        BlockProblem
        """
        return cls(ArrayPairs(problem, memory), executor)

    def with_executor(self, executor: Executor) -> BlockProblem:
        """Return the same problem with another executor.

        Parameters
        ----------
        executor : Executor
            What runs the passes over the blocks.

        Returns
        -------
        BlockProblem
        """
        return type(self)(self.source, executor)

    @property
    def n(self) -> int:
        return self.source.n

    @property
    def m(self) -> int:
        """The number of columns of an embedded example."""
        return self.source.m

    @property
    def n_pairs(self) -> int:
        return self.source.n_pairs

    @property
    def half(self) -> HalfVectors:
        """The isometry between symmetric n x n matrices and vectors of length n(n+1)/2."""
        return half_vectors_of(self.n)

    def __repr__(self) -> str:
        return f"BlockProblem(n={self.n}, m={self.m}, pairs={self.n_pairs}, slack={self.slack.name!r})"

    def total(self, task: PairPass) -> Any:
        """Return the value of a pass over all blocks.

        Parameters
        ----------
        task : PairPass
            The pass.

        Returns
        -------
        Any
            The value, of a type that the pass defines.
        """
        return self._executor.run(self.source, task)

    def dual_value(self, multipliers: PairMultipliers) -> float:
        """Return an estimate of the dual value of multipliers.

        Parameters
        ----------
        multipliers : PairMultipliers
            The multipliers.

        Returns
        -------
        float
            Minus infinity if they are not dual feasible.
        """
        point = self._dual.point(multipliers, 1.0)
        return -np.inf if point is None else point.value

    def check(self) -> None:
        """Check the losses of all pairs, if they have not been checked yet.

        Raises
        ------
        ValueError
            If a loss overflows, or if a dissimilar pair of equal examples has an infinite loss.
        """
        if isinstance(self.source, RecipePairs):
            self.total(CheckPass())

    def release(self) -> None:
        """Free what was kept for later passes."""
        self.source.release()

    def _check_multipliers(self, multipliers: Any) -> PairMultipliers:
        if isinstance(multipliers, PairMultipliers):
            return multipliers
        values = super()._check_multipliers(multipliers)
        return GivenMultipliers(values=values) if values.any() else ZeroMultipliers()

    def certified_arrays(self, W: FloatArray | None, multipliers: Any, tol: float = 1e-6) -> CertifiedPoint:
        if W is not None:
            multipliers = MetricMultipliers(W=W) if multipliers is None else multipliers
            violation, value, error, *dual = self.total(CertificatePass(W, multipliers))
            self._certified = _Certified(W, multipliers, violation, (value, error), tuple(dual))
        try:
            return super().certified_arrays(W, multipliers, tol)
        finally:
            self._certified = None

    def _proposed_multipliers(self, primal: PrimalPoint) -> PairMultipliers:
        return MetricMultipliers(W=primal.metric)

    def _max_violation(self, primal: PrimalPoint, dual: DualPoint) -> float:
        multipliers: Any = dual.multipliers
        last = self._certified
        if last is not None and last.W is primal.metric and last.multipliers is multipliers:
            return last.violation
        return float(self.total(ViolationPass(primal.metric, multipliers))[0])

    def zero_multipliers(self) -> PairMultipliers:
        return ZeroMultipliers()

    def finite_multipliers(self, multipliers: PairMultipliers) -> PairMultipliers:
        return multipliers  # blocks replace numbers that are not finite

    def pair_arrays(self, point: CertifiedPoint) -> tuple[FloatArray, FloatArray]:
        # The result may outlive the threads and the cluster of its solve.
        parts = Threads().run(self.source, GatherPass(point.W, point.multipliers))
        multipliers, slacks = zip(*parts, strict=True)
        return np.concatenate(multipliers), np.concatenate(slacks)


@dataclass(frozen=True, eq=False)
class _Certified:
    """The values of a `CertificatePass`."""

    W: FloatArray
    multipliers: PairMultipliers
    violation: float
    losses: tuple[float, float]
    dual: tuple[Any, ...]


class _BlockPrimal(Primal):
    """The primal, with sums over blocks."""

    def __init__(self, problem: BlockProblem) -> None:
        self._problem = problem
        self._coordinates = problem.source.coordinates

    def quick_losses(self, W: FloatArray) -> LossSum:
        last = self._problem._certified
        return self._sum(last.losses if last is not None and last.W is W else self._problem.total(LossPass(W)))

    def accurate_losses(self, W: FloatArray, factor: FloatArray, E: FloatArray) -> LossSum:
        return self._sum(self._problem.total(LossPass(W, factor, E)))

    def _sum(self, losses: tuple[float, float]) -> LossSum:
        value, error = losses
        # Losses are not negative, so the additions of each level of the tree err by at most u times the sum.
        return LossSum(value, error + self._problem.source.depth * _UNIT * value, None)


class _BlockDual(Dual):
    """The dual, with sums over blocks. Multipliers are `PairMultipliers`, which are always within their domains."""

    def __init__(self, problem: BlockProblem) -> None:
        self._problem = problem
        self._coordinates = problem.source.coordinates
        # The derivatives of the losses and the deviation, which one pass computes with the sums.
        self._last: tuple[PairMultipliers, tuple[float, float], float] | None = None

    @property
    def _identity(self) -> FloatArray:
        return self._problem.half.identity

    def _zeros(self) -> Any:
        return ZeroMultipliers()

    def _vanishes(self, multipliers: Any) -> bool:
        return isinstance(multipliers, ZeroMultipliers)

    def clipped(self, multipliers: Any) -> Any:
        return multipliers

    def point(self, multipliers: Any, tol: float = 0.0) -> DualPoint | None:
        return self._from_sums(multipliers, self.sums(multipliers), tol)

    def sums(self, multipliers: Any) -> DualSums:
        last = self._problem._certified
        if last is not None and last.multipliers is multipliers:
            values = last.dual
        else:
            values = self._problem.total(DualPass(multipliers))
        plus, minus, loss, loss_size, moved, slope, curvature, deviation = values
        self._last = multipliers, (slope, curvature), deviation
        return DualSums(plus, minus, loss, loss_size, moved)

    def loss_sums(self, multipliers: Any) -> tuple[float, float, float]:
        loss, loss_size, moved = self._problem.total(DualLossPass(multipliers))
        return loss, loss_size, moved

    def loss_derivatives(self, multipliers: Any, theta: float = 1.0) -> tuple[float, float]:
        if theta == 1.0 and self._last is not None and self._last[0] is multipliers:
            return self._last[1]
        slope, curvature = self._problem.total(LossDerivativesPass(multipliers, theta))
        return slope, curvature

    def squared_deviation(self, multipliers: Any) -> float:
        if self._last is None or self._last[0] is not multipliers:
            self.sums(multipliers)
        assert self._last is not None
        return self._last[2]

    @property
    def _gram_length(self) -> int:
        # The first block has the most pairs, and each level of the tree of blocks is one more addition.
        source = self._problem.source
        return source.block(0).problem.sums.gram_length + source.depth

    @property
    def _exact_length(self) -> int:
        return 1 + self._problem.source.depth

    @property
    def _loss_length(self) -> int:
        return 128 + self._problem.source.depth

    def similar_factor(self, multipliers: Any) -> FloatArray:
        rows = self._problem.total(SimilarFactorPass(multipliers))
        return np.asarray(np.linalg.qr(np.vstack([self._identity, rows]), mode="r"))

    def dissimilar_gram(self, multipliers: Any, transform: FloatArray) -> FloatArray:
        gram: FloatArray = self._problem.total(DissimilarGramPass(multipliers, transform))[0]
        return gram

    def residual(self, multipliers: Any, R: FloatArray) -> FloatArray:
        high, low = self._problem.total(ExactSumPass(multipliers))
        total = DoubleSum(self._identity)
        total.add(high)
        total.low += low
        return factor_residual(total, R)
