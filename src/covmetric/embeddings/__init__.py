"""Embeddings Phi of covariance matrices, one per file. `EMBEDDINGS` lists them by name."""

from __future__ import annotations

from typing import Any

from covmetric._utils.registry import resolve
from covmetric.embeddings.base import Embedding
from covmetric.embeddings.cholesky import Cholesky
from covmetric.embeddings.identity import Identity
from covmetric.embeddings.log import Log
from covmetric.embeddings.power import Power, SquareRoot
from covmetric.embeddings.recentred_log import RecentredLog
from covmetric.embeddings.tangent import Tangent, TangentPCA
from covmetric.embeddings.vector import Vector
from covmetric.embeddings.vectorised_identity import VectorisedIdentity
from covmetric.embeddings.vectorised_log import VectorisedLog
from covmetric.model_file import register_stateful

EMBEDDINGS: dict[str, type[Embedding]] = {
    "id": Identity,
    "log": Log,
    "relog": RecentredLog,
    "veclog": VectorisedLog,
    "tangent": Tangent,
    "tangent-pca": TangentPCA,
    "sqrt": SquareRoot,
    "power": Power,
    "chol": Cholesky,
    "vector": Vector,
}

__all__ = ["EMBEDDINGS", "Embedding", "Tangent", "TangentPCA", "VectorisedIdentity", "VectorisedLog", "get_embedding"]

# The metrics of pyRiemann, with the embedding that a user of each is most likely to want.
_OF_PYRIEMANN = {"riemann": "relog", "logeuclid": "log", "euclid": "id", "logchol": "chol", "cholesky": "chol"}

_SAVABLE: tuple[type[Embedding], ...] = (*EMBEDDINGS.values(), VectorisedIdentity)
for _cls in _SAVABLE:
    register_stateful(_cls)


def get_embedding(phi: str | Embedding, **settings: Any) -> Embedding:
    """Return the embedding with the given name.

    Parameters
    ----------
    phi : {'id', 'log', 'relog', 'veclog', 'tangent', 'tangent-pca', 'sqrt', 'power', 'chol', 'vector'} or Embedding
        A name from `EMBEDDINGS`, or an object, which is returned unchanged.
    **settings : object
        Arguments for the constructor of the named embedding, such as `reg` or `p`.

    Returns
    -------
    Embedding
        The embedding, not fitted unless it was given as a fitted object.

    Raises
    ------
    ValueError
        If the name is unknown, if the embedding does not take the settings, or if settings are given with an object.

    Examples
    --------
    >>> get_embedding("power", p=0.25, reg=1e-6)
    Power(reg=1e-06, p=0.25)
    """
    return resolve("phi", phi, EMBEDDINGS, Embedding, settings=settings, elsewhere=_OF_PYRIEMANN)
