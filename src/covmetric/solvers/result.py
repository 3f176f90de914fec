"""The result of a solve: status, history, metric and certificate."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, TextArray
from covmetric._utils.warning import warn
from covmetric.model_file import register_enum, register_record
from covmetric.problem.certificate import Certificate


class Status(enum.Enum):
    """The outcome of a solve.

    Examples
    --------
    >>> from covmetric import Status
    >>> Status.SOLVED.message
    'the relative gap is proven to be within the tolerance'
    """

    SOLVED = "the relative gap is proven to be within the tolerance"
    MAX_ITER = "the iteration limit was reached first; raise max_iter or tol, or lower the weights (raise lambda)"
    STALLED = "the gap stopped shrinking before it met the tolerance; raise tol, or try another solver"
    INTERRUPTED = "Ctrl-C or the callback stopped the solve; the result is the best metric so far"
    NUMERICAL_ERROR = "rounding errors are too large to prove the tolerance; rescale the data, or raise tol"

    @property
    def message(self) -> str:
        """The status as a sentence, with a remedy if there is one."""
        return self.value


@dataclass(frozen=True)
class History:
    """The certificates of a solve, with one entry per certificate. The first entry belongs to the start.

    Attributes
    ----------
    n_iter : array of int of shape (q,)
        The number of iterations: steps (Newton, Interior) or epochs of K projections (Dykstra).
    projections : array of int of shape (q,)
        The number of projections onto half-spaces, including half-spaces that already contained W.
    seconds : array of shape (q,)
        The time since the start of the solve, including certificates.
    primal, dual, gap : arrays of shape (q,)
        The values of each certificate. They belong to the point at that time, not to the best point so far.
    phase : array of str of shape (q,)
        The method that made each point: the name of the solver or, for `Hybrid`, of one of its methods. Empty in models
        that were saved by older versions.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve
    >>> history = solve(make_paper_problem(n=5, K=20, seed=0)).history
    >>> bool((history.gap == history.primal - history.dual).all()), int(history.n_iter[0])
    (True, 0)
    """

    n_iter: IntArray
    projections: IntArray
    seconds: FloatArray
    primal: FloatArray
    dual: FloatArray
    gap: FloatArray
    phase: TextArray = field(default_factory=lambda: np.empty(0, dtype=np.str_))


@dataclass(frozen=True)
class SolverState:
    """The argument of a callback, after each certificate.

    Attributes
    ----------
    n_iter : int
        The number of iterations so far.
    projections : int
        The number of projections so far.
    seconds : float
        The time since the start of the solve.
    W : array of shape (n, n)
        A copy of the current metric, which need not be the best metric so far.
    multipliers : array of shape (K,)
        A copy of the current multipliers.
    certificate : Certificate
        The certificate of `W` and `multipliers`.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve
    >>> states = []
    >>> result = solve(make_paper_problem(n=5, K=20, seed=0), callback=states.append)
    >>> states[0].n_iter, states[0].W.shape
    (0, (5, 5))
    """

    n_iter: int
    projections: int
    seconds: float
    W: FloatArray
    multipliers: FloatArray
    certificate: Certificate


@dataclass(frozen=True)
class SolveResult:
    """A learned metric with its certificate.

    Attributes
    ----------
    W : array of shape (n, n)
        The metric; <W, F F^T> is a squared distance.
    multipliers : array of shape (K,)
        Dual feasible multipliers alpha >= 0, in the order of the pairs.
    slacks : array of shape (K,)
        The best slacks xi for W.
    status : Status
        How the solve ended.
    certificate : Certificate
        The certificate of `W` and `multipliers`.
    history : History
        All certificates of the solve.
    n_iter : int
        The number of iterations.
    seconds : float
        The time of the solve.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve
    >>> result = solve(make_paper_problem(n=5, K=20, seed=0))
    >>> result.status.name, result.W.shape, result.multipliers.shape
    ('SOLVED', (5, 5), (20,))
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
        # The status is stored by its name, because skops cannot store members of an enum.
        return {**vars(self), "status": self.status.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "status": Status[state["status"]]})

    def warm_start(self, keep: Any = None, added: int = 0) -> FloatArray:
        """Return the multipliers as a warm start for a problem with some pairs removed or added.

        If the weights of the new problem are smaller, multiply the result by the same factor.

        Parameters
        ----------
        keep : array of int or bool, or None, default=None
            The pairs that the new problem keeps, as in `MetricProblem.replace`. None means all pairs.
        added : int, default=0
            The number of pairs that were added at the end.

        Returns
        -------
        array of shape (K,)
            One multiplier for each pair of the new problem, which is zero for added pairs.

        See Also
        --------
        MetricProblem.replace : The problem with different pairs, bounds or weights.

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
        keep : array of int or bool, or None, default=None
            The pairs that the new problem keeps.
        added : int, default=0
            The number of pairs that were added at the end.

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
