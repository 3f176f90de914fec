"""The matrix logarithm, Phi(X) = log X."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices, symmetric
from covmetric.embeddings.base import Embedding
from covmetric.embeddings.matrices import as_complex, from_spectrum


class Log(Embedding):
    """The principal matrix logarithm.

    With W = I, D is the squared log-Euclidean distance. The logarithm requires definite matrices. Unlike
    ``pyriemann.geometry.base.logm``, which returns the same values, it raises an error for numerically singular
    matrices. Both need a single eigendecomposition.

    Parameters
    ----------
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Examples
    --------
    >>> import numpy as np
    >>> Log().fit_transform(np.diag([1.0, np.e])).round(12)
    array([[0., 0.],
           [0., 1.]])
    """

    name = "log"

    @property
    def requires_definite(self) -> bool:
        """True, because a singular matrix has no logarithm."""
        return True

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        eigenvalues, vectors = np.linalg.eigh(X)
        self._require_definite(X, eigenvalues, eps)
        return from_spectrum(np.log(eigenvalues), vectors)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        logs = symmetric("embedded", as_complex(embedded) if self.complex_ else embedded)
        eigenvalues, vectors = np.linalg.eigh(logs)
        return from_spectrum(np.exp(eigenvalues), vectors)
