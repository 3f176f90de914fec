"""The shrinkage of Ledoit and Wolf, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage

from covmetric.learning.shrinkage import ledoit_wolf


def uneven_rows(count, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, n)) * np.linspace(0.2, 2.0, n)


@pytest.mark.parametrize(("count", "n"), [(6, 4), (10, 35), (300, 7)])
@pytest.mark.parametrize("scale", [1.0, 1e-120, 1e120])
def test_shrinkage_is_that_of_scikit_learn(count, n, scale):
    rows = uneven_rows(count, n)
    expected = ledoit_wolf_shrinkage(rows, assume_centered=True)
    assert 0.0 < expected < 1.0
    assert ledoit_wolf(scale * rows, n) == pytest.approx(expected, rel=1e-10)


def test_coordinates_in_a_subspace_have_the_shrinkage_of_the_whole_space():
    rows = uneven_rows(8, 5)
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((40, 5)))[0]
    assert ledoit_wolf(rows, 40) == pytest.approx(ledoit_wolf(rows @ basis.T, 40), rel=1e-10)
    assert ledoit_wolf(rows, 40) != pytest.approx(ledoit_wolf(rows, 5), rel=0.1)


def test_shrinkage_is_complete_without_rows_that_vary_and_never_leaves_its_range():
    assert ledoit_wolf(np.zeros((3, 2)), 2) == 1.0
    assert ledoit_wolf(np.array([[1.0, 2.0], [-1.0, -2.0]]), 2) == 0.0
    assert ledoit_wolf(np.array([[1.0, 0.0], [0.0, 1.0]]), 2) == 1.0
