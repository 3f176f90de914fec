"""The paper's stopping criterion (its section 4.1): its objective at an iterate, and its bound on the objective gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, as_floats
from covmetric.problem.dual import Dual
from covmetric.problem.metric_problem import MetricProblem
from covmetric.problem.primal import Primal

# Relative rounding errors well below the gaps at which iterations end; a smaller number makes the evaluation slower.
_TOL = 1e-9


@dataclass(frozen=True)
class PaperBound:
    """A feasible point of the primal problem that belongs to multipliers, with the paper's bound on its gap.

    The values are plain floating-point numbers without a bound on their rounding error. `MetricProblem.certify` has
    one, and its gap is never larger.

    Attributes
    ----------
    W : array of shape (n, n)
        The metric of the multipliers, W(alpha) = (I + S)^-1.
    slacks : array of shape (K,)
        The slack variables xi-bar: xi(alpha), except that <A_k, W> / b_k replaces it if W and xi(alpha) violate the
        constraint of pair k.
    objective : float
        BD((W, xi-bar), (I, 1)), the paper's objective.
    dual : float
        The dual objective g(alpha), a lower bound on the optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import make_paper_problem, paper_bound
    >>> bound = paper_bound(make_paper_problem(n=3, K=5, seed=0), np.zeros(5))
    >>> bound.dual, bound.gap == bound.objective
    (0.0, True)
    """

    W: FloatArray
    slacks: FloatArray
    objective: float
    dual: float

    @property
    def gap(self) -> float:
        """The paper's upper bound on `objective` minus the optimum: `objective` minus `dual`."""
        return self.objective - self.dual


@np.errstate(all="ignore")
def paper_bound(problem: MetricProblem, multipliers: Any) -> PaperBound:
    """Return the paper's objective and its bound on the objective gap at dual feasible multipliers.

    The paper monitors BD((W_t, xi-bar_t), (I, 1)) at its iterates, and plots this value minus the optimum. The slacks
    xi-bar are feasible, but they are not the best ones for W_t. Therefore the objective is at least P(W_t), the value
    of `MetricProblem.primal`. At an iterate, W_t and xi_t minimise the Lagrangian, whose minimum is the dual objective.
    It follows that the right-hand side of the paper's stopping criterion is the objective minus the dual objective.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    multipliers : array of shape (K,)
        The multipliers alpha of an iterate, as Dykstra's algorithm has them. They are not repaired.

    Returns
    -------
    PaperBound

    Raises
    ------
    ValueError
        If the multipliers are not dual feasible, or if their metric is too close to singular.

    See Also
    --------
    MetricProblem.certify : The certificate, which repairs multipliers and bounds its rounding error.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric import Dykstra, make_paper_problem, paper_bound, solve
    >>> problem = make_paper_problem(n=5, K=20, lam=1e-2, seed=0)
    >>> result = solve(problem, Dykstra("perm"), tol=1e-9, random_state=0)
    >>> bound = paper_bound(problem, result.multipliers)
    >>> bool(bound.objective >= result.certificate.primal), bool(bound.gap < 1e-6)
    (True, True)
    """
    alpha = _check_multipliers(problem, multipliers)
    dual, primal = Dual(problem.terms), Primal(problem.terms)
    xi = problem.slack.xi(dual.t(alpha))
    dual_point = dual.point(alpha, _TOL)
    if dual_point is None:
        S = problem.sums.weighted_sum(problem.similar * alpha)
        raise ValueError(
            "multipliers are not dual feasible: I + S must be positive definite, and its smallest eigenvalue is "
            f"{1.0 + np.linalg.eigvalsh(S)[0]:.3g}; certified(None, multipliers) repairs them"
        )
    W = dual_point.metric
    primal_point = primal.point(W, _TOL)
    if primal_point is None or not np.isfinite(primal_point.value):
        raise ValueError("the metric of the multipliers is too close to singular for its objective to be computed")
    ratios = primal_point.ratios
    slacks = np.where(problem.similar * (ratios - xi) > 0.0, ratios, xi)
    # P(W) is the objective with the best slacks. They lie between 1 and xi-bar, so that no difference is negative.
    losses, best_losses = problem.slack.divergence(slacks), problem.slack.divergence(problem.best_slacks(ratios))
    objective = primal_point.value + float(problem.weights @ (losses - best_losses))
    return PaperBound(W, slacks, objective, dual_point.value)


def _check_multipliers(problem: MetricProblem, multipliers: Any) -> FloatArray:
    """Return the multipliers as an array, or raise ValueError if one of them is outside of its domain."""
    alpha = as_floats("multipliers", multipliers)
    if alpha.shape != (problem.n_pairs,):
        raise ValueError(f"multipliers must have one entry per pair, shape ({problem.n_pairs},); got {alpha.shape}")
    for k in np.flatnonzero(alpha < 0.0)[:1]:
        raise ValueError(f"multipliers must not be negative, got multipliers[{k}] = {alpha[k]:.6g}")
    t = Dual(problem.terms).t(alpha)
    for k in np.flatnonzero(~np.isfinite(problem.slack.conjugate(t)))[:1]:
        raise ValueError(
            f"multipliers[{k}] = {alpha[k]:.6g} is not dual feasible: t = y alpha b / c = {t[k]:.6g} lies outside of "
            f"the domain of slack {problem.slack.name!r}"
        )
    return alpha
