"""The embedding by pyRiemann's tangent space."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.tangentspace import TangentSpace

from covmetric.peers.tangent_vectors import TANGENT_METRICS, TangentVectors


@pytest.mark.parametrize("metric", TANGENT_METRICS)
def test_vectors_are_pyriemanns_in_the_order_of_the_lower_triangle(metric, data):
    X = data[0]
    embedded = TangentVectors(metric).fit_transform(X)
    assert embedded.shape == (42, 10, 1)
    expected = TangentSpace(metric=metric).fit_transform(X)
    upper = {(i, j): k for k, (i, j) in enumerate(zip(*np.triu_indices(4), strict=True))}
    for k, (i, j) in enumerate(TangentVectors().fit(X).row_channels().tolist()):
        np.testing.assert_allclose(embedded[:, k, 0], expected[:, upper[j, i]], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", TANGENT_METRICS)
def test_inverse_returns_the_matrices(metric, data):
    phi = TangentVectors(metric).fit(data[0])
    np.testing.assert_allclose(phi.inverse_transform(phi.transform(data[0])), data[0], rtol=1e-8, atol=1e-10)


def test_unknown_metric_raises_value_error(data):
    with pytest.raises(ValueError, match="metric must be one of 'riemann', 'logeuclid', got 'cosine'"):
        TangentVectors("cosine").fit(data[0])


def test_test_matrix_must_be_definite(data):
    X = data[0].copy()
    phi = TangentVectors().fit(X)
    X[5] = np.outer(X[5, 0], X[5, 0])
    with pytest.raises(ValueError, match=r"X\[5\] is not positive definite, as 'tangent vectors' requires"):
        phi.transform(X)
