"""SolveResult and Status: warm starts, text, pickles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from covmetric import Status, make_paper_problem, solve


@pytest.fixture
def result():
    return solve(make_paper_problem(4, 6, 1e-2, 0), "newton")


@pytest.mark.parametrize("status", list(Status))
def test_each_status_has_a_message(status):
    assert len(status.message) > 20


def test_warm_start_keeps_and_adds_pairs(result):
    alpha = result.multipliers
    np.testing.assert_array_equal(result.warm_start(), alpha)
    np.testing.assert_array_equal(result.warm_start(keep=[4, 1]), alpha[[4, 1]])
    np.testing.assert_array_equal(result.warm_start(keep=np.arange(6) < 2), alpha[:2])
    np.testing.assert_array_equal(result.warm_start(keep=[0], added=2), [alpha[0], 0.0, 0.0])
    assert not np.shares_memory(result.warm_start(), alpha)


def test_carried_is_a_deprecated_alias_of_warm_start(result):
    with pytest.warns(FutureWarning, match="SolveResult.carried is deprecated, use SolveResult.warm_start"):
        start = result.carried(keep=[1, 2], added=1)
    np.testing.assert_array_equal(start, result.warm_start(keep=[1, 2], added=1))


def test_text_has_the_status_and_the_certificate(result):
    text = str(result)
    assert text.startswith(f"SOLVED after {result.n_iter} iterations and ")
    assert Status.SOLVED.message in text
    assert str(result.certificate) in text
    assert "times that of the optimal metric" in text


def test_pickle_keeps_everything(result):
    again = pickle.loads(pickle.dumps(result))
    assert again.status is Status.SOLVED
    assert result.__getstate__()["status"] == "SOLVED", "skops stores strings, not enums"
    assert again.certificate == result.certificate
    for name in ("W", "multipliers", "slacks"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
