"""`covmetric reproduce`, on small stand-ins for the paper's data."""

from __future__ import annotations

import csv
import json

import pytest

from covmetric.cli import main
from covmetric.datasets import load_brodatz
from tests.images import write_objects, write_textures


def run(capsys, *arguments):
    code = main(["reproduce", *map(str, arguments)])
    return code, capsys.readouterr()


def read(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def objects(tmp_path):
    pytest.importorskip("PIL.Image")
    (tmp_path / "images").mkdir()
    return write_objects(tmp_path / "images")


def test_convergence_writes_page_pictures_and_csv(tmp_path, capsys):
    code, printed = run(
        capsys, "convergence", "--sizes", 4, 6, "--lambdas", "1e-1", "1e-2", "--seeds", 2, "--out", tmp_path
    )
    assert code == 0 and f"The page is {tmp_path / 'convergence.md'}" in printed.out
    assert printed.out.count(" perm ") == 4 and "`perm` in" in printed.out
    page = (tmp_path / "convergence.md").read_text()
    assert "`covmetric reproduce convergence --seeds 2 --sizes 4 6 --lambdas 0.1 0.01`" in page
    assert page.count("| perm |") == 4
    for x in ("epoch", "projections", "seconds"):
        assert (tmp_path / f"convergence-{x}.png").read_bytes()[:4] == b"\x89PNG" and f"convergence-{x}.png" in page
    points = read(tmp_path / "convergence.csv")
    assert {(p["n"], p["lam"], p["order"], p["seed"]) for p in points} == {
        (n, lam, order, seed)
        for n in ("4", "6")
        for lam in ("0.1", "0.01")
        for order in ("cyclic", "perm", "rand")
        for seed in ("0", "1")
    }


def test_options_of_convergence_reach_the_experiment(tmp_path, capsys, monkeypatch):
    given = {}

    def remember(**settings):
        given.update(settings)
        raise ValueError("enough")

    monkeypatch.setattr("covmetric.experiments.convergence.convergence", remember)
    options = ["--sizes", 3, "--orders", "perm", "rand", "--slack", "l2", "--tol", "1e-3", "--max-epochs", 7]
    assert run(capsys, "convergence", *options, "--out", tmp_path)[0] == 2
    assert given == {
        "seeds": 5, "progress": True, "sizes": [3], "orders": ["perm", "rand"], "slack": "l2", "tol": 1e-3,
        "max_epochs": 7,
    }  # fmt: skip
    given.clear()
    run(capsys, "convergence", "--seeds", 2, "--out", tmp_path)
    assert given == {"seeds": 2, "progress": True}


def test_only_json_is_printed(tmp_path, capsys):
    options = ["--sizes", 4, "--lambdas", "1e-1", "--seeds", 1, "--out", tmp_path, "--json"]
    code, printed = run(capsys, "convergence", *options)
    rows = json.loads(printed.out)
    assert code == 0 and printed.err == ""
    assert [(row["order"], row["unsolved"]) for row in rows] == [("cyclic", 0), ("perm", 0), ("rand", 0)]
    assert (tmp_path / "convergence.md").is_file()


def test_brodatz_has_a_table_per_protocol_and_variant(tmp_path, capsys, monkeypatch):
    pytest.importorskip("PIL.Image")
    from covmetric.experiments.protocols import LOADERS

    few = lambda folder, n_jobs: load_brodatz(folder, patches=8, n_jobs=n_jobs)  # noqa: E731
    monkeypatch.setitem(LOADERS, "brodatz", few)
    (tmp_path / "images").mkdir()
    folder = write_textures(tmp_path / "images")
    assert run(capsys, "brodatz", "--seeds", 1, "--data", folder, "--out", tmp_path)[0] == 0
    page = (tmp_path / "brodatz.md").read_text()
    assert page.count("## brodatz 3/1") == page.count("## brodatz 2/2") == 4
    rows = read(tmp_path / "brodatz.csv")
    assert len(rows) == 2 * 4 * (1 + 3 * 3 + 1)
    assert all(float(row["relative_gap"]) <= 1e-6 for row in rows)
    assert {row["W"] for row in rows} == {"eye", "is", "l2", "re"}
    assert (tmp_path / "brodatz.png").is_file()


def test_eth80_runs_both_protocols(tmp_path, capsys, monkeypatch, objects):
    asked = []

    def remember(protocols, folder, seeds, **_):
        asked.append((protocols, folder, seeds))
        raise ValueError("enough")

    monkeypatch.setattr("covmetric.experiments.recognition.recognition", remember)
    run(capsys, "eth80", "--seeds", 3, "--data", objects, "--out", tmp_path)
    assert asked == [(("eth80 by image", "eth80 by object"), objects, 3)]


def test_eth80_sets_keeps_rows_that_are_ready(tmp_path, capsys, monkeypatch, objects):
    """The CSV file grows with the experiment, so that an interruption does not lose the completed rows."""
    from covmetric.experiments import image_sets as module

    load, real = module.load_eth80_sets, module.image_sets
    monkeypatch.setattr(module, "load_eth80_sets", lambda folder: load(folder, size=(2, 2)))
    assert run(capsys, "eth80-sets", "--seeds", 1, "--data", objects, "--out", tmp_path)[0] == 0
    assert "leave-one-out" in (tmp_path / "eth80-sets.md").read_text()
    assert len(read(tmp_path / "eth80-sets.csv")) == 6
    (tmp_path / "eth80-sets.csv").unlink()

    def interrupted(*arguments, **settings):
        rows = iter(real(*arguments, **settings))
        yield next(rows)
        yield next(rows)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "image_sets", interrupted)
    assert run(capsys, "eth80-sets", "--seeds", 1, "--data", objects, "--out", tmp_path)[0] == 130
    assert len(read(tmp_path / "eth80-sets.csv")) == 2


def test_leml_stays_above_the_optimum(tmp_path, capsys, monkeypatch):
    from covmetric.experiments import rank_one as module

    real = module.rank_one
    monkeypatch.setattr(module, "rank_one", lambda seeds: real(n=6, K=15, seeds=seeds, cycles=60))
    code, printed = run(capsys, "leml", "--seeds", 2, "--out", tmp_path)
    assert code == 0 and "LEML above it" in printed.out
    rows = read(tmp_path / "leml.csv")
    assert all(float(row["excess"]) > 1e-3 for row in rows) and (tmp_path / "leml.png").is_file()


def test_missing_data_names_the_remedy(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("COVMETRIC_DATA", raising=False)
    code, printed = run(capsys, "brodatz", "--out", tmp_path)
    assert code == 2 and "COVMETRIC_DATA is not set" in printed.err


def test_missing_folder_is_refused_before_any_work(tmp_path, capsys):
    code, printed = run(capsys, "convergence", "--out", tmp_path / "no")
    assert code == 2 and "--out: there is no folder" in printed.err


@pytest.mark.parametrize("option", [["--sizes", "3"], ["--max-epochs", "3"], ["--slack", "is"]])
def test_options_of_convergence_are_refused_by_other_experiments(option, tmp_path, capsys):
    code, printed = run(capsys, "leml", *option, "--out", tmp_path)
    assert code == 2 and f"{option[0]} is an option of the experiment convergence only" in printed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convergence", "--seeds", "0"], "'0' is not an integer >= 1"),
        (["convergence", "--lambdas", "-1"], "is not a positive number"),
        (["convergence", "--orders", "magic"], "invalid choice: 'magic'"),
        (["dance"], "invalid choice: 'dance'"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", *arguments])
    assert message in capsys.readouterr().err
