"""Fixed distances that are Euclidean after an embedding: the Frobenius norm of Phi(X1) - Phi(X2)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from covmetric._utils.distances import cross_distances
from covmetric._utils.validation import FloatArray, IntArray
from covmetric.embeddings import get_embedding
from covmetric.neighbors import get_search
from covmetric.peers.distances.base import FixedDistance


class EmbeddedDistance(FixedDistance):
    """Base class of distances ``factor * ||Phi(X1) - Phi(X2)||``, whose neighbours are found among vectors.

    Parameters
    ----------
    reg : float, default=0.0
        As in `FixedDistance`.
    n_jobs : int or None, default=None
        As in `FixedDistance`.
    """

    phi: ClassVar[str]
    factor: ClassVar[float] = 1.0

    def fit(self, X: Any) -> Self:
        self._embedding = get_embedding(self.phi, reg=self.reg)
        self._vectors = _flat(self._embedding.fit_transform(X, n_jobs=self.n_jobs))
        self._search = get_search("auto", self.n_jobs, self._vectors.shape).fit(self._vectors)
        return self

    def nearest(self, X: Any, k: int) -> tuple[FloatArray, IntArray]:
        distances, indices = self._search.nearest(None if X is None else self._map(X), k)
        return self.factor * distances, indices

    def pairwise(self, X: Any) -> FloatArray:
        return self.factor * np.sqrt(cross_distances(self._map(X), self._vectors, self.n_jobs))

    def _map(self, X: Any) -> FloatArray:
        return _flat(self._embedding.transform(X, n_jobs=self.n_jobs))


def _flat(embedded: FloatArray) -> FloatArray:
    return embedded.reshape(len(embedded), -1)


class Euclid(EmbeddedDistance):
    """The Frobenius distance.

    Parameters
    ----------
    reg : float, default=0.0
        As in `FixedDistance`.
    n_jobs : int or None, default=None
        As in `FixedDistance`.
    """

    name, phi = "euclid", "id"


class LogEuclid(EmbeddedDistance):
    """The Frobenius distance of the logarithms.

    Parameters
    ----------
    reg : float, default=0.0
        As in `FixedDistance`.
    n_jobs : int or None, default=None
        As in `FixedDistance`.
    """

    name, phi = "logeuclid", "log"


class PowerEuclid(EmbeddedDistance):
    """Twice the Frobenius distance of the square roots, as pyRiemann's `distance_poweuclid` with p = 1/2.

    Parameters
    ----------
    reg : float, default=0.0
        As in `FixedDistance`.
    n_jobs : int or None, default=None
        As in `FixedDistance`.
    """

    name, phi, factor = "power", "sqrt", 2.0


class CholeskyDistance(EmbeddedDistance):
    """The Frobenius distance of the Cholesky factors.

    Parameters
    ----------
    reg : float, default=0.0
        As in `FixedDistance`.
    n_jobs : int or None, default=None
        As in `FixedDistance`.
    """

    name, phi = "cholesky", "chol"
