"""The embedding by pyRiemann's tangent space, for peers that learn on its vectors."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, Matrices
from covmetric.embeddings.half_vector import HalfVectorEmbedding

#: The metrics of pyRiemann's tangent space that peers offer, and that comparisons choose from.
TANGENT_METRICS = ("riemann", "logeuclid")


class TangentVectors(HalfVectorEmbedding):
    """The vectors of pyRiemann's `TangentSpace`, shape (..., p, 1) with p = n(n+1)/2.

    The entries have the order of a half vector: the lower triangle, row by row.

    Parameters
    ----------
    metric : {'riemann', 'logeuclid'}, default='riemann'
        The metric of the mean and of the tangent space.
    reg : float, default=0.0
        Adds `reg` times the mean eigenvalue of each matrix to its diagonal; see `Embedding`.

    Attributes
    ----------
    tangent_space_ : pyriemann.tangentspace.TangentSpace
        The fitted tangent space.
    """

    name = "tangent vectors"
    fitted_attributes = ("tangent_space_",)

    def __init__(self, metric: str = "riemann", reg: float = 0.0) -> None:
        super().__init__(reg=reg)
        self.metric = metric

    @property
    def requires_definite(self) -> bool:
        """True, because a singular matrix has no tangent vector."""
        return True

    def _fit(self, X: Matrices, eps: float) -> None:
        from pyriemann.tangentspace import TangentSpace  # imported late, because it takes two seconds

        if self.metric not in TANGENT_METRICS:
            raise ValueError(f"metric must be one of {', '.join(map(repr, TANGENT_METRICS))}, got {self.metric!r}")
        self._require_definite(X, np.asarray(np.linalg.eigvalsh(X), dtype=np.float64), eps)
        self.tangent_space_ = TangentSpace(metric=self.metric).fit(X.reshape(-1, *X.shape[-2:]))

    def _transform(self, X: Matrices, eps: float) -> FloatArray:
        self._require_definite(X, np.asarray(np.linalg.eigvalsh(X), dtype=np.float64), eps)
        n = X.shape[-1]
        vectors = self.tangent_space_.transform(X.reshape(-1, n, n))[:, _lower_from_upper(n)]
        return np.asarray(vectors.reshape(*X.shape[:-2], -1, 1), dtype=np.float64)

    def _inverse(self, embedded: FloatArray) -> Matrices:
        n = self.shape_in_[0]
        vectors = np.empty((embedded[..., 0, 0].size, embedded.shape[-2]))
        vectors[:, _lower_from_upper(n)] = embedded.reshape(vectors.shape)
        return np.asarray(self.tangent_space_.inverse_transform(vectors).reshape(*embedded.shape[:-2], n, n))


def _lower_from_upper(n: int) -> IntArray:
    """Return the indices of the lower triangle, row by row, in pyRiemann's order: the upper triangle, row by row."""
    positions = np.zeros((n, n), dtype=np.int64)
    positions[np.triu_indices(n)] = np.arange(n * (n + 1) // 2)
    return np.asarray(positions.T[np.tril_indices(n)])
