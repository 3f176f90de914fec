"""Spectra of priors: the root, and when they are thin."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric._utils.tuning import SPAN_FRACTION, SPAN_ROWS
from covmetric.learning.spectrum import Spectrum


def orthonormal(n, r, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, r)))[0]


@pytest.mark.parametrize(("r", "rest"), [(2, 3.0), (5, 3.0), (5, 0.0)])
def test_root_squared_is_the_matrix(r, rest):
    vectors, eigenvalues = orthonormal(5, r), np.linspace(0.5, 9.0, r)
    root = Spectrum(eigenvalues, vectors, rest).root()
    complement = np.eye(5) - vectors @ vectors.T
    expected = vectors @ np.diag(eigenvalues) @ vectors.T + rest * complement
    np.testing.assert_array_equal(root, root.T)
    np.testing.assert_allclose(root @ root, expected, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(root)[0] > 0.0


def test_spectrum_is_thin_if_it_spans_few_of_many_directions():
    n = 2 * SPAN_ROWS
    few = int(SPAN_FRACTION * n)
    for size, r, expected in ((n, few, True), (n, few + 1, False), (SPAN_ROWS, 3, True), (SPAN_ROWS - 1, 3, False)):
        assert Spectrum(np.ones(r), orthonormal(size, r), 1.0).is_thin is expected
