"""Functions of symmetric and Hermitian matrices that several embeddings need."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices


def definite(eigenvalues: FloatArray, eps: float) -> Any:
    """Return whether matrices are numerically positive definite.

    Parameters
    ----------
    eigenvalues : array of shape (..., n)
        The eigenvalues of each matrix, in ascending order.
    eps : float
        The machine epsilon that the matrices were computed with.

    Returns
    -------
    bool or array of bool of shape (...)
        Whether the smallest eigenvalue exceeds the rounding error of the largest.
    """
    n = eigenvalues.shape[-1]
    return eigenvalues[..., 0] > n * eps * eigenvalues[..., -1]


def from_spectrum(eigenvalues: FloatArray, vectors: Matrices) -> Matrices:
    """Return V diag(eigenvalues) V^H, made exactly symmetric or Hermitian.

    Parameters
    ----------
    eigenvalues : array of shape (..., n)
        The eigenvalues.
    vectors : array of shape (..., n, n)
        The eigenvectors V, as columns.

    Returns
    -------
    array of shape (..., n, n)
        The matrices.
    """
    product = (vectors * eigenvalues[..., None, :]) @ np.swapaxes(vectors.conj(), -1, -2)
    return 0.5 * (product + np.swapaxes(product.conj(), -1, -2))


def as_real(embedded: Matrices) -> FloatArray:
    """Return complex matrices A + iB as real matrices [[A, -B], [B, A]] / sqrt(2), which have the same norm.

    Parameters
    ----------
    embedded : array of shape (..., n, m)
        Complex matrices, or real matrices, which are returned unchanged.

    Returns
    -------
    array of float64 of shape (..., 2n, 2m) or (..., n, m)
        The real matrices.
    """
    if not np.iscomplexobj(embedded):
        return embedded
    real, imaginary = embedded.real, embedded.imag
    upper, lower = np.concatenate([real, -imaginary], axis=-1), np.concatenate([imaginary, real], axis=-1)
    return np.asarray(np.concatenate([upper, lower], axis=-2) / np.sqrt(2.0))


def as_complex(embedded: FloatArray) -> Matrices:
    """Return the complex matrices whose real form is given; the inverse of `as_real`.

    Parameters
    ----------
    embedded : array of shape (..., 2n, 2m)
        Real matrices.

    Returns
    -------
    array of complex128 of shape (..., n, m)
        The complex matrices.
    """
    n, m = embedded.shape[-2] // 2, embedded.shape[-1] // 2
    real = embedded[..., :n, :m] + embedded[..., n:, m:]
    imaginary = embedded[..., n:, :m] - embedded[..., :n, m:]
    return np.asarray((real + 1j * imaginary) / np.sqrt(2.0))
