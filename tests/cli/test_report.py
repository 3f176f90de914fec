"""`covmetric report`, and the pages that evaluate, compare and demo write."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, save_model
from covmetric.cli import main
from covmetric.datasets import make_spd_classes
from tests.cli.processes import covmetric

DATA = make_spd_classes(n_classes=2, n_per_class=12, n=3, random_state=0)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A model, and data to evaluate it on."""
    home = tmp_path_factory.mktemp("home")
    np.savez(home / "trials.npz", X=DATA.X, y=DATA.y)
    classifier = CovMetricClassifier(CovMetric("log", random_state=0)).fit(DATA.X, DATA.y)
    save_model(classifier, home / "trials.model")
    return home


def page(path):
    text = path.read_text()
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    return text


def error_of(*arguments, **settings):
    done = covmetric(*arguments, **settings)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_report_of_a_model_in_a_fresh_process(home):
    done = covmetric("report", "trials.model", "-o", "model.html", cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("The report is in model.html (")
    assert "covmetric report trials.model -o model.html" in page(home / "model.html")


def test_pages_of_evaluate_and_compare_and_their_json(home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    for command, *options in (
        ("evaluate", "trials.model", "trials.npz"),
        ("compare", "trials.npz", "--methods", "log-3nn,covmetric-3nn", "--folds", "2"),
    ):
        capsys.readouterr()
        assert main([command, *options, "--json", "--report", "direct.html"]) == 0
        printed = capsys.readouterr().out
        run = json.loads(printed)  # nothing but the result
        (home / "run.json").write_text(printed)
        assert main(["report", "run.json", "-o", "later.html"]) == 0
        for name in ("direct.html", "later.html"):
            text = page(home / name)
            assert f"covmetric {command} " in text and "trials" in text
            assert run["versions"]["numpy"] in text
        capsys.readouterr()
        assert main([command, *options, "--report", "said.html"]) == 0
        assert capsys.readouterr().out.endswith("\nThe page is in said.html.\n") and page(home / "said.html")
        assert all("data-query" in page(home / name) for name in ("direct.html", "later.html"))
        assert "Confusion" in page(home / "later.html") and (home / "later.html").stat().st_size < 500_000


def test_page_of_the_demo(tmp_path, monkeypatch, capsys):
    from covmetric.experiments.gesture_results import GestureTable, LearnedRun, Row

    classifier = CovMetricClassifier(CovMetric("log", random_state=0)).fit(DATA.X[::2], DATA.y[::2])
    kinds = [("fixed metric, 3-NN", "log"), ("pyRiemann", "MDM"), ("covmetric", "CovMetricClassifier, auto")]
    rows = [Row(kind, method, "mg", seed, 0.8 + 0.01 * seed, 1.0, 0.1) for kind, method in kinds for seed in (0, 1)]
    runs = [LearnedRun(row, classifier) for row in rows if row.kind == "covmetric"]
    names = np.array(["fist", "rest"])[DATA.y[1::2]]  # the classifiers of the experiment learn numbers
    table = GestureTable(rows, runs, {"mg": (DATA.X[1::2], names)}, 24, 3)
    monkeypatch.setattr("covmetric.experiments.gestures.gestures", lambda *_, **__: table)
    monkeypatch.setattr("covmetric.cli.demo.as_dict", lambda _: {})
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--json", "--report", "demo.html"]) == 0
    json.loads(capsys.readouterr().out)  # nothing but the result
    text = page(tmp_path / "demo.html")
    assert "Hand gestures" in text and "CovMetricClassifier, auto is" in text and "data-query" in text
    assert "covmetric demo --json --report demo.html" in text
    monkeypatch.setattr("covmetric.experiments.gesture_transfer.gesture_transfer", lambda *_, **__: [])
    monkeypatch.setattr("covmetric.cli.demo.print_gestures", lambda _: None)
    monkeypatch.setattr("covmetric.cli.demo.print_transfer", lambda _: None)
    assert main(["demo", "--report", "said.html"]) == 0
    assert capsys.readouterr().out.endswith("\nThe page is in said.html.\n") and page(tmp_path / "said.html")
    right = int((classifier.predict(DATA.X[1::2]) == DATA.y[1::2]).sum())
    assert f"{right} of 12 windows are on the diagonal" in text and "Predicted class: rest." in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report", "missing.model"), "there is no file missing.model"),
        (("report", "trials.npz"), "trials.npz"),
        (
            ("report", "text.json"),
            "text.json is neither a model file nor a result of evaluate --json or compare --json\n",
        ),
        (("report", "trials.model", "-o", "no/folder/report.html"), "--out: there is no folder no/folder"),
        (("evaluate", "trials.model", "trials.npz", "--report", "no/report.html"), "--report: there is no folder no"),
    ],
)
def test_mistakes_get_one_line(arguments, message, home):
    (home / "text.json").write_text("not JSON")
    assert message in error_of(*arguments, cwd=home)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "trials.model"),
        ("evaluate", "trials.model", "trials.npz", "--report", "page.html"),
        ("compare", "trials.npz", "--report", "page.html"),
        ("search", "trials.model", "trials.npz", "--html", "page.html"),
    ],
)
def test_missing_jinja_is_reported_before_the_work(arguments, home, monkeypatch, capsys):
    from covmetric.report.environment import environment

    monkeypatch.chdir(home)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    environment.cache_clear()
    try:
        assert main(list(arguments)) == 2
    finally:
        environment.cache_clear()
    printed = capsys.readouterr()
    assert "a report needs the package jinja2: pip install jinja2" in printed.err and printed.out == ""
