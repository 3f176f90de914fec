"""The choice of the system that takes the least work."""

from __future__ import annotations

from covmetric._utils.tuning import (
    CACHE_BYTES,
    CG_OVERHEAD,
    CG_TYPICAL_ITERATIONS,
    PAIR_OVERHEAD,
    SMALL_SYSTEM_BYTES,
    VECTOR_PRODUCT_CACHED,
    VECTOR_PRODUCT_UNCACHED,
    thin_work,
)
from covmetric.solvers.systems.base import System
from covmetric.solvers.systems.direct import DenseSystem, PairSystem, ThinSystem
from covmetric.solvers.systems.iterative import MAX_ITERATIONS, IterativeSystem
from covmetric.solvers.systems.products import example_work, pair_work
from covmetric.solvers.systems.terms import ActiveTerms


def choose_system(
    terms: ActiveTerms,
    memory: float,
    iterative: bool = True,
    accuracy: float | None = None,
    preconditioned: bool = False,
) -> System:
    """Return the system that takes the least work among the systems that fit into memory.

    Work is counted in operations at the speed of a matrix product.

    Parameters
    ----------
    terms : ActiveTerms
        The active pairs.
    memory : float
        The bytes that the matrix of the system may take.
    iterative : bool, default=True
        Whether conjugate gradients may be chosen although a matrix fits into the memory.
    accuracy : float or None, default=None
        The accuracy of conjugate gradients; see `IterativeSystem`.
    preconditioned : bool, default=False
        The attribute `preconditioned` of the system of the previous step.

    Returns
    -------
    System
    """
    problem, p, a = terms.problem, terms.half.size, len(terms.active)
    n, m, K = problem.n, problem.m, problem.n_pairs
    if m > 1 and 8 * a * p <= min(SMALL_SYSTEM_BYTES, memory / 3.0):
        return PairSystem(terms) if a <= p else DenseSystem(terms)
    transform = (6.0 * n * n * m + PAIR_OVERHEAD) * a
    by_pairs, by_examples = pair_work(terms), example_work(terms)
    direct: dict[type[DenseSystem | PairSystem | ThinSystem], float] = {}
    if 8.0 * p * p <= memory:
        direct[DenseSystem] = a * p * p + p**3 + transform
    if 8.0 * a * (p + 2 * a) <= memory:
        direct[PairSystem] = a * a * p + a**3 + transform
    if 8.0 * a * (m * n + 2 * a) <= memory:
        direct[ThinSystem] = (
            thin_work(n, m, a, len(problem.sums.rows) if by_examples < by_pairs else None) + a**3 + transform
        )
    # Products with a vector run slower than matrix products, and still slower beyond the cache.
    with_differences = min(by_pairs, by_examples)
    with_triangles = (VECTOR_PRODUCT_CACHED if 8.0 * K * p <= CACHE_BYTES else VECTOR_PRODUCT_UNCACHED) * K * p
    keep_triangles = m > 1 and 8.0 * K * p <= memory and with_triangles < with_differences
    iteration = CG_OVERHEAD + (with_triangles if keep_triangles else with_differences) + 12.0 * n**3
    if direct:
        cheapest = min(direct, key=lambda kind: direct[kind])
        max_iter = direct[cheapest] / iteration
        if not iterative or max_iter < CG_TYPICAL_ITERATIONS:
            return cheapest(terms)
    if keep_triangles:
        problem.sums.lower_triangles(memory)
    return IterativeSystem(terms, int(max_iter) if direct else MAX_ITERATIONS, accuracy, preconditioned)
