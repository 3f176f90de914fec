"""A toy embedding that learns something: Phi(X) = X - (the mean of the training set)."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, Matrices, symmetric
from covmetric.embeddings.base import Embedding
from covmetric.embeddings.matrices import as_complex


class ToyCentred(Embedding):
    """The matrix minus the mean of the training set.

    Examples
    --------
    >>> import numpy as np
    >>> ToyCentred().fit_transform(np.stack([np.eye(2), 3.0 * np.eye(2)]))[1]
    array([[1., 0.],
           [0., 1.]])
    """

    name = "toy"
    fitted_attributes = ("mean_",)

    def _fit(self, X: Matrices, eps: float) -> None:
        self.mean_ = X.reshape(-1, *X.shape[-2:]).mean(axis=0)

    def _transform(self, X: Matrices, eps: float) -> Matrices:
        return np.asarray(X - self.mean_)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        return np.asarray(symmetric("embedded", as_complex(embedded) if self.complex_ else embedded) + self.mean_)
