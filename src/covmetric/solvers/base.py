"""What a solver is: where it starts and how it steps. The loop does the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.problem import CertifiedPoint, MetricProblem

State = TypeVar("State")
_EPS = float(np.finfo(np.float64).eps)


class StepFailed(ArithmeticError):
    """A step broke down in floating point and could not be retried."""


class StepStalled(ArithmeticError):
    """No step improves the objective any more."""


def is_degenerate(factor: FloatArray) -> bool:
    """Whether the entries of L L^T, L triangular, hold its smallest eigenvalues to less than two digits."""
    extent = np.abs(factor.diagonal()).tolist()
    return bool(min(extent) ** 2 < 100.0 * _EPS * max(extent) ** 2)


class Solver(ABC, Generic[State]):
    """A method for MetricProblem. It never certifies itself, counts nothing and does not decide when to stop.

    The loop calls `start`, then `step` once per iteration; whenever `due` says so it certifies `candidate` and hands
    the certified point back to `resume`.
    """

    name: ClassVar[str]
    default_max_iter: ClassVar[int]

    @abstractmethod
    def start(self, problem: MetricProblem, point: CertifiedPoint, rng: np.random.Generator) -> State:
        """The state at feasible multipliers and their metric: zeros and the identity, or a warm start."""

    @abstractmethod
    def step(self, problem: MetricProblem, state: State) -> None:
        """Advance the state by one iteration, in place. Raises StepFailed."""

    @abstractmethod
    def due(self, problem: MetricProblem, state: State, tol: float) -> bool:
        """Whether a certificate is worth its time now. Depends on work done, not on the clock: same seed, same bits."""

    @abstractmethod
    def candidate(self, state: State) -> tuple[FloatArray | None, FloatArray | None]:
        """The metric and the multipliers to certify; either may be None."""

    @abstractmethod
    def resume(self, problem: MetricProblem, state: State, point: CertifiedPoint) -> None:
        """Go on from a certified candidate: the chance to shed rounding errors."""

    @abstractmethod
    def projections(self, state: State) -> int:
        """Visits to a half-space so far."""
