"""How the linear system of a step is solved, chosen by sizes only, so that every executor gets the same bits."""

from __future__ import annotations

from covmetric._utils.tuning import (
    CG_TYPICAL_ITERATIONS,
    MAX_RANGES,
    PAIR_OVERHEAD,
    SAMPLED_ITERATIONS,
    SAMPLED_PAIRS,
    VECTOR_PRODUCT_UNCACHED,
)
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import pass_work


def matrix_spacing(problem: BlockProblem, memory: float) -> int:
    """Return which of the active pairs of a block every step sums up to a matrix.

    Parameters
    ----------
    problem : BlockProblem
        The problem.
    memory : float
        The bytes that the matrices of a pass may take.

    Returns
    -------
    int
        1 for all pairs: the matrix is that of the linear system. q > 1 for every q-th pair: conjugate gradients solve
        the system, with this matrix as a preconditioner. 0 for none: conjugate gradients work without one.
    """
    n, m, p = problem.n, problem.m, problem.half.size
    source = problem.source
    iteration = VECTOR_PRODUCT_UNCACHED * p if source.keeps_triangles else 2.0 * pass_work(source)
    matrix = float(p * p) + 6.0 * n * n * m + PAIR_OVERHEAD
    if 8.0 * p * p * min(source.n_blocks, MAX_RANGES) > memory:
        return 0
    size = SAMPLED_PAIRS * p
    spacing = problem.n_pairs // size
    sampled = SAMPLED_ITERATIONS * iteration + (float(p) ** 3 + size * matrix) / problem.n_pairs
    costs = {0: CG_TYPICAL_ITERATIONS * iteration, 1: matrix}
    if spacing > 1:
        costs[spacing] = sampled
    return min(costs, key=costs.__getitem__)
