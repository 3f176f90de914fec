"""Phi(X) = the half vector of log X: one column, so that W weighs every entry of the log against every other."""

from __future__ import annotations

from covmetric._validation import FloatArray
from covmetric.embeddings.log import Log
from covmetric.half_vectors import half_vectors_of


class VectorisedLog(Log):
    """The logarithm as a vector of p = n(n+1)/2 entries, with sqrt(2) off the diagonal, shape (..., p, 1).

    D with W = I is that of `Log`; the learned W is p x p. With slack "is" the learner is the method of Vemulapalli and
    Jacobs, "Riemannian metric learning for symmetric positive definite matrices", arXiv:1501.02393, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> VectorisedLog().fit_transform(np.eye(3)[None]).shape
    (1, 6, 1)
    """

    name = "veclog"

    def _transform(self, X: FloatArray, eps: float) -> FloatArray:
        return half_vectors_of(X.shape[-1]).pack(super()._transform(X, eps))[..., None]
