"""The folders of the data sets."""

from __future__ import annotations

import pytest

from covmetric.datasets import load_brodatz, load_eth80, load_eth80_sets, load_series, load_ssvep

LOADERS = [load_brodatz, load_eth80, load_eth80_sets, lambda folder: load_series("X", folder), load_ssvep]


@pytest.mark.parametrize("load", LOADERS)
def test_missing_folders_raise_with_the_expected_content(load, tmp_path, monkeypatch):
    monkeypatch.delenv("COVMETRIC_DATA", raising=False)
    with pytest.raises(
        FileNotFoundError, match="no folder was given, and COVMETRIC_DATA is not set: give the folder that"
    ):
        load(None)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing: it should hold"):
        load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"holds no|there is no file"):
        load(tmp_path)
    monkeypatch.setenv("COVMETRIC_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        load(None)
