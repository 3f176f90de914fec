"""Phi(X) = X."""

from __future__ import annotations

from covmetric._utils.validation import FloatArray, Matrices, symmetric
from covmetric.embeddings.base import Embedding, as_complex


class Identity(Embedding):
    """The matrix itself: D with W = I is the squared Frobenius distance. Takes singular matrices.

    Examples
    --------
    >>> import numpy as np
    >>> Identity().fit_transform(np.diag([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """

    name = "id"

    def _transform(self, X: Matrices, eps: float) -> Matrices:  # noqa: ARG002
        return X

    def _inverse(self, embedded: FloatArray) -> Matrices:
        return symmetric("embedded", as_complex(embedded) if self.complex_ else embedded)
