"""The matrix over the entries of W, when the pairs are too many to hold their half vectors at once."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.solvers.base import StepFailed
from covmetric.solvers.systems import DenseSystem, direct, terms
from tests import naive
from tests.solvers.systems.test_systems import random_terms


@pytest.mark.parametrize("rows", [1, 2, 5, 7], ids="blocks of {} pairs".format)
@pytest.mark.parametrize("chunk", [1, 3, 1000], ids="chunks of {} pairs".format)
@pytest.mark.parametrize("m", [1, 6])
def test_blocks_and_chunks_do_not_change_the_matrix(rows, chunk, m, monkeypatch):
    """Blocks that are filled by parts of chunks, by several chunks, and not at all in the end."""
    active, rng = random_terms(m, 0)
    assert len(active.active) > 7
    monkeypatch.setattr(direct, "SYSTEM_BLOCK_BYTES", 8 * active.half.size * rows)
    monkeypatch.setattr(terms, "CACHE_BYTES", 8 * active.half.size * chunk)
    H, B = naive.step_system(active.problem, active.C, active.active, active.springs)
    system = DenseSystem(active)
    np.testing.assert_allclose(system.force, active.forces @ B, rtol=1e-9, atol=1e-9)
    r = rng.standard_normal(len(H))
    np.testing.assert_allclose(system.solve(r), np.linalg.solve(H, r), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("matrix", [[[1.0, 2.0], [2.0, 1.0]], [[np.nan]], [[1.0, np.nan], [np.nan, 1.0]]])
def test_a_matrix_that_is_not_definite_fails_the_step(matrix):
    with pytest.raises(StepFailed):
        direct.cholesky(np.array(matrix, order="F"))
