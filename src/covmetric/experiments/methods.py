"""The methods of a comparison: fixed and learned metrics, peers, and pyRiemann's classifiers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Memory
from pyriemann.classification import MDM, FgMDM, KNearestNeighbor
from pyriemann.geometry.distance import pairwise_distance
from pyriemann.tangentspace import TangentSpace
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from covmetric._utils.validation import IntArray
from covmetric.estimators import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.estimators.default_search import default_search
from covmetric.experiments.method_results import FIXED, LEARNED, PEER, PYRIEMANN
from covmetric.learning.rules import RULES
from covmetric.peers import FIXED_DISTANCES, PEER_CLASSIFIERS, PEERS, FixedDistanceClassifier, PeerMetric

PHIS = ("id", "log", "relog", "sqrt", "chol")
N_NEIGHBORS = 3

#: pyRiemann's settings: for each metric as many C as CovMetricCV has candidates (4 Phi with 4 lambda and W = I).
METRICS = ["riemann", "logeuclid"]
CS = np.logspace(-3, 5, 20).tolist()
#: These give `covmetric-logreg` as many candidates as pyRiemann's tangent space.
LAMBDAS = [np.inf, 1e-2]
NEIGHBORS = [1, 3, 5, 7, 9]


@dataclass(frozen=True)
class Training:
    """The training part of a fold, for which a method makes a classifier.

    Attributes
    ----------
    reg : float
        The regularisation, as in `compare`.
    seed : int
        The seed of all random numbers.
    inner_folds : function
        Returns the folds of the training part on which settings are tuned, as pairs of index arrays.
    folder : str
        A folder for results that several candidates use.
    """

    reg: float
    seed: int
    inner_folds: Callable[[], list[tuple[IntArray, IntArray]]]
    folder: str


@dataclass(frozen=True)
class Method:
    """A classification method for matrices.

    Attributes
    ----------
    kind : str
        Where the method comes from: "fixed", "pyRiemann", "peer" or "learned".
    make : function
        Returns an unfitted classifier for a `Training`.
    adds_reg : bool
        Whether the classifier regularises the matrices itself. If not, `compare` does.
    slow : bool
        Whether ``covmetric compare --quick`` leaves the method out.
    takes_groups : bool
        Whether the method `fit` of the classifier takes the groups of the training part.
    """

    kind: str
    make: Callable[[Training], Any]
    adds_reg: bool = True
    slow: bool = False
    takes_groups: bool = False


def available_methods() -> dict[str, Method]:
    """Return all methods that `compare` offers.

    Returns
    -------
    dict from str to Method
        The methods by name.

    Examples
    --------
    >>> methods = available_methods()
    >>> methods["log-3nn"].kind, methods["peer:leml"].slow
    ('fixed', True)
    """
    rules = {rule.short_name(N_NEIGHBORS): name for name, rule in RULES.items()}
    tuned = {
        "mdm": _mdm,
        "fgmdm": _fgmdm,
        "tangent-logreg": _tangent(lambda: LogisticRegression(max_iter=10_000)),
        "tangent-svm": _tangent(SVC),
        "riemann-knn": _riemann_knn,
    }
    return {
        **{f"{phi}-{short}": Method(FIXED, _fixed(phi, rule)) for short, rule in rules.items() for phi in PHIS},
        **{
            f"distance:{name}": Method(FIXED, _distance(name), slow=True)
            for name, distance in FIXED_DISTANCES.items()
            if distance.phi not in PHIS  # otherwise it equals the method with W = I and this Phi
        },
        **{name: Method(PYRIEMANN, make, False, slow=name == "riemann-knn") for name, make in tuned.items()},
        **{name: Method(PYRIEMANN, _peer_classifier(cls)) for name, cls in PEER_CLASSIFIERS.items()},
        **{f"peer:{name}": _peer(peer) for name, peer in PEERS.items()},
        **{f"covmetric-{short}": Method(LEARNED, _learned(rule), takes_groups=True) for short, rule in rules.items()},
        **{
            f"covmetriccv-{short}": Method(LEARNED, _searched(rule), takes_groups=True) for short, rule in rules.items()
        },
        "covmetric-logreg": Method(LEARNED, _learned_logreg),
        "covmetric-auto": Method(LEARNED, _auto, takes_groups=True),
    }


class CachedNeighbors(KNearestNeighbor):
    """pyRiemann's nearest neighbours, which compute their distances once for all k of a search.

    Parameters
    ----------
    n_neighbors : int, default=3
        The number of neighbours.
    metric : str, default='riemann'
        pyRiemann's metric.
    n_jobs : int, default=1
        The number of jobs.
    memory : str or None, default=None
        The folder in which distances are kept. None keeps nothing.
    """

    def __init__(
        self, n_neighbors: int = 3, metric: str = "riemann", n_jobs: int = 1, memory: str | None = None
    ) -> None:
        super().__init__(n_neighbors, metric, n_jobs)
        self.memory = memory

    def _predict_distances(self, X: Any) -> Any:
        return Memory(self.memory, verbose=0).cache(pairwise_distance)(X, self.covmeans_, metric=self.metric)


def _fixed(phi: str, rule: str) -> Callable[[Training], Any]:
    return lambda training: CovMetricClassifier(CovMetric(phi, lam=np.inf, reg=training.reg), rule=rule)


def _distance(name: str) -> Callable[[Training], Any]:
    return lambda training: FixedDistanceClassifier(name, N_NEIGHBORS, reg=training.reg)


def _peer(peer: type[PeerMetric]) -> Method:
    parameters = inspect.signature(peer).parameters

    def make(training: Training) -> Any:
        values = {"reg": training.reg, "random_state": training.seed, "memory": training.folder or None}
        settings = {name: value for name, value in values.items() if name in parameters}
        steps = [("metric", peer(**settings)), ("neighbors", KNeighborsClassifier(N_NEIGHBORS))]
        grid = {f"metric__{name}": values for name, values in peer.grid.items()}
        return GridSearchCV(Pipeline(steps), grid, cv=training.inner_folds()) if grid else Pipeline(steps)

    return Method(PEER, make, adds_reg="reg" in parameters, slow=True)


def _peer_classifier(classifier: type[Any]) -> Callable[[Training], Any]:
    return lambda training: GridSearchCV(classifier(reg=training.reg), classifier.grid, cv=training.inner_folds())


def _learned(rule: str) -> Callable[[Training], Any]:
    return lambda training: CovMetricClassifier(CovMetric(reg=training.reg, random_state=training.seed), rule=rule)


def _searched(rule: str) -> Callable[[Training], Any]:
    def make(training: Training) -> Any:
        search = CovMetricCV(reg=training.reg, random_state=training.seed, rule=rule, cv=training.inner_folds())
        return CovMetricClassifier(search, rule=rule)

    return make


def _auto(training: Training) -> Any:
    search = default_search(reg=training.reg, random_state=training.seed, cv=training.inner_folds())
    return CovMetricClassifier(search, rule="auto")


def _learned_logreg(training: Training) -> Any:
    """Return a logistic regression on the vectors of a learned metric instead of the tangent space."""
    steps = [
        ("metric", CovMetric(reg=training.reg, random_state=training.seed)),
        ("logreg", LogisticRegression(max_iter=10_000)),
    ]
    grid = {"metric__lam": LAMBDAS, "logreg__C": CS}
    return GridSearchCV(Pipeline(steps, memory=training.folder), grid, cv=training.inner_folds())


def _mdm(training: Training) -> Any:
    return GridSearchCV(MDM(), {"metric": METRICS}, cv=training.inner_folds())


def _fgmdm(training: Training) -> Any:
    return GridSearchCV(FgMDM(), {"metric": METRICS}, cv=training.inner_folds())


def _tangent(make_classifier: Callable[[], Any]) -> Callable[[Training], Any]:
    """Return a method that tunes a classifier with a parameter C on the vectors of pyRiemann's tangent space."""

    def make(training: Training) -> Any:
        steps = [("tangent", TangentSpace()), ("classifier", make_classifier())]
        grid = {"tangent__metric": METRICS, "classifier__C": CS}
        return GridSearchCV(Pipeline(steps, memory=training.folder), grid, cv=training.inner_folds())

    return make


def _riemann_knn(training: Training) -> Any:
    grid = {"metric": METRICS, "n_neighbors": NEIGHBORS}
    return GridSearchCV(CachedNeighbors(memory=training.folder), grid, cv=training.inner_folds())
