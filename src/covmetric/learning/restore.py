"""Fitted problems from model files, whose certificates are computed again from the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, as_floats, symmetric
from covmetric.constraints import Constraints
from covmetric.learning.fit import FittedProblem
from covmetric.learning.prior import apply_root
from covmetric.learning.settings import LearningSettings, check_lam
from covmetric.metric import LearnedMetric
from covmetric.problem import Certificate, reduce_to_basis
from covmetric.solvers import SolveResult, Status


def restore_fitted(
    metric: LearnedMetric, result: SolveResult | None, scale: float, embedded: FloatArray, codes: IntArray,
    settings: Any, root: Any, lam: Any, constraints: Any,
) -> FittedProblem:  # fmt: skip
    """Check the fitted problem of a classifier against its examples, and return it.

    Parameters
    ----------
    metric : LearnedMetric
        The metric of the classifier.
    result : SolveResult or None
        The result of its solve; None if nothing was learned.
    scale : float
        The squared distance by which the solver's squared distances were divided.
    embedded : array of shape (l, n, m)
        The embedded reference examples.
    codes : array of int of shape (l,)
        Their classes.
    settings : LearningSettings
        The settings of the learner.
    root : array of shape (n, n) or None
        The symmetric square root of the prior.
    lam : float
        The strength of the prior, lambda.
    constraints : Constraints or None
        The pairs, bounds and weights; None if nothing was learned.

    Returns
    -------
    FittedProblem
        The problem, on the reference examples.

    Raises
    ------
    ValueError
        If a part has the wrong type, if the parts contradict each other, or if the certificate differs from the one
        that the data gives.
    """
    check_lam(lam)
    n = embedded.shape[1]
    if not isinstance(settings, LearningSettings) or not (constraints is None or isinstance(constraints, Constraints)):
        raise ValueError("its settings or its constraints are missing")
    if settings.selection is None:
        raise ValueError("its selection of pairs is missing")
    if len({lam == np.inf, result is None, constraints is None}) > 1:
        raise ValueError("its result, its pairs and its lambda do not belong together")
    settings.check()
    if root is not None:
        root = symmetric("root", as_floats("root", root))
        if root.shape != (n, n):
            raise ValueError(f"root must have shape ({n}, {n}), got {root.shape}")
    examples, copies = apply_root(root, embedded), metric.embedding.copies_
    fitted = FittedProblem(settings, examples, codes, root, float(lam), constraints, result, copies)
    if constraints is not None:
        _check_pairs(constraints, codes, scale)
        _check_certificate(fitted)
    if not _belongs(metric, fitted):
        raise ValueError("its metric does not belong to its result")
    return fitted


def _belongs(metric: LearnedMetric, fitted: FittedProblem) -> bool:
    """Return whether a metric is that of the fitted problem."""
    result = fitted.result
    if metric.basis is None or result is None:
        # On one machine, the same computation gives the same bits. The tolerance allows for a different BLAS.
        return bool(np.abs(fitted.metric() - metric.W).max() <= 1e-10 * np.abs(metric.W).max())
    return (
        _equal(metric.core, result.core)
        and _equal(metric.basis, result.basis)
        and metric.scale == fitted.scale
        and _equal(metric.prior_root, fitted.root)
    )


def _equal(first: FloatArray | None, second: FloatArray | None) -> bool:
    """Return whether two arrays are equal, or both are None."""
    return first is second or (first is not None and second is not None and np.array_equal(first, second))


def check_claims(result: SolveResult) -> None:
    """Raise ValueError if a certificate contradicts itself, or the status contradicts the certificate.

    Parameters
    ----------
    result : SolveResult
        A result from a model file.
    """
    claimed = result.certificate
    recomputed = Certificate.from_values(
        claimed.primal, claimed.dual, max_violation=claimed.max_violation, tol=claimed.tol, rounding=claimed.rounding
    )
    if recomputed != claimed or claimed.rounding < 0.0 or (result.status is Status.SOLVED and not claimed.solved):
        raise ValueError("its certificate contradicts itself, or its status")


def _check_pairs(constraints: Constraints, codes: IntArray, scale: float) -> None:
    """Raise ValueError unless the pairs are distinct pairs of examples, and similar exactly if their labels agree."""
    pairs = constraints.pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0 or pairs.min() < 0 or pairs.max() >= len(codes):
        raise ValueError("its pairs are not pairs of its references")
    if len(np.unique(np.sort(pairs, axis=1), axis=0)) != len(pairs) or (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError("its pairs are not all different")
    if not np.array_equal(constraints.similar, np.where(codes[pairs[:, 0]] == codes[pairs[:, 1]], 1.0, -1.0)):
        raise ValueError("its pairs contradict its labels")
    if constraints.scale != scale:
        raise ValueError(f"its scale_ is {scale}, but the scale of its pairs is {constraints.scale}")


def _check_certificate(fitted: FittedProblem) -> None:
    """Raise ValueError unless the certificate is the one that the data gives, up to rounding."""
    assert fitted.result is not None and fitted.constraints is not None
    claimed, tol = fitted.result.certificate, fitted.settings.tol
    problem, result = fitted.problem(fitted.constraints, fitted.lam), fitted.result
    if result.basis is not None:
        reduction = reduce_to_basis(problem, result.basis)
        if reduction is None:
            raise ValueError("its basis is not orthonormal, or does not span the differences of its pairs")
        problem = reduction.problem
    recomputed = problem.certify(result.core, result.multipliers, tol)
    # The certificate may have been computed with a different BLAS and therefore with different rounding errors.
    allowed = 1e-8 * max(1.0, abs(recomputed.primal)) + recomputed.rounding
    for name in ("gap", "primal", "dual", "rounding"):
        actual, stated = getattr(recomputed, name), getattr(claimed, name)
        if not abs(actual - stated) <= allowed:
            raise ValueError(f"its {name} is {actual:.3g}, but it claims {stated:.3g}")
    if claimed.tol != tol:
        raise ValueError(
            f"its settings have the tolerance {tol:.3g}, but its certificate has the tolerance {claimed.tol:.3g}"
        )
