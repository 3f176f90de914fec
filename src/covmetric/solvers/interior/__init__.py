"""A primal-dual interior-point method: the solver, its starting point and its directions."""

from __future__ import annotations

from covmetric.solvers.interior.solver import Interior

__all__ = ["Interior"]
