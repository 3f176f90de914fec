"""Loaders of series and trials, on files made here and on the real ones."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.datasets import load_series, load_ssvep
from covmetric.datasets.npz import LabelledArrays
from covmetric.datasets.series import describe_series
from covmetric.descriptors import SeriesCovariances


@pytest.fixture
def series():
    rng = np.random.default_rng(0)
    return rng.standard_normal((6, 3, 40)), np.arange(6) % 2


def test_padding_is_removed(series, tmp_path):
    X, y = series
    X[2, :, 30:] = 0.0
    X[4, :, 25:] = np.nan
    np.savez(tmp_path / "mine.npz", X=X, y=y, groups=np.arange(6) // 2)
    data = load_series(tmp_path / "mine.npz")
    assert [one.shape[1] for one in data.series] == [40, 40, 30, 40, 25, 40]
    np.testing.assert_array_equal(data.series[2], X[2, :, :30])
    np.testing.assert_array_equal(data.X, SeriesCovariances().fit_transform(data.series))
    assert data.train is None and data.groups.tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_array_equal(data.y, y)


def test_series_of_zeros_are_kept_whole():
    class Shapes:
        def fit_transform(self, series):
            return [one.shape for one in series]

    X = np.ones((2, 3, 10))
    X[1] = 0.0
    assert describe_series(LabelledArrays(X, np.arange(2), None, None), Shapes()).X == [(3, 10)] * 2


def test_training_part_is_marked(series, tmp_path):
    X, y = series
    np.savez(tmp_path / "split.npz", X_train=X[:4], y_train=y[:4], X_test=X[4:], y_test=y[4:])
    assert load_series("split", tmp_path).train.tolist() == [True] * 4 + [False] * 2


def test_descriptor_replaces_the_default(series, tmp_path):
    np.savez(tmp_path / "mine.npz", X=series[0], y=series[1])
    descriptor = SeriesCovariances("scm")
    data = load_series("mine", tmp_path, descriptor)
    np.testing.assert_array_equal(data.X, descriptor.fit_transform(data.series))
    assert not np.allclose(data.X, load_series("mine", tmp_path).X)


def test_wrong_content_raises(series, tmp_path):
    X, y = series
    np.savez(tmp_path / "other.npz", Z=X)
    with pytest.raises(ValueError, match=r"it holds \['Z'\]"):
        load_series("other", tmp_path)
    X[0, 0, 20:] = np.nan
    np.savez(tmp_path / "nan.npz", X=X, y=y)
    with pytest.raises(ValueError, match=r"X\[0\]\[0, 20\] is nan"):
        load_series("nan", tmp_path)


def test_names_are_searched_in_the_folder_and_under_the_variable(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for place, count in (("mine/series", 2), ("other", 7)):
        (tmp_path / place).mkdir(parents=True)
        np.savez(tmp_path / place / "S.npz", X=rng.standard_normal((count, 3, 40)), y=np.arange(count) % 2)
    monkeypatch.setenv("COVMETRIC_DATA", str(tmp_path / "mine"))
    monkeypatch.chdir(tmp_path)
    assert len(load_series("S").X) == 2
    for data in (load_series("other/S"), load_series("other/S.npz"), load_series("S.npz", "other")):
        assert len(data.X) == 7


def test_excluded_recordings_of_ssvep_are_left_out(tmp_path):
    content = {"C": np.stack([np.eye(2)] * 4), "y": np.arange(4), "subject": np.arange(4), "record": np.arange(4)}
    np.savez(tmp_path / "ssvep_exo_cov24.npz", **content, author_excluded=np.array([False, True, False, False]))
    data = load_ssvep(tmp_path)
    assert data.y.tolist() == data.subject.tolist() == data.groups.tolist() == [0, 2, 3] and len(data.X) == 3
    assert load_ssvep(tmp_path, excluded=True).y.tolist() == [0, 1, 2, 3]


@pytest.mark.shared
def test_real_series_have_their_known_shapes(data_folder):
    for name, shape in {"NATOPS": (360, 24, 24), "JapaneseVowels": (640, 12, 12), "ERing": (300, 4, 4)}.items():
        assert load_series(name, data_folder / "series").X.shape == shape
    lengths = {one.shape[1] for one in load_series("JapaneseVowels", data_folder / "series").series}
    assert min(lengths) == 7 and max(lengths) == 29
    trials = load_ssvep(data_folder / "series")
    assert trials.X.shape[1:] == (24, 24) and len(np.unique(trials.groups)) == 27
    assert len(load_ssvep(data_folder / "series", excluded=True).X) == 1024
