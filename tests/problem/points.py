"""Random metrics and multipliers for the tests of a problem."""

from __future__ import annotations

import numpy as np

from tests import naive


def feasible_multipliers(problem, seed=0):
    """Return random multipliers well inside the dual domain."""
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(0, 0.3, problem.n_pairs) * problem.weights / problem.bounds
    alpha *= rng.random(problem.n_pairs) < 0.7
    A = naive.matrices(problem)
    smallest = np.linalg.eigvalsh(np.einsum("k,kij->ij", problem.similar * alpha, A))[0]
    return alpha / max(1.0, -2.0 * smallest)


def random_metric(n, seed=0):
    """Return a random positive definite matrix with eigenvalues above 0.1."""
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T / n + 0.1 * np.eye(n)
