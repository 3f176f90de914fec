"""`covmetric demo`."""

from __future__ import annotations

import json

import pytest

from covmetric.cli import main


def test_demo_prints_a_table_and_draws_a_picture(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert main(["demo", "--window", "2000", "--out", str(picture)]) == 0
    printed = capsys.readouterr().out
    for word in ("W = I, 3-NN relog", "CovMetricCV", "MDM, riemann", "SOLVED", "every squared distance is between"):
        assert word in printed
    assert "Person mg: cross-validation on the first session chose phi = " in printed
    assert f"The picture is in {picture}" in printed
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_only_json_is_printed(tmp_path, capsys):
    assert main(["demo", "--window", "2000", "--out", str(tmp_path / "demo.svg"), "--json"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert printed.err == ""
    assert len(result["rows"]) == 18 and set(result["people"]) == {"mg", "rr"}
    assert result["picture"] == str(tmp_path / "demo.svg") and result["seconds"] > 0.0
    learned = [row["accuracy"] for row in result["rows"] if row["kind"] == "learned, 3-NN"]
    assert result["learned"] == pytest.approx(sum(learned) / 2)
    for person in result["people"].values():
        assert person["status"] == "SOLVED" and set(person["chosen"]) == {"phi", "pairs", "slack", "lam"}


@pytest.mark.parametrize("wrong", [["--window", "99"], ["--window", "many"], ["--jobs", "0"], ["--seed", "-1"]])
def test_wrong_numbers_are_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        main(["demo", *wrong])
    assert "is not an integer >=" in capsys.readouterr().err


def test_wrong_picture_is_refused_before_any_work(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo.xyz")]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "covmetric demo: --out: " in printed.err


def test_too_long_windows_are_refused(tmp_path, capsys):
    assert main(["demo", "--json", "--window", "100000", "--out", str(tmp_path / "demo.png")]) == 2
    assert "fewer than a window of 100000" in capsys.readouterr().err


def test_missing_recordings_name_the_extra_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("covmetric.datasets.emg.find_spec", lambda _: None)
    assert main(["demo", "--json", "--out", str(tmp_path / "demo.png")]) == 2
    assert 'pip install "covmetric[demo]"' in capsys.readouterr().err
