"""Vectors as d x 1 matrices, for which the learner is ITML."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, as_floats, is_count
from covmetric.embeddings.base import Embedding


class Vector(Embedding):
    """Vectors (..., d) as matrices (..., d, 1).

    D is then a squared Mahalanobis distance, and the learner is ITML.

    Examples
    --------
    >>> Vector().fit_transform([[1.0, 2.0], [3.0, 4.0]]).shape
    (2, 2, 1)
    """

    name = "vector"
    takes_vectors = True

    def __init__(self) -> None:
        super().__init__(reg=0.0)

    def __repr__(self) -> str:
        return "Vector()"

    @property
    def shape_out_(self) -> tuple[int, int]:
        """The shape (d, 1) of an embedded example."""
        return self.shape_in_[0], 1

    def probe(self) -> FloatArray:
        """Return the zero vector.

        Returns
        -------
        array of shape (d,)
            Zeros.
        """
        return np.zeros(self.shape_in_[0])

    def _validated_shape(self, shape: Any) -> tuple[int, ...] | None:
        sizes = shape if isinstance(shape, tuple) and len(shape) == 1 else (0,)
        return shape if is_count(sizes[0]) and sizes[0] > 0 else None

    def _shape_of_example(self, X: FloatArray) -> tuple[int, ...]:
        return X.shape[-1:]

    def _check(self, X: Any) -> tuple[FloatArray, float]:
        vectors = as_floats("X", X)
        if vectors.ndim == 0 or vectors.shape[-1] == 0:
            raise ValueError(f"X must hold vectors, shape (..., d) with d >= 1; got {vectors.shape}")
        return vectors, float(np.finfo(np.float64).eps)

    def _transform(self, X: FloatArray, eps: float) -> FloatArray:
        return X[..., None]

    def _inverse(self, embedded: FloatArray) -> FloatArray:
        return embedded[..., 0]
