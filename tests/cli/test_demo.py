"""`covmetric demo`."""

from __future__ import annotations

import functools
import json
import re

import pytest

from covmetric.cli import main
from covmetric.experiments.gesture_transfer import gesture_transfer
from covmetric.experiments.gestures import DETERMINISTIC, LEARNERS, PEERS, TUNED, gestures
from covmetric.peers import GMML

KNN = {"rule": "neighbors", "n_neighbors": 3}
FAST = ["--window", "2000", "--seeds", "2", "--jobs", "1"]


@pytest.fixture(scope="module", autouse=True)
def measured_once():
    """Compute the table once for all tests that ask for it, with few candidates, because the tests have to be fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("covmetric.experiments.methods.CS", [1e-3, 1e-1])
        patch.setattr(GMML, "grid", {"t": [0.0, 0.25]})
        patch.setattr("covmetric.experiments.gestures.gestures", functools.cache(gestures))
        cached = functools.cache(gesture_transfer)
        patch.setattr("covmetric.experiments.gesture_transfer.gesture_transfer", cached)
        yield


def test_demo_prints_a_table_and_draws_a_picture(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert main(["demo", *FAST, "--seed", "3", "--out", str(picture)]) == 0
    printed = capsys.readouterr().out
    flat = " ".join(printed.split())
    assert "2 seeds" in printed
    rows = {line[2:30].strip(): line for line in printed.splitlines() if re.search(r"\d\.\d{3}$", line)}
    assert list(rows) == [*DETERMINISTIC, *TUNED, *PEERS, *LEARNERS]
    for method, line in rows.items():
        mean, low, high = re.search(r"(\S+)  (?:(\S+) to (\S+)|\s{12})", line[30:]).groups()
        assert (low is None) == (method in DETERMINISTIC)  # no seed, no range
        assert low is None or float(low) <= float(mean) <= float(high)
    assert [method for method, line in rows.items() if line.startswith("*")] == ["CovMetricClassifier, auto"]
    for method in LEARNERS:
        assert f"- {method} is " in flat
    assert "says nothing about other people" in flat
    assert flat.count("- person mg: ") == flat.count("- person rr: ") == 2
    assert "The run nearest to the mean accuracy (CovMetricClassifier, auto, person " in flat
    for case in ("new session", "new person"):
        assert flat.count(f"{case}: mg ") == flat.count(f"{case}: rr ") == 2
        accuracies = [list(map(float, line.split()[-3:])) for line in printed.splitlines() if line[2:].startswith(case)]
        assert len(accuracies) == 5 and all(0.0 <= value <= 100.0 for row in accuracies for value in row)
        for column in range(3):
            assert accuracies[4][column] == pytest.approx(sum(row[column] for row in accuracies[:4]) / 4, abs=0.06)
    assert f"The picture is in {picture}" in flat
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("columns", [80, 120])
def test_demo_fits_into_the_terminal(columns, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(tmp_path)  # the path of the picture stays in one piece, so it has to be short
    assert main(["demo", *FAST, "--seed", "3", "--out", "demo.png"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    assert max(map(len, lines)) > 70  # text is not broken more than needed


def test_only_json_is_printed(tmp_path, capsys):
    assert main(["demo", *FAST, "--seed", "3", "--out", str(tmp_path / "demo.svg"), "--json"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert printed.err == ""
    assert result["seeds"] == [3, 4]
    assert len(result["rows"]) == 2 * (8 + 6 * 2) and {row["seed"] for row in result["rows"]} == {None, 3, 4}
    assert result["picture"] == str(tmp_path / "demo.svg") and result["seconds"] > 0.0
    assert result["recommended"] == "CovMetricClassifier, auto"
    rows = [row["accuracy"] for row in result["rows"] if row["method"] == result["recommended"]]
    assert len(rows) == 4 and result["learned"] == pytest.approx(sum(rows) / 4)
    fixed = [row for row in result["summary"] if row["kind"] == "fixed metric, 3-NN"]
    assert result["best_fixed"] == max(row["accuracy"] for row in fixed)
    best = max(fixed, key=lambda row: row["accuracy"])["method"]
    difference = result["differences"][result["recommended"]][best]
    assert difference["mean"] == pytest.approx(100 * (result["learned"] - result["best_fixed"]))
    assert [row["case"] for row in result["transfer"]] == ["new session"] * 4 + ["new person"] * 4
    assert set(result["verdicts"]) == set(result["differences"]) == set(LEARNERS)
    assert len(result["choices"]) == 8
    for choice in result["choices"]:
        assert choice["status"] == "SOLVED" and {"phi", "lam"} <= set(choice["chosen"])
        if "rule" in choice["chosen"]:
            assert [rule["rule"] for rule in choice["rule"]["rules"]] == ["svm", "svm", "lda", "neighbors"]
        else:
            assert choice["rule"] == KNN
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


def test_missing_recordings_name_the_packages_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("covmetric.datasets.emg.find_spec", lambda _: None)
    assert main(["demo", "--json", "--out", str(tmp_path / "demo.png")]) == 2
    assert 'pip install "geomstats<3" pandas' in capsys.readouterr().err
