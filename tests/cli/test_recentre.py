"""`covmetric fit --recentre`: a model in which every session is moved to its own mean."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier, Recentre, load_model
from covmetric.cli import main
from covmetric.datasets import make_spd_classes
from covmetric.descriptors import SeriesCovariances

RNG = np.random.default_rng(0)
DATA = make_spd_classes(n_classes=2, n_per_class=60, n=4, random_state=0)
SESSION = np.array(["Monday", "Tuesday", "Thursday", "Friday"])[np.arange(120) // 2 % 4]
SHIFTS = {day: np.eye(4) + 0.8 * RNG.standard_normal((4, 4)) for day in np.unique(SESSION)}
SHIFT = np.array([SHIFTS[day] for day in SESSION])
X = SHIFT @ DATA.X @ SHIFT.swapaxes(1, 2)  # electrodes that move from day to day
SERIES = np.linalg.cholesky(X) @ RNG.standard_normal((120, 4, 80))
OLD, NEW = SESSION != "Friday", SESSION == "Friday"
FIXED = ("--rule", "mean", "--phi", "log", "--lam", "0.01")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command on the data of this module; return its output."""
    monkeypatch.chdir(tmp_path)
    for name, array in {"matrices": X, "series": SERIES}.items():
        np.savez(f"{name}.npz", X=array[OLD], y=DATA.y[OLD], groups=SESSION[OLD])
        np.savez(f"new-{name}.npz", X=array[NEW], y=DATA.y[NEW])

    def run(*arguments, code=0):
        assert main(list(arguments)) == code
        return capsys.readouterr()

    return run


def in_one_line(text):
    return " ".join(text.split())


def accuracy(run, model, data):
    return json.loads(run("evaluate", model, data, "--json").out)["accuracy"]


@pytest.mark.parametrize("kind", ["matrices", "series"])
@pytest.mark.parametrize("rule", [(), FIXED])
def test_a_new_session_is_classified_better_than_without(run, kind, rule):
    printed = in_one_line(run("fit", f"{kind}.npz", "-o", "model", "--recentre", *rule).out)
    assert "They form 3 sessions, each of which was moved to its own mean, as new sessions will be." in printed
    assert "covmetric compare" not in printed  # it does not recentre
    printed = in_one_line(run("fit", f"{kind}.npz", "-o", "plain.model", *rule).out)
    assert "3 groups, used for folds and pairs only; --recentre moves every session to its own mean." in printed
    new = f"new-{kind}.npz"
    assert accuracy(run, "model", new) > max(0.85, accuracy(run, "plain.model", new) + 0.1)


@pytest.mark.parametrize("descriptors", [[], [SeriesCovariances()]])
def test_the_model_is_the_pipeline_made_in_python(run, descriptors):
    kind, array = ("series", SERIES) if descriptors else ("matrices", X)
    with sklearn.config_context(enable_metadata_routing=True):
        recentre = Recentre("transductive").set_fit_request(groups=True).set_transform_request(groups=True)
        classifier = CovMetricClassifier(CovMetric("log", lam=0.01, random_state=0), rule="mean", random_state=0)
        expected = make_pipeline(*descriptors, recentre, classifier.set_fit_request(groups=True))
        expected.fit(array[OLD], DATA.y[OLD], groups=SESSION[OLD])
        run("fit", f"{kind}.npz", "-o", "model", "--recentre", *FIXED)
        found = load_model("model")
        for groups in (None, SESSION[NEW]):
            params = {} if groups is None else {"groups": groups}
            np.testing.assert_array_equal(
                found.predict_proba(array[NEW], **params), expected.predict_proba(array[NEW], **params)
            )
        np.testing.assert_array_equal(found[-1].metric_.W, expected[-1].metric_.W)
        assert [name for name, _ in found.steps] == [name for name, _ in expected.steps]
        refitted = sklearn.clone(found).fit(array[OLD], DATA.y[OLD], groups=SESSION[OLD])  # the requests are saved
        np.testing.assert_array_equal(refitted.predict_proba(array[NEW]), found.predict_proba(array[NEW]))


def test_every_command_takes_the_model(run):
    run("fit", "series.npz", "-o", "model", "--recentre", *FIXED)
    predicted = json.loads(run("predict", "model", "new-series.npz", "--json").out)["predictions"]
    right = np.mean([one["predicted"] for one in predicted] == DATA.y[NEW].astype(str))
    assert accuracy(run, "model", "new-series.npz") == right
    assert "SeriesCovariances > Recentre > CovMetricClassifier, takes series" in run("info", "model").out
    assert "Recentre" in run("info", "model", "--card").out
    run("report", "model", "-o", "model.html")
    found = run("search", "model", "series.npz", "-k", "1", "--json").out
    near = [one["neighbors"][0]["name"] for one in json.loads(found)["queries"]]
    assert near == [f"series.npz[{i}]" for i in range(90)]
    assert "series.npz[7]" in run("explain", "model", "series.npz[7]").out


@pytest.mark.parametrize("kind", ["matrices", "series"])
def test_every_file_is_a_session(run, kind):
    array = {"matrices": X, "series": SERIES}[kind]
    days = ["Monday", "Thursday", "Tuesday"]
    order = np.concatenate([np.flatnonzero(day == SESSION) for day in days])
    np.savez("joined.npz", X=array[order], y=DATA.y[order], groups=SESSION[order])
    for day in days:
        np.savez(f"{day}.npz", X=array[day == SESSION], y=DATA.y[day == SESSION])
    files = [f"{day}.npz" for day in days]
    printed = in_one_line(run("fit", *files, "-o", "model", "--recentre", *FIXED).out)
    assert f"Learned from 90 {kind} of 2 classes: 0, 1. They form 3 sessions" in printed
    run("fit", "joined.npz", "-o", "joined.model", "--recentre", *FIXED)
    new = f"new-{kind}.npz"
    found, expected = (json.loads(run("predict", one, new, "--json").out) for one in ("model", "joined.model"))
    assert found["predictions"] == expected["predictions"]
    # A later file of the same name is a new session, alone or among others.
    run("predict", "model", *files)
    np.savez("Monday.npz", X=array[NEW], y=DATA.y[NEW])
    again = json.loads(run("predict", "model", "Monday.npz", "Tuesday.npz", "--json").out)["predictions"]
    assert [one["probabilities"] for one in again[:30]] == [one["probabilities"] for one in found["predictions"]]


def test_groups_of_files_stay_beside_files_without_groups(run):
    for name, part in {"a": SESSION == "Monday", "b": SESSION == "Tuesday"}.items():
        np.savez(f"{name}.npz", X=X[part], y=DATA.y[part])
    assert main(["fit", "a.npz", "matrices.npz", "b.npz", "-o", "model", "--recentre", *FIXED]) == 0
    with sklearn.config_context(enable_metadata_routing=True):
        model = load_model("model")
    assert model[0].groups_ == ["Monday", "Thursday", "Tuesday", "a.npz", "b.npz"]
    assert model[-1].references_.names[[0, 30, -1]].tolist() == ["a.npz[0]", "matrices.npz[0]", "b.npz[29]"]


def test_files_that_do_not_belong_together_are_refused(run, tmp_path):
    np.savez("small.npz", X=X[:, :3, :3], y=DATA.y)
    (tmp_path / "labels.csv").write_text("label\n0\n")
    (tmp_path / "folder").mkdir()
    for others, message in {
        ("series.npz",): "series.npz holds series, but matrices.npz holds matrices",
        ("small.npz",): "the examples in small.npz have 3 rows, but those in matrices.npz have 4",
        ("./matrices.npz",): "matrices.npz is given twice",
        ("folder",): "folder is a folder: pass either one folder or several files",
        ("small.npz", "--labels", "labels.csv"): "labels.csv has the labels of one file, but there are 2 files",
        ("nothing.npz",): "there is no file or folder nothing.npz",
    }.items():
        assert message in run("fit", "matrices.npz", *others, "-o", "model", *FIXED, code=2).err
    assert "is read by the command" in run("fit", "matrices.npz", "small.npz", "-o", "small.npz", code=2).err


def test_names_and_numbers_of_groups_may_be_mixed(run):
    np.savez("numbered.npz", X=X[OLD], y=DATA.y[OLD], groups=np.arange(90) // 45)
    files = ("matrices.npz", "numbered.npz")
    assert "They form 5 sessions" in run("fit", *files, "-o", "model", "--recentre").out
    assert accuracy(run, "model", "new-matrices.npz") > 0.85


def test_a_single_session_has_its_folds_made_of_examples(run):
    first = SESSION == "Monday"
    np.savez("monday.npz", X=X[first], y=DATA.y[first], groups=SESSION[first])
    printed = in_one_line(run("fit", "monday.npz", "-o", "model", "--recentre").out)
    assert "They form 1 session, which was moved to its own mean, as new sessions will be." in printed
    with sklearn.config_context(enable_metadata_routing=True):
        assert load_model("model")[0].groups_ == ["Monday"]


def test_singular_matrices_need_regularisation(run):
    A = SERIES[..., :3]
    np.savez("singular.npz", X=A @ A.swapaxes(1, 2), y=DATA.y, groups=SESSION)
    message = run("fit", "singular.npz", "-o", "model", "--recentre", *FIXED, code=2).err
    assert message.endswith("use --reg, for example --reg 1e-6\n")
    run("fit", "singular.npz", "-o", "model", "--recentre", "--reg", "1e-3", *FIXED)
    with sklearn.config_context(enable_metadata_routing=True):
        recentre, classifier = load_model("model")
    assert (recentre.reg, classifier.learner.reg) == (1e-3, 0.0)
    parameters = json.loads(run("info", "model", "--json").out)["parameters"]
    assert (parameters["recentre_reg"], parameters["new_groups"]) == (1e-3, "transductive")
    assert accuracy(run, "model", "singular.npz") > 0.5


def test_sessions_that_cannot_be_recentred_are_refused(run):
    def error(options=(), **arrays):
        np.savez("data.npz", **arrays)
        return run("fit", "data.npz", "-o", "model", "--recentre", *options, code=2).err

    message = error(X=X, y=DATA.y)
    assert "--recentre needs sessions: an array 'groups' in the .npz file" in message
    assert "a column 'group' in the CSV file of --labels" in message
    assert "but the examples are vectors" in error(X=X[:, 0], y=DATA.y, groups=SESSION)
    views = np.char.add(DATA.y.astype(str), SESSION)  # groups within classes
    assert "every group has examples of one class only" in error(X=X, y=DATA.y, groups=views)
    lone = np.where(np.arange(120) == 7, "alone", SESSION)
    assert "group 'alone' has only one example (n_samples = 1), data.npz[7]" in error(X=X, y=DATA.y, groups=lone)


def test_recentring_is_not_proposed_where_it_is_refused(run):
    views = np.char.add(DATA.y.astype(str), SESSION)
    np.savez("views.npz", X=X, y=DATA.y, groups=views)
    np.savez("vectors.npz", X=X[:, 0], y=DATA.y, groups=SESSION)
    for name, count in {"views": 8, "vectors": 4}.items():
        assert f"They form {count} groups.\n" in run("fit", f"{name}.npz", "-o", "model", *FIXED[:2]).out


def test_patches_are_not_recentred(run, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    rows = ["name,label,group"]
    for i in range(8):
        Image.fromarray(RNG.integers(0, 255, (16, 16), dtype=np.uint8)).save(tmp_path / f"{i}.png")
        rows.append(f"{i}.png,{i % 2},{i // 4}")
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    arguments = ("fit", ".", "--labels", "labels.csv", "-o", "model", "--recentre", "--rule", "mean")
    assert "leave out --patches" in run(*arguments, "--patches", "8", code=2).err
    assert "They form 2 sessions" in run(*arguments).out
    assert "They form 2 groups.\n" in run(*arguments[:-3], *arguments[-2:], "--patches", "8").out
