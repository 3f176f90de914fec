"""A solved problem from the parts of a model file, with its proof computed again from the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, as_floats, symmetric
from covmetric.constraints import Constraints
from covmetric.learning.fit import FittedProblem
from covmetric.learning.settings import LearningSettings, check_lam
from covmetric.metric import LearnedMetric
from covmetric.problem import Certificate
from covmetric.solvers import SolveResult, Status


def restore_fitted(
    metric: LearnedMetric, result: SolveResult | None, scale: float, embedded: FloatArray, codes: IntArray,
    settings: Any, root: Any, lam: Any, constraints: Any,
) -> FittedProblem:  # fmt: skip
    """Return the solved problem of a classifier, with its certificate checked against the examples.

    Parameters
    ----------
    metric : LearnedMetric
        The metric of the classifier.
    result : SolveResult or None
        Its solve.
    scale : float
        Its scale.
    embedded : array of shape (l, n, m)
        The embedded references.
    codes : array of int, shape (l,)
        Their classes.
    settings, root, lam, constraints : objects
        The fields of `FittedProblem`, as they came from the file.

    Returns
    -------
    FittedProblem

    Raises
    ------
    ValueError
        If the parts contradict each other, or claim more than the data proves.
    """
    check_lam(lam)
    n = embedded.shape[1]
    if not isinstance(settings, LearningSettings) or not (constraints is None or isinstance(constraints, Constraints)):
        raise ValueError("its settings, or its constraints, are missing")
    if settings.selection is None:
        raise ValueError("its selection of pairs is missing")
    if not (lam == np.inf) == (result is None) == (constraints is None):
        raise ValueError("what was learned, its pairs and lambda do not belong together")
    settings.check()
    if root is not None:
        root = symmetric("root", as_floats("root", root))
        if root.shape != (n, n):
            raise ValueError(f"root must have shape ({n}, {n}), got {root.shape}")
    examples = embedded if root is None else np.asarray(root @ embedded)
    copies = metric.embedding.copies_
    fitted = FittedProblem(settings, examples, codes, root, float(lam), constraints, result, copies)
    if constraints is not None:
        _check_pairs(constraints, codes, scale)
        _check_proof(fitted)
    if not np.abs(fitted.metric() - metric.W).max() <= 1e-10 * np.abs(metric.W).max():
        raise ValueError("its metric is not that of its result")
    return fitted


def check_claims(result: SolveResult) -> None:
    """Raise ValueError if a certificate contradicts itself, or the status contradicts the certificate.

    Parameters
    ----------
    result : SolveResult
        A result that came from a file.
    """
    stated = result.certificate
    again = Certificate.from_values(
        stated.primal, stated.dual, max_violation=stated.max_violation, tol=stated.tol, rounding=stated.rounding
    )
    if again != stated or stated.rounding < 0.0 or (result.status is Status.SOLVED and not stated.solved):
        raise ValueError("its certificate contradicts itself, or its status")


def _check_pairs(constraints: Constraints, codes: IntArray, scale: float) -> None:
    """Pairs from labels are distinct, and similar where the labels agree."""
    pairs = constraints.pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0 or pairs.min() < 0 or pairs.max() >= len(codes):
        raise ValueError("its pairs are not pairs of its references")
    if len(np.unique(np.sort(pairs, axis=1), axis=0)) != len(pairs) or (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError("its pairs are not all different")
    if not np.array_equal(constraints.similar, np.where(codes[pairs[:, 0]] == codes[pairs[:, 1]], 1.0, -1.0)):
        raise ValueError("its pairs contradict its labels")
    if constraints.scale != scale:
        raise ValueError(f"its scale_ is {scale}, that of its pairs {constraints.scale}")


def _check_proof(fitted: FittedProblem) -> None:
    """Compute the certificate again, and compare it with what is claimed."""
    assert fitted.result is not None and fitted.constraints is not None
    claimed, tol = fitted.result.certificate, fitted.settings.tol
    proof = fitted.problem(fitted.constraints, fitted.lam).certify(fitted.result.W, fitted.result.multipliers, tol)
    allowed = 1e-8 * max(1.0, abs(proof.primal)) + proof.rounding
    for name in ("gap", "primal", "dual", "rounding"):
        found, stated = getattr(proof, name), getattr(claimed, name)
        if not abs(found - stated) <= allowed:
            raise ValueError(f"its {name} is {found:.3g}, and it claims {stated:.3g}")
    if claimed.tol != tol:
        raise ValueError(f"it was to be solved to {tol:.3g}, and claims {claimed.tol:.3g}")
