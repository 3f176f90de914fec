"""Solvers and `solve`. Each solver has its own file or folder; `SOLVERS` lists them by name."""

from __future__ import annotations

from covmetric.solvers.api import solve, solve_path
from covmetric.solvers.base import Solver, StepFailed, StepStalled
from covmetric.solvers.dykstra import Dykstra
from covmetric.solvers.executors import solving_with
from covmetric.solvers.hybrid import Hybrid
from covmetric.solvers.interior import Interior
from covmetric.solvers.loop import Callback
from covmetric.solvers.newton import Newton
from covmetric.solvers.registry import SOLVERS, choose_solver, get_solver
from covmetric.solvers.result import History, SolveResult, SolverState, Status

__all__ = [
    "SOLVERS",
    "Callback",
    "Dykstra",
    "History",
    "Hybrid",
    "Interior",
    "Newton",
    "SolveResult",
    "Solver",
    "SolverState",
    "Status",
    "StepFailed",
    "StepStalled",
    "choose_solver",
    "get_solver",
    "solve",
    "solve_path",
    "solving_with",
]
