"""Newton's method: the solver, its path in the weights, its linear systems, its line search."""

from __future__ import annotations

from covmetric.solvers.newton.solver import Newton

__all__ = ["Newton"]
