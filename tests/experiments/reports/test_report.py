"""Reports as text, pages and CSV files."""

from __future__ import annotations

import csv
from dataclasses import dataclass

import pytest

from covmetric.experiments.reports import Picture, Report, TextTable, write_csv
from covmetric.plotting.figures import new_figure


@dataclass(frozen=True)
class Record:
    name: str
    value: float


def test_text_table_is_aligned_to_the_right():
    table = TextTable(["a", "long"], [["1", "2"], ["100", "3"]], title="Title")
    assert table.text() == "Title\n\n  a  long\n  1     2\n100     3"
    assert table.markdown() == "## Title\n\n| a | long |\n| --- | --- |\n| 1 | 2 |\n| 100 | 3 |"


def test_text_table_with_missing_cells_raises():
    with pytest.raises((ValueError, IndexError)):
        TextTable(["a", "b"], [["1"]]).text()


def test_report_is_written_as_page_pictures_and_csv(tmp_path):
    drawn = []
    picture = Picture("dots.png", "Dots", lambda: drawn.append(1) or new_figure(2, 2, 1)[0])
    report = Report(
        "dots",
        "Some dots",
        ["A paragraph.", picture, TextTable(["a"], [["1"]])],
        [Record("x", 0.5), Record("y", 2.0)],
        [],
    )
    assert not drawn
    page = report.write(tmp_path, "covmetric reproduce dots", 12.3)
    text = page.read_text()
    assert page == tmp_path / "dots.md" and drawn == [1]
    parts = text.split("\n\n")
    assert parts[0] == "# Some dots"
    assert parts[1].startswith("Made by `covmetric reproduce dots` on 2") and "in 12 s" in parts[1]
    assert "numpy" in parts[1] and "pyriemann" in parts[1]
    assert parts[2:] == ["A paragraph.", "![Dots](dots.png)", "| a |\n| --- |\n| 1 |\n"]
    assert (tmp_path / "dots.png").read_bytes()[:4] == b"\x89PNG"
    with (tmp_path / "dots.csv").open() as file:
        assert list(csv.DictReader(file)) == [{"name": "x", "value": "0.5"}, {"name": "y", "value": "2.0"}]


def test_csv_has_one_line_per_record(tmp_path):
    path = write_csv(tmp_path / "a.csv", [Record("a, b", 1.0)])
    assert path.read_bytes() == b'name,value\r\n"a, b",1.0\r\n'
