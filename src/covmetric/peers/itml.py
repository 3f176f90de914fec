"""ITML on matrices laid out as vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, is_number
from covmetric.constraints import Constraints
from covmetric.embeddings import Embedding, VectorisedIdentity, VectorisedLog
from covmetric.peers.base import PairPeer

#: What the vectors are made of.
VECTORS: dict[str, type[Embedding]] = {
    "log": VectorisedLog,
    "raw": VectorisedIdentity,
}


class VectorITML(PairPeer):
    """Information-theoretic metric learning on the half vectors of log X, or of X, with ITML's own settings.

    From the source [1]_ and its code: the problem (LogDet divergence from the identity, slacks under the LogDet loss),
    bounds at the 5th and the 95th percentile of distances, gamma = 1 for every pair, distances as they come (no scale).

    Chosen here: the solver is ours, in the role of metric-learn's [2]_: the problem is convex and its solution unique,
    so that the two differ only in how near they get to it (docs/estimators.md compares them), and ours proves it. The
    percentiles are those of the squared distances of the pairs; metric-learn takes those of the distances, not squared,
    of all examples, and bounds squared distances by them. Pairs are random, `budget` per class, half of them similar.
    Matrices as vectors are not in the source: "raw" is what a user of metric-learn would do first, "log" the method of
    `VemulapalliMetric` but for the settings.

    Parameters
    ----------
    vectors : {"log", "raw"}, default="log"
        Half vectors of the logarithm, or of the matrix.
    gamma : float, default=1.0
        The weight of each pair.
    pairs : {"random", "neighbors"} or PairSelection, default="random"
    budget : int or None, default=None
        As in `CovMetric`.
    bounds : (near, far), {"absolute", "quantile"} or Bounds, default="quantile"
    scale : {"median", None} or float, default=None
    reg : float, default=0.0
        Share of the mean eigenvalue that is added to the diagonal of each matrix.
    tol : float, default=1e-6
        Bound on the relative duality gap.
    max_iter : int or None, default=None
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None

    Attributes
    ----------
    metric_ : LearnedMetric
    W_ : array, shape (p, p), p = n(n+1)/2
    problem_ : MetricProblem
    certificate_ : Certificate
    history_ : History
    n_iter_ : int
    scale_ : float
    classes_ : array

    Notes
    -----
    Without a scale, the prior W = I means something else in volts than in microvolts: for "raw" vectors of small
    matrices set ``scale="median"``.

    References
    ----------
    .. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra and I. S. Dhillon. Information-theoretic metric learning. ICML 2007.
    .. [2] W. de Vazelhes, C. J. Carey, Y. Tang, N. Vauquier and A. Bellet. metric-learn: Metric learning algorithms in
       Python. JMLR 21, 2020.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n=4)
    >>> VectorITML("raw", random_state=0).fit(data.X, data.y).certificate_.solved
    True
    """

    def __init__(
        self,
        vectors: str = "log",
        *,
        gamma: float = 1.0,
        pairs: Any = "random",
        budget: int | None = None,
        bounds: Any = "quantile",
        scale: Any = None,
        reg: float = 0.0,
        tol: float = 1e-6,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.vectors = vectors
        self.gamma = gamma
        self.pairs = pairs
        self.budget = budget
        self.bounds = bounds
        self.scale = scale
        self.reg = reg
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _embedding(self) -> Embedding:
        if self.vectors not in VECTORS:
            raise ValueError(f"vectors must be one of {', '.join(map(repr, VECTORS))}, got {self.vectors!r}")
        return VECTORS[self.vectors](reg=self.reg)

    def _weights(self, constraints: Constraints) -> FloatArray:
        if not (is_number(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a positive number, got {self.gamma!r}")
        return np.full(len(constraints.pairs), float(self.gamma))
