"""Phi(X) = log X."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices, symmetric
from covmetric.embeddings.base import Embedding, as_complex, from_spectrum


class Log(Embedding):
    """The principal matrix logarithm: D with W = I is the squared log-Euclidean distance. Needs definite matrices.

    One eigendecomposition serves the value and the check that the matrix is not numerically singular, which
    ``pyriemann.geometry.base.logm`` leaves out; the tests compare the two.

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
        """True: a singular matrix has no logarithm."""
        return True

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        eigenvalues, vectors = np.linalg.eigh(X)
        self._require_definite(X, eigenvalues, eps)
        return from_spectrum(np.log(eigenvalues), vectors)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        logs = symmetric("embedded", as_complex(embedded) if self.complex_ else embedded)
        eigenvalues, vectors = np.linalg.eigh(logs)
        return from_spectrum(np.exp(eigenvalues), vectors)
