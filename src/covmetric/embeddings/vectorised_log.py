"""The half vector of the matrix logarithm."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices
from covmetric.embeddings.half_vector import HalfVectorEmbedding, pack, unpack
from covmetric.embeddings.log import Log
from covmetric.embeddings.matrices import from_spectrum


class VectorisedLog(HalfVectorEmbedding, Log):
    """The matrix logarithm as a half vector of p = n(n+1)/2 entries, shape (..., p, 1).

    With W = I, D is the same as for `Log`. The learned W has size p x p and weighs every pair of entries of the
    logarithm. With slack "is", the learner is the method of Vemulapalli and Jacobs [1]_. Hermitian matrices have n^2
    entries, the real parts first.

    Parameters
    ----------
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    References
    ----------
    .. [1] R. Vemulapalli and D. W. Jacobs, "Riemannian metric learning for symmetric positive definite matrices",
       arXiv:1501.02393, 2015.

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
