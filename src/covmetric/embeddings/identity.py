"""The identity, Phi(X) = X."""

from __future__ import annotations

from covmetric._utils.validation import FloatArray, Matrices, symmetric
from covmetric.embeddings.base import Embedding
from covmetric.embeddings.matrices import as_complex


class Identity(Embedding):
    """The matrix itself.

    With W = I, D is the squared Frobenius distance. Singular matrices are accepted.

    Parameters
    ----------
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Examples
    --------
    >>> import numpy as np
    >>> Identity().fit_transform(np.diag([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """

    name = "id"

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        return X

    def _inverse(self, embedded: FloatArray) -> Matrices:
        return symmetric("embedded", as_complex(embedded) if self.complex_ else embedded)
