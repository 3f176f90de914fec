"""How constraints are made from labels, and how the problem is solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import check_tolerance, is_number
from covmetric.constraints import Bounds, PairSelection, check_scale
from covmetric.model_file import register_record
from covmetric.slacks import get_slack
from covmetric.solvers import Callback, Solver, get_solver


@dataclass(frozen=True)
class LearningSettings:
    """The settings of a learner, as objects; see `CovMetric` for their meaning.

    Attributes
    ----------
    selection : PairSelection or None
        Which pairs to learn from; None where the pairs are given.
    bounds : Bounds
        The bounds on squared distances, in units of `scale`.
    scale : {"median", None} or float
        The unit of the bounds.
    slack : str or Slack
        The price of a violated bound.
    prior : str or array
        The metric that W is kept close to.
    solver : str or Solver
        As in `solve`.
    tol : float
        Bound on the relative duality gap.
    max_iter : int or None
        As in `solve`.
    callback : callable or None
        As in `solve`.
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

    def check(self) -> None:
        """Raise ValueError for settings that no data could make right."""
        if self.selection is not None:
            self.selection.check()
        self.bounds.limits(np.ones(2))
        check_scale(self.scale)
        get_slack(self.slack)
        get_solver(self.solver)
        check_tolerance(self.tol)


def check_lam(lam: Any) -> None:
    """Raise ValueError unless lambda is positive; it may be infinite.

    Parameters
    ----------
    lam : float
        Lambda.
    """
    if not (lam == np.inf or (is_number(lam) and lam > 0)):
        raise ValueError(f"lam must be a positive number or infinity, got {lam!r}")


# Files of format version 1 call it so.
register_record(LearningSettings, name="Recipe")
