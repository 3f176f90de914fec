"""Simulators, and the recordings of the demo."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier
from covmetric.datasets import load_emg, make_spd_classes, make_textures


def test_classes_of_matrices_that_a_learned_metric_tells_apart():
    data = make_spd_classes(n_classes=3, n_per_class=60, n=8, nuisance=1.5, random_state=0)
    assert data.X.shape == (180, 8, 8) and np.bincount(data.y).tolist() == [60] * 3
    assert np.linalg.eigvalsh(data.X).min() > 0
    train, test = slice(0, None, 2), slice(1, None, 2)
    scores = [
        CovMetricClassifier(learner).fit(data.X[train], data.y[train]).score(data.X[test], data.y[test])
        for learner in (CovMetric("log", lam=np.inf), CovMetric("log", random_state=0))
    ]
    assert scores[1] > scores[0] + 0.02
    np.testing.assert_array_equal(make_spd_classes(random_state=3).X, make_spd_classes(random_state=3).X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n must be an integer >= 1, got 0"),
        ({"n_informative": 9}, "n_informative and n must be at most n and samples"),
        ({"samples": 3}, "n_informative and n must be at most n and samples"),
        ({"separation": -1}, "separation must be a number >= 0, got -1"),
    ],
)
def test_bad_classes(settings, message):
    with pytest.raises(ValueError, match=message):
        make_spd_classes(**settings)


def test_textures():
    data = make_textures(n_classes=3, n_per_class=4, size=48)
    assert data.images.shape == (12, 48, 48) and 0 <= data.images.min() < data.images.max() <= 255
    with pytest.raises(ValueError, match="noise must be a number from 0 to 1, got 2"):
        make_textures(noise=2)


def test_recordings_of_gestures():
    data = load_emg(window=500)
    assert data.X.shape[1:] == (8, 8) and set(data.y) == {"rest", "rock", "paper", "scissors", "ok"}
    assert len(set(data.groups)) == 2 * 2 * 6
    for group in set(data.groups):
        assert set(data.y[data.groups == group]) == set(data.target_names)  # a round has every gesture
    recordings = set(zip(data.person.tolist(), data.session.tolist(), strict=True))
    assert recordings == {("mg", 1), ("mg", 2), ("rr", 1), ("rr", 2)}


def test_without_the_recordings(monkeypatch):
    monkeypatch.setattr("covmetric.datasets.emg.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r'pip install "covmetric\[demo\]"'):
        load_emg()
