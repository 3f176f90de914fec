"""The evidence in a folder: what is read, and which folders are refused."""

from __future__ import annotations

import pytest

from covmetric.experiments.claims import ROW_TYPES, judge_claims, make_remarks, read_evidence, row_file
from covmetric.experiments.claims.completeness import REQUIREMENTS, missing_rows
from covmetric.experiments.provenance import code_version
from tests.experiments.claims.planted import make_evidence, make_rows


@pytest.fixture
def folder(tmp_path):
    for name, rows in make_rows().items():
        row_file(tmp_path, name).write(rows)
    return tmp_path


def test_evidence_is_read_as_it_was_written(folder):
    evidence, expected = read_evidence(folder), make_evidence()
    assert judge_claims(evidence) == judge_claims(expected)
    assert make_remarks(evidence) == make_remarks(expected)
    assert evidence.codes == dict.fromkeys(ROW_TYPES, code_version())


def test_rows_of_another_commit_are_read_with_their_commit(folder):
    path = folder / "leml.csv"
    path.write_text(path.read_text().replace(code_version(), "abcdef0123"))
    evidence = read_evidence(folder)
    assert evidence.codes["leml"] == "abcdef0123" and evidence.leml == make_evidence().leml


@pytest.mark.parametrize("name", ROW_TYPES)
def test_missing_file_is_refused_with_the_command_that_makes_it(name, folder):
    (folder / f"{name}.csv").unlink()
    with pytest.raises(ValueError, match=f"lacks the rows of {name}: run `covmetric reproduce {name} --out {folder}`"):
        read_evidence(folder)


def test_file_with_other_columns_is_refused(folder):
    (folder / "brodatz.csv").write_text("protocol,accuracy\nbrodatz 3/1,0.9\n")
    with pytest.raises(ValueError, match="lacks the rows of brodatz"):
        read_evidence(folder)


@pytest.mark.parametrize("name", ROW_TYPES)
def test_file_of_a_stopped_experiment_is_refused(name, folder):
    """The rows of the last split of the last setting are missing."""
    requirement, rows = REQUIREMENTS[name], make_rows()[name]
    last = (requirement.setting(rows[-1]), requirement.split(rows[-1]))
    row_file(folder, name).write(row for row in rows if (requirement.setting(row), requirement.split(row)) != last)
    with pytest.raises(ValueError, match=rf"{name}\.csv is incomplete \(.* lacks 1 of \d repeats\): run `covmetric"):
        read_evidence(folder)


@pytest.mark.parametrize(
    ("name", "unwanted"),
    [
        ("convergence", lambda row: row.order == "rand"),
        ("readings", lambda row: row.reading == "Sobel"),
        ("eth80", lambda row: row.phi == "relog"),
        ("eth80", lambda row: row.variant == "neighbour pairs"),
        ("brodatz", lambda row: row.protocol == "brodatz 2/2"),
        ("eth80-sets", lambda row: row.status == "" and row.lam > 1.0),
    ],
)
def test_missing_settings_are_named(name, unwanted):
    rows = make_rows()[name]
    assert missing_rows(name, rows) == ""
    assert "lacks" in missing_rows(name, [row for row in rows if not unwanted(row)])


def test_every_experiment_has_a_requirement():
    assert REQUIREMENTS.keys() == ROW_TYPES.keys()
