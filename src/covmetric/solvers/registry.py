"""The registry of solvers, and the choice that "auto" makes."""

from __future__ import annotations

from typing import Any

from covmetric._utils.registry import resolve
from covmetric._utils.tuning import (
    FIRST_EPOCHS,
    FIRST_EPOCHS_COLUMNS,
    FIRST_EPOCHS_PAIRS,
    FIRST_EPOCHS_THICK,
    FIRST_OBJECTIVE,
    FIRST_STEPS,
    FIRST_STEPS_OBJECTIVE,
    FIRST_STEPS_ROWS,
    LAST_STEPS,
    SPLIT_FROM,
    SPLIT_THIN_FROM,
    THIN_RATIO,
    newton_seconds,
    sweep_seconds,
)
from covmetric.model_file import register_components
from covmetric.problem import MetricProblem
from covmetric.problem.blocks import n_blocks_of
from covmetric.solvers.base import Solver
from covmetric.solvers.dykstra import Dykstra
from covmetric.solvers.hybrid import Hybrid
from covmetric.solvers.interior import Interior
from covmetric.solvers.newton import Newton
from covmetric.solvers.newton.start import best_multiple, objective_per_row

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

    "auto" is `Hybrid`. It begins with Dykstra if the epochs that it usually takes, and two steps of Newton's method,
    are expected to take less time than Newton's method alone. The number of epochs is smaller for examples with few
    columns. The number of steps grows with the objective at the best multiple of the identity.
    docs/performance/solvers.md has the measurements.

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
    """Return whether Dykstra, with Newton's method to finish, is expected to be faster than Newton's method alone."""
    n, m, K = problem.n, min(problem.m, problem.n), problem.n_pairs
    factor, ratios = best_multiple(problem, 1.0)
    active, moved = (int(problem.terms.active(s).sum()) for s in (ratios, problem.squared_norms / problem.bounds))
    moved = max(moved, active)
    epoch = sweep_seconds(n, m, moved, K - moved)
    step = newton_seconds(n, m, max(active, 1), len(problem.sums.rows))
    objective = max(objective_per_row(problem, factor, ratios), FIRST_OBJECTIVE)
    steps = FIRST_STEPS * objective**FIRST_STEPS_OBJECTIVE * n**FIRST_STEPS_ROWS
    epochs = FIRST_EPOCHS * (m / n) ** FIRST_EPOCHS_COLUMNS * K**FIRST_EPOCHS_PAIRS
    if THIN_RATIO * m > n:
        epochs *= FIRST_EPOCHS_THICK
    return bool(epochs * epoch + LAST_STEPS * step < steps * step)


def runs_in_blocks(solver: str | Solver[Any]) -> bool:
    """Return whether a solver may solve problems in blocks.

    Parameters
    ----------
    solver : str or Solver
        A key of `SOLVERS`, "auto", or an object.

    Returns
    -------
    bool
        True for "auto" and `Newton`. A subclass may step in another way, which `BlockNewton` would ignore.

    Raises
    ------
    ValueError
        If there is no solver with that name.

    Examples
    --------
    >>> from covmetric.solvers.registry import runs_in_blocks
    >>> runs_in_blocks("auto"), runs_in_blocks("dykstra")
    (True, False)
    """
    chosen = get_solver(solver)
    return chosen is None or type(chosen) is Newton


def splitting_pays(problem: MetricProblem, solver: str | Solver[Any]) -> bool:
    """Return whether a problem has so many pairs that it is solved in blocks.

    The answer depends on the sizes only, so that it is the same for any number of threads or workers.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    solver : str or Solver
        "auto", or Newton's method.

    Returns
    -------
    bool
    """
    thin = isinstance(solver, str) and solver == "auto" and THIN_RATIO * problem.m <= problem.n
    return n_blocks_of(problem) >= (SPLIT_THIN_FROM if thin else SPLIT_FROM)
