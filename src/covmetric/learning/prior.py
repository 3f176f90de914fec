"""The prior: the metric that W is kept close to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, as_floats, as_numbers, symmetric
from covmetric.embeddings.matrices import as_real

Spectrum = tuple[FloatArray, FloatArray]


def prior_root(prior: Any, embedded: FloatArray, copies: int) -> FloatArray | None:
    """Return the symmetric square root of the prior.

    Parameters
    ----------
    prior : str or array of shape (n, n)
        A key of `PRIORS`, or a matrix.
    embedded : array of shape (l, n, m)
        The embedded examples.
    copies : int
        As `Embedding.copies_`: 2 where W is the real form of a Hermitian matrix. The prior may then be Hermitian, of
        shape (n/2, n/2).

    Returns
    -------
    array of shape (n, n), or None
        None for the identity.

    Raises
    ------
    ValueError
        If the prior is unknown, of another shape, or not positive definite.
    """
    if not isinstance(prior, str):
        spectrum: Spectrum | None = _given(prior, embedded.shape[1], copies)
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
    """The identity needs no root."""


def _inverse_covariance(embedded: FloatArray) -> Spectrum:
    """The spectrum of the inverse covariance of the embedded examples."""
    n = embedded.shape[1]
    centred = np.moveaxis(embedded - embedded.mean(axis=0), 1, 2).reshape(-1, n)
    eigenvalues, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    # Directions without any spread get the scale of the smallest direction that has some.
    spread = eigenvalues > n * np.finfo(np.float64).eps * eigenvalues[-1]
    if not spread.any():
        raise ValueError("prior 'covariance' needs examples that differ; all embedded examples are equal")
    return 1.0 / np.maximum(eigenvalues, eigenvalues[spread].min()), vectors


def _given(prior: Any, n: int, copies: int) -> Spectrum:
    """The spectrum of a matrix."""
    matrix = as_numbers("prior", prior) if copies == 2 else as_floats("prior", prior)
    if copies == 2 and matrix.shape == (n // 2, n // 2):  # a Hermitian prior
        matrix = np.sqrt(2.0) * as_real(symmetric("prior", matrix.astype(np.complex128)))
    if matrix.shape != (n, n):
        raise ValueError(f"prior must have shape ({n}, {n}), that of W; got {matrix.shape}")
    eigenvalues, vectors = np.linalg.eigh(symmetric("prior", matrix))
    if not eigenvalues[0] > 0.0:
        raise ValueError(f"prior must be positive definite; its smallest eigenvalue is {eigenvalues[0]:.3g}")
    return eigenvalues, vectors


#: From the embedded examples to the eigenvalues and eigenvectors of the prior; None stands for the identity.
PRIORS: dict[str, Callable[[FloatArray], Spectrum | None]] = {
    "identity": _identity,
    "covariance": _inverse_covariance,
}
