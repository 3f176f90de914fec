"""Phi(X) = X."""

from __future__ import annotations

from covmetric._validation import FloatArray
from covmetric.embeddings.base import Embedding


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

    def _transform(self, X: FloatArray, eps: float) -> FloatArray:  # noqa: ARG002
        return X
