"""Phi(X) = the half vector of X itself."""

from __future__ import annotations

from covmetric._utils.validation import FloatArray, Matrices
from covmetric.embeddings.half_vector import HalfVectorEmbedding, pack, unpack


class VectorisedIdentity(HalfVectorEmbedding):
    """The matrix as a vector of p = n(n+1)/2 entries, with sqrt(2) off the diagonal, shape (..., p, 1).

    D with W = I is that of `Identity`; the learned W is p x p. Takes singular matrices.

    Examples
    --------
    >>> import numpy as np
    >>> VectorisedIdentity().fit_transform(np.eye(3)[None]).shape
    (1, 6, 1)
    """

    name = "vecid"

    def _transform(self, X: Matrices, eps: float) -> FloatArray:  # noqa: ARG002
        return pack(X)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        return unpack(embedded, self.shape_in_[0])
