"""A toy peer: the log-Euclidean distance, with each channel divided by its spread over the training set."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.embeddings import get_embedding
from covmetric.metric import LearnedMetric
from covmetric.peers.base import PeerMetric


class Standardised(PeerMetric):
    """The log-Euclidean distance after the rows of log X are divided by their spread.

    Parameters
    ----------
    reg : float, default=0.0
        See `Embedding`.
    n_jobs : int or None, default=None
        Threads for the embedding.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n=4)
    >>> Standardised().fit(data.X, data.y).transform(data.X).shape
    (120, 16)
    """

    def __init__(self, reg: float = 0.0, n_jobs: int | None = None) -> None:
        self.reg = reg
        self.n_jobs = n_jobs

    def _learn(self, X: FloatArray, codes: IntArray) -> LearnedMetric:
        embedding = get_embedding("log", reg=self.reg)
        embedded = embedding.fit_transform(X, n_jobs=self.n_jobs)
        return LearnedMetric(embedding, np.diag(1.0 / embedded.var(axis=0).sum(axis=1)))
