"""The paper's experiments, as functions that return tables."""

from __future__ import annotations

from covmetric.experiments.convergence import ConvergenceTable, convergence

__all__ = ["ConvergenceTable", "convergence"]
