"""The null space that all training matrices share, as after an average reference or the interpolation of channels."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices


def range_of_mean(X: Matrices, eigenvalues: FloatArray, eps: float) -> Matrices | None:
    """Return an orthonormal basis of the range of the mean of semi-definite matrices.

    The null space of a mean of semi-definite matrices is the null space that all of them share. The tolerance is that
    of `definite`, relative to the largest eigenvalue, and every matrix is divided by its own largest eigenvalue. The
    result therefore depends neither on units nor on differences in scale between the matrices.

    Parameters
    ----------
    X : array of shape (..., n, n)
        The matrices.
    eigenvalues : array of shape (..., n)
        The eigenvalues of each matrix, in ascending order.
    eps : float
        The machine epsilon that the matrices were computed with.

    Returns
    -------
    array of shape (n, r) or None
        The basis, as columns. None if the matrices share no null space, or if one of them is zero or indefinite, so
        that a direction with mean 0 may not be in its null space.
    """
    n = X.shape[-1]
    tolerance, largest = n * eps, eigenvalues[..., -1]
    if (largest <= 0.0).any() or (eigenvalues[..., 0] < -tolerance * largest).any():
        return None
    mean = (X / largest[..., None, None]).reshape(-1, n, n).mean(axis=0)
    values, vectors = np.linalg.eigh(mean)
    n_null = int(np.count_nonzero(values <= tolerance * values[-1]))
    return vectors[:, n_null:] if n_null else None


def restrict(X: Matrices, basis: Matrices) -> Matrices:
    """Return Q^H X Q, made exactly symmetric or Hermitian.

    Parameters
    ----------
    X : array of shape (..., n, n)
        Symmetric or Hermitian matrices.
    basis : array of shape (n, r)
        The orthonormal columns of Q.

    Returns
    -------
    array of shape (..., r, r)
        The matrices in the coordinates of the basis.
    """
    product = basis.conj().T @ X @ basis
    return np.asarray(0.5 * (product + np.swapaxes(product.conj(), -1, -2)))
