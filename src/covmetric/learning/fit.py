"""Fits of the learning problem to embedded, labelled examples. All estimators use these functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.constraints import Constraints, PairSelection, constrain
from covmetric.embeddings import Embedding
from covmetric.learning.prior import prior_root
from covmetric.learning.settings import LearningSettings, check_lam
from covmetric.metric import LearnedMetric
from covmetric.problem import MetricProblem
from covmetric.solvers import SolveResult, Status, solve, solve_path


@dataclass(frozen=True)
class FittedProblem:
    """A learning problem on labelled examples, and its solution at one lambda.

    The solver works with R Phi(X) / sqrt(scale), where R R is the prior. `metric` transforms its W back to the
    coordinates of Phi(X).

    Attributes
    ----------
    settings : LearningSettings
        How the constraints are made, and how the problem is solved.
    examples : array of shape (l, n, m)
        The embedded examples in the coordinates of the prior, R Phi(X).
    codes : array of int of shape (l,)
        The classes of the examples, 0..n_classes-1.
    root : array of shape (n, n) or None
        The symmetric square root R of the prior. None means the identity.
    lam : float, default=inf
        The strength of the prior, lambda; inf if nothing has been learned.
    constraints : Constraints or None, default=None
        The pairs, bounds and weights; None if lambda is inf.
    result : SolveResult or None, default=None
        The solution; None if lambda is inf.
    copies : int, default=1
        The `copies_` of the embedding: how often W contains each of its numbers. The weights are multiplied by it,
        because the divergence from the prior counts each number `copies` times.
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
        """Return the problem before learning, when W is the prior.

        Parameters
        ----------
        settings : LearningSettings
            How the constraints are made, and how the problem is solved.
        embedded : array of shape (l, n, m)
            The embedded examples.
        codes : array of int of shape (l,)
            The classes of the examples, 0..n_classes-1.
        copies : int, default=1
            The `copies_` of the embedding.

        Returns
        -------
        FittedProblem
            A problem without constraints and without a result.
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
        """The squared distance by which the solver's squared distances were divided."""
        return 1.0 if self.constraints is None else self.constraints.scale

    def metric(self) -> FloatArray:
        """Return the learned matrix in the coordinates of Phi(X), with the prior and the scale applied.

        The matrix is dense. `learned_metric` does not build it if the problem was solved within a span.

        Returns
        -------
        array of shape (n, n)
            The symmetric matrix W.
        """
        n = self.examples.shape[1]
        W = np.eye(n) if self.result is None else self.result.W / self.scale
        if self.root is None:
            return W
        learned = self.root @ W @ self.root
        return np.asarray(0.5 * (learned + learned.T))

    def learned_metric(self, embedding: Embedding) -> LearnedMetric:
        """Return the learned metric on examples.

        Parameters
        ----------
        embedding : Embedding
            The fitted embedding Phi.

        Returns
        -------
        LearnedMetric
            The metric. It is held in the coordinates of a span if the problem was solved within this span.
        """
        result = self.result
        if result is None or result.basis is None:
            return LearnedMetric(embedding, self.metric())
        return LearnedMetric.from_span(embedding, result.basis, result.core, self.scale, self.root)

    def problem(self, constraints: Constraints, lam: float = 1.0) -> MetricProblem:
        """Return the optimisation problem with the given constraints.

        Parameters
        ----------
        constraints : Constraints
            The pairs, bounds and weights.
        lam : float, default=1.0
            Lambda, by which the weights are divided.

        Returns
        -------
        MetricProblem
            The problem in the coordinates of the prior and in units of the scale.
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
    """Solve a problem at each lambda, from the largest to the smallest, each from the previous solution.

    If `settings.selection.rounds` is larger than 1, the pairs of each lambda are then chosen again under its metric.

    Parameters
    ----------
    start : FittedProblem
        The problem at its prior.
    lambdas : sequence of floats
        Positive numbers. inf means the prior.
    rng : Generator
        The source of random pairs and random orders.

    Returns
    -------
    list of FittedProblem
        The problems in the order of `lambdas`. After Ctrl-C, the list contains only the problems that were reached.

    Raises
    ------
    ValueError
        If a lambda is not positive, or if there are no pairs to learn from.
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
        The problem, with or without a solution.
    constraints : Constraints
        The pairs, bounds and weights.
    lam : float
        A positive number, or inf for the prior.
    rng : Generator
        The source of random orders.

    Returns
    -------
    FittedProblem
        The solved problem; `start` itself if `lam` is inf.

    Raises
    ------
    ValueError
        If `lam` is not positive.
    """
    check_lam(lam)
    if lam == np.inf:
        return start
    settings = start.settings
    problem = start.problem(constraints, float(lam))
    result = solve(problem, settings.solver, settings.tol, settings.max_iter, rng, callback=settings.callback)
    return replace(start, lam=float(lam), constraints=constraints, result=result)


def _choose_constraints(fitted: FittedProblem, selection: PairSelection, rng: np.random.Generator) -> Constraints:
    """Choose pairs under the current metric, and set their bounds."""
    settings = fitted.settings
    mapped = None if fitted.result is None else fitted.result.transform(fitted.examples)
    return constrain(fitted.examples, fitted.codes, selection, settings.bounds, settings.scale, rng, mapped=mapped)
