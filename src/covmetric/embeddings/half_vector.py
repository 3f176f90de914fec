"""The base class of embeddings whose value is the half vector of a symmetric matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covmetric._utils.half_vectors import half_vectors_of
from covmetric._utils.validation import FloatArray, IntArray, Matrices
from covmetric.embeddings.base import Embedding


class HalfVectorEmbedding(Embedding):
    """An embedding whose value is a symmetric matrix as a half vector of p = n(n+1)/2 entries, shape (..., p, 1).

    The off-diagonal entries are multiplied by sqrt(2), which preserves inner products. Hermitian matrices have n^2
    entries, the real parts first. W has size p x p and weighs every pair of entries.

    Parameters
    ----------
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.
    """

    @property
    def copies_(self) -> int:
        """Always 1, because the half vector contains each number of a Hermitian matrix once."""
        return 1

    @property
    def shape_out_(self) -> tuple[int, int]:
        """The shape (p, 1) of an embedded example."""
        n = self.shape_in_[0]
        return (n * n if self.complex_ else n * (n + 1) // 2), 1

    def row_channels(self) -> IntArray:
        """Return the two channels of each entry of the half vector.

        Returns
        -------
        array of int of shape (p, 2)
            The row and the column of the entry.
        """
        n = self.shape_in_[0]
        entries = np.stack(np.tril_indices(n), axis=1)
        return np.concatenate([entries, np.stack(np.tril_indices(n, -1), axis=1)]) if self.complex_ else entries

    def row_names(self, names: Sequence[str] | None = None) -> list[str]:
        """Return the names of the entries of the half vector.

        Parameters
        ----------
        names : sequence of str or None, default=None
            The names of the channels. None means x0, x1, ...

        Returns
        -------
        list of str
            The names of the two channels of each entry, joined by a colon.
        """
        labels, n_real = self.channel_names(names), half_vectors_of(self.shape_in_[0]).size
        return [
            f"{labels[j]}:{labels[i]}{'' if row < n_real else ' imag'}"
            for row, (i, j) in enumerate(self.row_channels().tolist())
        ]


def pack(matrices: Matrices) -> FloatArray:
    """Return the half vectors of symmetric or Hermitian matrices, as columns.

    Parameters
    ----------
    matrices : array of shape (..., n, n)
        Symmetric or Hermitian matrices.

    Returns
    -------
    array of shape (..., p, 1)
        The half vectors; for Hermitian matrices, followed by the imaginary parts below the diagonal, times sqrt(2).
    """
    half = half_vectors_of(matrices.shape[-1])
    packed = half.pack(matrices.real)
    if np.iscomplexobj(matrices):
        rows, columns = np.tril_indices(half.n, -1)
        packed = np.concatenate([packed, np.sqrt(2.0) * matrices.imag[..., rows, columns]], axis=-1)
    return packed[..., None]


def unpack(columns: FloatArray, n: int) -> Matrices:
    """Return the matrices whose half vectors are given; the inverse of `pack`.

    Parameters
    ----------
    columns : array of shape (..., p, 1)
        Columns with n(n+1)/2 entries for symmetric matrices, or n^2 entries for Hermitian matrices.
    n : int
        The size of the matrices.

    Returns
    -------
    array of shape (..., n, n)
        Symmetric or Hermitian matrices.
    """
    half = half_vectors_of(n)
    matrices: Matrices = half.unpack(columns[..., : half.size, 0])
    if columns.shape[-2] == half.size:
        return matrices
    rows, cols = np.tril_indices(n, -1)
    imaginary = np.zeros(matrices.shape)
    imaginary[..., rows, cols] = columns[..., half.size :, 0] / np.sqrt(2.0)
    return np.asarray(matrices + 1j * (imaginary - np.swapaxes(imaginary, -1, -2)))
