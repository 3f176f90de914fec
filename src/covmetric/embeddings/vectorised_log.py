"""Phi(X) = the half vector of log X: one column, so that W weighs every entry of the log against every other."""

from __future__ import annotations

import numpy as np

from covmetric._validation import FloatArray, Matrices
from covmetric.embeddings.base import from_spectrum
from covmetric.embeddings.log import Log
from covmetric.half_vectors import half_vectors_of


class VectorisedLog(Log):
    """The logarithm as a vector of p = n(n+1)/2 entries, with sqrt(2) off the diagonal, shape (..., p, 1).

    Hermitian matrices have n^2 entries: the imaginary parts come after the real ones.

    D with W = I is that of `Log`; the learned W is p x p. With slack "is" the learner is the method of Vemulapalli and
    Jacobs, "Riemannian metric learning for symmetric positive definite matrices", arXiv:1501.02393, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> VectorisedLog().fit_transform(np.eye(3)[None]).shape
    (1, 6, 1)
    """

    name = "veclog"

    @property
    def copies_(self) -> int:
        """1: the entries of a Hermitian matrix are listed once."""
        return 1

    @property
    def shape_out_(self) -> tuple[int, int]:
        """The shape (p, 1) of an embedded example."""
        n = self.shape_in_[0]
        return (n * n if self.complex_ else n * (n + 1) // 2), 1

    def _transform(self, X: Matrices, eps: float) -> FloatArray:
        logs, half = super()._transform(X, eps), half_vectors_of(X.shape[-1])
        packed = half.pack(logs.real)
        if np.iscomplexobj(logs):
            rows, columns = np.tril_indices(half.n, -1)
            packed = np.concatenate([packed, np.sqrt(2.0) * logs.imag[..., rows, columns]], axis=-1)
        return packed[..., None]

    def _inverse(self, embedded: FloatArray) -> Matrices:
        half = half_vectors_of(self.shape_in_[0])
        logs: Matrices = half.unpack(embedded[..., : half.size, 0])
        if self.complex_:
            rows, columns = np.tril_indices(half.n, -1)
            imaginary = np.zeros(logs.shape)
            imaginary[..., rows, columns] = embedded[..., half.size :, 0] / np.sqrt(2.0)
            logs = logs + 1j * (imaginary - np.swapaxes(imaginary, -1, -2))
        eigenvalues, vectors = np.linalg.eigh(logs)
        return from_spectrum(np.exp(eigenvalues), vectors)
