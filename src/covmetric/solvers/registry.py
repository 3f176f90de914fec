"""The solvers by name, and the one that "auto" stands for."""

from __future__ import annotations

from typing import Any

from covmetric._utils.registry import resolve
from covmetric._utils.tuning import HEAVIEST_WEIGHTS, LIGHTEST_WEIGHTS, THIN_RATIO
from covmetric.model_file import register_components
from covmetric.problem import MetricProblem
from covmetric.solvers.base import Solver
from covmetric.solvers.dykstra import Dykstra
from covmetric.solvers.newton import Newton

SOLVERS: dict[str, type[Solver[Any]]] = {
    "dykstra": Dykstra,
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
        None for "auto".

    Raises
    ------
    ValueError
        If there is no solver with that name.
    """
    if isinstance(solver, str) and solver == "auto":
        return None
    return resolve("solver", solver, SOLVERS, Solver, also="auto")


def choose_solver(solver: str | Solver[Any], problem: MetricProblem) -> Solver[Any]:
    """Return the solver for a problem; "auto" chooses the faster one.

    A Newton step takes a few passes over the n(n+1)/2 entries of each A_k, an epoch of Dykstra n^2 m operations per
    pair: where m is small, no more than one of those passes. Dykstra needs few epochs where the weights are neither so
    small that Newton needs no more than three steps, nor so large that the pairs outweigh the regulariser.
    docs/solvers.md has the measurements.

    Parameters
    ----------
    solver : str or Solver
        A key of `SOLVERS`, "auto", or an object.
    problem : MetricProblem
        The problem to be solved.

    Returns
    -------
    Solver
    """
    chosen = get_solver(solver)
    if chosen is not None:
        return chosen
    thin = THIN_RATIO * problem.m <= problem.n <= problem.n_pairs
    moderate = LIGHTEST_WEIGHTS <= float(problem.weights.sum()) <= HEAVIEST_WEIGHTS
    return SOLVERS["dykstra" if thin and moderate else "newton"]()
