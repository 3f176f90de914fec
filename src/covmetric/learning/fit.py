"""From embedded, labelled examples to a metric: what all the estimators have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.constraints import Constraints, PairSelection, constrain
from covmetric.learning.prior import prior_root
from covmetric.learning.settings import LearningSettings, check_lam
from covmetric.problem import MetricProblem
from covmetric.solvers import SolveResult, Status, solve, solve_path


@dataclass
class FittedProblem:
    """A learning problem on labelled examples, and its solution at one lambda.

    The solver sees R Phi / sqrt(scale) with R R = prior; `metric` turns its W back into that of Phi.

    Attributes
    ----------
    settings : LearningSettings
        How the constraints are made, and how the problem is solved.
    examples : array of shape (l, n, m)
        R Phi(X).
    codes : array of int, shape (l,)
        Classes 0..n_c-1.
    root : array of shape (n, n), or None
        R; None for the identity.
    lam : float
        Lambda; inf if nothing has been learned.
    constraints : Constraints or None
        None if lambda is inf.
    result : SolveResult or None
        None if lambda is inf.
    copies : int
        As `Embedding.copies_`. The weights are multiplied by it, because the regulariser counts each number of W as
        often.
    """

    settings: LearningSettings
    examples: FloatArray
    codes: IntArray
    root: FloatArray | None
    lam: float = np.inf
    constraints: Constraints | None = field(default=None, repr=False)
    result: SolveResult | None = field(default=None, repr=False)
    copies: int = 1

    @classmethod
    def at_prior(
        cls, settings: LearningSettings, embedded: FloatArray, codes: IntArray, copies: int = 1
    ) -> FittedProblem:
        """Return the problem before anything is learned: W is the prior.

        Parameters
        ----------
        settings : LearningSettings
            The settings.
        embedded : array of shape (l, n, m)
            The embedded examples.
        codes : array of int, shape (l,)
            Their classes, 0..n_c-1.
        copies : int, default=1
            As `Embedding.copies_`.

        Returns
        -------
        FittedProblem
        """
        root = prior_root(settings.prior, embedded, copies)
        examples = embedded if root is None else np.asarray(root @ embedded)
        return cls(settings, examples, codes, root, copies=copies)

    @property
    def interrupted(self) -> bool:
        """Whether the solve was interrupted."""
        return self.result is not None and self.result.status is Status.INTERRUPTED

    @property
    def scale(self) -> float:
        """The unit of the squared distances that the solver saw."""
        return 1.0 if self.constraints is None else self.constraints.scale

    def metric(self) -> FloatArray:
        """Return W in the coordinates of the unscaled Phi.

        Returns
        -------
        array of shape (n, n)
        """
        n = self.examples.shape[1]
        W = np.eye(n) if self.result is None or self.constraints is None else self.result.W / self.constraints.scale
        if self.root is None:
            return W
        learned = self.root @ W @ self.root
        return np.asarray(0.5 * (learned + learned.T))

    def problem(self, constraints: Constraints, lam: float = 1.0) -> MetricProblem:
        """Return the problem that these constraints pose.

        Parameters
        ----------
        constraints : Constraints
            Pairs, bounds and weights.
        lam : float, default=1.0
            Lambda, by which the weights are divided.

        Returns
        -------
        MetricProblem
        """
        return MetricProblem(
            self.examples / np.sqrt(constraints.scale),
            constraints.pairs,
            constraints.similar,
            constraints.bounds,
            self.copies * constraints.weights / lam,
            self.settings.slack,
        )


def fit_path(start: FittedProblem, lambdas: Sequence[float], rng: np.random.Generator) -> list[FittedProblem]:
    """Solve a problem at each lambda, along a path of warm starts.

    If the pairs are chosen again under the learned metric, each lambda has its own pairs from then on.

    Parameters
    ----------
    start : FittedProblem
        The problem at its prior.
    lambdas : sequence of floats
        Positive; inf stands for the prior itself.
    rng : Generator
        For random pairs and orders.

    Returns
    -------
    list of FittedProblem
        In the order of `lambdas`; fewer after Ctrl-C.
    """
    for lam in lambdas:
        check_lam(lam)
    decreasing = sorted({float(lam) for lam in lambdas if lam != np.inf}, reverse=True)
    solved = {np.inf: start}
    if decreasing:
        settings, selection = start.settings, start.settings.selection
        assert selection is not None
        constraints = _choose_constraints(start, selection, rng)
        results = solve_path(
            start.problem(constraints),
            decreasing,
            settings.solver,
            settings.tol,
            settings.max_iter,
            rng,
            settings.callback,
        )
        for lam, result in zip(decreasing, results, strict=False):
            fitted = replace(start, lam=lam, constraints=constraints, result=result)
            for _ in range(selection.rounds - 1):
                if not fitted.interrupted:
                    fitted = fit_constraints(fitted, _choose_constraints(fitted, selection, rng), lam, rng)
            solved[lam] = fitted
            if fitted.interrupted:
                break
    return [solved[float(lam)] for lam in lambdas if float(lam) in solved]


def fit_constraints(
    start: FittedProblem, constraints: Constraints, lam: float, rng: np.random.Generator
) -> FittedProblem:
    """Solve a problem with given constraints at one lambda.

    Parameters
    ----------
    start : FittedProblem
        The problem at its prior, or at another solution.
    constraints : Constraints
        Pairs, bounds and weights.
    lam : float
        Positive; inf returns `start`.
    rng : Generator
        For random orders.

    Returns
    -------
    FittedProblem
    """
    check_lam(lam)
    if lam == np.inf:
        return start
    settings = start.settings
    problem = start.problem(constraints, float(lam))
    result = solve(problem, settings.solver, settings.tol, settings.max_iter, rng, callback=settings.callback)
    return replace(start, lam=float(lam), constraints=constraints, result=result)


def _choose_constraints(fitted: FittedProblem, selection: PairSelection, rng: np.random.Generator) -> Constraints:
    """Pairs chosen under the current metric, and their bounds."""
    settings = fitted.settings
    factor = None if fitted.result is None else np.asarray(np.linalg.cholesky(fitted.result.W), dtype=np.float64)
    return constrain(fitted.examples, fitted.codes, selection, settings.bounds, settings.scale, rng, factor)
