"""The Cholesky factor, Phi(X) = chol X."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices
from covmetric.embeddings.base import Embedding
from covmetric.embeddings.matrices import as_complex


class Cholesky(Embedding):
    """The lower triangular Cholesky factor.

    It requires definite matrices, because the factor of a singular matrix is not unique.

    Parameters
    ----------
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Examples
    --------
    >>> import numpy as np
    >>> Cholesky().fit_transform(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[2., 0.],
           [1., 1.]])
    """

    name = "chol"

    @property
    def requires_definite(self) -> bool:
        """True, because the Cholesky factor of a singular matrix is not unique."""
        return True

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        self._require_definite(X, np.asarray(np.linalg.eigvalsh(X), dtype=np.float64), eps)
        return np.asarray(np.linalg.cholesky(X))

    def _inverse(self, embedded: FloatArray) -> Matrices:
        factors = as_complex(embedded) if self.complex_ else embedded
        product = factors @ np.swapaxes(factors.conj(), -1, -2)
        return np.asarray(0.5 * (product + np.swapaxes(product.conj(), -1, -2)))
