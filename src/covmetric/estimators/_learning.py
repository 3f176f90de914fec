"""From embedded, labelled examples to a metric: what all the estimators have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from covmetric._validation import FloatArray, IntArray, as_floats, as_numbers, check_tolerance, is_number, symmetric
from covmetric.constraints import Bounds, Constraints, PairSelection, check_scale, constrain
from covmetric.embeddings.base import as_real
from covmetric.problem import MetricProblem
from covmetric.slacks import get_slack
from covmetric.solvers import Callback, Solver, SolveResult, Status, get_solver, solve, solve_path


@dataclass(frozen=True)
class Recipe:
    """How constraints are made of labels, and how the problem is solved. See `CovMetric` for the fields."""

    selection: PairSelection | None
    bounds: Bounds
    scale: Any = "median"
    slack: Any = "is"
    prior: Any = "identity"
    solver: str | Solver[Any] = "auto"
    tol: float = 1e-6
    max_iter: int | None = None
    callback: Callback | None = None


def check_recipe(recipe: Recipe) -> None:
    """Raise ValueError for settings that no data could make right."""
    if recipe.selection is not None:
        recipe.selection.check()
    recipe.bounds.of(np.ones(2))
    check_scale(recipe.scale)
    get_slack(recipe.slack)
    get_solver(recipe.solver)
    check_tolerance(recipe.tol)


@dataclass
class Lesson:
    """A learning problem on labelled examples, and its solution at one lambda.

    The solver sees R Phi / sqrt(scale) with R R = prior; `metric` turns its W back into that of Phi.

    Attributes
    ----------
    examples : array, shape (l, n, m)
        R Phi(X).
    codes : array of int, shape (l,)
        Classes 0..n_c-1.
    root : array, shape (n, n), or None
        R; None for the identity.
    lam : float
    constraints : Constraints or None
        None where nothing was to be learned (lambda = inf).
    result : SolveResult or None
    copies : int
        How often W holds each of its numbers: twice in the real form of a Hermitian matrix, where the prior counts
        twice, too.
    """

    recipe: Recipe
    examples: FloatArray
    codes: IntArray
    root: FloatArray | None
    lam: float = np.inf
    constraints: Constraints | None = field(default=None, repr=False)
    result: SolveResult | None = field(default=None, repr=False)
    copies: int = 1

    def metric(self) -> FloatArray:
        """W in the coordinates of the unscaled Phi, shape (n, n)."""
        n = self.examples.shape[1]
        W = np.eye(n) if self.result is None or self.constraints is None else self.result.W / self.constraints.scale
        if self.root is None:
            return W
        learned = self.root @ W @ self.root
        return np.asarray(0.5 * (learned + learned.T))

    def problem(self, constraints: Constraints, lam: float = 1.0) -> MetricProblem:
        """The problem of these constraints."""
        return MetricProblem(
            self.examples / np.sqrt(constraints.scale),
            constraints.pairs,
            constraints.similar,
            constraints.bounds,
            self.copies * constraints.weights / lam,
            self.recipe.slack,
        )


def lesson(recipe: Recipe, embedded: FloatArray, codes: IntArray, copies: int = 1) -> Lesson:
    """The lesson before anything was learned: W is the prior. `copies` is that of the embedding."""
    root = _prior_root(recipe.prior, embedded, copies)
    examples = embedded if root is None else np.asarray(root @ embedded)
    return Lesson(recipe, examples, codes, root, copies=copies)


def restored_lesson(
    learner: Any, embedded: FloatArray, codes: IntArray, recipe: Any, root: Any, lam: Any, constraints: Any
) -> Lesson:
    """The lesson of parts that came from a file, with its proof checked against the examples."""
    check_lam(lam)
    n, result = embedded.shape[1], learner.result_
    if not isinstance(recipe, Recipe) or not (constraints is None or isinstance(constraints, Constraints)):
        raise ValueError("its recipe, or its constraints, are missing")
    if not (lam == np.inf) == (result is None) == (constraints is None):
        raise ValueError("what was learned, its pairs and lambda do not belong together")
    check_recipe(recipe)
    if root is not None:
        root = symmetric("root", as_floats("root", root))
        if root.shape != (n, n):
            raise ValueError(f"root must have shape ({n}, {n}), got {root.shape}")
    examples = embedded if root is None else np.asarray(root @ embedded)
    copies = learner.metric_.embedding.copies_
    known = Lesson(recipe, examples, codes, root, float(lam), constraints, result, copies)
    if constraints is not None:
        _check_pairs(constraints, codes, learner.scale_)
        _check_proof(known)
    if not np.abs(known.metric() - learner.metric_.W).max() <= 1e-10 * np.abs(learner.metric_.W).max():
        raise ValueError("its metric is not that of its result")
    return known


def _check_pairs(constraints: Constraints, codes: IntArray, scale: float) -> None:
    """Pairs from labels are different, and similar where the labels agree."""
    pairs = constraints.pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0 or pairs.min() < 0 or pairs.max() >= len(codes):
        raise ValueError("its pairs are not pairs of its references")
    if len(np.unique(np.sort(pairs, axis=1), axis=0)) != len(pairs) or (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError("its pairs are not all different")
    if not np.array_equal(constraints.similar, np.where(codes[pairs[:, 0]] == codes[pairs[:, 1]], 1.0, -1.0)):
        raise ValueError("its pairs contradict its labels")
    if constraints.scale != scale:
        raise ValueError(f"its scale_ is {scale}, that of its pairs {constraints.scale}")


def _check_proof(known: Lesson) -> None:
    """Compute the certificate again, and compare it with what is claimed."""
    assert known.result is not None and known.constraints is not None
    claimed, tol = known.result.certificate, known.recipe.tol
    proof = known.problem(known.constraints, known.lam).certify(known.result.W, known.result.multipliers, tol)
    allowed = 1e-8 * max(1.0, abs(proof.primal)) + proof.rounding
    for name in ("gap", "primal", "dual", "rounding"):
        found, stated = getattr(proof, name), getattr(claimed, name)
        if not abs(found - stated) <= allowed:
            raise ValueError(f"its {name} is {found:.3g}, and it claims {stated:.3g}")
    if claimed.tol != tol:
        raise ValueError(f"it was to be solved to {tol:.3g}, and claims {claimed.tol:.3g}")


def learn(start: Lesson, lambdas: Sequence[float], rng: np.random.Generator) -> list[Lesson]:
    """The lesson learned at each lambda (inf: not at all), along a path of warm starts; fewer of them after Ctrl-C.

    Where the pairs are chosen again under the learned metric, each lambda has its own pairs from then on.
    """
    for lam in lambdas:
        check_lam(lam)
    falling = sorted({float(lam) for lam in lambdas if lam != np.inf}, reverse=True)
    learned = {np.inf: start}
    if falling:
        recipe, selection = start.recipe, start.recipe.selection
        assert selection is not None
        constraints = _constrain(start, selection, rng)
        results = solve_path(
            start.problem(constraints), falling, recipe.solver, recipe.tol, recipe.max_iter, rng, recipe.callback
        )
        for lam, result in zip(falling, results, strict=False):
            known = replace(start, lam=lam, constraints=constraints, result=result)
            for _ in range(selection.rounds - 1):
                if known.result is not None and known.result.status is not Status.INTERRUPTED:
                    known = learn_from(known, _constrain(known, selection, rng), lam, rng)
            learned[lam] = known
            if known.result is not None and known.result.status is Status.INTERRUPTED:
                break
    return [learned[float(lam)] for lam in lambdas if float(lam) in learned]


def learn_from(start: Lesson, constraints: Constraints, lam: float, rng: np.random.Generator) -> Lesson:
    """The lesson learned from given constraints at one lambda."""
    check_lam(lam)
    if lam == np.inf:
        return start
    recipe = start.recipe
    problem = start.problem(constraints, float(lam))
    result = solve(problem, recipe.solver, recipe.tol, recipe.max_iter, rng, callback=recipe.callback)
    return replace(start, lam=float(lam), constraints=constraints, result=result)


def check_lam(lam: Any) -> None:
    """Lambda is positive, and may be infinite."""
    if not (lam == np.inf or (is_number(lam) and lam > 0)):
        raise ValueError(f"lam must be a positive number or infinity, got {lam!r}")


def _constrain(known: Lesson, selection: PairSelection, rng: np.random.Generator) -> Constraints:
    """Pairs chosen under the metric that is known, and their bounds."""
    recipe = known.recipe
    factor = None if known.result is None else np.asarray(np.linalg.cholesky(known.result.W), dtype=np.float64)
    return constrain(known.examples, known.codes, selection, recipe.bounds, recipe.scale, rng, factor)


def _prior_root(prior: Any, embedded: FloatArray, copies: int) -> FloatArray | None:
    """The symmetric square root of the prior metric; None for the identity."""
    n = embedded.shape[1]
    if isinstance(prior, str):
        if prior == "identity":
            return None
        if prior != "covariance":
            raise ValueError(f"prior must be 'identity', 'covariance' or a matrix, got {prior!r}")
        centred = np.moveaxis(embedded - embedded.mean(axis=0), 1, 2).reshape(-1, n)
        eigenvalues, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
        # Directions without any spread are left at the scale of the smallest one that has some.
        spread = eigenvalues > n * np.finfo(np.float64).eps * eigenvalues[-1]
        if not spread.any():
            raise ValueError("prior 'covariance' needs examples that differ; all embedded examples are equal")
        eigenvalues = 1.0 / np.maximum(eigenvalues, eigenvalues[spread].min())
    else:
        matrix = as_numbers("prior", prior) if copies == 2 else as_floats("prior", prior)
        if copies == 2 and matrix.shape == (n // 2, n // 2):  # a Hermitian prior
            matrix = np.sqrt(2.0) * as_real(symmetric("prior", matrix.astype(np.complex128)))
        if matrix.shape != (n, n):
            raise ValueError(f"prior must have shape ({n}, {n}), that of W; got {matrix.shape}")
        eigenvalues, vectors = np.linalg.eigh(symmetric("prior", matrix))
        if not eigenvalues[0] > 0.0:
            raise ValueError(f"prior must be positive definite; its smallest eigenvalue is {eigenvalues[0]:.3g}")
    root = (vectors * np.sqrt(eigenvalues)) @ vectors.T
    return np.asarray(0.5 * (root + root.T), dtype=np.float64)
