"""The estimators of `covmetric.peers` with quick settings, for contract tests that walk the registries."""

from __future__ import annotations

import inspect

from covmetric.peers import FIXED_DISTANCES, PEER_CLASSIFIERS, PEERS, FixedDistanceClassifier, VectorITML

#: Settings that keep the tests fast, for the peers that have them.
QUICK = {"random_state": 0, "budget": 20}


def make_peer(cls, **settings):
    """Return a peer with quick settings."""
    names = inspect.signature(cls).parameters
    return cls(**{**{name: value for name, value in QUICK.items() if name in names}, **settings})


LEARNERS = [*(make_peer(cls) for cls in PEERS.values()), VectorITML("raw", scale="median", **QUICK)]
DISTANCE_CLASSIFIERS = [FixedDistanceClassifier(name) for name in FIXED_DISTANCES]
CLASSIFIERS = [*DISTANCE_CLASSIFIERS, *(cls() for cls in PEER_CLASSIFIERS.values())]


def label(estimator):
    """Return the name of a test case."""
    settings = estimator.get_params()
    return f"{type(estimator).__name__}-{settings.get('distance', settings.get('vectors', ''))}"


def output(estimator, X):
    """Return what the estimator computes for X: probabilities or vectors."""
    return estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else estimator.transform(X)
