"""The half vector of the matrix itself."""

from __future__ import annotations

from covmetric._utils.validation import FloatArray, Matrices
from covmetric.embeddings.half_vector import HalfVectorEmbedding, pack, unpack


class VectorisedIdentity(HalfVectorEmbedding):
    """The matrix as a half vector of p = n(n+1)/2 entries, shape (..., p, 1).

    With W = I, D is the same as for `Identity`. The learned W has size p x p. Singular matrices are accepted.

    Parameters
    ----------
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Examples
    --------
    >>> import numpy as np
    >>> VectorisedIdentity().fit_transform(np.eye(3)[None]).shape
    (1, 6, 1)
    """

    name = "vecid"

    def _transform(self, X: Matrices, eps: float) -> FloatArray:
        return pack(X)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        return unpack(embedded, self.shape_in_[0])
