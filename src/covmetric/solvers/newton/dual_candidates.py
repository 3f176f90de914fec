"""The multipliers that a Newton step suggests, with estimates of their dual values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem import MetricProblem
from covmetric.solvers.newton.stretch import Stretch


@dataclass(slots=True, eq=False)
class DualCandidate:
    """Multipliers and an estimate of their dual value.

    Attributes
    ----------
    multipliers : array of shape (K,)
        The multipliers.
    dual : float
        The estimate.
    """

    multipliers: FloatArray
    dual: float


@dataclass(slots=True, eq=False)
class DualCandidates:
    """The two dual candidates of a step from W = C C^T along C Delta C^T.

    One candidate is alpha(W), for which C^T (I + S) C = I + gradient. The other is its linearisation along the step,
    for which C^T (I + S) C = I - Delta by Newton's equation. The estimates of the dual values need no pass over the
    pairs, unless multipliers are clipped to the dual domain.

    Attributes
    ----------
    active : array of int of shape (a,)
        The active pairs.
    forces, changes : arrays of shape (a,)
        c d'(s) / b of the active pairs, and its change along the step.
    gradient : array of shape (p,)
        The gradient as a half vector.
    stretch : Stretch
        The matrix I + t Delta.
    logdet : float
        log det W.
    clipped_pays : bool
        Whether to compute the dual of clipped multipliers, which takes a pass over the pairs.
    """

    active: IntArray
    forces: FloatArray
    changes: FloatArray
    gradient: FloatArray
    stretch: Stretch
    logdet: float
    clipped_pays: bool

    def best(self, problem: MetricProblem, coincident_multipliers: FloatArray) -> DualCandidate | None:
        """Return the candidate with the larger estimate.

        Parameters
        ----------
        problem : MetricProblem
            The problem.
        coincident_multipliers : array of shape (K,)
            The multipliers of dissimilar pairs of equal examples, zero for all other pairs.

        Returns
        -------
        DualCandidate or None
            None if neither candidate can be dual feasible.
        """
        best: DualCandidate | None = None
        for logdet_change, forces in self._candidates(problem):
            raw = coincident_multipliers.copy()
            raw[self.active] = problem.similar[self.active] * forces
            multipliers = problem.clipped(raw)
            if (raw == multipliers).all():
                dual = problem.dual_losses(multipliers) + logdet_change - self.logdet
            else:
                # An estimate is enough; the certificate computes the dual value again, with its rounding error.
                dual = problem.dual(multipliers, tol=1.0) if self.clipped_pays else -np.inf
            if best is None or dual > best.dual or best.dual == -np.inf:
                best = DualCandidate(multipliers, dual)
        return best

    def _candidates(self, problem: MetricProblem) -> list[tuple[float, FloatArray]]:
        """Return log det C^T (I + S) C and the forces of each candidate."""
        candidates: list[tuple[float, FloatArray]] = []
        reverse_logdet = self.stretch.reverse_logdet()
        if reverse_logdet is not None:
            candidates.append((reverse_logdet, self.forces + self.changes))
        if self.stretch.is_long:  # far from the optimum, the linearisation may be the worse candidate
            half = problem.sums.half
            root, failed = lapack.dpotrf(half.identity + half.unpack(self.gradient))
            candidates.append((-np.inf if failed else 2.0 * float(np.log(root.diagonal()).sum()), self.forces))
        return candidates


def coincident_terms(problem: MetricProblem) -> tuple[FloatArray, float]:
    """Return the multipliers and the loss of dissimilar pairs of equal examples, which do not depend on W.

    Parameters
    ----------
    problem : MetricProblem
        The problem.

    Returns
    -------
    multipliers : array of shape (K,)
        The multipliers of these pairs, and zero for all other pairs.
    loss : float
        The sum of their losses.
    """
    coincident = problem.terms.coincident
    zero = np.zeros(1)
    if not coincident.any():
        return np.zeros(problem.n_pairs), 0.0
    multipliers = np.where(coincident, -problem.slack.gradient(zero) * problem.weights / problem.bounds, 0.0)
    return multipliers, float(problem.weights[coincident].sum() * problem.slack.divergence(zero)[0])
