"""The alignment of the log-Euclidean kernel with the classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.optimize import check_grad

from covmetric.peers.alignment import Alignment, PenalisedCost, divided_differences, exponential
from tests import naive


def test_alignment_equals_its_definition(data):
    X, y = data[0][::3], data[1][::3]
    for G in (np.eye(4), np.eye(4) + 0.3 * np.random.default_rng(0).standard_normal((4, 4))):
        assert Alignment(X, y)(G)[0] == pytest.approx(naive.alignment(G, X, y), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_the_alignment_equals_finite_differences(seed, data):
    target = Alignment(*data)
    G = np.eye(4) + 0.3 * np.random.default_rng(seed).standard_normal((4, 4))
    error = check_grad(lambda g: target(g.reshape(4, 4))[0], lambda g: target(g.reshape(4, 4))[1].ravel(), G.ravel())
    assert error < 1e-6


def test_gradient_is_right_for_equal_eigenvalues():
    X = np.stack([np.eye(3), 2.0 * np.eye(3), np.diag([1.0, 1.0, 3.0]), np.diag([1.0, 2.0, 2.0])])
    target = Alignment(X, np.array([0, 0, 1, 1]))
    error = check_grad(
        lambda g: target(g.reshape(3, 3))[0], lambda g: target(g.reshape(3, 3))[1].ravel(), np.eye(3).ravel()
    )
    assert error < 1e-6


def test_gradient_of_the_cost_equals_finite_differences(data):
    cost = PenalisedCost(Alignment(*data), 0.01)
    for scale in (0.0, 0.5):
        s = scale * np.random.default_rng(0).standard_normal(10)
        assert check_grad(lambda s: cost(s)[0], lambda s: cost(s)[1], s) < 1e-6


def test_divided_differences_equal_an_integral():
    """The divided difference is the integral of 1/(t a + (1 - t) b), which has no cancellation."""
    values = np.array([[1.0, 1.0 + 1e-9, 1.0 + 1e-5, 1.01, 2.0, 5.0]])
    for i, a in enumerate(values[0]):
        for j, b in enumerate(values[0]):
            expected = quad(lambda t, a=a, b=b: 1.0 / (t * a + (1.0 - t) * b), 0.0, 1.0, epsabs=1e-13, epsrel=1e-13)[0]
            assert divided_differences(values)[0, i, j] == pytest.approx(expected, rel=1e-12)
    far = divided_differences(np.array([[1e-12, 1e12]]))[0]
    np.testing.assert_allclose(far, [[1e12, 24 * np.log(10) / 1e12], [24 * np.log(10) / 1e12, 1e-12]], rtol=1e-12)


def test_exponential_equals_scipy():
    A = np.random.default_rng(0).standard_normal((4, 4))
    found, eigenvalues, vectors = exponential(A + A.T)
    np.testing.assert_allclose(found, expm(A + A.T), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found @ vectors, vectors * eigenvalues, rtol=1e-8, atol=1e-10)
