"""What can be compared: fixed and learned metrics, pyRiemann's classifiers with the same tuning budget, peers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import Memory
from pyriemann.classification import MDM, FgMDM, KNearestNeighbor
from pyriemann.geometry.distance import pairwise_distance
from pyriemann.tangentspace import TangentSpace
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from covmetric._utils.validation import (
    IntArray,
)
from covmetric.estimators import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.experiments.fold_results import FIXED, LEARNED, PEER, PYRIEMANN

PHIS = ("id", "log", "relog", "sqrt", "chol")
#: Distances that are W = I for one of these Phi.
EUCLIDEAN = ("euclid", "logeuclid", "power", "cholesky")
RULES = {"3nn": "neighbors", "mean": "mean"}

#: pyRiemann's settings. There are as many C as CovMetricCV has candidates (4 Phi, 4 lambda and W = I), for each metric.
METRICS = ["riemann", "logeuclid"]
CS = np.logspace(-3, 5, 20).tolist()
#: With a logistic regression behind it, as many settings of ours as of pyRiemann's tangent space.
LAMBDAS = [np.inf, 1e-2]
NEIGHBORS = [1, 3, 5, 7, 9]


@dataclass(frozen=True)
class Training:
    """What a classifier is made for: the training part of a fold.

    Attributes
    ----------
    reg : float
    seed : int
    inner_folds : function
        Gives the folds of the training part that everything is tuned on, as pairs of indices.
    folder : str
        For what is computed once and used by several candidates.
    """

    reg: float
    seed: int
    inner_folds: Callable[[], list[tuple[IntArray, IntArray]]]
    folder: str


@dataclass(frozen=True)
class Method:
    """A way to classify matrices. `adds_reg`: whether it does so itself; `slow` ones are no part of a quick look."""

    kind: str
    make: Callable[[Training], Any]
    adds_reg: bool = True
    slow: bool = False


class CachedNeighbors(KNearestNeighbor):  # type: ignore[misc]
    """pyRiemann's nearest neighbours, with its distances computed once for all k of a search."""

    def __init__(self, n_neighbors: int = 3, metric: str = "riemann", n_jobs: int = 1, memory: str | None = None):
        super().__init__(n_neighbors, metric, n_jobs)
        self.memory = memory

    def _predict_distances(self, X: Any) -> Any:
        return Memory(self.memory, verbose=0).cache(pairwise_distance)(X, self.covmeans_, metric=self.metric)


def available_methods() -> dict[str, Method]:
    """What can be compared, by name."""
    rules = RULES.items()
    found = {f"{phi}-{short}": Method(FIXED, _fixed(phi, rule)) for short, rule in rules for phi in PHIS}
    tuned = {"mdm": _mdm, "fgmdm": _fgmdm, "tangent-logreg": _tangent_logreg, "riemann-knn": _riemann_knn}
    peers = _peers() if find_spec("covmetric.peers") else {}
    found |= {name: method for name, method in peers.items() if method.kind == FIXED}
    found |= {name: Method(PYRIEMANN, make, False, slow=name == "riemann-knn") for name, make in tuned.items()}
    found |= {name: method for name, method in peers.items() if method.kind == PEER}
    found |= {f"covmetric-{short}": Method(LEARNED, _learned(rule)) for short, rule in rules}
    found |= {f"covmetriccv-{short}": Method(LEARNED, _searched(rule)) for short, rule in rules}
    found["covmetric-logreg"] = Method(LEARNED, _learned_logreg)
    return found


def _fixed(phi: str, rule: str) -> Callable[[Training], Any]:
    return lambda given: CovMetricClassifier(CovMetric(phi, lam=np.inf, reg=given.reg), rule=rule)


def _learned(rule: str) -> Callable[[Training], Any]:
    return lambda given: CovMetricClassifier(CovMetric(reg=given.reg, random_state=given.seed), rule=rule)


def _searched(rule: str) -> Callable[[Training], Any]:
    def make(given: Training) -> Any:
        search = CovMetricCV(reg=given.reg, random_state=given.seed, rule=rule, cv=given.inner_folds())
        return CovMetricClassifier(search, rule=rule)

    return make


def _learned_logreg(given: Training) -> Any:
    """As `_tangent_logreg`, with the vectors of a learned metric, or of W = I, in place of the tangent space."""
    steps = [
        ("metric", CovMetric(reg=given.reg, random_state=given.seed)),
        ("logreg", LogisticRegression(max_iter=10_000)),
    ]
    grid = {"metric__lam": LAMBDAS, "logreg__C": CS}
    return GridSearchCV(Pipeline(steps, memory=given.folder), grid, cv=given.inner_folds())


def _mdm(given: Training) -> Any:
    return GridSearchCV(MDM(), {"metric": METRICS}, cv=given.inner_folds())


def _fgmdm(given: Training) -> Any:
    return GridSearchCV(FgMDM(), {"metric": METRICS}, cv=given.inner_folds())


def _tangent_logreg(given: Training) -> Any:
    steps = [("tangent", TangentSpace()), ("logreg", LogisticRegression(max_iter=10_000))]
    grid = {"tangent__metric": METRICS, "logreg__C": CS}
    return GridSearchCV(Pipeline(steps, memory=given.folder), grid, cv=given.inner_folds())


def _riemann_knn(given: Training) -> Any:
    grid = {"metric": METRICS, "n_neighbors": NEIGHBORS}
    return GridSearchCV(CachedNeighbors(memory=given.folder), grid, cv=given.inner_folds())


def _peers() -> dict[str, Method]:
    """The metric learners and the fixed distances of `covmetric.peers`, with 3-NN."""
    peers, fixed = import_module("covmetric.peers"), import_module("covmetric.peers.fixed_classifier")

    def distance(name: str) -> Callable[[Training], Any]:
        return lambda given: fixed.FixedDistanceClassifier(name, 3, reg=given.reg)

    def peer(learner: Any, settings: Any) -> Callable[[Training], Any]:
        def make(given: Training) -> Any:
            values = {"reg": given.reg, "random_state": given.seed}
            chosen = {name: value for name, value in values.items() if name in settings}
            return make_pipeline(learner(**chosen), KNeighborsClassifier(3))

        return make

    others = [name for name in fixed.FIXED_DISTANCES if name not in EUCLIDEAN]
    found = {f"distance:{name}": Method(FIXED, distance(name), slow=True) for name in others}
    for name, learner in peers.PEERS.items():
        settings = inspect.signature(learner).parameters
        found[f"peer:{name}"] = Method(PEER, peer(learner, settings), adds_reg="reg" in settings, slow=True)
    return found
