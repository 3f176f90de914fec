"""The prior: the metric that W is kept close to. `PRIORS` lists the priors by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, as_floats, as_numbers, symmetric
from covmetric.embeddings.matrices import as_real
from covmetric.learning.spectrum import PriorData, Spectrum, binary_exponent
from covmetric.learning.supervised_prior import check_prior_settings, gmml_spectrum, within_spectrum


@dataclass(frozen=True)
class Prior:
    """A prior with a name.

    Attributes
    ----------
    spectrum : callable
        A function from `PriorData` to the `Spectrum` of the prior, or to None for the identity.
    uses_pairs : bool, default=False
        Whether the prior depends on the chosen pairs.
    uses_shrinkage : bool, default=False
        Whether the prior depends on the shrinkage.
    """

    spectrum: Callable[[PriorData], Spectrum | None]
    uses_pairs: bool = False
    uses_shrinkage: bool = False


def prior_spectrum(prior: Any, data: PriorData) -> Spectrum | None:
    """Return the spectrum of the prior.

    Parameters
    ----------
    prior : {'identity', 'covariance', 'within', 'gmml'} or array of shape (n, n)
        The identity, the inverse covariance of the embedded examples, their inverse within-class scatter, the metric of
        GMML, or a positive definite matrix. Directions in which the examples do not vary have the largest eigenvalue of
        the inverse covariance in the other directions.
    data : PriorData
        The training data. If its `copies` is 2, a matrix may be Hermitian, of shape (n/2, n/2).

    Returns
    -------
    Spectrum or None
        The eigenvalues and eigenvectors of the prior, or None for the identity.

    Raises
    ------
    ValueError
        If the name or a setting is invalid, if the matrix has the wrong shape or is not positive definite, or if the
        data do not determine the prior.

    Examples
    --------
    >>> import numpy as np
    >>> prior_spectrum(np.diag([4.0, 9.0]), PriorData(np.zeros((1, 2, 1)))).root().tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    check_prior(prior, data.t, data.shrinkage)
    return PRIORS[prior].spectrum(data) if isinstance(prior, str) else _matrix_spectrum(prior, data)


def check_prior(prior: Any, t: Any, shrinkage: Any) -> None:
    """Raise ValueError if the name of a prior, `prior_t` or `shrinkage` is invalid.

    Parameters
    ----------
    prior : object
        A name or a matrix. A matrix is checked together with the examples.
    t : object
        The parameter `prior_t`.
    shrinkage : object
        The parameter `shrinkage`.
    """
    if isinstance(prior, str) and prior not in PRIORS:
        raise ValueError(f"prior must be {', '.join(map(repr, PRIORS))} or a matrix, got {prior!r}")
    check_prior_settings(t, shrinkage)


def prior_uses_pairs(prior: Any) -> bool:
    """Return whether a prior depends on the chosen pairs.

    Parameters
    ----------
    prior : {'identity', 'covariance', 'within', 'gmml'} or array of shape (n, n)
        The prior.

    Returns
    -------
    bool
        False for a matrix and for an unknown name.
    """
    return isinstance(prior, str) and prior in PRIORS and PRIORS[prior].uses_pairs


def prior_uses_shrinkage(prior: Any) -> bool:
    """Return whether a prior depends on the shrinkage.

    Parameters
    ----------
    prior : {'identity', 'covariance', 'within', 'gmml'} or array of shape (n, n)
        The prior.

    Returns
    -------
    bool
        False for a matrix and for an unknown name.
    """
    return isinstance(prior, str) and prior in PRIORS and PRIORS[prior].uses_shrinkage


def apply_root(root: FloatArray | None, embedded: FloatArray) -> FloatArray:
    """Return the embedded examples in the coordinates of the prior.

    Parameters
    ----------
    root : array of shape (n, n) or None
        The symmetric square root R of the prior. None means the identity.
    embedded : array of shape (l, n, m)
        The embedded examples.

    Returns
    -------
    array of shape (l, n, m)
        R Phi(X); `embedded` itself if there is no root.
    """
    if root is None:
        return embedded
    if embedded.shape[2] > 1:
        return np.asarray(root @ embedded)
    # One product of two matrices is many times faster than one product with a vector for each example.
    return np.asarray((embedded[:, :, 0] @ root)[:, :, None])


def _identity(data: PriorData) -> None:
    """Return None, because the identity needs no root."""


def _inverse_covariance(data: PriorData) -> Spectrum:
    """Return the spectrum of the inverse covariance of the columns of the embedded examples."""
    embedded = data.embedded
    n = embedded.shape[1]
    exponent = binary_exponent(embedded)
    scaled = np.ldexp(embedded, -exponent)
    centred = np.moveaxis(scaled - scaled.mean(axis=0), 1, 2).reshape(-1, n)
    eigenvalues, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    # n eps times the largest eigenvalue is the rounding error of the eigenvalues.
    varies = eigenvalues > n * np.finfo(np.float64).eps * eigenvalues[-1]
    if not varies.any():
        raise ValueError("prior 'covariance' needs examples that differ, but all embedded examples are equal")
    return Spectrum(1.0 / np.maximum(eigenvalues, eigenvalues[varies].min()), vectors).scaled(-2 * exponent)


def _matrix_spectrum(prior: Any, data: PriorData) -> Spectrum:
    """Check a matrix and return its spectrum."""
    n, copies = data.embedded.shape[1], data.copies
    matrix = as_numbers("prior", prior) if copies == 2 else as_floats("prior", prior)
    if copies == 2 and matrix.shape == (n // 2, n // 2):
        # `as_real` divides by sqrt(2), which keeps the norm of Phi. W is not divided.
        matrix = np.sqrt(2.0) * as_real(symmetric("prior", matrix.astype(np.complex128)))
    if matrix.shape != (n, n):
        raise ValueError(f"prior must have the shape of W, ({n}, {n}); got {matrix.shape}")
    eigenvalues, vectors = np.linalg.eigh(symmetric("prior", matrix))
    if not eigenvalues[0] > 0.0:
        raise ValueError(f"prior must be positive definite, but its smallest eigenvalue is {eigenvalues[0]:.3g}")
    return Spectrum(eigenvalues, vectors)


PRIORS: dict[str, Prior] = {
    "identity": Prior(_identity),
    "covariance": Prior(_inverse_covariance),
    "within": Prior(within_spectrum, uses_shrinkage=True),
    "gmml": Prior(gmml_spectrum, uses_pairs=True, uses_shrinkage=True),
}
