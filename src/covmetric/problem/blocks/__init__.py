"""Problems whose pairs are split into blocks: every sum over pairs is a sum over blocks, in a fixed order."""

from __future__ import annotations

from covmetric.problem.blocks.executors import Executor, ExecutorLost, PairBlockError, Threads, sum_of_range
from covmetric.problem.blocks.multipliers import (
    GivenMultipliers,
    MetricMultipliers,
    PairMultipliers,
    ZeroMultipliers,
)
from covmetric.problem.blocks.passes import PairPass
from covmetric.problem.blocks.problem import BlockProblem
from covmetric.problem.blocks.sources import (
    ArrayPairs,
    KeyedMatrix,
    PairBlock,
    PairSource,
    RecipePairs,
    block_pairs,
    n_blocks_of,
    pass_work,
)

__all__ = [
    "ArrayPairs",
    "BlockProblem",
    "Executor",
    "ExecutorLost",
    "GivenMultipliers",
    "KeyedMatrix",
    "MetricMultipliers",
    "PairBlock",
    "PairBlockError",
    "PairMultipliers",
    "PairPass",
    "PairSource",
    "RecipePairs",
    "Threads",
    "ZeroMultipliers",
    "block_pairs",
    "n_blocks_of",
    "pass_work",
    "sum_of_range",
]
