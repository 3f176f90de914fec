"""What problems on the same examples share."""

from __future__ import annotations

import pickle

import numpy as np

from covmetric.problem.examples import Examples


def test_centred_rows_have_mean_zero():
    rows = np.random.default_rng(0).standard_normal((6, 3, 4))
    centred = Examples(rows).centred()
    np.testing.assert_allclose(centred.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.diff(centred, axis=0), np.diff(rows, axis=0), atol=1e-14)


def test_sizes_are_squared_norms_of_the_centred_rows():
    examples = Examples(np.random.default_rng(0).standard_normal((6, 3, 4)))
    np.testing.assert_allclose(examples.sizes(), (examples.centred() ** 2).sum(axis=(1, 2)), rtol=1e-14)


def test_centred_rows_are_kept_up_to_a_size(monkeypatch):
    rows = np.random.default_rng(0).standard_normal((6, 3, 4))
    for kept_bytes, kept in ((rows.nbytes, True), (rows.nbytes - 1, False)):
        monkeypatch.setattr("covmetric.problem.examples.KEPT_BYTES", kept_bytes)
        examples = Examples(rows)
        assert (examples.centred() is examples.centred()) == kept


def test_pickles_hold_the_rows_alone():
    examples = Examples(np.random.default_rng(0).standard_normal((6, 3, 4)))
    before = len(pickle.dumps(examples))
    sizes = examples.sizes()
    assert len(pickle.dumps(examples)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(examples)).sizes(), sizes)
