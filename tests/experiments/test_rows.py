"""Rows of an experiment: written run by run, read back, resumed, never mixed with those of other settings."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from covmetric.experiments import rows as rows_module
from covmetric.experiments.provenance import code_version
from covmetric.experiments.rows import RowFile, resume


@dataclass(frozen=True)
class Measurement:
    name: str
    seed: int
    value: float
    solved: bool


def run_of(row: Measurement) -> tuple[str, int]:
    return row.name, row.seed


def measure(run: tuple[str, int]) -> list[Measurement]:
    return [Measurement(*run, value=run[1] + 0.1 * i, solved=bool(i)) for i in range(2)]


class Counter:
    """Computes runs and remembers which ones; stops before the run `broken`."""

    def __init__(self, broken: tuple[str, int] | None = None) -> None:
        self.broken = broken
        self.computed: list[tuple[str, int]] = []

    def __call__(self, runs: Sequence[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], list[Measurement]]]:
        for run in runs:
            if run == self.broken:
                raise KeyboardInterrupt
            self.computed.append(run)
            yield run, measure(run)


RUNS = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


@pytest.fixture
def file(tmp_path: Path) -> RowFile[Measurement]:
    return RowFile(tmp_path / "rows.csv", Measurement)


def test_file_returns_the_rows_that_were_written(file):
    rows = [Measurement("a,b", 3, math.inf, True), Measurement('"', -1, 1e-300, False), Measurement("", 0, 0.1, True)]
    file.write(rows)
    assert file.read() == rows
    with file.path.open() as lines:
        assert next(csv.reader(lines)) == ["name", "seed", "value", "solved", "code"]
    assert [path.name for path in file.path.parent.iterdir()] == ["rows.csv"]


def test_file_names_the_versions_of_the_code(file):
    assert file.codes() == []
    file.write(measure(("a", 0)) + measure(("a", 1)))
    assert file.codes() == [code_version()]
    text = file.path.read_text()
    file.path.write_text(text.replace(code_version(), "0123456789", 1))
    assert file.codes() == sorted(["0123456789", code_version()])
    file.path.write_text("name,seed\na,1\n")
    assert file.codes() == []


def test_interrupted_experiment_keeps_whole_runs_and_resumes(file):
    with pytest.raises(KeyboardInterrupt):
        resume(file, RUNS, run_of, Counter(broken=("b", 0)))
    assert file.read() == measure(("a", 0)) + measure(("a", 1))
    counter = Counter()
    assert resume(file, RUNS, run_of, counter) == [row for run in RUNS for row in measure(run)]
    assert counter.computed == RUNS[2:]
    assert file.read() == [row for run in RUNS for row in measure(run)]


def test_rows_are_in_the_order_of_the_runs_even_if_they_finish_in_another(file):
    counter = Counter()
    rows = resume(file, RUNS, run_of, lambda runs: counter(runs[::-1]))
    assert rows == file.read() == [row for run in RUNS for row in measure(run)]


def test_rows_of_other_settings_are_set_aside(file):
    resume(file, RUNS, run_of, Counter())
    counter = Counter()
    with pytest.warns(UserWarning, match=r"rows\.csv holds rows of other settings .* renamed rows\.old\.csv"):
        rows = resume(file, RUNS[:3], run_of, counter)
    assert rows == file.read() == [row for run in RUNS[:3] for row in measure(run)]
    assert counter.computed == []
    assert len(RowFile(file.path.with_name("rows.old.csv"), Measurement).read()) == 8


def test_rows_of_another_version_of_the_code_are_not_used(file, monkeypatch):
    resume(file, RUNS, run_of, Counter())
    monkeypatch.setattr(rows_module, "code_version", lambda: "another")
    assert file.read() == []
    assert len(file.read(any_code=True)) == 8
    counter = Counter()
    with pytest.warns(UserWarning, match=r"another version"):
        resume(file, RUNS, run_of, counter)
    assert counter.computed == RUNS
    assert len(file.read()) == 8


def test_file_with_other_columns_is_not_used(file):
    file.path.write_text("name,seed\na,1\n")
    assert file.read() == []
    with pytest.warns(UserWarning, match=r"renamed rows\.old\.csv"):
        resume(file, RUNS, run_of, Counter())
    assert file.path.with_name("rows.old.csv").read_text() == "name,seed\na,1\n"


def test_value_that_cannot_be_read_names_the_file(file):
    file.write(measure(("a", 0)))
    file.path.write_text(file.path.read_text().replace("True", "perhaps"))
    with pytest.raises(ValueError, match=r"rows\.csv holds a value that cannot be read \('perhaps'\): remove the file"):
        file.read()


def test_without_a_file_everything_is_computed_and_nothing_is_written(tmp_path):
    assert len(resume(None, RUNS, run_of, Counter())) == 8
    assert list(tmp_path.iterdir()) == []
