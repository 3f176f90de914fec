"""SeriesCovariances, FilterBank and sliding_windows, against pyRiemann, NumPy and SciPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyriemann.estimation import Covariances
from scipy.signal import welch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from covmetric import CovMetricClassifier
from covmetric.descriptors import FilterBank, SeriesCovariances, sliding_windows


def noise(trials=6, channels=4, times=60, seed=0):
    return np.random.default_rng(seed).standard_normal((trials, channels, times))


@pytest.mark.parametrize("estimator", ["oas", "lwf", "scm", "cov"])
def test_covariances_equal_those_of_pyriemann(estimator):
    X = noise()
    np.testing.assert_array_equal(SeriesCovariances(estimator).fit_transform(X), Covariances(estimator).transform(X))


def test_series_of_different_lengths_agree_with_numpy():
    X = [noise(1, 3, times)[0] for times in (20, 35, 50)]
    matrices = SeriesCovariances("cov").fit_transform(X)
    for one, matrix in zip(X, matrices, strict=True):
        np.testing.assert_allclose(matrix, np.cov(one), rtol=1e-12)


def test_results_do_not_depend_on_the_number_of_jobs():
    X = noise(200)
    np.testing.assert_array_equal(SeriesCovariances(n_jobs=2).fit_transform(X), SeriesCovariances().fit_transform(X))


def test_user_functions_as_estimators():
    def diagonal(x):
        return np.diag(x.var(axis=1))

    matrices = SeriesCovariances(diagonal).fit_transform(noise())
    np.testing.assert_allclose(matrices[0], diagonal(noise()[0]))


@pytest.mark.parametrize("as_list", [False, True])
def test_series_with_the_times_first_are_pointed_out(as_list):
    X = noise(5, 9, 4)
    with pytest.warns(UserWarning, match=r"9 channels and 4 times, .* 9 x 9: .* pass X\.transpose\(0, 2, 1\)"):
        descriptor = SeriesCovariances().fit(list(X) if as_list else X)
    assert descriptor.transform(X).shape == (5, 9, 9)  # which may be meant, and needs no second warning


def test_shrinkage_makes_matrices_of_few_samples_definite():
    X = noise(5, 10, 6)
    assert np.linalg.eigvalsh(SeriesCovariances().fit_transform(X)).min() > 1e-3
    assert np.linalg.eigvalsh(SeriesCovariances("scm").fit_transform(X)).min() < 1e-12


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((3, 4)), r"X must have shape \(l, channels, times\).*got \(3, 4\)"),
        ([], "X is empty"),
        ([np.ones((2, 5)), np.ones((3, 5))], r"X\[1\] has 3 channels, but 2 were expected"),
        ([np.ones((2, 5)), np.ones(5)], r"X\[1\] must have shape \(channels, times\), both >= 1; got \(5,\)"),
        ([np.ones((2, 1))], r"X\[0\] has only one sample"),
        ([np.ones((2, 5)), np.full((2, 5), np.nan)], r"X\[1\]\[0, 0\] is nan"),
        (np.full((2, 2, 5), np.inf), r"X\[0, 0, 0\] is inf"),
    ],
)
def test_invalid_series_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        SeriesCovariances().fit(X)


def test_other_channels_and_invalid_estimators_are_refused():
    fitted = SeriesCovariances().fit(noise())
    with pytest.raises(ValueError, match=r"X\[0\] has 3 channels, but 4 were expected"):
        fitted.transform(noise(channels=3))
    with pytest.raises(ValueError, match=r"estimator must be one of .*'oas'.* or a function; got 'median'"):
        SeriesCovariances("median").fit(noise())
    with pytest.raises(ValueError, match=r"estimator must return matrices of shape \(4, 4\); it returned \(4, 60\)"):
        SeriesCovariances(lambda x: x).fit_transform(noise())
    with pytest.raises(ValueError, match=r"X must have shape .*got None"):
        SeriesCovariances().fit(None)
    with pytest.raises(ValueError, match=r"estimator .* returns NaN or infinity for X\[0\], which has 60 samples"):
        SeriesCovariances(lambda x: np.nan * np.cov(x)).transform(noise())


def test_filter_bank_passes_its_bands():
    X = noise(2, 3, 2000)
    bands = [(5.0, 10.0), (20.0, 30.0)]
    Y = FilterBank(bands, sfreq=100.0).fit_transform(X)
    assert Y.shape == (2, 6, 2000)
    for b, (low, high) in enumerate(bands):
        frequencies, power = welch(Y[0, 3 * b], fs=100.0, nperseg=500)
        inside = (frequencies >= low) & (frequencies <= high)
        assert power[inside].sum() > 0.95 * power.sum()
    lists = FilterBank(bands, sfreq=100.0).fit_transform([X[0], X[1, :, :500]])
    assert [one.shape for one in lists] == [(6, 2000), (6, 500)]
    np.testing.assert_array_equal(lists[0], Y[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bands": []}, r"bands must be a list of one or more pairs \(low, high\), got \[\]"),
        ({"bands": (8, 12)}, r"bands must be a list of one or more pairs \(low, high\), got \(8, 12\)"),
        ({"bands": None}, "bands must be a list of one or more"),
        ({"bands": [(5, 10), (20, 60)]}, r"bands\[1\] is \(20, 60\): it must satisfy 0 < low < high < sfreq / 2 = 50"),
        ({"sfreq": -1}, "sfreq must be a positive number, got -1"),
        ({"order": 0}, "order must be an integer >= 1, got 0"),
    ],
)
def test_invalid_bands_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        FilterBank(**{"bands": [(5, 10)], "sfreq": 100, **settings}).fit(noise())


def test_a_filter_bank_that_refuses_its_bands_stays_as_it_was():
    bank = FilterBank([(5, 10)], 100.0).fit(noise())
    before = bank.n_channels_
    with pytest.raises(ValueError, match="sfreq must be"):
        bank.set_params(sfreq=-1).fit(noise()[:, :-1])
    assert bank.n_channels_ == before


def test_series_that_are_too_short_to_filter_are_refused():
    with pytest.raises(ValueError, match=r"X\[0\] has 10 samples; a filter of order 4 needs 28"):
        FilterBank([(5, 10)], 100).fit_transform(noise(times=10))


def test_windows_are_slices_of_the_series():
    X = noise(2, 3, 25)
    found = sliding_windows(X, 10, 5)
    assert found.series.tolist() == [0] * 4 + [1] * 4 and found.start.tolist() == [0, 5, 10, 15] * 2
    for window, i, start in zip(found.X, found.series, found.start, strict=True):
        np.testing.assert_array_equal(window, X[i, :, start : start + 10])
    assert len(sliding_windows(X, 10).X) == 4
    with pytest.raises(ValueError, match=r"series\[0\] has 25 samples, fewer than a window of 26"):
        sliding_windows(X, 26)
    with pytest.raises(ValueError, match="step must be an integer >= 1, got 0"):
        sliding_windows(X, 5, 0)


def test_pipeline_with_a_classifier():
    X, y = noise(40, times=300), np.arange(40) % 2
    X[y == 1, 0] += np.sin(2 * np.pi * 8 * np.arange(300) / 100)
    bank = FilterBank([(7, 9), (20, 30)], 100.0)
    pipeline = make_pipeline(bank, SeriesCovariances(), CovMetricClassifier(random_state=0))
    assert clone(pipeline).fit(X[:30], y[:30]).score(X[30:], y[30:]) > 0.9


def epochs_of(names, types="eeg", bads=()):
    mne = pytest.importorskip("mne")
    info = mne.create_info(list(names), 100.0, types)
    info["bads"] = list(bads)
    return mne.EpochsArray(noise()[:, : len(names)], info, verbose="error")


def test_epochs_are_described_by_their_good_data_channels():
    names, types = ["Fz", "Cz", "EOG", "STI"], ["eeg", "eeg", "eog", "stim"]
    epochs = epochs_of(names, types)
    descriptor = SeriesCovariances().fit(epochs)
    assert descriptor.feature_names_ == ["Fz", "Cz"]
    np.testing.assert_array_equal(descriptor.transform(epochs), SeriesCovariances().fit_transform(noise()[:, :2]))
    assert epochs.ch_names == names, "the epochs are not changed"
    bank = FilterBank([(5, 10), (10, 20)], 100.0)
    np.testing.assert_array_equal(bank.fit_transform(epochs), bank.fit_transform(noise()[:, :2]))
    with pytest.raises(
        ValueError,
        match=r"\(missing: Cz; unknown: none\).*bad channels count as missing; epochs.interpolate_bads repairs",
    ):
        descriptor.transform(epochs_of(names, types, bads=["Cz"]))
    with pytest.raises(ValueError, match=r"2 channels of the epochs are of the types eog, stim, .*set_channel_types"):
        SeriesCovariances().fit(epochs_of(["EOG", "STI"], ["eog", "stim"]))
    with pytest.raises(ValueError, match="X holds no epochs"):
        SeriesCovariances().fit(epochs[:0])


@pytest.fixture
def lazy_epochs(tmp_path):
    """Epochs of a recording, and epochs of a file, none of which is loaded, and their EEG signals."""
    mne = pytest.importorskip("mne")
    info = mne.create_info(["Fz", "Cz", "Pz", "STI"], 100.0, ["eeg"] * 3 + ["stim"])
    info["bads"] = ["Pz"]
    raw = mne.io.RawArray(noise(1, 4, 600)[0], info, verbose="error")
    events = np.column_stack([np.arange(0, 600, 100), np.zeros(6, int), np.ones(6, int)])

    def cut():
        return mne.Epochs(raw, events, tmin=0, tmax=0.49, baseline=None, verbose="error")

    cut().save(tmp_path / "trials-epo.fif", fmt="double", verbose="error")
    read = mne.read_epochs(tmp_path / "trials-epo.fif", preload=False, verbose="error")
    return [cut(), cut().drop_bad(verbose="error"), read], cut().get_data(picks=["Fz", "Cz"])


def test_epochs_that_are_not_loaded_are_described(lazy_epochs):
    every, data = lazy_epochs
    bank = FilterBank([(5, 10), (10, 20)], 100.0)
    for epochs in every:
        assert not epochs.preload
        descriptor = SeriesCovariances()
        np.testing.assert_allclose(descriptor.fit_transform(epochs), SeriesCovariances().fit_transform(data))
        assert descriptor.feature_names_ == ["Fz", "Cz"]
        np.testing.assert_allclose(bank.fit_transform(epochs), bank.fit_transform(data))
        assert not epochs.preload, "the epochs are not changed"


def test_epochs_that_are_all_rejected_are_refused():
    mne = pytest.importorskip("mne")
    raw = mne.io.RawArray(noise(1, 2, 600)[0], mne.create_info(2, 100.0, "eeg"), verbose="error")
    events = np.column_stack([np.arange(0, 600, 100), np.zeros(6, int), np.ones(6, int)])
    epochs = mne.Epochs(raw, events, tmin=0, tmax=0.49, baseline=None, reject={"eeg": 1e-9}, verbose="error")
    with pytest.raises(ValueError, match="X holds no epochs"):
        SeriesCovariances().fit(epochs)


def test_gaze_and_pupils_are_not_described():
    epochs = epochs_of(["arm", "x", "size"], ["emg", "eyegaze", "pupil"])
    assert SeriesCovariances().fit(epochs).feature_names_ == ["arm"]


@pytest.mark.parametrize("kind", ["emg", "misc", "bio"])
def test_epochs_without_data_channels_are_described_by_their_other_signals(kind):
    names = [kind, "b", "EOG", "STI"]  # one name is also that of a type
    descriptor = SeriesCovariances()
    found = descriptor.fit_transform(epochs_of(names, [kind, kind, "eog", "stim"]))
    assert descriptor.feature_names_ == [kind, "b"]
    np.testing.assert_array_equal(found, SeriesCovariances().fit_transform(noise()[:, :2]))
    assert SeriesCovariances().fit(epochs_of(names, [kind, "eeg", "eog", "stim"])).feature_names_ == ["b"]


def test_epochs_whose_data_channels_are_all_bad_are_refused():
    with pytest.raises(ValueError, match="all 2 channels of the epochs of the types eeg are marked as bad: repair"):
        SeriesCovariances().fit(epochs_of(["Fz", "Cz", "EMG"], ["eeg", "eeg", "emg"], bads=["Fz", "Cz"]))


def test_filters_keep_the_names_of_the_channels():
    bank = FilterBank([(5, 10), (10, 20)], 100.0).fit(epochs_of(["Fz", "Cz", "Pz"]))
    again = FilterBank.from_state(bank.get_state())
    assert again.feature_names_ == ["Fz", "Cz", "Pz"]
    with pytest.raises(ValueError, match=r"in another order .* channel 0 is Cz instead of Fz"):
        again.transform(epochs_of(["Cz", "Fz", "Pz"]))


def test_other_objects_than_series_are_refused_with_the_remedy():
    mne = pytest.importorskip("mne")
    raw = mne.io.RawArray(noise()[0], mne.create_info(4, 100.0, "eeg"), verbose="error")
    with pytest.raises(ValueError, match="RawArray, which holds no epochs: cut the recording into trials"):
        SeriesCovariances().fit(raw)
    for path in ("old-epo.fif", Path("old-epo.fif"), ["old-epo.fif"], np.array(["old-epo.fif"])):
        with pytest.raises(ValueError, match=r"holds the path 'old-epo\.fif': read the file first"):
            SeriesCovariances().fit(path)


def test_names_of_channels():
    X = epochs_of(["Fz", "Cz", "Pz", "Oz"])
    descriptor = SeriesCovariances().fit(X)
    assert descriptor.feature_names_ == ["Fz", "Cz", "Pz", "Oz"]
    again = SeriesCovariances.from_state(descriptor.get_state())
    assert again.feature_names_ == descriptor.feature_names_ and again.transform(X).shape == (6, 4, 4)
    for names, message in (
        (("Cz", "Fz", "Pz", "Oz"), r"in another order .* channel 0 is Cz instead of Fz;"),
        (("Fz", "Cz", "Oz", "Pz"), r"in another order .* channel 2 is Oz instead of Pz;"),
        (("Fz", "Cz", "Pz", "A1"), r"\(missing: Oz; unknown: A1\)"),
        (("Fz", "Cz", "Pz"), r"\(missing: Oz; unknown: none\)"),
        (("A1", "A2", "A3", "A4"), r"differ from those of the training data \(missing: Fz, Cz, Pz, Oz; unknown: A1,"),
    ):
        with pytest.raises(ValueError, match=message):
            again.transform(epochs_of(names))
    assert again.transform(noise()).shape == (6, 4, 4)  # arrays have no names
    assert not hasattr(descriptor.fit(noise()), "feature_names_")
    with pytest.raises(ValueError, match="there are 2 names, but 4 channels"):
        descriptor.set_names(["a", "b"])
    with pytest.raises(NotFittedError):
        SeriesCovariances().set_names(["a", "b"])
    with pytest.raises(ValueError, match="feature_names_ of SeriesCovariances must have one name per channel, got 1"):
        SeriesCovariances.from_state({**descriptor.get_state(), "feature_names_": ["Fz"]})
    for names in ("Fz", [1, 2], [None]):
        with pytest.raises(ValueError, match="feature_names_ of SeriesCovariances must be a list of names"):
            SeriesCovariances.from_state({**descriptor.get_state(), "feature_names_": names})
