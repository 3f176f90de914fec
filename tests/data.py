"""Small sets of examples, and problems fitted to them, for the tests of several packages."""

from __future__ import annotations

import numpy as np

from covmetric.embeddings import EMBEDDINGS

MATRIX_PHIS = [name for name, phi in EMBEDDINGS.items() if not phi.takes_vectors]


def spd(count, n, seed=0, scale=1.0):
    """Return random positive definite matrices, shape (count, n, n)."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((count, n, 2 * n))
    return scale * A @ np.swapaxes(A, 1, 2) / (2 * n)


def hermitian(count, n, seed=0):
    """Return random positive definite Hermitian matrices, shape (count, n, n)."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((count, n, 2 * n)) + 1j * rng.standard_normal((count, n, 2 * n))
    return A @ np.swapaxes(A.conj(), 1, 2) / (2 * n)


def examples_for(phi, count, n, seed=0, scale=1.0):
    """Return random examples that an embedding accepts: vectors (count, n), or definite matrices (count, n, n)."""
    if phi.takes_vectors:
        return scale * np.random.default_rng(seed).standard_normal((count, n))
    return spd(count, n, seed, scale)


def classes_of_matrices(count=40, n=4, seed=0, scale=1.0):
    """Return two classes that differ in the variance of channel 0; the other channels vary at random."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    A = rng.standard_normal((count, n, 4 * n))
    A[:, 0] *= np.where(y, 1.5, 1.0)[:, None]
    A[:, 1:] *= rng.lognormal(0.0, 0.7, (count, n - 1))[:, :, None]
    return scale * A @ np.swapaxes(A, 1, 2) / (4 * n), y


def two_classes(make=spd, n=3, labels=("rest", "move")):
    """Return two named classes that differ in scale."""
    X = make(40, n)
    y = np.array(labels)[np.arange(40) % 2]
    X[y == labels[1]] *= 1.5
    return X, y


def fitted_problem(learner, X, y):
    """Fit a CovMetric or CovMetricCV; return the solved problem and the embedded examples."""
    classes, codes = np.unique(y, return_inverse=True)
    return learner._learn(np.asarray(X), classes, codes)


def quoted(registry):
    """Return the names of a registry as error messages list them."""
    return ", ".join(repr(name) for name in registry)
