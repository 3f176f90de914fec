"""The choice between a matrix and conjugate gradients, by sizes only, so that every executor gets the same bits."""

from __future__ import annotations

from covmetric._utils.tuning import CG_TYPICAL_ITERATIONS, MAX_RANGES, PAIR_OVERHEAD, VECTOR_PRODUCT_UNCACHED
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import pass_work


def matrix_pays(problem: BlockProblem, memory: float) -> bool:
    """Return whether the linear system of a step is summed up as a matrix, instead of solved by conjugate gradients.

    Parameters
    ----------
    problem : BlockProblem
        The problem.
    memory : float
        The bytes that the matrices of a pass may take.

    Returns
    -------
    bool
    """
    n, m, p = problem.n, problem.m, problem.half.size
    source = problem.source
    iteration = VECTOR_PRODUCT_UNCACHED * p if source.keeps_triangles else 2.0 * pass_work(source)
    matrix = float(p * p) + 6.0 * n * n * m + PAIR_OVERHEAD
    fits = 8.0 * p * p * min(source.n_blocks, MAX_RANGES) <= memory
    return fits and matrix < CG_TYPICAL_ITERATIONS * iteration
