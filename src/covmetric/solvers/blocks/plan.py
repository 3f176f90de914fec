"""How the passes of a solve in blocks are computed. Only sizes decide, so that every executor gets the same bits."""

from __future__ import annotations

from dataclasses import dataclass

from covmetric._utils.tuning import (
    CG_TYPICAL_ITERATIONS,
    EXAMPLE_ENTRY,
    MAX_RANGES,
    PAIR_OVERHEAD,
    VECTOR_PRODUCT_UNCACHED,
)
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import ArrayPairs, PairBlock


@dataclass(frozen=True)
class Plan:
    """The representation of pairs and of the linear system.

    Attributes
    ----------
    triangles : bool
        Whether blocks keep the lower triangles of their A_k.
    dense : bool
        Whether the linear system of a step is summed up as a matrix; otherwise, it is solved by conjugate gradients.
    """

    triangles: bool
    dense: bool

    def prepare(self, block: PairBlock) -> None:
        """Compute what the block keeps.

        Parameters
        ----------
        block : PairBlock
            The block.
        """
        if self.triangles:
            block.problem.sums.lower_triangles(float("inf"))


def choose_plan(problem: BlockProblem, memory: float) -> Plan:
    """Return the plan that takes the least work among those that fit into memory.

    Parameters
    ----------
    problem : BlockProblem
        The problem.
    memory : float
        The bytes that all triangles, and all matrices of a pass, may take.

    Returns
    -------
    Plan
    """
    n, m, K, p = problem.n, problem.m, float(problem.n_pairs), problem.half.size
    examples = len(problem.source.examples.rows)
    by_examples = EXAMPLE_ENTRY * n * m + 8.0 * n * n * m * examples / min(K, problem.source.block_pairs)
    per_pair = min(8.0 * n * n * m, by_examples)
    with_triangles = VECTOR_PRODUCT_UNCACHED * p
    # Blocks of a recipe keep nothing.
    kept = isinstance(problem.source, ArrayPairs) and m > 1 and 8.0 * K * p <= memory
    triangles = kept and with_triangles < per_pair
    iterations = CG_TYPICAL_ITERATIONS * (with_triangles if triangles else 2.0 * per_pair)
    matrix = float(p * p) + 6.0 * n * n * m + PAIR_OVERHEAD
    fits = 8.0 * p * p * min(problem.source.n_blocks, MAX_RANGES) <= memory
    return Plan(triangles=triangles, dense=fits and matrix < iterations)
