"""Newton's method on problems in blocks: every sum over pairs is a pass over the blocks."""

from __future__ import annotations

from covmetric.solvers.blocks.multipliers import StepMultipliers
from covmetric.solvers.blocks.solver import BlockNewton

__all__ = ["BlockNewton", "StepMultipliers"]
