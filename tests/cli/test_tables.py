"""Results as text."""

from __future__ import annotations

import json

from covmetric.cli.tables import print_comparison, print_json, print_report
from covmetric.experiments.fold_results import ComparisonTable, FoldResult, MethodRow
from covmetric.experiments.reports import Picture, Report, TextTable


def test_json_has_no_infinity(capsys):
    print_json({"a": [1.5, float("inf"), -float("inf"), float("nan")], "b": ({"c": None},), "d": True})
    assert json.loads(capsys.readouterr().out) == {
        "a": [1.5, "inf", "-inf", "nan"],
        "b": [{"c": None}],
        "d": True,
    }


def test_report_is_printed_without_pictures(capsys):
    table = TextTable(["a", "b"], [["1", "22"]])
    picture = Picture("a.png", "A picture", lambda: 1 / 0)
    print_report(Report("name", "The title", ["word " * 50, picture, table], []))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "The title" and max(map(len, lines)) <= 100
    assert lines[-2:] == ["a   b", "1  22"]
    assert " ".join(lines).split().count("word") == 50


def test_comparison_shows_accuracies_differences_and_choices(capsys):
    def row(kind, method, accuracies, chosen=()):
        chosen = chosen or [""] * len(accuracies)
        folds = (
            FoldResult(0, i, a, 0.25, 0.5, chosen=c, candidates=4)
            for i, (a, c) in enumerate(zip(accuracies, chosen, strict=True))
        )
        return MethodRow(kind, method, tuple(folds))

    rows = (
        row("fixed", "log", [0.5, 0.7]),
        row("learned", "ours", [0.8, 0.9], ["lam=1", "lam=2"]),
        MethodRow("peer", "broken", (FoldResult(0, 0, failure="a reason"),)),
    )
    print_comparison(ComparisonTable(rows, 20, 3, 2, None, 2, 1, 0, 1e-6), "matrices")
    lines = capsys.readouterr().out.splitlines()
    assert "difference: to log, the best fixed metric on these folds; paired by fold." in lines
    log, ours, broken = (line.split() for line in lines[-3:])
    assert log == ["fixed", "log", "60.0", "±", "10.0", "0.250", "0.500"]
    assert ours[:8] == ["learned", "ours", "85.0", "±", "5.0", "+25.0", "±", "5.0"]
    assert " ".join(ours[8:]) == "0.250 0.500 lam=1 (1), lam=2 (1); 4 candidates"
    assert " ".join(broken) == "peer broken failed: a reason"
