"""ITML on vectorised matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from covmetric._utils.validation import FloatArray, is_number
from covmetric.constraints import Constraints
from covmetric.embeddings import Embedding, VectorisedIdentity, VectorisedLog
from covmetric.peers.base import PairPeer

#: The embedding of each kind of vectors.
VECTORS: dict[str, type[Embedding]] = {
    "log": VectorisedLog,
    "raw": VectorisedIdentity,
}


class VectorITML(PairPeer):
    """Information-theoretic metric learning on the half vectors of log X or of X, with the settings of ITML.

    The following comes from the source [1]_ and its code: the problem, which minimises the LogDet divergence from the
    identity with slacks under the LogDet loss; bounds at the 5th and the 95th percentile of the distances; gamma = 1
    for every pair; and distances without a scale.

    The following is our choice. The solver is ours. The problem is convex and its solution is unique, so our
    solver and metric-learn's solver [2]_ differ only in their accuracy, which ours certifies (docs/measurements/itml.md
    compares them). We take percentiles of the squared distances of the pairs; metric-learn uses the percentiles of the
    plain distances of all examples as bounds on squared distances. The pairs are random, `budget` per class, and
    half of them are similar. The source does not treat matrices. "raw" is the simplest way to apply metric-learn to
    matrices; "log" is the method of `VemulapalliMetric` with other settings.

    Parameters
    ----------
    vectors : {'log', 'raw'}, default='log'
        Whether to use the half vectors of the logarithm or of the matrix itself.
    gamma : float, default=1.0
        The weight of each pair.
    pairs : {'random', 'neighbors'} or PairSelection, default='random'
        How pairs are selected, as in `CovMetric`.
    budget : int or None, default=None
        The number of pairs per class, or per example for "neighbors", as in `CovMetric`.
    bounds : (near, far), {'absolute', 'quantile'} or Bounds, default='quantile'
        The bounds on squared distances in units of `scale`.
    scale : {'median', None} or float, default=None
        The unit of the bounds, a squared distance. None means 1.
    reg : float, default=0.0
        This fraction of the mean eigenvalue of a matrix is added to its diagonal, which makes singular matrices
        positive definite.
    tol : float, default=1e-6
        The bound on the relative duality gap.
    max_iter : int or None, default=None
        The maximum number of iterations. None means the default of the solver.
    random_state : int, RandomState, Generator or None, default=None
        The source of random pairs.
    n_jobs : int or None, default=None
        The number of threads. The result does not depend on it.

    Attributes
    ----------
    metric_ : LearnedMetric
        The learned metric.
    W_ : array of shape (p, p), p = n(n+1)/2
        The matrix of the metric.
    problem_ : MetricProblem
        The problem, for half vectors divided by sqrt(scale_).
    certificate_ : Certificate
        A proven bound on how far W is from the optimum.
    history_ : History
        The history of the solve.
    n_iter_ : int
        The number of iterations.
    scale_ : float
        The squared distance that serves as unit.
    classes_ : array of shape (n_classes,)
        The distinct classes.

    Notes
    -----
    Without a scale, the effect of the prior W = I depends on the units of X. For "raw" vectors of small matrices, such
    as covariances of EEG in volts, set ``scale="median"``.

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
