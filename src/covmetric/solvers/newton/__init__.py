"""Newton's method: the solver, its start, its line search and its dual candidates."""

from __future__ import annotations

from covmetric.solvers.newton.solver import Newton

__all__ = ["Newton"]
