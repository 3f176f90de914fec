from __future__ import annotations

import pytest
from sklearn.base import clone

from tests.data import classes_of_matrices
from tests.estimators.cases import CLASSIFIERS, LEARNERS


@pytest.fixture
def data():
    return classes_of_matrices()


@pytest.fixture(params=LEARNERS, ids=lambda e: type(e).__name__)
def learner(request):
    return clone(request.param)


@pytest.fixture(params=[*LEARNERS, *CLASSIFIERS], ids=lambda e: f"{type(e).__name__}-{getattr(e, 'rule', '')}")
def estimator(request):
    return clone(request.param)
