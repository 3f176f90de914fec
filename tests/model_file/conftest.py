from __future__ import annotations

import pytest

from covmetric import CovMetric, CovMetricClassifier
from tests.data import two_classes


@pytest.fixture(scope="package")
def valid_file(tmp_path_factory):
    """The bytes of a valid file."""
    X, y = two_classes()
    path = tmp_path_factory.mktemp("valid") / "model.npz"
    CovMetricClassifier(CovMetric(random_state=0, prior="covariance")).fit(X, y).save(path)
    return path.read_bytes()
