"""The result of a solve: status, history, metric and certificate."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, TextArray, is_count
from covmetric._utils.warning import warn
from covmetric.model_file import build_record, register_enum, register_record, register_stateful
from covmetric.problem import Certificate, check_kept, expand


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


class _Deferred:
    """Attributes that are computed when one of them is first asked for.

    If a problem is in blocks, arrays over all pairs are not in memory. They are gathered from the blocks on demand.
    """

    @classmethod
    def deferred(cls, gather: Callable[[], dict[str, FloatArray]], **parts: Any) -> Any:
        """Create an object without some of its attributes.

        Parameters
        ----------
        gather : callable
            Called without arguments; returns the missing attributes by name.
        **parts
            All other attributes.

        Returns
        -------
        object
            An object of this class.
        """
        created = cls.__new__(cls)
        vars(created).update(parts, _gather=gather)
        return created

    def __getattr__(self, name: str) -> Any:
        is_field = name in getattr(type(self), "__dataclass_fields__", ())
        gather = vars(self).get("_gather") if is_field else None
        if gather is not None:
            vars(self).update(gather())
            vars(self).pop("_gather", None)
        if is_field and name in vars(self):
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        for name in getattr(type(self), "__dataclass_fields__", ()):
            getattr(self, name)  # gathered now if it has not been yet
        return dict(vars(self))


@dataclass(frozen=True)
class SolverState(_Deferred):
    """The argument of a callback, after each certificate.

    Attributes
    ----------
    n_iter : int
        The number of iterations so far.
    projections : int
        The number of projections so far.
    seconds : float
        The time since the start of the solve.
    core : array of shape (r, r)
        A copy of the current metric in the coordinates of `basis`, V; the metric itself if `basis` is None. It need not
        be the best metric so far.
    multipliers : array of shape (K,)
        A copy of the current multipliers. If the problem is in blocks, they are gathered when they are asked for.
    certificate : Certificate
        The certificate of the metric and of `multipliers`.
    basis : array of shape (n, r) or None, default=None
        The orthonormal basis Q of the span of the differences, if the problem was reduced to it.

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
    core: FloatArray
    multipliers: FloatArray
    certificate: Certificate
    basis: FloatArray | None = None

    @property
    def W(self) -> FloatArray:
        """The current metric, shape (n, n). If there is a basis, each access builds it as I + Q (V - I) Q^T."""
        return self.core if self.basis is None else expand(self.basis, self.core)


@dataclass(frozen=True)
class SolveResult(_Deferred):
    """A learned metric with its certificate.

    If the differences of the pairs span far fewer than n directions, the metric is held as W = I + Q (V - I) Q^T, with
    an orthonormal `basis` Q of their span and the metric V within the span, the `core`. The certificate belongs to this
    form. The dense `W` is built when it is asked for, and has the rounding errors of its entries.

    Attributes
    ----------
    core : array of shape (r, r)
        The metric V in the coordinates of `basis`; the metric W itself if `basis` is None.
    multipliers : array of shape (K,)
        Dual feasible multipliers alpha >= 0, in the order of the pairs. If the problem was solved in blocks, they and
        the slacks are gathered from the blocks when one of them is first asked for.
    slacks : array of shape (K,)
        The best slacks xi for W.
    status : Status
        How the solve ended.
    certificate : Certificate
        The certificate of the metric and of `multipliers`.
    history : History
        All certificates of the solve.
    n_iter : int
        The number of iterations.
    seconds : float
        The time of the solve.
    basis : array of shape (n, r) or None, default=None
        The orthonormal basis Q of the span of the differences, if the problem was reduced to it.

    Examples
    --------
    >>> from covmetric import make_paper_problem, solve
    >>> result = solve(make_paper_problem(n=5, K=20, seed=0))
    >>> result.status.name, result.W.shape, result.multipliers.shape
    ('SOLVED', (5, 5), (20,))
    """

    core: FloatArray
    multipliers: FloatArray
    slacks: FloatArray
    status: Status
    certificate: Certificate
    history: History
    n_iter: int
    seconds: float
    basis: FloatArray | None = None

    @property
    def W(self) -> FloatArray:
        """The metric, shape (n, n). If there is a basis, each access builds it as I + Q (V - I) Q^T."""
        return self.core if self.basis is None else expand(self.basis, self.core)

    @property
    def is_deferred(self) -> bool:
        """Whether multipliers and slacks have not been gathered from the blocks yet."""
        return "_gather" in vars(self)

    def with_status(self, status: Status) -> SolveResult:
        """Return the same result with another status. Nothing is gathered.

        Parameters
        ----------
        status : Status
            The status.

        Returns
        -------
        SolveResult
        """
        changed = object.__new__(type(self))
        vars(changed).update(vars(self), status=status)
        return changed

    def transform(self, embedded: FloatArray) -> FloatArray:
        """Return L^T Phi for examples Phi of the problem, where L L^T = W, without building W.

        Parameters
        ----------
        embedded : array of shape (l, n, m)
            The embedded examples.

        Returns
        -------
        array of shape (l, n, m)
            The transformed examples. Their Euclidean distances are the distances of the metric.
        """
        factor = np.asarray(np.linalg.cholesky(self.core), dtype=np.float64)
        if self.basis is None:
            return np.asarray(factor.T @ embedded)
        change = factor - np.eye(len(factor))
        return np.asarray(embedded + self.basis @ (change.T @ (self.basis.T @ embedded)))

    def __getstate__(self) -> dict[str, Any]:
        # The status is stored by its name, because skops cannot store members of an enum.
        return {**super().__getstate__(), "status": self.status.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {"basis": None, **state, "status": Status[state["status"]]}
        if "W" in state:  # a pickle of an older version
            state["core"] = state.pop("W")
        vars(self).update(state)

    def get_state(self) -> dict[str, Any]:
        """Return the parts of the result, for a model file.

        Returns
        -------
        dict
            The attributes by name. Without a basis, the core is named W, as in files of older versions.
        """
        parts = {name.name: getattr(self, name.name) for name in fields(self)}
        if self.basis is not None:
            return parts
        del parts["basis"]
        return {"W" if name == "core" else name: part for name, part in parts.items()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> SolveResult:
        """Create a result from its parts.

        Parameters
        ----------
        state : dict
            The parts as returned by `get_state`. They may come from a hostile file.

        Returns
        -------
        SolveResult

        Raises
        ------
        ValueError
            If the parts are invalid.
        """
        if "basis" not in state:
            state = {"core": state.pop("W"), "basis": None, **state}
        result: SolveResult = build_record(cls, state)
        core, basis = result.core, result.basis
        if basis is not None and not (
            basis.ndim == 2 and 0 < basis.shape[1] <= len(basis) and core.shape == (basis.shape[1],) * 2
        ):
            raise ValueError(f"SolveResult.core has shape {core.shape}, which does not fit its basis {basis.shape}")
        return result

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

        Raises
        ------
        ValueError
            If `keep` or `added` is invalid.

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
        if not is_count(added):
            raise ValueError(f"added must be an integer >= 0, got {added!r}")
        return np.concatenate([self.multipliers[check_kept(keep, len(self.multipliers))], np.zeros(added)])

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
for _cls in (Certificate, History):
    register_record(_cls)
register_stateful(SolveResult)
