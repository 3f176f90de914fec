"""Reports as text and pages, and dataclass instances as CSV files."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from covmetric import __version__
from covmetric.experiments.provenance import code_version
from covmetric.experiments.reports import Picture, Report, TextTable, report, write_csv
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


def test_report_is_written_as_page_and_pictures(tmp_path):
    drawn = []
    picture = Picture("dots.png", "Dots", lambda: drawn.append(1) or new_figure(2, 2, 1)[0])
    dots = Report(
        "dots",
        "Some dots",
        ["A paragraph.", picture, TextTable(["a"], [["1"]])],
        [],
    )
    assert not drawn
    page = dots.write(tmp_path, "covmetric reproduce dots")
    text = page.read_text()
    assert page == tmp_path / "dots.md" and drawn == [1]
    parts = text.split("\n\n")
    assert parts[0] == "# Some dots"
    assert parts[1].startswith("Made by `covmetric reproduce dots` on 2")
    assert "numpy" in parts[1] and "pyriemann" in parts[1]
    assert parts[2:] == ["A paragraph.", "![Dots](dots.png)", "| a |\n| --- |\n| 1 |\n"]
    assert (tmp_path / "dots.png").read_bytes()[:4] == b"\x89PNG"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dots.md", "dots.png"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("0123456789", f"with covmetric {__version__} at commit 0123456789, Python 3"),
        ("0123456789+changes", f"with covmetric {__version__} at commit 0123456789+changes, Python 3"),
        (f"v{__version__}", f"with covmetric {__version__}, Python 3"),
    ],
)
def test_page_and_pictures_name_the_commit(code, expected, tmp_path, monkeypatch):
    Image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr(report, "code_version", lambda: code)
    dots = Report("dots", "Dots", [Picture("dots.png", "Some dots", lambda: new_figure(2, 2, 1)[0])], [])
    assert expected in dots.write(tmp_path, "covmetric reproduce dots").read_text()
    with Image.open(tmp_path / "dots.png") as picture:
        assert picture.text["Description"] == f"Some dots. Made {expected.partition(', Python')[0]}."


def test_commit_is_that_of_the_sources():
    assert code_version() in (report.software().split()[-1], f"v{__version__}")


def test_csv_has_one_line_per_record(tmp_path):
    path = write_csv(tmp_path / "a.csv", [Record("a, b", 1.0)])
    assert path.read_bytes() == b'name,value\r\n"a, b",1.0\r\n'
