"""The conversion of the parameters of an estimator into the settings of a learner."""

from __future__ import annotations

from typing import Any

from covmetric.constraints import PairSelection, get_bounds
from covmetric.learning.settings import LearningSettings
from covmetric.orders import get_order
from covmetric.solvers import Callback, Dykstra, Solver


def settings_from_parameters(
    estimator: Any, selection: PairSelection | None, callback: Callback | None = None
) -> LearningSettings:
    """Return the learning settings of an estimator.

    Parameters
    ----------
    estimator : CovMetric or CovMetricPairs
        An estimator with the parameters `bounds`, `scale`, `slack`, `prior`, `prior_t`, `shrinkage`, `solver`, `order`,
        `tol` and `max_iter`.
    selection : PairSelection or None
        The selection of the pairs to learn from, or None if the pairs are given.
    callback : callable or None, default=None
        Called with a `SolverState` after each certificate.

    Returns
    -------
    LearningSettings
        The settings, with names of bounds and orders replaced by objects.

    Raises
    ------
    ValueError
        If the bounds or the order are invalid.
    """
    return LearningSettings(
        selection=selection,
        bounds=get_bounds(estimator.bounds),
        scale=estimator.scale,
        slack=estimator.slack,
        prior=estimator.prior,
        solver=solver_with_order(estimator.solver, estimator.order),
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        callback=callback,
        prior_t=estimator.prior_t,
        shrinkage=estimator.shrinkage,
    )


def solver_with_order(solver: str | Solver[Any], order: str) -> str | Solver[Any]:
    """Return the solver, with the given order of projections if it is 'dykstra'.

    Parameters
    ----------
    solver : {'auto', 'newton', 'dykstra', 'hybrid', 'interior'} or Solver
        The solver.
    order : {'perm', 'rand', 'cyclic'}
        The order of the projections.

    Returns
    -------
    str or Solver
        A `Dykstra` object if `solver` is 'dykstra', otherwise `solver` itself.

    Raises
    ------
    ValueError
        If the order is unknown, even if the solver does not use it.
    """
    get_order(order)
    return Dykstra(order=order) if isinstance(solver, str) and solver == "dykstra" else solver
