"""Fits of the learning problem to embedded, labelled examples. All estimators use these functions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.constraints import Constraints, LabelledPairs, PairSelection, constrain, select_pairs
from covmetric.embeddings import Embedding
from covmetric.learning.prior import apply_root, prior_spectrum, prior_uses_pairs
from covmetric.learning.settings import LearningSettings, check_lam
from covmetric.learning.spectrum import PriorData, Spectrum
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
    thin_prior : Spectrum or None, default=None
        The spectrum of the prior, if it differs from a multiple of the identity in few directions only.
    groups : array of int of shape (l,) or None, default=None
        The group of each example, for the selection of pairs. None means that there are no groups.
    """

    settings: LearningSettings
    examples: FloatArray
    codes: IntArray
    root: FloatArray | None
    lam: float = np.inf
    constraints: Constraints | None = field(default=None, repr=False)
    result: SolveResult | None = field(default=None, repr=False)
    copies: int = 1
    thin_prior: Spectrum | None = field(default=None, repr=False)
    groups: IntArray | None = field(default=None, repr=False)

    @classmethod
    def at_prior(
        cls,
        settings: LearningSettings,
        embedded: FloatArray,
        codes: IntArray,
        copies: int = 1,
        rng: np.random.Generator | None = None,
        pairs: LabelledPairs | None = None,
        pair_weights: FloatArray | None = None,
        groups: IntArray | None = None,
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
        rng : Generator or None, default=None
            The source of random pairs, if the prior depends on the chosen pairs. Its state does not change, so that
            random pairs of the prior are also the pairs of the problem. None means a new generator.
        pairs : LabelledPairs or None, default=None
            The labelled pairs, if they are given. The codes then have no meaning.
        pair_weights : array of shape (K,) or None, default=None
            The relative weights of the given pairs. None weights all pairs equally.
        groups : array of int of shape (l,) or None, default=None
            The group of each example, for the selection of pairs. None means that there are no groups.

        Returns
        -------
        FittedProblem
            A problem without constraints and without a result.

        Raises
        ------
        ValueError
            If the prior is invalid, or if the data do not determine it.
        """
        given = pairs is not None
        if pairs is None and prior_uses_pairs(settings.prior):
            assert settings.selection is not None
            generator = np.random.default_rng() if rng is None else copy.deepcopy(rng)
            vectors = embedded.reshape(len(embedded), -1)
            pairs = select_pairs(settings.selection, vectors, codes, generator, groups)
        data = PriorData(
            embedded, None if given else codes, pairs, pair_weights, copies, settings.prior_t, settings.shrinkage
        )
        spectrum = prior_spectrum(settings.prior, data)
        root = None if spectrum is None else spectrum.root()
        thin_prior = spectrum if spectrum is not None and spectrum.is_thin else None
        return cls(
            settings, apply_root(root, embedded), codes, root, copies=copies, thin_prior=thin_prior, groups=groups
        )

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
            The metric. It is held in the coordinates of a span if the problem was solved within this span, or if it is
            the prior and the prior is a multiple of the identity outside of a span.
        """
        result, prior = self.result, self.thin_prior
        if result is None and prior is not None:
            return LearnedMetric.from_span(
                embedding, prior.vectors, np.diag(prior.eigenvalues / prior.rest), 1.0 / prior.rest
            )
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
    return constrain(
        fitted.examples,
        fitted.codes,
        selection,
        settings.bounds,
        settings.scale,
        rng,
        mapped=mapped,
        groups=fitted.groups,
    )
