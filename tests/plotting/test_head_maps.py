"""Patterns and importance on the head, and the example that shows them."""

from __future__ import annotations

import builtins
import runpy
from pathlib import Path

import numpy as np
import pytest

from covmetric import CovMetric
from covmetric.plotting import ImportanceDisplay, PatternsDisplay
from tests.data import hermitian, spd, two_classes

mne = pytest.importorskip("mne", reason="maps of the head need mne")
CHANNELS = ["Fz", "C3", "C4", "Pz", "Oz"]
EXAMPLE = Path(__file__).parents[2] / "examples" / "plot_head_map.py"


@pytest.fixture(scope="module")
def info():
    return mne.create_info(CHANNELS, 100.0, "eeg").set_montage("biosemi64")


def learned(phi="relog", make=spd):
    X, y = two_classes(make, n=5)
    return CovMetric(phi, random_state=0).fit(X, y)


def test_patterns_become_a_spatial_filter_of_mne(info):
    patterns = learned().metric_.patterns(CHANNELS)
    converted = patterns.to_mne(info)
    assert type(converted).__name__ == "SpatialFilter" and converted.info is info
    np.testing.assert_array_equal(converted.filters, patterns.filters)
    np.testing.assert_array_equal(converted.patterns, patterns.patterns)
    np.testing.assert_array_equal(converted.evals, patterns.values)
    # MNE's relation of the two: the patterns are the pseudo-inverse of the filters.
    np.testing.assert_allclose(np.linalg.pinv(converted.filters.T), converted.patterns, atol=1e-10)


@pytest.mark.parametrize(
    ("learner", "channels", "message"),
    [
        (learned, CHANNELS[:4], "info has 4 channels, but a pattern has 5 entries, 'x0' to 'x4'"),
        (lambda: learned("veclog"), CHANNELS, "15 entries, 'x0:x0' to 'x4:x4'.*pairs of channels"),
        (lambda: learned("log", hermitian), CHANNELS, "patterns of Hermitian matrices are complex"),
    ],
    ids=["channels", "half vector", "complex"],
)
def test_patterns_without_a_place_on_the_head_get_a_clear_message(learner, channels, message):
    with pytest.raises(ValueError, match=message):
        learner().metric_.patterns().to_mne(mne.create_info(channels, 100.0, "eeg"))


@pytest.mark.parametrize("missing", ["mne.decoding", "mne.viz"])
def test_missing_or_old_mne_gets_a_clear_message(missing, info, monkeypatch):
    load = builtins.__import__

    def without(name, *args, **kwargs):
        if name == missing:
            raise ImportError(f"cannot import {name}")
        return load(name, *args, **kwargs)

    learner = learned()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="needs the package mne"):
        learner.metric_.patterns().to_mne(info) if missing == "mne.decoding" else ImportanceDisplay.from_estimator(
            learner, info=info
        )


def test_patterns_and_importance_are_maps_of_the_head(info):
    learner = learned()
    patterns = PatternsDisplay.from_estimator(learner, n_patterns=2, info=info)
    assert patterns.ax_.shape == (2,) and all(ax.images for ax in patterns.ax_)
    assert patterns.ax_[0].get_title().startswith("pattern 0")
    importance = ImportanceDisplay.from_estimator(learned("veclog"), info=info)
    assert importance.ax_.images and importance.names == CHANNELS


def test_the_example_of_the_head_map_finds_the_motor_cortex(capsys):
    drawn = runpy.run_path(str(EXAMPLE))
    assert "accuracy" in capsys.readouterr().out
    patterns, names = drawn["patterns"].patterns, drawn["info"].ch_names
    largest = {names[int(np.abs(patterns.patterns[i]).argmax())] for i in range(2)}
    assert largest == {"C3", "C4"}
