from __future__ import annotations

import numpy as np
import pytest

from covmetric import LearnedMetric
from covmetric.embeddings import EMBEDDINGS, VectorisedIdentity
from tests.data import MATRIX_PHIS, spd


@pytest.fixture(params=[*(EMBEDDINGS[name] for name in MATRIX_PHIS), VectorisedIdentity], ids=lambda phi: phi.name)
def metric(request):
    """A metric on every embedding of 4 x 4 matrices."""
    phi = request.param().fit(spd(12, 4))
    n = phi.shape_out_[0]
    A = np.random.default_rng(1).standard_normal((n, n))
    return LearnedMetric(phi, A @ A.T + 0.1 * np.eye(n))
