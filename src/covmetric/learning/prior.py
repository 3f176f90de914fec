"""The prior: the metric that W is kept close to. `PRIORS` lists the priors by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, as_floats, as_numbers, symmetric
from covmetric.embeddings.matrices import as_real

#: The eigenvalues, shape (n,), and the eigenvectors, shape (n, n), of a symmetric matrix.
Spectrum = tuple[FloatArray, FloatArray]


def prior_root(prior: Any, embedded: FloatArray, copies: int) -> FloatArray | None:
    """Return the symmetric square root of the prior.

    Parameters
    ----------
    prior : {'identity', 'covariance'} or array of shape (n, n)
        The identity, the inverse covariance of the embedded examples, or a positive definite matrix. Directions in
        which the examples do not vary have the largest eigenvalue of the inverse covariance in the other directions.
    embedded : array of shape (l, n, m)
        The embedded examples.
    copies : int
        The `copies_` of the embedding: 2 if W is the real form of a Hermitian matrix. The prior may then be Hermitian,
        of shape (n/2, n/2).

    Returns
    -------
    array of shape (n, n) or None
        The symmetric matrix R with R R = prior, or None for the identity.

    Raises
    ------
    ValueError
        If the name is unknown, or the matrix has the wrong shape or is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> prior_root(np.diag([4.0, 9.0]), np.zeros((1, 2, 1)), copies=1).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    if not isinstance(prior, str):
        spectrum: Spectrum | None = _matrix_spectrum(prior, embedded.shape[1], copies)
    elif prior in PRIORS:
        spectrum = PRIORS[prior](embedded)
    else:
        raise ValueError(f"prior must be {', '.join(map(repr, PRIORS))} or a matrix, got {prior!r}")
    if spectrum is None:
        return None
    eigenvalues, vectors = spectrum
    root = (vectors * np.sqrt(eigenvalues)) @ vectors.T
    return np.asarray(0.5 * (root + root.T), dtype=np.float64)


def _identity(embedded: FloatArray) -> None:
    """Return None, because the identity needs no root."""


def _inverse_covariance(embedded: FloatArray) -> Spectrum:
    """Return the spectrum of the inverse covariance of the columns of the embedded examples."""
    n = embedded.shape[1]
    centred = np.moveaxis(embedded - embedded.mean(axis=0), 1, 2).reshape(-1, n)
    eigenvalues, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    # n eps times the largest eigenvalue is the rounding error of the eigenvalues.
    varies = eigenvalues > n * np.finfo(np.float64).eps * eigenvalues[-1]
    if not varies.any():
        raise ValueError("prior 'covariance' needs examples that differ, but all embedded examples are equal")
    return 1.0 / np.maximum(eigenvalues, eigenvalues[varies].min()), vectors


def _matrix_spectrum(prior: Any, n: int, copies: int) -> Spectrum:
    """Check a matrix and return its spectrum."""
    matrix = as_numbers("prior", prior) if copies == 2 else as_floats("prior", prior)
    if copies == 2 and matrix.shape == (n // 2, n // 2):
        # `as_real` divides by sqrt(2), which keeps the norm of Phi. W is not divided.
        matrix = np.sqrt(2.0) * as_real(symmetric("prior", matrix.astype(np.complex128)))
    if matrix.shape != (n, n):
        raise ValueError(f"prior must have the shape of W, ({n}, {n}); got {matrix.shape}")
    eigenvalues, vectors = np.linalg.eigh(symmetric("prior", matrix))
    if not eigenvalues[0] > 0.0:
        raise ValueError(f"prior must be positive definite, but its smallest eigenvalue is {eigenvalues[0]:.3g}")
    return eigenvalues, vectors


#: Functions from the embedded examples, shape (l, n, m), to the spectrum of the prior. None means the identity.
PRIORS: dict[str, Callable[[FloatArray], Spectrum | None]] = {
    "identity": _identity,
    "covariance": _inverse_covariance,
}
