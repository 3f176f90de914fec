"""`covmetric demo`."""

from __future__ import annotations

import json

import pytest

from covmetric.cli import main

FAST = ["--window", "2000", "--seeds", "2", "--jobs", "1"]


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    """Two values of C instead of twenty, because the tests have to be fast."""
    monkeypatch.setattr("covmetric.experiments.methods.CS", [1e-3, 1e-1])


def test_demo_prints_a_table_and_draws_a_picture(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert main(["demo", *FAST, "--seed", "3", "--out", str(picture)]) == 0
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    (searched,) = (words for words in lines if words[:3] == ["learned,", "3-NN", "CovMetricCV"])
    mean, low, to, high = searched[5:9]
    assert to == "to" and float(low) <= float(mean) <= float(high)
    assert "2 seeds" in printed
    for words in (["fixed,", "3-NN", "relog"], ["pyRiemann", "MDM"], ["pyRiemann", "FgMDM"]):
        (row,) = (one for one in lines if one[: len(words)] == words)
        assert "to" not in row  # no seed, no range
    for words in ("pyRiemann tangent space + LR ", "pyRiemann tangent space + SVM ", "It does not win against "):
        assert words in printed
    flat = " ".join(printed.split())
    assert "- CovMetricCV is " in flat and "- CovMetricCV, also random pairs is " in flat
    assert flat.count("- person mg: ") == flat.count("- person rr: ") == 2
    assert "The run nearest to the mean accuracy (CovMetricCV, person " in flat
    assert f"The picture is in {picture}" in printed
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_only_json_is_printed(tmp_path, capsys):
    assert main(["demo", *FAST, "--seed", "3", "--out", str(tmp_path / "demo.svg"), "--json"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert printed.err == ""
    assert result["seeds"] == [3, 4]
    assert len(result["rows"]) == 2 * (8 + 4 * 2) and {row["seed"] for row in result["rows"]} == {None, 3, 4}
    assert result["picture"] == str(tmp_path / "demo.svg") and result["seconds"] > 0.0
    rows = [row["accuracy"] for row in result["rows"] if row["method"] == "CovMetricCV"]
    assert len(rows) == 4 and result["learned"] == pytest.approx(sum(rows) / 4)
    fixed = [row for row in result["summary"] if row["kind"] == "fixed, 3-NN"]
    assert result["best_fixed"] == max(row["accuracy"] for row in fixed)
    best = max(fixed, key=lambda row: row["accuracy"])["method"]
    difference = result["differences"]["CovMetricCV"][best]
    assert difference["mean"] == pytest.approx(100 * (result["learned"] - result["best_fixed"]))
    assert set(result["verdicts"]) == set(result["differences"]) == {"CovMetricCV", "CovMetricCV, also random pairs"}
    assert len(result["choices"]) == 8
    for choice in result["choices"]:
        assert choice["status"] == "SOLVED" and {"phi", "lam"} <= set(choice["chosen"])
        assert (choice["certificate"] is None) == (choice["chosen"]["lam"] == "inf")


@pytest.mark.parametrize(
    "wrong", [["--window", "99"], ["--window", "many"], ["--jobs", "0"], ["--seed", "-1"], ["--seeds", "0"]]
)
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
