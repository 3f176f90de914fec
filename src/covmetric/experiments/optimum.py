"""The optimum of a problem, with which experiments compare the objective of an iteration."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from covmetric.problem import MetricProblem
from covmetric.solvers import Status, solve


def certified_optimum(problem: MetricProblem, tol: float) -> float:
    """Return the smallest objective that Newton's method reaches.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    tol : float
        The tolerance on the relative gap. If rounding errors are larger, Newton's method ends where they begin.

    Returns
    -------
    float
        The optimum P*, up to `tol` and rounding errors.

    Raises
    ------
    KeyboardInterrupt
        If the solve was interrupted, because its objective is not the optimum then.

    Examples
    --------
    >>> from covmetric import make_paper_problem
    >>> round(certified_optimum(make_paper_problem(n=5, K=20, lam=1e-2, seed=0), tol=1e-12), 6)
    1.508173
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, "newton", tol=tol)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result.certificate.primal
