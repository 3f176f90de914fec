"""Geometric mean metric learning in the tangent space."""

from __future__ import annotations

from typing import Any, ClassVar

from joblib import Memory

from covmetric._utils.validation import FloatArray, IntArray, generator
from covmetric.constraints import get_pairs
from covmetric.learning.spectrum import PriorData
from covmetric.learning.supervised_prior import check_prior_settings, gmml_spectrum
from covmetric.metric import LearnedMetric
from covmetric.peers.base import PeerMetric
from covmetric.peers.tangent_vectors import TANGENT_METRICS, TangentVectors


class GMML(PeerMetric):
    """Geometric mean metric learning on the vectors of pyRiemann's tangent space.

    The following comes from the source [1]_: the metric W = S^-1 #_t D in closed form, where S and D are the scatter
    matrices of similar and dissimilar pairs, #_t is the weighted geometric mean, and t is chosen by cross-validation.

    The following is our choice. The source treats vectors; we use the tangent space, in which linear methods on
    covariance matrices usually work. S and D are means instead of sums, which changes W only by a factor. They are
    shrunk towards a multiple of the identity, whereas the source adds a multiple of a prior to them. The pairs are
    random, `budget` per class, and half of them are similar.

    Parameters
    ----------
    t : float, default=0.5
        The position on the geodesic from S^-1 (t = 0) to D (t = 1), from 0 to 1.
    shrinkage : 'auto' or float, default='auto'
        The shrinkage of S and D, from 0 to 1. 'auto' is the shrinkage of Ledoit and Wolf for the class-centred vectors.
    metric : {'riemann', 'logeuclid'}, default='riemann'
        The metric of the tangent space.
    pairs : {'random', 'neighbors'} or PairSelection, default='random'
        How pairs are selected, as in `CovMetric`.
    budget : int or None, default=None
        The number of pairs per class, or per example for "neighbors", as in `CovMetric`.
    reg : float, default=0.0
        This fraction of the mean eigenvalue of a matrix is added to its diagonal, which makes singular matrices
        positive definite.
    random_state : int, RandomState, Generator or None, default=None
        The source of random pairs.
    n_jobs : int or None, default=None
        The number of threads. The result does not depend on it.
    memory : str or None, default=None
        The folder in which tangent vectors are kept, so that a search over t computes them once. None keeps nothing.

    Attributes
    ----------
    metric_ : LearnedMetric
        The learned metric.
    W_ : array of shape (p, p), p = n(n+1)/2
        The matrix of the metric.
    classes_ : array of shape (n_classes,)
        The distinct classes.

    References
    ----------
    .. [1] P. Zadeh, R. Hosseini and S. Sra. Geometric mean metric learning. ICML 2016.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n=4)
    >>> GMML(random_state=0).fit(data.X, data.y).transform(data.X).shape
    (120, 10)
    """

    grid: ClassVar[dict[str, list[Any]]] = {"t": [0.0, 0.25, 0.5, 0.75, 1.0], "metric": list(TANGENT_METRICS)}

    def __init__(
        self,
        t: float = 0.5,
        *,
        shrinkage: Any = "auto",
        metric: str = "riemann",
        pairs: Any = "random",
        budget: int | None = None,
        reg: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory: str | None = None,
    ) -> None:
        self.t = t
        self.shrinkage = shrinkage
        self.metric = metric
        self.pairs = pairs
        self.budget = budget
        self.reg = reg
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory = memory

    def _learn(self, X: FloatArray, codes: IntArray) -> LearnedMetric:
        check_prior_settings(self.t, self.shrinkage, name="t")
        embed = Memory(self.memory, verbose=0).cache(_embed, ignore=["n_jobs"])
        embedding, embedded = embed(X, self.metric, self.reg, n_jobs=self.n_jobs)
        selection, rng = get_pairs(self.pairs, self.budget), generator(self.random_state)
        pairs = selection.select(embedded[:, :, 0], codes, rng)
        root = gmml_spectrum(PriorData(embedded, codes, pairs, t=self.t, shrinkage=self.shrinkage)).root()
        W = root @ root
        return LearnedMetric(embedding, 0.5 * (W + W.T))


def _embed(X: FloatArray, metric: str, reg: float, n_jobs: int | None) -> tuple[TangentVectors, FloatArray]:
    embedding = TangentVectors(metric, reg=reg)
    return embedding, embedding.fit_transform(X, n_jobs=n_jobs)
