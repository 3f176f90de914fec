"""The comparison of speeds with another commit: it alternates, takes the best times, and fails above the threshold."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

import covmetric
from benchmarks import regression
from benchmarks.regression_cases import CASES

SOURCES = Path(covmetric.__file__).parents[1]
SMALLEST = "Newton, n = 9, m = 9, K = 5000, is"


class Clock:
    """A worker that takes prescribed times."""

    def __init__(self, name, times, log):
        self.name, self.times, self.log = name, iter(times), log

    def seconds(self, case):
        self.log.append(self.name)
        return next(self.times)


def test_best_times_of_codes_that_take_turns_to_be_first():
    log = []
    workers = Clock("base", [3.0, 1.0, 2.0], log), Clock("change", [5.0, 6.0, 4.0], log)
    assert regression.best_times(*workers, "any", 3) == (1.0, 4.0)
    assert log == ["base", "change", "change", "base", "base", "change"]


def test_a_problem_that_one_code_cannot_run_has_no_time():
    workers = Clock("base", [None, None], []), Clock("change", [1.0, 2.0], [])
    assert regression.best_times(*workers, "any", 2) == (None, 1.0)


@pytest.mark.parametrize(
    ("ratios", "code"),
    [({"a": 1.0, "b": 1.29}, 0), ({"a": 1.0, "b": 1.31}, 1), ({"a": 1.0, "b": None}, 0), ({"a": None}, 1)],
    ids=["level", "slower", "new problem", "nothing compared"],
)
def test_exit_code(ratios, code, monkeypatch, tmp_path, capsys):
    @contextmanager
    def checked_out(commit):
        assert commit == "v1"
        yield tmp_path

    monkeypatch.setattr(regression, "checked_out", checked_out)
    monkeypatch.setattr(regression, "compare", lambda *arguments: ratios)
    assert regression.main(["v1"]) == code
    assert "times as long as with v1" in capsys.readouterr().out


def test_two_processes_time_the_same_code(capsys):
    ratios = regression.compare(SOURCES, SOURCES, [SMALLEST], 1)
    assert list(ratios) == [SMALLEST] and ratios[SMALLEST] > 0.0
    assert SMALLEST in capsys.readouterr().out


def test_commit_is_checked_out_and_removed(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "file").write_text("old")
    git("add", ".")
    git("commit", "-qm", "Old")
    (tmp_path / "file").write_text("new")
    monkeypatch.setattr(regression, "ROOT", tmp_path)
    with regression.checked_out("HEAD") as folder:
        assert (folder / "file").read_text() == "old"
    assert not folder.exists()


@pytest.mark.parametrize("case", CASES)
def test_every_problem_runs(case):
    CASES[case]()()
