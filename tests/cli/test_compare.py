"""`covmetric compare`."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier
from covmetric.cli import main
from covmetric.datasets import make_spd_classes
from covmetric.experiments import compare as experiment
from covmetric.experiments import fold_runs
from covmetric.experiments.fold_results import ComparisonTable
from covmetric.experiments.methods import Method, available_methods

FEW = ["log-3nn", "relog-mean", "mdm", "covmetric-3nn"]


@pytest.fixture(scope="module")
def data():
    return make_spd_classes(n_classes=3, n_per_class=12, n=4)


@pytest.fixture
def file(data, tmp_path):
    names = np.array(["a", "long name", "b"])[data.y]
    np.savez(tmp_path / "mine.npz", X=data.X, y=names, groups=np.arange(36) % 6)
    return tmp_path / "mine.npz"


@pytest.fixture
def add_method(monkeypatch):
    """A function that adds a method to `compare`."""

    def add(name, make):
        methods = {**available_methods(), name: Method("peer", make)}
        for module in (experiment, fold_runs):
            monkeypatch.setattr(module, "available_methods", lambda: methods)

    return add


def run(capsys, *arguments):
    code = main(["compare", *map(str, arguments)])
    return code, capsys.readouterr()


def broken(_):
    raise TypeError("no such thing")


def test_table_is_printed_with_picture_and_csv(file, capsys, tmp_path):
    picture, sheet = tmp_path / "a.png", tmp_path / "a.csv"
    code, printed = run(
        capsys, file, "--quick", "--methods", ",".join(FEW), "--out", picture, "--csv", sheet, "--repeats", 2
    )
    assert code == 0 and printed.err == ""  # no terminal, no progress
    assert "36 matrices, 4 x 4, 3 classes (matrices)." in printed.out
    assert "3 folds that keep 6 groups together, drawn 2 times" in printed.out and "; 2 candidates" in printed.out
    lines = printed.out.splitlines()
    header = next(i for i, line in enumerate(lines) if line.split()[:2] == ["kind", "method"])
    assert [line.split()[1] for line in lines[header + 1 :]] == FEW
    assert picture.read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.DictReader(sheet.read_text().splitlines()))
    assert [row["method"] for row in rows] == FEW and 0 < float(rows[0]["accuracy"]) <= 1
    assert f"{100 * float(rows[0]['accuracy']):.1f} ± {100 * float(rows[0]['standard_error']):.1f}" in printed.out


def test_only_json_is_printed(file, capsys):
    code, printed = run(capsys, file, "--folds", 2, "--methods", ",".join(FEW), "--json", "--seed", 3)
    result = json.loads(printed.out)
    assert code == 0 and printed.err == "" and result["methods"] == FEW
    assert result["data"] == {
        "name": "mine", "path": str(file), "content": "matrices", "n_examples": 36, "classes": ["a", "b", "long name"],
        "class_counts": [12, 12, 12], "n_features": 4, "n_groups": 6, "skipped": [],
    }  # fmt: skip
    assert result["command"].startswith("covmetric compare ") and result["command"].endswith("--json --seed 3")
    assert result["parameters"] == {"folds": 2, "repeats": 1, "seed": 3, "reg": 1e-6}
    assert set(result["versions"]) >= {"python", "covmetric", "numpy"} and result["version"] and result["commit"]
    table = ComparisonTable.from_dict(result)
    assert table.seed == 3 and table.folds == 2 and result["best_fixed"] == table.best_fixed.method
    assert [row["method"] for row in result["summary"]] == FEW


def test_quick_leaves_out_slow_methods(file, capsys, monkeypatch):
    asked = {}

    def remember(*given, **_):
        asked.update(methods=given[3], folds=given[4])
        raise ValueError("enough")

    monkeypatch.setattr(experiment, "compare", remember)
    assert run(capsys, file, "--quick")[0] == 2
    assert asked["folds"] == 3 and "covmetriccv-3nn" in asked["methods"] and "riemann-knn" not in asked["methods"]
    assert not any(name.startswith(("peer:", "distance:")) for name in asked["methods"])
    assert run(capsys, file)[0] == 2
    assert asked == {"methods": None, "folds": 5}


def test_failed_method_does_not_end_the_comparison(file, capsys, add_method, tmp_path):
    add_method("broken", broken)
    arguments = [file, "--folds", 2, "--methods", "broken,log-3nn", "--out", tmp_path / "a.png"]
    code, printed = run(capsys, *arguments)
    assert code == 1 and "peer broken  failed: no such thing" in printed.out and "fixed log-3nn" in printed.out
    code, printed = run(capsys, *arguments, "--json")
    folds = json.loads(printed.out)["rows"][0]["folds"]
    assert [(one["accuracy"], one["failure"]) for one in folds] == [(None, "no such thing")] * 2


def test_no_picture_is_drawn_if_every_method_fails(file, capsys, add_method, tmp_path):
    add_method("broken", broken)
    code, printed = run(capsys, file, "--methods", "broken", "--out", tmp_path / "a.png")
    assert code == 1 and "no picture was drawn, because every method failed" in printed.err
    assert not (tmp_path / "a.png").exists()


def test_ctrl_c_prints_the_completed_folds(file, capsys, add_method):
    calls = []

    def stop(_):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return CovMetricClassifier(CovMetric("log", lam=np.inf))

    add_method("stop", stop)
    code, printed = run(capsys, file, "--methods", "log-3nn,stop", "--folds", 3)
    assert code == 130 and "[2 of 3 folds]" in printed.out and "[1 of 3 folds]" in printed.out
    assert "stopped" in printed.err
    calls[:] = [1]
    code, printed = run(capsys, file, "--methods", "stop,log-3nn")
    assert code == 130 and printed.out == ""  # no fold was completed


@pytest.mark.parametrize(
    ("value", "message"), [(9.0, "bad.npz[7] is not symmetric"), (np.nan, "bad.npz[7][0, 1] is nan")]
)
@pytest.mark.parametrize("options", [[], ["--unseen"]])
def test_bad_matrix_is_named(data, tmp_path, capsys, options, value, message):
    X = data.X.copy()
    X[7, 0, 1] = value
    np.savez(tmp_path / "bad.npz", X=X, y=data.y)
    code, printed = run(capsys, tmp_path / "bad.npz", *options)
    assert code == 2 and message in printed.err and printed.err.count("\n") == 1


def test_errors_are_printed_in_one_line(file, tmp_path, capsys):
    def error(*arguments):
        code, printed = run(capsys, *arguments)
        assert code == 2 and printed.err.count("\n") == 1 and printed.out == ""
        return printed.err

    def saved(**arrays):
        np.savez(tmp_path / "other.npz", **arrays)
        return tmp_path / "other.npz"

    X, y = np.stack([np.eye(3)] * 8), np.arange(8) % 2
    assert "there is no file or folder" in error(tmp_path / "nothing.npz")
    assert "has no array 'y'" in error(saved(X=X))
    assert "all examples have the class" in error(saved(X=X, y=0 * y))
    assert "continuous" in error(saved(X=X, y=y + 0.5 * np.arange(8) / 7))
    assert "there is no method 'magic'; the methods are id-3nn, log-3nn" in error(file, "--methods", "log-3nn,magic")
    assert "methods is empty" in error(file, "--methods", ",")
    assert "--csv: there is no folder" in error(file, "--csv", tmp_path / "no" / "a.csv")
    assert "--out: there is no folder" in error(file, "--out", tmp_path / "no" / "a.png")
