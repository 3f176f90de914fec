"""Embeddings in several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from covmetric import get_embedding
from tests.data import MATRIX_PHIS, spd


def test_several_threads_give_the_same_bits_and_name_the_right_index():
    X = spd(300, 5)
    for name in MATRIX_PHIS:
        phi = get_embedding(name)
        one = phi.fit_transform(X)
        np.testing.assert_array_equal(phi.fit_transform(X, n_jobs=2), one)
        np.testing.assert_array_equal(phi.transform(X, n_jobs=2), one)
    X[200] = np.outer(X[200, 0], X[200, 0])
    with pytest.raises(ValueError, match=r"X\[200\] is not positive definite"):
        get_embedding("log").fit(spd(3, 5)).transform(X, n_jobs=2)


def test_transform_does_not_change_an_embedding_that_threads_share():
    """One thread transforms matrices in single precision, the other one in double precision."""
    phi = get_embedding("log").fit(spd(3, 2))
    before = dict(vars(phi))
    sharp = np.diag([1e-8, 1.0])[None]
    with ThreadPoolExecutor(2) as pool:
        coarse = pool.submit(lambda: [phi.transform(spd(2, 2).astype(np.float32)) for _ in range(200)])
        for _ in range(200):
            phi.transform(sharp)
        coarse.result()
    assert vars(phi) == before
