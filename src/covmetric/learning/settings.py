"""The settings of a learner: how constraints are made from labels, and how the problem is solved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.validation import check_tolerance, is_number
from covmetric.constraints import Bounds, PairSelection, check_scale
from covmetric.learning.prior import check_prior
from covmetric.model_file import register_record
from covmetric.slacks import get_slack
from covmetric.solvers import Callback, Solver, get_solver


@dataclass(frozen=True)
class LearningSettings:
    """The settings of a learner, with names already replaced by objects where the learner needs them.

    Attributes
    ----------
    selection : PairSelection or None
        The selection of the pairs to learn from, or None if the pairs are given.
    bounds : Bounds
        The bounds on the squared distances of similar and dissimilar pairs, in units of the scale.
    scale : 'median', float or None, default='median'
        The unit of the bounds: the median squared distance of the pairs, a squared distance, or 1 if None.
    slack : {'is', 'l2', 're'} or Slack, default='is'
        The divergence that penalises violated bounds.
    prior : {'identity', 'covariance', 'within', 'gmml'} or array of shape (n, n), default='identity'
        The metric that W is kept close to.
    solver : {'auto', 'newton', 'dykstra', 'hybrid', 'interior'} or Solver, default='auto'
        The solver.
    tol : float, default=1e-6
        The tolerance on the relative duality gap.
    max_iter : int or None, default=None
        The maximum number of steps or epochs. None means the default of the solver.
    callback : callable or None, default=None
        Called with a `SolverState` after each certificate; the solve stops if it returns True.
    prior_t : float, default=0.5
        The position on the geodesic from S^-1 to D, for the prior 'gmml'.
    shrinkage : 'auto' or float, default='auto'
        The shrinkage of the scatter matrices, for the priors 'within' and 'gmml'.
    """

    selection: PairSelection | None
    bounds: Bounds
    scale: Any = "median"
    slack: Any = "is"
    prior: Any = "identity"
    solver: str | Solver[Any] = "auto"
    tol: float = 1e-6
    max_iter: int | None = None
    callback: Callback | None = None
    # Fields with a default factory may be missing in model files: files of version 0.1.0 do not have them.
    prior_t: float = field(default_factory=lambda: 0.5)
    shrinkage: Any = field(default_factory=lambda: "auto")

    def check(self) -> None:
        """Raise ValueError if a setting is invalid for all data."""
        if self.selection is not None:
            self.selection.check()
        self.bounds.limits(np.ones(2))
        check_scale(self.scale)
        get_slack(self.slack)
        check_prior(self.prior, self.prior_t, self.shrinkage)
        get_solver(self.solver)
        check_tolerance(self.tol)


def check_lam(lam: Any) -> None:
    """Raise ValueError unless lambda is a positive number or infinity.

    Parameters
    ----------
    lam : float
        The strength of the prior, lambda.
    """
    if not (lam == np.inf or (is_number(lam) and lam > 0)):
        raise ValueError(f"lam must be a positive number or infinity, got {lam!r}")


# The name of this record in model files of format version 1.
register_record(LearningSettings, name="Recipe")
