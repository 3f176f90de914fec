"""load_emg, on the recordings of an installed geomstats."""

from __future__ import annotations

import pytest

from covmetric.datasets import load_emg


def test_gestures_sessions_and_rounds():
    data = load_emg(window=500)
    assert data.X.shape[1:] == (8, 8) and set(data.y) == {"rest", "rock", "paper", "scissors", "ok"}
    assert len(set(data.groups)) == 2 * 2 * 6
    for group in set(data.groups):
        assert set(data.y[data.groups == group]) == set(data.target_names)  # every round has all gestures
    recordings = set(zip(data.person.tolist(), data.session.tolist(), strict=True))
    assert recordings == {("mg", 1), ("mg", 2), ("rr", 1), ("rr", 2)}


def test_without_geomstats_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr("covmetric.datasets.emg.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r'pip install "geomstats<3" pandas'):
        load_emg()
