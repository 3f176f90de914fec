"""The dot product of the kernels."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.solvers.kernels.blas import dot


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 8, 11])
def test_dot_adds_up_the_first_entries(size):
    x, y = np.random.default_rng(size).standard_normal((2, 12))
    assert dot(x, y, size) == pytest.approx(sum(a * b for a, b in zip(x[:size], y[:size], strict=True)), rel=1e-13)
