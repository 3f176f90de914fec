"""The registry of solvers, and the choice that "auto" makes."""

from __future__ import annotations

from typing import Any

from covmetric._utils.registry import resolve
from covmetric._utils.tuning import (
    CHEAP_EPOCH,
    DEAR_EPOCH,
    EASY_STIFFNESS,
    EASY_STIFFNESS_MANY_PAIRS,
    HARD_STIFFNESS,
    STEADY_GROWTH,
    STRETCH,
    THIN_RATIO,
    VERY_DEAR_EPOCH,
    newton_seconds,
    sweep_seconds,
)
from covmetric.model_file import register_components
from covmetric.problem import MetricProblem
from covmetric.solvers.base import Solver
from covmetric.solvers.dykstra import Dykstra
from covmetric.solvers.hybrid import Hybrid, newton_path_is_long
from covmetric.solvers.interior import Interior
from covmetric.solvers.newton import Newton
from covmetric.solvers.newton.start import best_multiple, stiffness

SOLVERS: dict[str, type[Solver[Any]]] = {
    "dykstra": Dykstra,
    "hybrid": Hybrid,
    "interior": Interior,
    "newton": Newton,
}
register_components(SOLVERS.values())


def get_solver(solver: str | Solver[Any]) -> Solver[Any] | None:
    """Return the solver with that name, or the object itself.

    Parameters
    ----------
    solver : str or Solver
        A key of `SOLVERS`, "auto", or an object.

    Returns
    -------
    Solver or None
        The solver, or None for "auto".

    Raises
    ------
    ValueError
        If there is no solver with that name.

    Examples
    --------
    >>> from covmetric.solvers import get_solver
    >>> get_solver("newton").name
    'newton'
    """
    if isinstance(solver, str) and solver == "auto":
        return None
    return resolve("solver", solver, SOLVERS, Solver, also="auto")


def choose_solver(solver: str | Solver[Any], problem: MetricProblem) -> Solver[Any]:
    """Return the solver for a problem; "auto" chooses the solver that is expected to be faster.

    "auto" is `Hybrid`. It begins with Dykstra if the examples have few columns, an epoch does not take much longer than
    a Newton step, and Newton's method is expected to need many steps: if the losses have more curvature than log det,
    but not so much that Dykstra crawls. docs/performance/solvers.md has the measurements.

    Parameters
    ----------
    solver : str or Solver
        A key of `SOLVERS`, "auto", or an object.
    problem : MetricProblem
        The problem to be solved.

    Returns
    -------
    Solver

    Raises
    ------
    ValueError
        If there is no solver with that name.

    Examples
    --------
    >>> from covmetric import make_paper_problem
    >>> from covmetric.solvers import choose_solver
    >>> choose_solver("auto", make_paper_problem(n=10, K=50, seed=0))
    Hybrid(first='newton', order='perm', memory=1073741824)
    """
    chosen = get_solver(solver)
    if chosen is not None:
        return chosen
    return Hybrid(first=Dykstra.name if _dykstra_pays(problem) else Newton.name)


def _dykstra_pays(problem: MetricProblem) -> bool:
    """Return whether Dykstra is expected to reach the neighbourhood of the optimum before Newton's method."""
    n, m, K = problem.n, problem.m, problem.n_pairs
    if THIN_RATIO * m > n:
        return False
    epoch = sweep_seconds(n, m, K, 0) / newton_seconds(n, m, K, len(problem.sums.rows))
    if not CHEAP_EPOCH < epoch < VERY_DEAR_EPOCH:
        return epoch <= CHEAP_EPOCH
    ratios = best_multiple(problem, 1.0)[1]
    stiff = stiffness(problem, ratios)
    if stiff > HARD_STIFFNESS:
        return epoch < DEAR_EPOCH and newton_path_is_long(problem)
    if epoch >= DEAR_EPOCH:
        steady = stiffness(problem, STRETCH * ratios) <= STEADY_GROWTH * stiff
        return stiff > EASY_STIFFNESS_MANY_PAIRS and not steady
    return stiff > (EASY_STIFFNESS if problem.sums.half.size >= K else EASY_STIFFNESS_MANY_PAIRS)
