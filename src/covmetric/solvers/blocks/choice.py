"""How the linear system of a step is solved, chosen by sizes only, so that every executor gets the same bits."""

from __future__ import annotations

from covmetric._utils.tuning import (
    CG_TYPICAL_ITERATIONS,
    MAX_RANGES,
    PAIR_OVERHEAD,
    PAIRS_OF_A_BLOCK,
    SAMPLED_ITERATIONS,
    SAMPLED_PAIRS,
    VECTOR_PRODUCT_UNCACHED,
)
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import pass_work


def matrix_spacing(problem: BlockProblem, memory: float) -> int:
    """Return the spacing of the pairs from which each step builds its matrix.

    Parameters
    ----------
    problem : BlockProblem
        The problem.
    memory : float
        The bytes that the matrices of a pass may take.

    Returns
    -------
    int
        1 for all pairs: the matrix is that of the linear system. q > 1 for one of q pairs: conjugate gradients solve
        the system, with this matrix as a preconditioner. 0 for none: conjugate gradients work without one. A sample is
        taken only where the blocks keep their triangles, because all pairs are read in every iteration there; without
        them, the matrix of all pairs mostly takes less time, and a cluster would have to move another matrix.
    """
    n, m, p = problem.n, problem.m, problem.half.size
    source = problem.source
    iteration = VECTOR_PRODUCT_UNCACHED * p if source.keeps_triangles else 2.0 * pass_work(source)
    matrix = float(p * p) + 6.0 * n * n * m + PAIR_OVERHEAD
    if 8.0 * p * p * min(source.n_blocks, MAX_RANGES) > memory:
        return 0
    costs = {0: CG_TYPICAL_ITERATIONS * iteration, 1: matrix}
    spacing = min(problem.n_pairs // (SAMPLED_PAIRS * p), source.block_pairs // PAIRS_OF_A_BLOCK)
    if source.keeps_triangles and spacing > 1:
        costs[spacing] = SAMPLED_ITERATIONS * iteration + matrix / spacing + float(p) ** 3 / problem.n_pairs
    return min(costs, key=costs.__getitem__)
