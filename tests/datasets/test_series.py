"""load_series and load_ssvep, on small files and on the real ones."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.datasets import load_series, load_ssvep


def test_files_with_groups_padding_or_a_split(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 3, 40)), np.arange(6) % 2
    X[2, :, 30:] = 0.0
    np.savez(tmp_path / "mine.npz", X=X, y=y, groups=np.arange(6) // 2)
    data = load_series(tmp_path / "mine.npz")
    assert data.X.shape == (6, 3, 3) and data.train is None and data.groups.tolist() == [0, 0, 1, 1, 2, 2]
    assert [one.shape[1] for one in data.series] == [40, 40, 30, 40, 40, 40]
    np.savez(tmp_path / "split.npz", X_train=X[:4], y_train=y[:4], X_test=X[4:], y_test=y[4:])
    assert load_series("split", tmp_path).train.tolist() == [True] * 4 + [False] * 2
    np.savez(tmp_path / "other.npz", Z=X)
    with pytest.raises(ValueError, match=r"has the arrays \['Z'\]"):
        load_series("other", tmp_path)
    np.savez(tmp_path / "flat.npz", X=X[0], y=y)
    with pytest.raises(ValueError, match=r"must hold X of shape \(l, channels, times\)"):
        load_series("flat", tmp_path)
    np.savez(tmp_path / "pickle.npz", X=np.array([{}, {}], dtype=object), y=y)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_series("pickle", tmp_path)


def test_names_and_paths_find_their_files(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for place, count in (("mine/series", 2), ("other", 7)):
        (tmp_path / place).mkdir(parents=True)
        np.savez(tmp_path / place / "S.npz", X=rng.standard_normal((count, 3, 40)), y=np.arange(count) % 2)
    monkeypatch.setenv("COVMETRIC_DATA", str(tmp_path / "mine"))
    monkeypatch.chdir(tmp_path)
    assert len(load_series("S").X) == 2
    for found in (load_series("other/S"), load_series("other/S.npz"), load_series("S.npz", "other")):
        assert len(found.X) == 7


def test_nan_and_missing_groups_are_refused(tmp_path):
    X = np.random.default_rng(0).standard_normal((4, 2, 30))
    X[0, 0, 20:] = np.nan
    np.savez(tmp_path / "nan.npz", X=X, y=np.arange(4) % 2)
    with pytest.raises(ValueError, match=r"X\[0\]\[0, 20\] is nan"):
        load_series("nan", tmp_path)
    np.savez(tmp_path / "groups.npz", X=np.nan_to_num(X), y=np.arange(4) % 2, groups=np.arange(3))
    with pytest.raises(ValueError, match="has 4 series and 3 groups"):
        load_series("groups", tmp_path)


@pytest.mark.shared
def test_real_series_have_the_expected_shapes(data_folder):
    for name, shape in {"NATOPS": (360, 24, 24), "JapaneseVowels": (640, 12, 12), "ERing": (300, 4, 4)}.items():
        assert load_series(name, data_folder / "series").X.shape == shape
    lengths = {one.shape[1] for one in load_series("JapaneseVowels", data_folder / "series").series}
    assert min(lengths) == 7 and max(lengths) == 29
    trials = load_ssvep(data_folder / "series")
    assert trials.X.shape[1:] == (24, 24) and len(np.unique(trials.groups)) == 27
    assert len(load_ssvep(data_folder / "series", excluded=True).X) == 1024
