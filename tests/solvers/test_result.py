"""SolveResult and Status: warm starts, text, pickles."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from covmetric import History, Hybrid, Status, make_paper_problem, solve
from covmetric.model_file.codec import Reader, Writer


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


def round_trip(value):
    """Return the value as a model file holds it, and the value that comes back."""
    writer = Writer()
    tree = writer.encode(value, "value")
    reader = Reader(writer.arrays)
    back = reader.decode(tree)
    reader.finish()
    return tree, back


def test_history_without_phases_is_that_of_an_older_version(result):
    history = History(*(getattr(result.history, field.name) for field in dataclasses.fields(History)[:-1]))
    assert history.phase.tolist() == []
    tree, back = round_trip(history)
    assert list(tree["state"]) == ["n_iter", "projections", "seconds", "primal", "dual", "gap"]
    assert back.phase.shape == (0,) and back.phase.dtype.kind == "U"
    np.testing.assert_array_equal(back.gap, history.gap)


def test_phases_come_back_from_a_model_file():
    history = solve(make_paper_problem(6, 30, 1e-4, 0), Hybrid(), tol=1e-9).history
    assert len(set(history.phase.tolist())) > 1
    tree, back = round_trip(history)
    assert list(tree["state"])[-1] == "phase"
    for field in dataclasses.fields(History):
        np.testing.assert_array_equal(getattr(back, field.name), getattr(history, field.name))
