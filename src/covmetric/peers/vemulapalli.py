"""The method of Vemulapalli and Jacobs: a Mahalanobis distance between vectorised logarithms."""

from __future__ import annotations

from typing import Any

from covmetric.embeddings import Embedding, get_embedding
from covmetric.peers.base import PairPeer


class VemulapalliMetric(PairPeer):
    """Mahalanobis distance between the half vectors of log X, learned by ITML.

    The following comes from the source [1]_, according to its abstract and to the paper on which this library is based:
    the log-Euclidean map, the half vectors with sqrt(2) off the diagonal, and the learning problem of ITML [2]_, which
    minimises the LogDet divergence from the identity, with an upper bound on the distances of similar pairs, a lower
    bound on the distances of dissimilar pairs, and slacks under the LogDet loss.

    The following is our choice. The pairs, the bounds and the weights follow the paper on which this library is based,
    so that the methods differ only in the metric. The solver is ours, which certifies its result, whereas ITML
    stops by a heuristic rule. Both solve the same convex problem, whose solution is unique.

    Parameters
    ----------
    lam : float, default=1e-2
        The weight of each of the K pairs is 1/(lam K), which is gamma in ITML.
    pairs : {'random', 'neighbors'} or PairSelection, default='random'
        How pairs are selected, as in `CovMetric`.
    budget : int or None, default=None
        The number of pairs per class, or per example for "neighbors", as in `CovMetric`.
    bounds : (near, far), {'absolute', 'quantile'} or Bounds, default='absolute'
        The bounds on squared distances in units of `scale`; "absolute" means 0.05 and 0.95.
    scale : {'median', None} or float, default='median'
        The squared distance that serves as unit; "median" is the median over the pairs.
    reg : float, default=0.0
        This fraction of the mean eigenvalue of a matrix is added to its diagonal, which makes singular matrices
        positive definite.
    tol : float, default=1e-6
        The bound on the relative duality gap.
    max_iter : int or None, default=None
        The largest number of iterations. None means the default of the solver.
    random_state : int, RandomState, Generator or None, default=None
        Selects the random pairs.
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
        The course of the solve.
    n_iter_ : int
        The number of iterations.
    scale_ : float
        The squared distance that serves as unit.
    classes_ : array of shape (n_classes,)
        The distinct classes.

    References
    ----------
    .. [1] R. Vemulapalli and D. W. Jacobs. Riemannian metric learning for symmetric positive definite matrices.
       arXiv:1501.02393, 2015.
    .. [2] J. V. Davis, B. Kulis, P. Jain, S. Sra and I. S. Dhillon. Information-theoretic metric learning. ICML 2007.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n=4)
    >>> peer = VemulapalliMetric(random_state=0).fit(data.X, data.y)
    >>> peer.W_.shape, peer.certificate_.solved
    ((10, 10), True)
    """

    def __init__(
        self,
        lam: float = 1e-2,
        *,
        pairs: Any = "random",
        budget: int | None = None,
        bounds: Any = "absolute",
        scale: Any = "median",
        reg: float = 0.0,
        tol: float = 1e-6,
        max_iter: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.lam = lam
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
        return get_embedding("veclog", reg=self.reg)
