"""The test for metrics that are too ill-conditioned to be stored."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.solvers.base import is_degenerate


@pytest.mark.parametrize(("ratio", "degenerate"), [(1.0, False), (1.6e-7, False), (1.4e-7, True), (0.0, True)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_factor_is_degenerate_below_a_ratio_of_its_diagonal(ratio, degenerate, sign):
    """The squared ratio is compared with a hundred units of rounding: 1.49e-7 squared."""
    factor = np.tril(np.full((3, 3), 0.5))
    np.fill_diagonal(factor, [1.0, sign * ratio, 0.5])
    np.fill_diagonal(factor, [4.0, sign * 4.0 * ratio, 4.0])
    assert is_degenerate(factor) == degenerate
