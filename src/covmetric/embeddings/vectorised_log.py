"""Phi(X) = the half vector of log X: one column, so that W weighs every entry of the log against every other."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices
from covmetric.embeddings.base import from_spectrum
from covmetric.embeddings.half_vector import HalfVectorEmbedding, pack, unpack
from covmetric.embeddings.log import Log


class VectorisedLog(HalfVectorEmbedding, Log):
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

    def _transform(self, X: Matrices, eps: float) -> FloatArray:
        return pack(super()._transform(X, eps))

    def _inverse(self, embedded: FloatArray) -> Matrices:
        eigenvalues, vectors = np.linalg.eigh(unpack(embedded, self.shape_in_[0]))
        return from_spectrum(np.exp(eigenvalues), vectors)
