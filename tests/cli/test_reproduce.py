"""`covmetric reproduce`, on small stand-ins for the paper's data."""

from __future__ import annotations

import csv
import json

import pytest

from covmetric.cli import main, reproduce
from covmetric.cli.reproduce import EXPERIMENTS, Experiment
from covmetric.datasets import load_brodatz
from covmetric.experiments.claims import ROW_TYPES, row_file
from covmetric.experiments.provenance import code_version
from covmetric.experiments.reports import Report
from covmetric.experiments.reports.report import software
from tests.experiments.claims.planted import make_rows
from tests.images import write_objects, write_textures

SMALL = ["--sizes", 4, "--lambdas", "1e-1", "--seeds", 1]


def run(capsys, *arguments):
    code = main(["reproduce", *map(str, arguments)])
    return code, capsys.readouterr()


def read(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def objects(tmp_path):
    pytest.importorskip("PIL.Image")
    (tmp_path / "data" / "eth80").mkdir(parents=True)
    return write_objects(tmp_path / "data" / "eth80")


@pytest.fixture
def calls(monkeypatch):
    """The names of the experiments that ran, which only return an empty report, with the folders of their images."""
    ran = []

    def stand_in(name):
        def experiment(options):
            ran.append((name, options.folders))
            return Report(name, name, [], [])

        return experiment

    for name, experiment in EXPERIMENTS.items():
        stub = Experiment(experiment.summary, stand_in(name), experiment.data_sets, experiment.uses_seeds)
        monkeypatch.setitem(EXPERIMENTS, name, stub)
    return ran


def test_convergence_writes_page_pictures_and_csv(tmp_path, capsys):
    code, printed = run(
        capsys, "convergence", "--sizes", 4, 6, "--lambdas", "1e-1", "1e-2", "--seeds", 2, "--out", tmp_path
    )
    assert code == 0 and f"The page is {tmp_path / 'convergence.md'}" in printed.out
    assert printed.out.count(" perm ") == 4 and "`perm` in" in printed.out
    page = (tmp_path / "convergence.md").read_text()
    assert "`covmetric reproduce convergence --seeds 2 --sizes 4 6 --lambdas 0.1 0.01`" in page
    assert f"with {software()}," in page
    assert page.count("| perm |") == 4
    for x in ("epoch", "projections", "seconds"):
        assert (tmp_path / f"convergence-{x}.png").read_bytes()[:4] == b"\x89PNG" and f"convergence-{x}.png" in page
    points = read(tmp_path / "convergence.csv")
    assert {point["code"] for point in points} == {code_version()}
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
    assert given.pop("file").path == tmp_path / "convergence.csv"
    assert given == {
        "progress": False, "sizes": [3], "orders": ["perm", "rand"], "slack": "l2", "tol": 1e-3, "max_epochs": 7,
    }  # fmt: skip
    given.clear()
    run(capsys, "convergence", "--seeds", 2, "--out", tmp_path)
    assert given.pop("file") and given == {"seeds": 2, "progress": False}


def test_only_json_is_printed(tmp_path, capsys):
    code, printed = run(capsys, "convergence", *SMALL, "--out", tmp_path, "--json")
    rows = json.loads(printed.out)
    assert code == 0 and printed.err == ""
    assert [(row["order"], row["unsolved"]) for row in rows] == [("cyclic", 0), ("perm", 0), ("rand", 0)]
    assert (tmp_path / "convergence.md").is_file()


def test_json_of_several_experiments_is_an_object(tmp_path, capsys, monkeypatch):
    from covmetric.experiments import rank_one as module

    real = module.rank_one
    monkeypatch.setattr(module, "rank_one", lambda seeds, file: real(n=4, K=10, seeds=seeds, cycles=5, file=file))
    code, printed = run(capsys, "leml", "convergence", *SMALL, "--out", tmp_path, "--json")
    summaries = json.loads(printed.out)
    assert code == 0 and list(summaries) == ["convergence", "leml"]
    assert [row["lam"] for row in summaries["leml"]] == [1e-2, 1e-3, 1e-4]


def test_finished_rows_are_not_computed_again(tmp_path, capsys, monkeypatch):
    from covmetric.experiments import convergence as module

    run(capsys, "convergence", *SMALL, "--out", tmp_path)
    rows = (tmp_path / "convergence.csv").read_text()
    (tmp_path / "convergence.md").unlink()
    monkeypatch.setattr(module, "_points", lambda *_: pytest.fail("a run was repeated"))
    assert run(capsys, "convergence", *SMALL, "--out", tmp_path)[0] == 0
    assert (tmp_path / "convergence.csv").read_text() == rows and (tmp_path / "convergence.md").is_file()


def test_stopped_experiment_keeps_its_rows_and_resumes(tmp_path, capsys, monkeypatch):
    from covmetric.experiments import convergence as module

    real, done = module._points, []

    def interrupted(*arguments):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(module, "_points", interrupted)
    assert run(capsys, "convergence", *SMALL, "--out", tmp_path)[0] == 130
    assert {row["order"] for row in read(tmp_path / "convergence.csv")} == {"cyclic", "perm"}
    assert not (tmp_path / "convergence.md").exists()
    done.clear()
    assert run(capsys, "convergence", *SMALL, "--out", tmp_path)[0] == 0
    assert len(done) == 1 and {row["order"] for row in read(tmp_path / "convergence.csv")} == {"cyclic", "perm", "rand"}


def test_projection_is_timed(tmp_path, capsys, monkeypatch):
    from covmetric.experiments import projection as module

    real = module.projection
    monkeypatch.setattr(module, "projection", lambda file: real(sizes=[3, 6], K=4, rounds=2, file=file))
    code, printed = run(capsys, "projection", "--seeds", 3, "--out", tmp_path)
    assert code == 0 and "growth per doubling of n" in printed.out
    assert len(read(tmp_path / "projection.csv")) == 4
    assert "Made by `covmetric reproduce projection` on" in (tmp_path / "projection.md").read_text()


def test_brodatz_has_a_table_per_protocol_and_variant(tmp_path, capsys, monkeypatch):
    pytest.importorskip("PIL.Image")
    from covmetric.experiments.protocols import LOADERS

    few = lambda folder, n_jobs: load_brodatz(folder, patches=8, n_jobs=n_jobs)  # noqa: E731
    monkeypatch.setitem(LOADERS, "brodatz", few)
    (tmp_path / "images").mkdir()
    folder = write_textures(tmp_path / "images")
    assert run(capsys, "brodatz", "--seeds", 1, "--data", folder, "--out", tmp_path)[0] == 0
    page = (tmp_path / "brodatz.md").read_text()
    assert "section 5.2" in page
    assert page.count("## brodatz 3/1") == page.count("## brodatz 2/2") == 4
    rows = read(tmp_path / "brodatz.csv")
    assert len(rows) == 2 * 4 * (1 + 3 * 3 + 1)
    assert all(float(row["relative_gap"]) <= 1e-6 for row in rows)
    assert {row["W"] for row in rows} == {"eye", "is", "l2", "re"}
    assert (tmp_path / "brodatz.png").is_file()


def test_eth80_runs_both_protocols(tmp_path, capsys, monkeypatch, objects):
    asked = []

    def remember(protocols, folder, seeds, variants, file, **_):
        asked.append((protocols, folder, seeds, file.path))
        raise ValueError("enough")

    monkeypatch.setattr("covmetric.experiments.recognition.recognition", remember)
    run(capsys, "eth80", "--seeds", 3, "--data", objects, "--out", tmp_path)
    assert asked == [(["eth80 by image", "eth80 by object"], objects, 3, tmp_path / "eth80.csv")]


def test_eth80_sets_are_written(tmp_path, capsys, monkeypatch, objects):
    from covmetric.experiments import image_sets as module

    load = module.load_eth80_sets
    monkeypatch.setattr(module, "load_eth80_sets", lambda folder: load(folder, size=(2, 2)))
    assert run(capsys, "eth80-sets", "--seeds", 1, "--data", objects, "--out", tmp_path)[0] == 0
    assert "leave-one-out" in (tmp_path / "eth80-sets.md").read_text()
    assert len(read(tmp_path / "eth80-sets.csv")) == 6


def test_readings_get_the_parent_folder(tmp_path, capsys, monkeypatch, objects):
    asked = []

    def remember(folder, **settings):
        asked.append((folder, settings["seeds"], settings["n_jobs"]))
        raise ValueError("enough")

    monkeypatch.setattr("covmetric.experiments.readings.readings", remember)
    (objects.parent / "brodatz").mkdir()
    run(capsys, "readings", "--seeds", 2, "--jobs", 2, "--data", objects.parent, "--out", tmp_path)
    assert asked == [(objects.parent, 2, 2)]


def test_leml_stays_above_the_optimum(tmp_path, capsys, monkeypatch):
    from covmetric.experiments import rank_one as module

    real = module.rank_one
    monkeypatch.setattr(module, "rank_one", lambda seeds, file: real(n=6, K=15, seeds=seeds, cycles=60, file=file))
    code, printed = run(capsys, "leml", "--seeds", 2, "--out", tmp_path)
    assert code == 0 and "LEML above it" in printed.out
    rows = read(tmp_path / "leml.csv")
    assert all(float(row["excess"]) > 1e-3 for row in rows) and (tmp_path / "leml.png").is_file()


def test_claims_are_written_from_the_rows_in_the_folder(tmp_path, capsys):
    for name, rows in make_rows().items():
        row_file(tmp_path, name).write(rows)
    code, printed = run(capsys, "claims", "--out", tmp_path)
    assert code == 0 and "Verdict: **holds**" in printed.out
    page = (tmp_path / "claims.md").read_text()
    assert "Made by `covmetric reproduce claims` on" in page
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert len(claims["claims"]) == page.count("Verdict: **") == 11
    assert claims["evidence"] == dict.fromkeys(ROW_TYPES, code_version())


def test_claims_without_evidence_name_the_commands(tmp_path, capsys):
    code, printed = run(capsys, "claims", "--out", tmp_path)
    assert code == 2 and "run `covmetric reproduce projection convergence leml eth80" in printed.err
    assert not (tmp_path / "claims.md").exists()


def test_all_runs_every_experiment_once_and_the_claims_last(tmp_path, capsys, calls, monkeypatch):
    for name in ("brodatz", "eth80"):
        (tmp_path / "data" / name).mkdir(parents=True)
    monkeypatch.setenv("COVMETRIC_DATA", str(tmp_path / "data"))
    assert run(capsys, "all", "claims", "--out", tmp_path)[0] == 0
    assert [name for name, _ in calls] == list(EXPERIMENTS) and calls[-1][0] == "claims"
    assert set(EXPERIMENTS) == {*ROW_TYPES, "claims"}
    assert calls[0][1] == {name: tmp_path / "data" / name for name in ("eth80", "brodatz")}
    assert all((tmp_path / f"{name}.md").is_file() for name in EXPERIMENTS)


def test_several_experiments_run_in_the_order_of_the_list(tmp_path, capsys, calls):
    assert run(capsys, "claims", "leml", "convergence", "leml", "--out", tmp_path)[0] == 0
    assert [name for name, _ in calls] == ["convergence", "leml", "claims"]


@pytest.mark.parametrize("experiment", ["all", "brodatz", "readings", "eth80-sets"])
def test_missing_data_is_refused_before_any_work_with_the_remedy(experiment, tmp_path, capsys, monkeypatch, calls):
    monkeypatch.delenv("COVMETRIC_DATA", raising=False)
    code, printed = run(capsys, experiment, "--out", tmp_path / "new")
    assert code == 2 and "COVMETRIC_DATA is not set: set it to a folder with the subfolder" in printed.err
    assert "--data" in printed.err and not calls and not (tmp_path / "new").exists()
    (tmp_path / "eth80").mkdir()
    monkeypatch.setenv("COVMETRIC_DATA", str(tmp_path))
    if experiment != "eth80-sets":
        code, printed = run(capsys, experiment, "--out", tmp_path)
        assert code == 2 and f"COVMETRIC_DATA: there is no folder {tmp_path / 'brodatz'}" in printed.err
        assert not calls


@pytest.mark.parametrize("experiments", [["readings"], ["eth80", "brodatz"], ["all"]])
def test_image_folder_is_refused_where_both_data_sets_are_needed(experiments, tmp_path, capsys, calls, objects):
    code, printed = run(capsys, *experiments, "--data", objects, "--out", tmp_path)
    assert code == 2 and f"--data: there is no folder {objects}" in printed.err
    assert "must name a folder with the subfolders" in printed.err and not calls


def test_data_may_be_the_parent_or_the_folder_of_the_images(tmp_path, capsys, calls, objects):
    for folder in (objects, objects.parent):
        assert run(capsys, "eth80", "eth80-sets", "--data", folder, "--out", tmp_path)[0] == 0
    assert [folders for _, folders in calls] == [{"eth80": objects}] * 4


def test_data_that_does_not_exist_is_refused(tmp_path, capsys, calls):
    code, printed = run(capsys, "eth80", "--data", tmp_path / "nowhere", "--out", tmp_path)
    assert code == 2 and f"--data: there is no folder {tmp_path / 'nowhere'}" in printed.err and not calls


def test_missing_folder_is_made_with_its_parents(tmp_path, capsys, calls):
    assert run(capsys, "leml", "--out", tmp_path / "some" / "folder")[0] == 0
    assert (tmp_path / "some" / "folder" / "leml.md").is_file()


def test_file_in_place_of_the_folder_is_refused(tmp_path, capsys, calls):
    (tmp_path / "file").write_text("text")
    code, printed = run(capsys, "leml", "--out", tmp_path / "file")
    assert code == 2 and f"--out: {tmp_path / 'file'} is a file; give a folder" in printed.err and not calls
    assert run(capsys, "leml", "--out", tmp_path / "file" / "folder")[0] == 2


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
        (["leml", "dance"], "invalid choice: 'dance'"),
        ([], "required: EXPERIMENT"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", *arguments])
    assert message in capsys.readouterr().err


def test_help_describes_every_experiment(capsys):
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    for name, experiment in reproduce.EXPERIMENTS.items():
        assert f"{name}: {experiment.summary}" in printed
    assert "section 4.1" not in printed and "section 4.2" not in printed
