"""`covmetric compare --unseen`."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from covmetric.cli import main
from covmetric.datasets import make_spd_classes
from covmetric.experiments import unseen
from covmetric.experiments.unseen_results import UnseenTable


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    data = make_spd_classes(n_classes=6, n_per_class=8, n=3)
    path = tmp_path_factory.mktemp("unseen") / "mine.npz"
    np.savez(path, X=data.X, y=data.y, groups=np.arange(48) % 4)
    return path


def run(capsys, *arguments):
    code = main(["compare", *map(str, arguments)])
    return code, capsys.readouterr()


def test_table_is_printed(file, capsys, tmp_path):
    sheet = tmp_path / "a.csv"
    methods = ["log", "tangent-lda", "covmetriccv-classes"]
    code, printed = run(capsys, file, "--unseen", "--folds", 2, "--methods", ",".join(methods), "--csv", sheet)
    assert code == 0
    assert "48 matrices, 3 x 3, 6 classes (matrices). 4 groups" in printed.out
    assert "2 splits that hold out 2 classes" in printed.out and "mAP to log, the best fixed metric" in printed.out
    lines = printed.out.splitlines()
    header = next(i for i, line in enumerate(lines) if line.split()[:3] == ["kind", "method", "mAP"])
    assert [line.split()[1] for line in lines[header + 1 :]] == methods
    assert "24 candidates" in lines[-1]
    rows = list(csv.DictReader(sheet.read_text().splitlines()))
    assert [row["method"] for row in rows] == methods
    value, error = (float(rows[0][f"mean_average_precision{part}"]) for part in ("", "_error"))
    assert f"{100 * value:.1f} ± {100 * error:.1f}" in lines[header + 1]


def test_json_is_printed(file, capsys):
    code, printed = run(
        capsys, file, "--unseen", "--json", "--methods", "log", "--folds", 2, "--seed", 3, "--test-classes", 3
    )
    result = json.loads(printed.out)
    table = UnseenTable.from_dict(result)
    assert code == 0 and printed.err == "" and (table.seed, table.test_classes, table.splits) == (3, 3, 2)
    assert result["data"]["content"] == "matrices" and result["best_fixed"] == "log"


def test_report_says_that_there_is_no_page(file, capsys, tmp_path):
    printed = run(capsys, file, "--unseen", "--json", "--methods", "log", "--folds", 2)[1].out
    (tmp_path / "run.json").write_text(printed)
    assert main(["report", str(tmp_path / "run.json"), "-o", str(tmp_path / "run.html")]) == 2
    message = "run.json: a comparison on new classes (--unseen) has no page; its table is what compare prints"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("unseen", [["--unseen"], []], ids=["new classes", "known classes"])
def test_table_is_written_although_the_output_is_closed(unseen, file, capsys, monkeypatch, tmp_path):
    def closed(*_):
        raise OSError("the output is closed")

    for name in ("print_unseen", "print_comparison"):
        monkeypatch.setattr(f"covmetric.cli.compare.{name}", closed)
    method = "log" if unseen else "log-3nn"
    code = run(capsys, file, *unseen, "--methods", method, "--folds", 2, "--csv", tmp_path / "a.csv")[0]
    assert code == 2 and method in (tmp_path / "a.csv").read_text()


@pytest.mark.parametrize("unseen", [["--unseen"], []], ids=["new classes", "known classes"])
def test_table_that_cannot_be_written_is_refused_before_any_work(unseen, file, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("covmetric.cli.compare.read_data", lambda *_: pytest.fail("the data were read"))
    code, printed = run(capsys, file, *unseen, "--csv", tmp_path)
    assert code == 2 and f"--csv: {tmp_path} is a folder, give the name of a file" in printed.err


def test_quick_leaves_out_slow_methods(file, capsys, monkeypatch):
    asked = {}

    def remember(*given, **options):
        asked.update(methods=given[3], folds=given[4], test_size=options["test_size"])
        raise ValueError("enough")

    monkeypatch.setattr(unseen, "compare_unseen", remember)
    assert run(capsys, file, "--unseen", "--quick", "--test-classes", 0.5)[0] == 2
    assert asked["folds"] == 3 and asked["test_size"] == 0.5
    assert "covmetriccv-classes" in asked["methods"] and "riemann" not in asked["methods"]
    assert run(capsys, file, "--unseen")[0] == 2
    assert asked == {"methods": None, "folds": 5, "test_size": 0.25}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--test-classes", 2], "--test-classes needs --unseen"),
        (["--unseen", "--out", "a.png"], "--unseen has no --out, --report and --repeats"),
        (["--unseen", "--repeats", 2], "--unseen has no --out, --report and --repeats"),
        (["--unseen", "--methods", "log-3nn"], "there is no method 'log-3nn'; the methods are id, log"),
        (["--unseen", "--test-classes", 5], "holds out 5 of 6 classes"),
        (["--unseen", "--folds", 99], "there are only 15 ways to hold out 2 of 6 classes"),
    ],
)
def test_errors(file, capsys, arguments, message):
    code, printed = run(capsys, file, *arguments)
    assert code == 2 and message in printed.err


def test_failures_are_printed(file, capsys, tmp_path):
    with np.load(file) as arrays:
        few = arrays["y"] < 4
        np.savez(tmp_path / "few.npz", X=arrays["X"][few], y=arrays["y"][few])
    code, printed = run(capsys, tmp_path / "few.npz", "--unseen", "--methods", "log,covmetriccv-classes", "--folds", 2)
    assert code == 0 and "learned covmetriccv-classes failed: cv='classes' needs at least 4 classes" in printed.out
