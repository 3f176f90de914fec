from __future__ import annotations

import pytest
from sklearn.base import clone

from covmetric.datasets import make_spd_classes
from tests.peers.estimators import CLASSIFIERS, DISTANCE_CLASSIFIERS, LEARNERS, label


@pytest.fixture(scope="package")
def data():
    """42 matrices of size 4 in three classes, read-only."""
    made = make_spd_classes(n_classes=3, n_per_class=14, n=4, samples=60)
    made.X.flags.writeable = made.y.flags.writeable = False
    return made.X, made.y


@pytest.fixture(params=LEARNERS, ids=label)
def peer(request):
    """Each metric learner of the registry, unfitted."""
    return clone(request.param)


@pytest.fixture(params=DISTANCE_CLASSIFIERS, ids=label)
def classifier(request):
    """The classifier with each fixed distance of the registry, unfitted."""
    return clone(request.param)


@pytest.fixture(params=[*LEARNERS, *CLASSIFIERS], ids=label)
def estimator(request):
    """Each metric learner, the classifier with each fixed distance, and each other classifier, unfitted."""
    return clone(request.param)
