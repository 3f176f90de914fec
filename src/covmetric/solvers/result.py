"""What a solver returns: status, history, result."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric._utils.warning import warn
from covmetric.model_file import register_enum, register_record
from covmetric.problem.certificate import Certificate


class Status(enum.Enum):
    """How a solve ended; `message` says it in a sentence."""

    SOLVED = "the relative gap is proven to be within the tolerance"
    MAX_ITER = "the iteration limit was reached first; raise max_iter or tol, or lower the weights (raise lambda)"
    STALLED = "the gap stopped shrinking before it met the tolerance; raise tol, or try another solver"
    INTERRUPTED = "stopped from outside; the best metric so far was kept"
    NUMERICAL_ERROR = "rounding errors are too large to prove the tolerance; rescale the data, or raise tol"

    @property
    def message(self) -> str:
        """The status in words."""
        return self.value


@dataclass(frozen=True)
class History:
    """One entry per certificate; the first is the start.

    Attributes
    ----------
    n_iter : array of int
        Epochs of K projections (Dykstra) or steps.
    projections : array of int
        Visits to a half-space; those that find it satisfied count too.
    seconds : array
        Since the start of the solve, certificates included.
    primal, dual, gap : array
        The certificate's values for the point at that time (not the best so far).
    """

    n_iter: IntArray
    projections: IntArray
    seconds: FloatArray
    primal: FloatArray
    dual: FloatArray
    gap: FloatArray


@dataclass(frozen=True)
class SolverState:
    """What a callback sees after each certificate.

    `certificate` and `multipliers` belong to the current point `W`; the solver keeps the best ones apart.
    """

    n_iter: int
    projections: int
    seconds: float
    W: FloatArray
    multipliers: FloatArray
    certificate: Certificate


@dataclass(frozen=True)
class SolveResult:
    """A learned metric with its proof.

    Attributes
    ----------
    W : array, shape (n, n)
        The metric; <W, F F^T> is a squared distance.
    multipliers : array, shape (K,)
        Dual feasible, >= 0, in the order of the pairs.
    slacks : array, shape (K,)
        The best slacks xi for W.
    status : Status
    certificate : Certificate
        Of these W and multipliers.
    history : History
    n_iter : int
    seconds : float
    """

    W: FloatArray
    multipliers: FloatArray
    slacks: FloatArray
    status: Status
    certificate: Certificate
    history: History
    n_iter: int
    seconds: float

    def __getstate__(self) -> dict[str, Any]:
        # By name: skops cannot store members of an enum.
        return {**vars(self), "status": self.status.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "status": Status[state["status"]]})

    def warm_start(self, keep: Any = None, added: int = 0) -> FloatArray:
        """The multipliers as a warm start after pairs were removed (those in `keep` stay) and `added` at the end.

        Where the weights fall, multiply them by the same factor.

        Examples
        --------
        >>> from covmetric import make_paper_problem, solve
        >>> problem = make_paper_problem(n=4, K=6, lam=1e-2, seed=0)
        >>> result = solve(problem)
        >>> fewer = problem.replace(keep=[0, 2, 3])
        >>> solve(fewer, warm_start=result.warm_start(keep=[0, 2, 3])).status.name
        'SOLVED'
        """
        kept = self.multipliers if keep is None else self.multipliers[np.asarray(keep)]
        return np.concatenate([kept, np.zeros(added)])

    def carried(self, keep: Any = None, added: int = 0) -> FloatArray:
        """Deprecated alias of `warm_start`.

        Parameters
        ----------
        keep, added
            As in `warm_start`.

        Returns
        -------
        array of shape (K,)
        """
        warn("SolveResult.carried is deprecated, use SolveResult.warm_start", FutureWarning)
        return self.warm_start(keep, added)

    def __str__(self) -> str:
        return (
            f"{self.status.name} after {self.n_iter} iterations and {self.seconds:.3g} s: {self.status.message}\n"
            f"{self.certificate}"
        )


register_enum("$status", Status)
for _cls in (Certificate, History, SolveResult):
    register_record(_cls)
