"""Multipliers that Newton's step suggests, and estimates of how good they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.problem import MetricProblem

# Beyond this largest eigenvalue of the step, alpha(W) may be better than its linearisation along the step.
_LONG_STEP = 0.5


@dataclass(slots=True, eq=False)
class DualCandidate:
    """Multipliers and an estimate of their dual value."""

    multipliers: FloatArray
    dual: float


@dataclass(slots=True, eq=False)
class DualCandidates:
    """The two candidates of a step from W = C C^T along C Delta C^T.

    The first is alpha(W), for which C^T (I + S) C = I + gradient. The second is its linearisation along the step, for
    which Newton's equation says that C^T (I + S) C = I - Delta. The estimates need no pass over the pairs, except where
    multipliers had to be clipped into the dual domain.

    Attributes
    ----------
    active : array of int, shape (a,)
        The active pairs.
    forces, changes : arrays of shape (a,)
        c d'(s) / b of the active pairs, and its change along the step.
    gradient : array of shape (p,)
        The gradient as a half vector.
    spectrum : array of shape (n,)
        The eigenvalues of Delta, ascending.
    logdet : float
        log det W.
    clipped_pays : bool
        Whether the dual of clipped multipliers is worth a pass over the pairs.
    """

    active: IntArray
    forces: FloatArray
    changes: FloatArray
    gradient: FloatArray
    spectrum: FloatArray
    logdet: float
    clipped_pays: bool

    def best(self, problem: MetricProblem, coincident_multipliers: FloatArray) -> DualCandidate | None:
        """Return the better of the two candidates by the estimate; the certificate is computed from the data.

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
        found: DualCandidate | None = None
        for stretch, forces in self._stretched_forces(problem):
            raw = coincident_multipliers.copy()
            raw[self.active] = problem.similar[self.active] * forces
            multipliers = problem.clipped(raw)
            if (raw == multipliers).all():
                dual = problem.dual_losses(multipliers) + stretch - self.logdet
            else:
                dual = problem.dual(multipliers) if self.clipped_pays else -np.inf
            if found is None or dual > found.dual or found.dual == -np.inf:
                found = DualCandidate(multipliers, dual)
        return found

    def _stretched_forces(self, problem: MetricProblem) -> list[tuple[float, FloatArray]]:
        """log det C^T (I + S) C and the forces, of each candidate."""
        candidates: list[tuple[float, FloatArray]] = []
        if self.spectrum[-1] < 1.0:
            candidates.append((float(np.log1p(-self.spectrum).sum()), self.forces + self.changes))
        if self.spectrum[-1] > _LONG_STEP:  # far from the optimum, where the linearisation is not yet the better one
            half = problem.sums.half
            root, failed = lapack.dpotrf(half.identity + half.unpack(self.gradient))
            candidates.append((-np.inf if failed else 2.0 * float(np.log(root.diagonal()).sum()), self.forces))
        return candidates


def coincident_terms(problem: MetricProblem) -> tuple[FloatArray, float]:
    """Return what dissimilar pairs of equal examples contribute, whatever W is.

    Parameters
    ----------
    problem : MetricProblem
        The problem.

    Returns
    -------
    multipliers : array of shape (K,)
        Their multipliers; zero for all other pairs.
    price : float
        Their loss.
    """
    coincident = problem.terms.coincident
    zero = np.zeros(1)
    if not coincident.any():
        return np.zeros(problem.n_pairs), 0.0
    multipliers = np.where(coincident, -problem.slack.gradient(zero) * problem.weights / problem.bounds, 0.0)
    return multipliers, float(problem.weights[coincident].sum() * problem.slack.divergence(zero)[0])
