"""Estimators in pipelines of MNE, pyRiemann and MOABB, on epochs of shape (trials, channels, times)."""

from __future__ import annotations

import numpy as np
import pytest
from pyriemann.estimation import Covariances
from pyriemann.preprocessing import Whitening
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV


def epochs_in_volts(trials=60, channels=6, times=200, seed=0):
    """Return epochs in volts, as MNE does. One source is stronger in the second class."""
    rng = np.random.default_rng(seed)
    y = np.arange(trials) % 2
    sources = rng.standard_normal((trials, channels, times))
    sources[:, 0] *= (1.0 + y)[:, None]
    mixing = np.eye(channels) + 0.3 * rng.standard_normal((channels, channels))
    return 1e-5 * mixing @ sources, y


PIPELINES = {
    "knn": lambda: make_pipeline(Covariances("oas"), CovMetric(random_state=0), KNeighborsClassifier(3)),
    "logistic": lambda: make_pipeline(Covariances("oas"), CovMetric(random_state=0), LogisticRegression(max_iter=1000)),
    "classifier": lambda: make_pipeline(Covariances("oas"), CovMetricClassifier(rule="mean", random_state=0)),
    "cv": lambda: make_pipeline(Covariances("oas"), CovMetricCV("log", cv=2, random_state=0), KNeighborsClassifier(3)),
    "whitened": lambda: make_pipeline(
        Covariances("scm"), Whitening(dim_red={"n_components": 4}), CovMetricClassifier(random_state=0)
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_classify_epochs(name):
    X, y = epochs_in_volts()
    scores = cross_val_score(PIPELINES[name](), X, y, cv=3)
    assert scores.mean() > 0.8


def test_pipeline_is_cloned_and_tuned():
    X, y = epochs_in_volts()
    grid = {"covariances__estimator": ["scm", "oas"], "covmetric__lam": [1e-1, 1e-3]}
    search = GridSearchCV(clone(PIPELINES["knn"]()), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.8


def test_pipeline_takes_the_data_and_the_channel_names_of_mne_epochs():
    mne = pytest.importorskip("mne")
    X, y = epochs_in_volts()
    names = ["Fz", "C3", "Cz", "C4", "Pz", "Oz"]
    events = np.column_stack([np.arange(len(X)), np.zeros(len(X), int), y + 1])
    with mne.utils.use_log_level("error"):
        epochs = mne.EpochsArray(X, mne.create_info(names, 100.0, "eeg"), events, event_id={"rest": 1, "move": 2})
    pipeline = PIPELINES["classifier"]()
    pipeline.fit(epochs.get_data(copy=False), epochs.events[:, 2])
    assert pipeline.score(epochs.get_data(copy=False), epochs.events[:, 2]) > 0.8
    metric = pipeline[-1].metric_
    patterns = metric.patterns(epochs.ch_names)
    assert patterns.names == names
    # MNE draws an Evoked as topographic maps, one per pattern.
    evoked = mne.EvokedArray(patterns.patterns.T, epochs.info, verbose="error")
    assert evoked.data.shape == (6, 6)


def test_sliding_estimator_of_mne_fits_one_metric_per_window():
    decoding = pytest.importorskip("mne.decoding")
    X, y = epochs_in_volts(trials=40, times=120)
    windows = np.stack([Covariances("oas").transform(part) for part in np.split(X, 3, axis=2)], axis=-1)
    slider = decoding.SlidingEstimator(CovMetricClassifier(random_state=0), scoring="accuracy", verbose="error")
    scores = slider.fit(windows, y).score(windows, y)
    assert scores.shape == (3,) and (scores > 0.7).all()


@pytest.mark.filterwarnings("ignore")  # from MOABB itself
def test_moabb_evaluates_pipelines(tmp_path, monkeypatch):
    pytest.importorskip("moabb")
    import moabb
    from moabb.datasets.fake import FakeDataset
    from moabb.evaluations import WithinSessionEvaluation
    from moabb.paradigms import LeftRightImagery

    monkeypatch.setenv("MNE_DATA", str(tmp_path))
    moabb.set_log_level("error")
    dataset = FakeDataset(["left_hand", "right_hand"], n_subjects=2, n_sessions=2, n_runs=1, paradigm="imagery")
    evaluation = WithinSessionEvaluation(
        paradigm=LeftRightImagery(), datasets=[dataset], overwrite=True, hdf5_path=str(tmp_path)
    )
    results = evaluation.process({"covmetric": PIPELINES["knn"](), "covmetric means": PIPELINES["classifier"]()})
    assert len(results) == 2 * 2 * 2 and results.score.notna().all()
