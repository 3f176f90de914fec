"""The interface of a solver: where it starts and how it steps. The loop does the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

import numpy as np

from covmetric._utils.validation import FloatArray
from covmetric.problem import CertifiedPoint, MetricProblem

State = TypeVar("State")
_EPS = float(np.finfo(np.float64).eps)


class StepFailed(ArithmeticError):
    """A step broke down in floating point arithmetic and cannot be retried.

    Examples
    --------
    >>> from covmetric.solvers import StepFailed
    >>> issubclass(StepFailed, ArithmeticError)
    True
    """


class StepStalled(ArithmeticError):
    """No step improves the objective any further.

    Examples
    --------
    >>> from covmetric.solvers import StepStalled
    >>> issubclass(StepStalled, ArithmeticError)
    True
    """


def is_degenerate(factor: FloatArray) -> bool:
    """Return whether the entries of L L^T determine its smallest eigenvalues to less than two digits.

    Parameters
    ----------
    factor : array of shape (n, n)
        The triangular factor L.

    Returns
    -------
    bool
    """
    extent = np.abs(factor.diagonal()).tolist()
    return bool(min(extent) ** 2 < 100.0 * _EPS * max(extent) ** 2)


class Solver(ABC, Generic[State]):
    """The abstract base class of all methods for `MetricProblem`.

    A solver does not certify itself, does not count its iterations, and does not decide when to stop: the loop does.
    The loop calls `start` once, and then `step` once per iteration. Whenever `due` returns True, it certifies the
    `candidate` and passes the certified point to `resume`. A solver keeps everything that changes during a solve in its
    state, so that one object can solve several problems, even in several threads.

    Attributes
    ----------
    name : str
        The key of the solver in `SOLVERS`.
    default_max_iter : int
        The limit on the number of iterations if the user does not set one.
    default_seed : int or None
        The seed if the user does not set one. None means a different seed in each solve.
    is_random : bool
        Whether the method uses random numbers. If not, no generator is created for a solve without a seed.

    Examples
    --------
    >>> from covmetric.solvers import SOLVERS, Solver
    >>> all(issubclass(solver, Solver) for solver in SOLVERS.values())
    True
    """

    name: ClassVar[str]
    default_max_iter: ClassVar[int]
    default_seed: ClassVar[int | None] = None
    is_random: ClassVar[bool] = True

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"

    @abstractmethod
    def start(self, problem: MetricProblem, point: CertifiedPoint, rng: np.random.Generator) -> State:
        """Return the state at the start of a solve.

        Parameters
        ----------
        problem : MetricProblem
            The problem.
        point : CertifiedPoint
            Feasible multipliers and their metric: zeros and the identity, or a warm start. The state must not share
            memory with this point.
        rng : numpy.random.Generator
            The source of all random numbers of the solve. It is shared between solves if `is_random` is False.

        Returns
        -------
        State
            The state. The loop passes it to the methods of the solver and does not use it otherwise.

        Raises
        ------
        ValueError
            If a setting of the solver is invalid.
        StepFailed
            If there is no starting point in floating point arithmetic.
        """

    @abstractmethod
    def step(self, problem: MetricProblem, state: State) -> None:
        """Advance the state by one iteration, in place.

        Parameters
        ----------
        problem : MetricProblem
            The problem.
        state : State
            The state.

        Raises
        ------
        StepFailed
            If the step breaks down in floating point arithmetic.
        StepStalled
            If no step improves the objective.
        """

    @abstractmethod
    def due(self, problem: MetricProblem, state: State, tol: float) -> bool:
        """Return whether a certificate should be computed now, without changing the state.

        The answer may depend on the work done so far but not on the clock, so that a seed always gives the same bits.

        Parameters
        ----------
        problem : MetricProblem
            The problem.
        state : State
            The state.
        tol : float
            The tolerance on the relative gap.

        Returns
        -------
        bool
        """

    @abstractmethod
    def candidate(self, state: State) -> tuple[FloatArray | None, FloatArray | None]:
        """Return the metric and the multipliers to certify, without changing the state.

        Parameters
        ----------
        state : State
            The state.

        Returns
        -------
        W : array of shape (n, n) or None
            The metric. None means the metric of the multipliers.
        multipliers : array of shape (K,) or None
            The multipliers. None means the multipliers that follow from W. Later steps must not change either
            array.
        """

    @abstractmethod
    def resume(self, problem: MetricProblem, state: State, point: CertifiedPoint) -> None:
        """Continue after a certificate, for example with the rounding errors of the metric removed.

        Parameters
        ----------
        problem : MetricProblem
            The problem.
        state : State
            The state.
        point : CertifiedPoint
            The certified candidate. Later steps must not change its arrays.
        """

    @abstractmethod
    def projections(self, state: State) -> int:
        """Return the number of projections onto half-spaces so far.

        Parameters
        ----------
        state : State
            The state.

        Returns
        -------
        int
            0 for methods without projections.
        """

    def phase(self, state: State) -> str:
        """Return the name of the method that makes the current steps, for the history.

        Parameters
        ----------
        state : State
            The state.

        Returns
        -------
        str
            The name of the solver, unless it combines several methods.
        """
        return self.name
