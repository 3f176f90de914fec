"""fit, evaluate, predict, search, explain and info, each in a fresh process, on valid and on broken input."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covmetric import CovMetric, CovMetricClassifier, CovMetricPairs, Recentre, load_model, save_model
from covmetric.cli import COMMANDS, main
from covmetric.datasets import make_spd_classes, make_textures
from covmetric.descriptors import SeriesCovariances
from tests.cli.processes import COMMAND, ENVIRONMENT, OnTerminal, covmetric

Image = pytest.importorskip("PIL.Image")
NAMES = ("bark", "sand", "wood")


def write_images(folder, count, size=40, start=0):
    """Write images of three textures, one folder per class."""
    data = make_textures(n_classes=3, n_per_class=start + count, size=size)
    for c, name in enumerate(NAMES):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i, image in enumerate(data.images[data.y == c][start:]):
            Image.fromarray(image.astype(np.uint8)).save(folder / name / f"{start + i}.png")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Training images, new images, and a model that the command fitted."""
    home = tmp_path_factory.mktemp("home")
    write_images(home / "train", 6)
    write_images(home / "new", 2, start=6)
    done = covmetric("fit", "train", "-o", "textures.model", cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    (home / "fit.txt").write_text(done.stdout)
    return home


@pytest.fixture
def run(home, capsys, monkeypatch):
    """Run the command in this process, which is faster once everything is imported; return its output."""
    monkeypatch.chdir(home)

    def run(*arguments, code=0):
        assert main([str(one) for one in arguments]) == code
        return capsys.readouterr()

    return run


def error_of(*arguments, code=2, **settings):
    """Return the message of a command that fails, which is one line without a traceback."""
    done = covmetric(*arguments, **settings)
    assert done.returncode == code, done.stderr
    assert done.stdout == "" and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"covmetric {arguments[0]}: ")
    return done.stderr


def test_fit_says_what_it_learned(home):
    printed = " ".join((home / "fit.txt").read_text().split())
    assert "Learned from 18 images of 3 classes: bark, sand, wood." in printed
    assert re.search(r"phi (relog|tangent-pca), lambda \S+, rule 0\.\d\d svm", printed)
    found = re.search(
        r"Accuracy of images, outside the training folds, .*: (\S+)( ± \S+)? percent \((\d+) of 18", printed
    )
    assert float(found[1]) == pytest.approx(100 * int(found[3]) / 18, abs=0.05)
    assert "The accuracy is slightly optimistic, because phi and lambda were chosen on the same folds. " in printed
    assert "The model is in textures.model." in printed
    assert "Certificate: objective" in printed or "The metric is fixed" in printed
    model = load_model(home / "textures.model")
    assert model[-1].rule == "auto" and model[0].features == "grey"
    references = model[-1].references_
    assert references.names[0] == "train/bark/0.png" and references.thumbnails[0].shape == (40, 40, 3)


def test_evaluate_prints_a_run_in_pure_json(home):
    done = covmetric("evaluate", "textures.model", "new", "--json", cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["command"] == "covmetric evaluate textures.model new --json"
    assert result["data"]["n_examples"] == 6 and result["data"]["class_counts"] == [2, 2, 2]
    matrix = np.array(result["confusion"]["matrix"])
    assert result["confusion"]["classes"] == list(NAMES) and matrix.sum() == 6
    assert result["accuracy"] == np.trace(matrix) / 6 >= 0.5
    assert [one["name"] for one in result["predictions"]][:2] == ["new/bark/6.png", "new/bark/7.png"]
    assert result["model"]["kind"] == "images" and result["model"]["features"] == [
        "I",
        "|Ix|",
        "|Iy|",
        "|Ixx|",
        "|Iyy|",
    ]
    documented = set()
    page = (Path(__file__).parents[2] / "docs" / "guide" / "cli.md").read_text().partition("## JSON")[2]
    for entries, where in re.findall(r"^\| (`[^|]*?) \|.*\| (both|`evaluate`|`compare`) \|$", page, flags=re.MULTILINE):
        documented |= set(re.findall(r"`(\w+)`", entries)) if where != "`compare`" else set()
    assert set(result) == documented


def test_evaluate_says_how_many_examples_have_the_names_of_training_examples(run, home, tmp_path):
    sentence = "an accuracy on training examples says nothing about new ones."
    page = tmp_path / "page.html"
    printed = " ".join(run("evaluate", "textures.model", "train", "--report", page).out.split())
    assert f"All 18 examples have the names of training examples: {sentence}" in printed
    assert f"All 18 examples have the names of training examples: {sentence}" in page.read_text()
    assert sentence not in " ".join(run("evaluate", "textures.model", "new").out.split())
    table = tmp_path / "labels.csv"
    table.write_text("name,label\ntrain/sand/0.png,sand\nnew/sand/6.png,sand\nnew/bark/7.png,bark\n")
    run("fit", ".", "--labels", table, "-o", "some.model", "--rule", "mean", "--lam", "inf")
    table.write_text("name,label\ntrain/sand/0.png,sand\nnew/wood/6.png,wood\nnew/bark/6.png,bark\n")
    printed = run("evaluate", "some.model", ".", "--labels", table)
    said = f"1 of the 3 examples has the name of a training example: {sentence}"
    assert said in " ".join(printed.out.split())
    result = json.loads(run("evaluate", "some.model", ".", "--labels", table, "--json").out)
    assert result["n_training_names"] == 1


def test_evaluate_prints_classes_and_errors(run):
    printed = run("evaluate", "textures.model", "new").out
    assert re.search(r"\d of 6 are right: [\d.]+ percent \(95 percent\s+interval", printed)
    assert "bark " in printed and "recall" in printed
    shutil.copytree("new/bark", "wrong/granite", dirs_exist_ok=True)
    printed = run("evaluate", "textures.model", "wrong")
    assert "0 of 2 are right: 0.0 percent" in printed.out and "  wrong/granite/6.png  granite  " in printed.out
    warning = (
        "warning: the model does not know 'granite', only 'bark', 'sand', 'wood': the 2 examples of unknown classes "
        "always count as errors\n"
    )
    assert printed.err == warning
    shutil.copytree("new/sand", "wrong/sand")
    printed = run("evaluate", "textures.model", "wrong", "--json")
    assert json.loads(printed.out)["data"]["n_examples"] == 4 and printed.err == warning
    assert run("evaluate", "textures.model", "new").err == ""


def test_predict_prints_text_csv_and_json(run, home):
    done = covmetric("predict", "textures.model", "new/sand/6.png", "new/wood", "--json", cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    predictions = json.loads(done.stdout)["predictions"]
    assert [one["name"] for one in predictions] == ["new/sand/6.png", "new/wood/6.png", "new/wood/7.png"]
    for one in predictions:
        assert one["probability"] == one["probabilities"][one["predicted"]] == max(one["probabilities"].values())
    rows = list(
        csv.DictReader(io.StringIO(run("predict", "textures.model", "new/sand/6.png", "new/wood", "--csv").out))
    )
    assert [row["predicted"] for row in rows] == [one["predicted"] for one in predictions]
    assert [float(row["wood"]) for row in rows] == [one["probabilities"]["wood"] for one in predictions]
    lines = run("predict", "textures.model", "new/sand/6.png", "new/wood").out.splitlines()
    assert [line.split()[:2] for line in lines] == [[one["name"], one["predicted"]] for one in predictions]


def test_probabilities_are_aligned(run, home):
    data = make_spd_classes(n_classes=2, n_per_class=6, n=3, random_state=0)
    labels = np.array(["a", "sandstone"])[data.y]
    save_model(CovMetricClassifier(CovMetric("log", lam=np.inf), rule="mean").fit(data.X, labels), "widths.model")
    np.savez("widths.npz", X=data.X)
    lines = run("predict", "widths.model", "widths.npz").out.splitlines()
    assert {line.split()[1] for line in lines} == {"a", "sandstone"} and len({len(line) for line in lines}) == 1


def test_search_names_the_nearest_examples(run, home):
    found = json.loads(run("search", "textures.model", "train/sand/2.png", "-k", "4", "--json").out)
    (query,) = found["queries"]
    assert query["query"] == "train/sand/2.png" and len(query["neighbors"]) == 4
    first, *_, last = query["neighbors"]
    assert first["name"] == query["query"] and first["distance"] < 1e-6 and first["distance"] < last["distance"]
    printed = run("search", "textures.model", "new/sand/6.png", "--html", "page.html").out
    assert len(re.findall(r"^ +\d+\.\d{4}  (?:bark|sand|wood)  train/\w+/\d\.png$", printed, flags=re.MULTILINE)) == 5
    page = (home / "page.html").read_text()
    assert "The page is in page.html." in printed and page.count("data:image/jpeg") > 5
    assert all(address.startswith(("data:", "#")) for address in re.findall(r'(?:src|href)="([^"]*)', page))
    assert "://" not in page


def test_explain_names_what_decided(run):
    printed = run("explain", "textures.model", "new/sand/6.png").out
    assert "new/sand/6.png" in printed and "what separates the example from" in printed and "|Ix|" in printed
    found = json.loads(run("explain", "textures.model", "new/sand/6.png", "--json", "-k", "2").out)
    assert found["query"] == "new/sand/6.png" and found["label"] == found["decision"]["label"]
    assert len(found["decision"]["neighbors"]) == 2 and found["region"] is None


def test_info_and_card_describe_the_model(run):
    facts = json.loads(run("info", "textures.model", "--json").out)
    assert facts["class_counts"] == {"bark": 6, "sand": 6, "wood": 6} and facts["kind"] == "images"
    printed = run("info", "textures.model").out
    assert "ImageCovariances > CovMetricClassifier, takes images" in printed and "certificate: " in printed
    card = run("info", "textures.model", "--card").out
    for heading in (
        "# Model card: textures",
        "## Use",
        "## Training data",
        "## Accuracy",
        "## Certificate",
        "## Settings",
    ):
        assert f"{heading}\n" in card
    assert "| sand | 6 |" in card and ("proves nothing about the accuracy" in card or "The metric is fixed" in card)


def test_settings_are_printed_in_words_that_the_guide_has(run):
    printed = run("info", "textures.model").out
    assert "\nrule: auto\n" in printed and "\nrules: " in printed and "\nprior: identity\n" in printed
    assert "\nslack: is (Itakura-Saito divergence)\n" in printed and "blend" not in printed
    assert "\nC: " not in printed  # of the single rule that scored the search
    run("report", "textures.model", "-o", "words.html")
    page = Path("words.html").read_text(encoding="utf-8")
    assert "is (Itakura-Saito divergence)" in page and "blend" not in page
    assert "run covmetric evaluate." in page  # without backticks, which a page would show


def test_models_of_pairs_are_described_as_such(run, home):
    data = make_spd_classes(n_classes=2, n_per_class=8, n=3, random_state=0)
    pairs = np.array([(i, j) for i in range(16) for j in range(i)])
    same = np.where(data.y[pairs[:, 0]] == data.y[pairs[:, 1]], 1, -1)
    learner = CovMetricPairs("log", preprocessor=data.X).fit(pairs, same)
    save_model(learner, home / "pairs.model")
    printed = " ".join(run("info", "pairs.model").out.split())  # lines are wrapped
    assert "takes pairs of matrices" in printed and f"at most {learner.threshold_:.6g}, the threshold" in printed
    assert "references" not in printed and "rule" not in printed
    assert json.loads(run("info", "pairs.model", "--json").out)["threshold"] == learner.threshold_
    card = " ".join(run("info", "pairs.model", "--card").out.split())
    assert "covmetric evaluate" not in card and "the threshold" in card and "score(pairs, y)" in card
    run("report", "pairs.model", "-o", "pairs.html")
    page = Path("pairs.html").read_text(encoding="utf-8")
    assert "covmetric evaluate" not in page and "the threshold" in page and "call score(pairs, y) of" in page
    np.savez("matrices.npz", X=data.X, y=data.y)
    np.savez("pairs.npz", pairs=pairs, y=same)  # the kind of model matters more than what the file lacks
    for command in ("predict", "evaluate"):
        for data_file in ("matrices.npz", "pairs.npz"):
            assert "in Python, with predict(pairs)" in run(command, "pairs.model", data_file, code=2).err


def test_patches_describe_several_regions(run, home):
    run("fit", "train", "-o", "patches.model", "--patches", "20", "--rule", "neighbors", "--decision", "nearest-set")
    model = load_model(home / "patches.model")
    assert model.decision == "nearest-set" and len(model.classifier_.references_) == 4 * 18
    found = json.loads(run("search", "patches.model", "train/wood/1.png", "-k", "1", "--json", "--html", "p.html").out)
    assert found["queries"][0]["neighbors"][0]["name"] == "train/wood/1.png"
    assert "wood" in run("predict", "patches.model", "train/wood/1.png").out
    printed = run("explain", "patches.model", "new/wood/6.png").out
    assert "nearest training images" in printed and "[top, left, height, width] = [" in printed
    assert "images" in run("evaluate", "patches.model", "new", "--json").out


@pytest.mark.parametrize(
    ("decision", "note"), [("vote", "means over its regions: they rank the images, but are not"), ("nearest-set", "")]
)
def test_note_on_the_probabilities_of_images_depends_on_the_decision(decision, note, run, home):
    fit = ("fit", "train", "-o", "noted.model", "--patches", "20", "--rule", "mean", "--lam", "inf")
    run(*fit, "--decision", decision)
    assert (note in run("predict", "noted.model", "new").err) and run(
        "predict", "noted.model", "new", "--json"
    ).err == ""
    assert "calibrated" not in run("predict", "noted.model", "new").err or note
    flip_classes(home / "new", home / "flipped")  # so that there are errors
    printed = " ".join(run("evaluate", "noted.model", "flipped").out.split())
    assert note in printed and ("calibrated" in printed) == bool(note)


def flip_classes(folder, flipped):
    """Copy images with the folders of two classes exchanged."""
    for name, other in zip(NAMES, (NAMES[1], NAMES[0], NAMES[2]), strict=True):
        shutil.copytree(folder / name, flipped / other, dirs_exist_ok=True)


@pytest.mark.parametrize(
    ("rule", "note"), [("mean", "class means"), ("neighbors", "votes"), ("svm", "vector machine"), ("logistic", "")]
)
def test_note_on_probabilities_depends_on_the_rule(rule, note, run, home):
    data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    np.savez(home / "noted.npz", X=data.X, y=data.y)
    np.savez(home / "flipped.npz", X=data.X, y=1 - data.y)
    run("fit", "noted.npz", "-o", f"{rule}.model", "--rule", rule, "--phi", "log", "--lam", "inf")
    predicted = run("predict", f"{rule}.model", "noted.npz").err
    evaluated = " ".join(run("evaluate", f"{rule}.model", "flipped.npz").out.split())
    for printed in (predicted, evaluated):
        assert note in printed and ("not calibrated" in printed) == bool(note)


def test_patches_as_large_as_the_images_are_warned_of(run, home):
    arguments = ("fit", "train", "-o", "single.model", "--rule", "mean", "--lam", "inf", "--patches")
    assert "every image has a single patch of 40 x 40 pixels; choose a smaller size" in run(*arguments, "40").err
    assert run(*arguments, "20").err == ""


def test_patches_print_the_accuracy_of_images_and_of_patches(run, home):
    printed = " ".join(run("fit", "train", "-o", "votes.model", "--patches", "20", "--phi", "log").out.split())
    whole = re.search(
        r"Accuracy of images by the vote of their patches, outside .*?: .*?\((\d+) of 18 images\)", printed
    )
    single = re.search(r"Accuracy of single patches: .*? percent \((\d+) of 72 patches\)", printed)
    model = load_model(home / "votes.model")
    assert int(whole[1]) == model.out_of_fold_counts_[:, 0].sum()
    assert int(single[1]) == model.classifier_.out_of_fold_counts_[:, 0].sum()
    facts = json.loads(run("info", "votes.model", "--json").out)
    assert facts["score"] == int(whole[1]) / 18 and facts["patch_score"] == int(single[1]) / 72
    assert " ".join(facts["accuracy"]) in " ".join(run("info", "votes.model", "--card").out.split())


def test_fit_without_folds_says_that_no_accuracy_was_measured(run):
    printed = " ".join(run("fit", "train", "-o", "plain.model", "--rule", "mean", "--lam", "inf").out.split())
    assert (
        "No accuracy was measured while the model was fitted. To measure it: covmetric evaluate plain.model" in printed
    )


def test_vectors_are_taken_by_every_command_that_uses_a_model(run, home):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 5)), np.repeat(["low", "high"], 20)
    X[y == "high", 2] += 3.0
    np.savez(home / "vectors.npz", X=X[::2], y=y[::2], names=[f"row {i}" for i in range(20)])
    np.savez(home / "more.npz", X=X[1::2], y=y[1::2])
    np.save(home / "row.npy", X[1:2])
    (home / "more.csv").write_text("label\n" + "\n".join(y[1::2]) + "\n")
    np.save(home / "more.npy", X[1::2])
    assert "Learned from 20 vectors of 2 classes: high, low." in run("fit", "vectors.npz", "-o", "vectors.model").out
    model = load_model(home / "vectors.model")
    assert model.n_features_in_ == 5 and model.metric_.embedding.takes_vectors
    for data in (["more.npz"], ["more.npy", "--labels", "more.csv"]):
        result = json.loads(run("evaluate", "vectors.model", *data, "--json").out)
        assert result["model"]["kind"] == "vectors"
        assert result["accuracy"] == model.score(X[1::2], y[1::2]) > 0.7
    assert "low" in run("predict", "vectors.model", "row.npy").out
    found = json.loads(run("search", "vectors.model", "row.npy", "-k", "2", "--json").out)
    indices = model.kneighbors(X[1:2], 2, return_distance=False)
    assert [one["name"] for one in found["queries"][0]["neighbors"]] == [f"vectors.npz[row {i}]" for i in indices[0]]
    assert "class low" in run("explain", "vectors.model", "row.npy").out
    assert "takes vectors" in run("info", "vectors.model").out
    run("report", "vectors.model", "-o", "vectors.html")
    assert "entries of a vector" in (home / "vectors.html").read_text()
    broken = X.copy()
    broken[7, 2] = np.nan
    np.savez(home / "broken.npz", X=broken, y=y)
    for command in ("predict", "evaluate", "search"):
        assert "broken.npz[7][2] is nan" in run(command, "vectors.model", "broken.npz", code=2).err
    np.savez(home / "wide.npz", X=X[:, :4], y=y)
    message = run("evaluate", "vectors.model", "wide.npz", code=2).err
    assert "4" in message and "5" in message and "Traceback" not in message
    np.savez(home / "cubes.npz", X=np.ones((4, 3, 3)), y=[0, 1, 0, 1])
    assert "must hold numbers of shape (l, d) for vectors" in run("predict", "vectors.model", "cubes.npz", code=2).err


def test_series_and_matrices(run, home):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    series = rng.standard_normal((30, 3, 40)) * (1 + y[:, None, None])
    np.savez(home / "trials.npz", X=series, y=y, groups=np.arange(30) // 6, names=[f"trial {i}" for i in range(30)])
    run("fit", "trials.npz", "-o", "trials.model", "--rule", "mean", "--phi", "log", "--lam", "inf")
    found = json.loads(run("predict", "trials.model", "trials.npz", "--json").out)["predictions"]
    assert found[3]["name"] == "trials.npz[trial 3]" and {one["predicted"] for one in found} == {"0", "1"}
    printed = run("explain", "trials.model", "trials.npz", "--number", "3")
    assert "trials.npz[trial 3]" in printed.out and "holds 30 examples; --number chooses another" in printed.err
    assert "--number 30" in run("explain", "trials.model", "trials.npz", "--number", "30", code=2).err
    by_name = run("explain", "trials.model", "trials.npz[trial 3]")  # as `predict` and `evaluate` print it
    assert by_name.out == printed.out and by_name.err == "" and " x0" in by_name.out
    message = run("explain", "trials.model", "trials.npz[trial 30]", code=2).err
    assert "no example 'trial 30': its 30 examples are trials.npz[trial 0] to trials.npz[trial 29]" in message
    message = run("explain", "trials.model", "trials.npz[trial 3]", "--number", "3", code=2).err
    assert message.endswith("is the name of an example: leave out --number\n")
    message = run("search", "trials.model", "trials.npz[trial 3]", code=2).err
    assert message.endswith("trials.npz[trial 3] is the name of an example: pass the file, trials.npz\n")
    np.save(home / "X.npy", np.stack([one @ one.T for one in series]))
    (home / "labels.csv").write_text("label\n" + "".join(f"{'ab'[c]}\n" for c in y))
    run("fit", "X.npy", "--labels", "labels.csv", "-o", "X.model", "--rule", "neighbors", "--neighbors", "1")
    result = json.loads(run("evaluate", "X.model", "X.npy", "--labels", "labels.csv", "--json").out)
    assert (
        result["accuracy"] == 1.0 and result["parameters"]["n_neighbors"] == 1 and result["model"]["kind"] == "matrices"
    )
    assert "holds series, but the model takes images" in run("predict", "textures.model", "trials.npz", code=2).err
    assert "holds images, but the model takes series" in run("predict", "trials.model", "new/sand/6.png", code=2).err
    np.save(home / "wide.npy", np.ones((2, 5, 40)))
    assert "5" in run("predict", "trials.model", "wide.npy", code=2).err


@pytest.mark.parametrize("kind", ["matrices", "images"])
def test_example_has_the_same_name_in_every_command(kind, run):
    """An example that the model was trained on is its own nearest neighbour, so that all commands name it."""
    if kind == "images":
        path, name = Path("train"), "train/sand/0.png"
        query, number = path / "sand" / "0.png", ()
    else:
        path, name = Path("trials") / "one.npz", "trials/one.npz[14]"
        path.parent.mkdir(exist_ok=True)
        data = make_spd_classes(n_classes=2, n_per_class=12, n=3, random_state=0)
        np.savez(path, X=data.X, y=data.y)
        query, number = path, ("--number", "14")
    run("fit", path, "-o", "names.model", "--rule", "neighbors", "--neighbors", "1", "--lam", "inf", "--phi", "log")
    for files in ((query,), (path,), (path, path)):
        found = json.loads(run("predict", "names.model", *files, "--json").out)["predictions"]
        assert name in {one["name"] for one in found}
    evaluated = json.loads(run("evaluate", "names.model", path, "--json", "--report", "names.html").out)
    assert name in {one["name"] for one in evaluated["predictions"]}
    assert name in {item for item, _ in evaluated["neighbors"]["items"]}
    assert name in Path("names.html").read_text()
    found = json.loads(run("search", "names.model", query, "-k", "1", "--json").out)["queries"]
    assert name in {one["query"] for one in found}
    assert all(one["query"] == one["neighbors"][0]["name"] for one in found)
    found = json.loads(run("explain", "names.model", query, *number, "--json").out)
    assert found["query"] == found["decision"]["neighbors"][0]["name"] == name
    run("report", "names.model", "-o", "names.html")
    assert name in Path("names.html").read_text()
    found = json.loads(run("compare", path, "--methods", "log-3nn,covmetric-3nn", "--folds", "2", "--json").out)
    assert name in found["neighbors"]["names"].values()


def test_epochs_of_mne(run, home):
    mne = pytest.importorskip("mne")
    data = np.random.default_rng(0).standard_normal((20, 3, 60)) * 1e-5
    events = np.column_stack([np.arange(20), np.zeros(20, int), np.arange(20) % 2])
    data[::2, 0] *= 3.0
    info = mne.create_info(["Fz", "Cz", "Pz"], 100.0, "eeg")
    epochs = mne.EpochsArray(data, info, events, event_id={"rest": 0, "move": 1}, verbose="ERROR")
    epochs.save(home / "trials-epo.fif", verbose="ERROR")
    run("fit", "trials-epo.fif", "-o", "epochs.model", "--rule", "mean")
    assert "20 of 20 are right" in run("evaluate", "epochs.model", "trials-epo.fif").out
    assert json.loads(run("info", "epochs.model", "--json").out)["features"] == ["Fz", "Cz", "Pz"]
    assert "Cz" in run("explain", "epochs.model", "trials-epo.fif").out
    epochs.reorder_channels(["Pz", "Cz", "Fz"]).save(home / "reordered-epo.fif", verbose="ERROR")
    for command in (["evaluate"], ["predict"], ["search"], ["explain"]):
        message = run(*command, "epochs.model", "reordered-epo.fif", code=2).err
        assert "reordered-epo.fif: the channels are in another order than those of the training data" in message
    message = run("predict", "epochs.model", "trials-epo.fif", "reordered-epo.fif", code=2).err
    assert "reordered-epo.fif: the channels are in another order" in message
    np.savez("nameless.npz", X=epochs.get_data())  # arrays have no names
    message = run("predict", "epochs.model", "nameless.npz", "reordered-epo.fif", code=2).err
    assert "reordered-epo.fif: the channels are in another order" in message


def test_model_that_scales_vectors_first(run, home):
    data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    vectors = data.X[:, 0]
    model = make_pipeline("passthrough", StandardScaler(), CovMetricClassifier(CovMetric(random_state=0)))
    save_model(model.fit(vectors, data.y), home / "scaled.model")
    np.savez(home / "vectors.npz", X=vectors, y=data.y)
    assert json.loads(run("info", "scaled.model", "--json").out)["kind"] == "vectors"
    evaluated = json.loads(run("evaluate", "scaled.model", "vectors.npz", "--json").out)
    assert evaluated["accuracy"] == model.score(vectors, data.y)


def test_epochs_with_an_average_reference(run, home):
    """Recentre leaves out the null space that the trials share, so that rows of W no longer are channels."""
    mne = pytest.importorskip("mne", reason="needs MNE")
    rng = np.random.default_rng(0)
    signals = rng.standard_normal((24, 4, 100)) * np.where(np.arange(24) % 2, 3.0, 1.0)[:, None, None]
    info = mne.create_info(["Fz", "Cz", "Pz", "Oz"], 100.0, "eeg")
    epochs = mne.EpochsArray(signals - signals.mean(axis=1, keepdims=True), info, verbose="ERROR")
    y = np.where(np.arange(24) % 2, "loud", "quiet")
    classifier = CovMetricClassifier(CovMetric(random_state=0), rule="mean")
    with pytest.warns(UserWarning, match="projects out 1 of 4 dimensions"):
        model = make_pipeline(SeriesCovariances("scm"), Recentre("transductive"), classifier).fit(epochs, y)
    assert model[1].basis_.shape == (4, 3)
    save_model(model, home / "average.model")
    epochs.save(home / "average-epo.fif", verbose="ERROR")
    assert json.loads(run("info", "average.model", "--json").out)["features"] == ["x0", "x1", "x2"]
    assert "x0" in run("explain", "average.model", "average-epo.fif").out
    run("report", "average.model")


def test_contradicting_names_of_channels_are_refused(run, home):
    """If the model knows no names, the files must agree."""
    mne = pytest.importorskip("mne", reason="needs MNE")
    signals = np.random.default_rng(0).standard_normal((8, 3, 100))
    np.savez("nameless.npz", X=signals, y=np.arange(8) % 2)
    run("fit", "nameless.npz", "-o", "nameless.model", "--kind", "series", "--rule", "mean")
    epochs = mne.EpochsArray(signals, mne.create_info(["Fz", "Cz", "Pz"], 100.0, "eeg"), verbose="ERROR")
    epochs.save(home / "a-epo.fif", verbose="ERROR")
    epochs.reorder_channels(["Pz", "Cz", "Fz"]).save(home / "b-epo.fif", verbose="ERROR")
    run("predict", "nameless.model", "nameless.npz", "a-epo.fif")
    message = run("predict", "nameless.model", "nameless.npz", "a-epo.fif", "b-epo.fif", code=2).err
    assert "the channels in b-epo.fif have other names, or another order, than those in a-epo.fif" in message


def test_files_without_groups_are_sessions_of_their_own(run, home):
    data = make_spd_classes(n_classes=2, n_per_class=12, n=3, random_state=0)
    sessions = np.repeat(["a", "b", "c", "d"], 6)
    order = np.argsort(np.arange(24) % 4, kind="stable")
    shift = np.diag([1.0, 4.0, 0.3])
    X = np.where((sessions == "d")[:, None, None], shift @ data.X[order] @ shift, data.X[order])
    recentre = Recentre("transductive")
    old = np.isin(sessions, ["a", "b"])
    centred = recentre.fit(X[old], groups=sessions[old]).transform(X[old], groups=sessions[old])
    model = make_pipeline(recentre, CovMetricClassifier(CovMetric(random_state=0), rule="mean"))
    model[-1].fit(centred, data.y[order][old])
    save_model(model, home / "sessions.model")
    for session in "cd":
        np.savez(home / f"{session}.npz", X=X[sessions == session])
    alone = [json.loads(run("predict", "sessions.model", f"{one}.npz", "--json").out)["predictions"] for one in "cd"]
    together = json.loads(run("predict", "sessions.model", "c.npz", "d.npz", "--json").out)["predictions"]
    assert together == alone[0] + alone[1]
    # Files of one trial each are one session.
    names = [f"trial{i}.npz" for i in range(6)]
    for name, trial in zip(names, X[sessions == "d"], strict=True):
        np.savez(home / name, X=trial[None])
    trials = json.loads(run("predict", "sessions.model", *names, "--json").out)["predictions"]
    assert [one["probabilities"] for one in trials] == [one["probabilities"] for one in alone[1]]
    message = run("predict", "sessions.model", "c.npz", names[0], code=2).err
    assert f"group 'the file {names[0]}' has only one example (n_samples = 1), {names[0]}[0], which would" in message
    assert "put it into one file with other examples of its session" in message
    # A session of the training data may have the name of a new file.
    for session, renamed in (("c", "a"), ("d", "b")):
        shutil.copy(home / f"{session}.npz", home / renamed)
        (home / renamed).rename(home / f"{renamed}.npz")
    model[0].fit(X[old], groups=[f"{one}.npz" for one in sessions[old]])
    save_model(model, home / "named.model")
    named = json.loads(run("predict", "named.model", "a.npz", "b.npz", "--json").out)["predictions"]
    assert [one["probabilities"] for one in named] == [one["probabilities"] for one in together]
    # A model that was fitted without groups takes no sessions.
    model[0].fit(X[old])
    save_model(model, home / "plain.model")
    alone = [json.loads(run("predict", "plain.model", f"{one}.npz", "--json").out)["predictions"] for one in "cd"]
    together = json.loads(run("predict", "plain.model", "c.npz", "d.npz", "--json").out)["predictions"]
    assert together == alone[0] + alone[1]


def test_results_are_not_written_over_what_is_read(run, home):
    np.savez(home / "own.npz", X=make_spd_classes(n=3).X, y=make_spd_classes(n=3).y)
    shutil.copy(home / "textures.model", home / "own.model")
    before = {name: (home / name).read_bytes() for name in ("own.npz", "own.model", "train/bark/0.png")}
    for arguments in (
        ["fit", "own.npz", "-o", "own.npz"],
        ["fit", "train", "-o", "./own.npz", "--labels", "own.npz"],
        ["report", "own.model", "-o", "own.model"],
        ["evaluate", "own.model", "own.npz", "--report", "own.npz"],
        ["search", "own.model", "new/bark/6.png", "--html", "own.model"],
        ["compare", "own.npz", "--csv", "own.npz"],
        ["fit", "train", "-o", "train/bark/0.png"],
        ["evaluate", "own.model", "train", "--report", "train/bark/0.png"],
    ):
        message = run(*arguments, code=2).err
        assert "is read by the command, give the result another name" in message, arguments
    (home / "link.html").symlink_to("a.html")
    for other in ("a.html", "new/../a.html", "link.html"):
        message = run("compare", "own.npz", "--csv", other, "--report", "a.html", code=2).err
        assert f"--report and --csv would both write {other}" in message
    assert {name: (home / name).read_bytes() for name in before} == before


def test_results_are_not_written_over_images_that_are_found(run, home):
    """Readers follow links, take files without an ending, and files that a table names outside of its folder."""
    photos = home / "photos"
    for label in ("bark", "sand"):
        shutil.copytree(home / "train" / label, home / "real" / label)
    photos.mkdir()
    (photos / "bark").symlink_to(home / "real" / "bark")
    shutil.copytree(home / "real" / "sand", photos / "sand")
    (photos / "sand" / "0.png").rename(photos / "sand" / "scan")
    (photos / "sand" / "9.png").symlink_to(home / "real" / "sand" / "1.png")
    with open(home / "named.csv", "w") as file:
        file.write("name,label\n" + "".join(f"../real/{c}/{i}.png,{c}\n" for c in ("bark", "sand") for i in range(3)))
    (home / "flat").mkdir()
    before = {path: path.read_bytes() for path in sorted((home / "real").rglob("*.png"))}
    for output in ("real/bark/0.png", "photos/sand/scan", "real/sand/1.png"):
        message = run("fit", "photos", "-o", output, code=2).err
        assert f"--out: {output} is read by the command" in message
    message = run("fit", "flat", "--labels", "named.csv", "-o", "real/sand/2.png", code=2).err
    assert "is read by the command" in message
    assert {path: path.read_bytes() for path in before} == before
    shutil.rmtree(photos), shutil.rmtree(home / "real"), shutil.rmtree(home / "flat")


def test_warnings_about_pairs_reach_the_user(run, home):
    data = make_spd_classes(n_classes=2, n_per_class=8, n=3, random_state=0)
    data.X[8] = data.X[0]  # of the other class
    np.savez(home / "equal.npz", X=data.X, y=data.y)
    message = run("fit", "equal.npz", "-o", "equal.model", "--rule", "mean").err
    assert message.count("pairs were left out, because they are dissimilar but their examples are equal") == 1


def test_options_choose_the_estimator(run, home):
    run(
        "fit",
        "train",
        "-o",
        "a.model",
        "--rule",
        "auto",
        "--phi",
        "log",
        "--lam",
        "0.1",
        "--neighbors",
        "1",
        "--seed",
        "3",
    )
    classifier = load_model(home / "a.model")[-1]
    search = classifier.learner_
    assert {params["phi"] for params in search.cv_results_["params"]} == {"log"} and search.random_state == 3
    assert {params["lam"] for params in search.cv_results_["params"]} == {0.1, np.inf}
    facts = json.loads(
        run("fit", "train", "-o", "b.model", "--rule", "svm", "--lam", "0.5", "--no-thumbnails", "--json").out
    )
    assert facts["rule"] == {"rule": "svm", "C": 1.0} and facts["parameters"]["lam"] == 0.5
    assert load_model(home / "b.model")[-1].references_.thumbnails is None


# What is broken


def test_missing_input_is_named(run, home):
    assert "there is no file or folder nothing" in error_of("fit", "nothing", "-o", "x.model", cwd=home)
    message = error_of("predict", "nothing.model", "new/sand/6.png", cwd=home)
    assert "there is no model nothing.model; `covmetric fit DATA -o nothing.model` writes one" in message
    assert "train is a folder, but a model is a file" in error_of("info", "train", cwd=home)
    for command in ("search", "predict", "explain"):
        message = run(command, "textures.model", "none.png", code=2).err
        assert "there is no file or folder none.png; it must be an image, a folder of images, or an .npz" in message


def test_unwritable_output_is_refused_before_any_work(home):
    assert "-o: there is no folder missing" in error_of("fit", "train", "-o", "missing/x.model", cwd=home)
    assert "-o: train is a folder" in error_of("fit", "train", "-o", "train", cwd=home)
    if Path("/proc/self").exists():
        assert "-o: /proc/x.model cannot be written" in error_of("fit", "train", "-o", "/proc/x.model", cwd=home)


def test_one_class_is_refused(run, home, tmp_path):
    shutil.copytree(home / "train" / "sand", tmp_path / "data" / "sand")
    for arguments in (("fit", tmp_path / "data", "-o", tmp_path / "x.model"), ("compare", tmp_path / "data")):
        message = run(*arguments, code=2).err
        assert message.startswith(f"covmetric {arguments[0]}: all examples have the class 'sand': at least two ")
        assert "(of a folder of images, each folder is a class)" in message
    assert not (tmp_path / "x.model").exists()


@pytest.mark.parametrize("options", [(), ("--patches", "20")])
def test_grey_image_among_colour_images_is_named(options, run, home, tmp_path):
    shutil.copytree(home / "train", tmp_path / "mixed")
    for path in sorted((tmp_path / "mixed").glob("*/*.png"))[1:]:
        Image.open(path).convert("RGB").save(path)
    arguments = ("fit", tmp_path / "mixed", "-o", tmp_path / "m.model", "--rule", "mean", "--lam", "inf", *options)
    assert run(*arguments).err == (
        f"warning: 1 of 18 images is grey ({tmp_path / 'mixed/bark/0.png'}), so that the colours of the other 17 are "
        "not used: to use them, leave the grey images out; if grey features are what you want, use --features grey\n"
    )
    assert run(*arguments, "--features", "grey").err == ""


def test_images_of_mixed_sizes_work_unless_smaller_than_a_patch(run, home, tmp_path):
    shutil.copytree(home / "train", tmp_path / "mixed")
    Image.open(home / "train/sand/0.png").resize((25, 90)).save(tmp_path / "mixed" / "sand" / "tall.png")
    run("fit", tmp_path / "mixed", "-o", tmp_path / "m.model", "--rule", "mean")
    message = run("fit", tmp_path / "mixed", "-o", tmp_path / "m.model", "--patches", "32", code=2).err
    assert "tall.png" in message and "is smaller than a patch of 32 x 32" in message


def test_queries_of_another_scale_are_warned_of_once(run, home, tmp_path):
    (tmp_path / "sand").mkdir()
    Image.open(home / "new/sand/6.png").resize((80, 80)).save(tmp_path / "sand" / "large.png")
    Image.open(home / "new/sand/6.png").resize((70, 21)).save(tmp_path / "sand" / "near.png")
    message = (
        "warning: 1 image has at least twice or at most half as many rows or columns as the training images, 40 x 40 "
        f"in the median ({tmp_path}/sand/large.png, 80 x 80): the features depend on the scale; resize images to the "
        "size of the training images\n"
    )
    page = tmp_path / "page.html"
    for arguments in (("predict", tmp_path), ("search", tmp_path / "sand", "--html", page),
                      ("explain", tmp_path / "sand/large.png"), ("evaluate", tmp_path, "--report", page)):  # fmt: skip
        assert run(arguments[0], "textures.model", *arguments[1:]).err.count(message) == 1
    assert run("predict", "textures.model", tmp_path / "sand/near.png", "new").err == ""


def test_text_called_png_is_named_or_left_out(home, tmp_path):
    shutil.copytree(home / "train", tmp_path / "data")
    (tmp_path / "data" / "sand" / "note.png").write_text("no image")
    message = error_of("fit", "data", "-o", "x.model", "--rule", "mean", cwd=tmp_path)
    assert message.startswith("covmetric fit: cannot read 'data/sand/note.png': ")
    assert message.endswith("Pillow does not recognise the format (8 bytes); --skip-broken leaves such files out\n")
    assert not (tmp_path / "x.model").exists()
    done = covmetric("fit", "data", "-o", "x.model", "--rule", "mean", "--skip-broken", cwd=tmp_path)
    assert (
        done.returncode == 1
        and done.stderr.startswith("left out data/sand/note.png: Pillow does not recognise the format (8 bytes)\n")
        and done.stderr.count("\n") == 1
    )
    assert "Learned from 18 images" in done.stdout and len(load_model(tmp_path / "x.model")[-1].references_) == 18


@pytest.mark.parametrize("options", [(), ("--patches", "20")], ids=["whole", "patches"])
def test_groups_of_files_that_are_left_out_do_not_count(options, run, home, tmp_path):
    for path in (home / "train").glob("*/*.png"):
        target = tmp_path / "data" / path.parent.name / path.stem / "view.png"
        target.parent.mkdir(parents=True)
        shutil.copy(path, target)
    (tmp_path / "data" / "sand" / "notes").mkdir()
    (tmp_path / "data" / "sand" / "notes" / "notes.txt").write_text("no image")
    fit = ("fit", tmp_path / "data", "-o", tmp_path / "x.model", "--rule", "mean", "--lam", "inf", "--skip-broken")
    assert "They form 18 groups." in run(*fit, *options, code=1).out
    assert json.loads(run(*fit, *options, "--json", code=1).out)["n_groups"] == 18


def test_csv_file_in_place_of_examples_is_refused_with_the_way_to_convert_it(run, home, tmp_path):
    data = make_spd_classes(n_classes=2, n_per_class=6, n=3, random_state=0)
    model = tmp_path / "a.model"
    save_model(CovMetricClassifier(CovMetric("log", lam=np.inf), rule="mean").fit(data.X, data.y), model)
    table = tmp_path / "a.csv"
    table.write_text("1,2,3\n4,5,6\n")
    accepted = f"{table} is not an .npz, .npy or .fif file"
    for command in ("predict", "search", "explain"):
        assert run(command, model, table, code=2).err == (
            f"covmetric {command}: {accepted}, from which matrices are read; save the numbers of a CSV file with "
            "np.savez, as X of shape (l, n, n)\n"
        )
    remedy = "a CSV file holds labels (--labels); save its numbers with np.savez, as X and y\n"
    for arguments in (("evaluate", model, table), ("fit", table, "-o", "b.model"), ("compare", table)):
        message = run(*arguments, code=2).err
        assert accepted in message and "it must be a folder with one folder of images per class" in message
        assert message.endswith(remedy)
    assert run("fit", table, "-o", "b.model", "--kind", "images", code=2).err.endswith(
        f"images are read from a folder with one folder per class; pass the folder of the images, with --labels "
        f"{table} if it has their labels\n"
    )
    assert (
        "it is a CSV file, and images are files that Pillow reads"
        in run("predict", "textures.model", table, code=2).err
    )
    printed = run("predict", "textures.model", "new/sand", table, "--skip-broken", code=1)  # as in inbox/*
    assert printed.err.startswith(f"left out {table}: ") and len(printed.out.splitlines()) == 2


def test_grey_queries_of_a_model_of_colours_are_named_with_the_remedy(run, home, tmp_path):
    shutil.copytree(home / "train", tmp_path / "colours")
    for path in (tmp_path / "colours").glob("*/*.png"):
        Image.open(path).convert("RGB").save(path)
    fit = ("fit", tmp_path / "colours", "--rule", "mean", "--lam", "inf", "-o")
    run(*fit, "colours.model")
    described = "feature 'R' needs a colour image, but this image is grey, of shape (40, 40) and mode 'L': use "
    for arguments in (("predict", "new/sand/6.png"), ("search", "new/sand/6.png"), ("explain", "new/sand/6.png"),
                      ("evaluate", "new")):  # fmt: skip
        message = run(arguments[0], "colours.model", arguments[1], code=2).err
        assert re.search(r"images\[0\] \('new/(sand|bark)/6\.png'\): ", message)
        assert message.endswith(f"{described}a model that was fitted with --features grey, or leave the image out\n")
    message = run("fit", "train", "--features", "colour", "-o", "x.model", code=2).err
    assert message.endswith(f"'train/bark/0.png'): {described}--features grey, or leave the image out\n")
    printed = run("predict", "colours.model", "new/sand", tmp_path / "colours/sand/0.png", "--skip-broken", code=1)
    assert (
        "use a model that was fitted with --features grey, or leave" in printed.err
        and "RGB" not in printed.err
        and len(printed.out.splitlines()) == 1
    )
    run(*fit, "greys.model", "--features", "grey")  # which takes both: the brightness of colours is a grey value
    both = [
        run("predict", "greys.model", folder / "sand/0.png").out for folder in (home / "train", tmp_path / "colours")
    ]
    assert both[0].split()[1:] == both[1].split()[1:]


def test_broken_queries_are_named_or_left_out(run, home):
    (home / "note.png").write_text("no image")
    message = run("predict", "textures.model", "note.png", "new/sand/6.png", code=2).err
    assert "note.png" in message and "--skip-broken leaves such files out" in message
    assert "--skip-broken" not in run("explain", "textures.model", "note.png", code=2).err  # it has no such option
    printed = run("predict", "textures.model", "note.png", "new/sand/6.png", "--skip-broken", "--json", code=1)
    assert [one["name"] for one in json.loads(printed.out)["predictions"]] == ["new/sand/6.png"]
    assert printed.err.startswith("left out note.png: ")
    assert "no image can be read" in run("predict", "textures.model", "note.png", "--skip-broken", code=2).err


def test_search_leaves_out_broken_queries(run, home, tmp_path):
    shutil.copytree(home / "new" / "sand", tmp_path / "queries")
    (tmp_path / "queries" / "notes.txt").write_text("no image")
    search = ("search", "textures.model", tmp_path / "queries", "--html", tmp_path / "page.html")
    assert "notes.txt" in (message := run(*search, code=2).err) and "--skip-broken leaves such files out" in message
    printed = run(*search, "--skip-broken", "--json", code=1)
    assert [Path(one["query"]).name for one in json.loads(printed.out)["queries"]] == ["6.png", "7.png"]
    assert printed.err.startswith(f"left out {tmp_path}/queries/notes.txt: ")
    assert "notes.txt" not in (tmp_path / "page.html").read_text()
    assert run(*search, "--skip-broken", code=1).out.endswith("page.html.\n")


def test_model_of_a_newer_version_is_refused(home, tmp_path):
    with zipfile.ZipFile(home / "textures.model") as old, zipfile.ZipFile(tmp_path / "new.model", "w") as new:
        for item in old.infolist():
            content = old.read(item)
            if item.filename == "manifest.json":
                content = json.dumps({**json.loads(content), "format_version": 99, "covmetric": "7.0"}).encode()
            new.writestr(item, content)
    message = error_of("info", tmp_path / "new.model")
    assert "format version 99" in message and "'7.0'" in message


def test_file_that_is_no_model_is_refused(run, home):
    assert "is not a model file" in run("info", "train/sand/0.png", code=2).err


def test_usage_errors_exit_with_2(home):
    for arguments in (
        ["fit", "train"],
        ["search", "textures.model", "q.png", "-k", "0"],
        ["predict", "textures.model"],
    ):
        done = covmetric(*arguments, cwd=home)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("usage: covmetric ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--decision", "vote"], "--decision needs --patches SIZE"),
        (["--neighbors", "5", "--rule", "mean"], "--neighbors needs --rule neighbors or auto: the rule mean uses no"),
    ],
)
def test_options_without_effect_are_refused(options, message, run):
    assert message in run("fit", "train", "-o", "x.model", *options, code=2).err


def test_flat_folder_needs_labels_and_names_what_has_none(run, home, tmp_path):
    for path in (home / "train").glob("*/*.png"):
        shutil.copy(path, tmp_path / f"{path.parent.name}-{path.name}")
    message = run("fit", tmp_path, "-o", "flat.model", code=2).err
    assert "holds 18 files, but no class folders" in message and "(--labels)" in message
    rows = [f"{path.name},{path.name.partition('-')[0]}" for path in sorted(tmp_path.glob("*.png"))]
    table = tmp_path / "l.csv"  # in the folder itself, but no image
    for n_rows, said in ((18, ""), (17, "1 image has no label in {} and is left out\n"),
                         (13, "5 images have no label in {} and are left out\n")):  # fmt: skip
        table.write_text("\n".join(["name,label", *rows[:n_rows]]))
        printed = run("fit", tmp_path, "--labels", table, "-o", "flat.model", "--rule", "mean", "--json")
        assert json.loads(printed.out)["n_examples"] == n_rows and printed.err == said.format(table)


def test_closed_output_gives_exit_code_1(home):
    read, write = os.pipe()
    os.close(read)
    done = covmetric("info", "textures.model", "--card", cwd=home, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "textures.model", "new", "--report"),
        ("compare", "train", "--methods", "log-3nn,covmetric-3nn", "--folds", "2", "--report"),
        ("search", "textures.model", "new", "--html"),
    ],
    ids=["evaluate", "compare", "search"],
)
def test_page_is_written_although_the_output_is_closed(arguments, home, tmp_path):
    """`covmetric evaluate MODEL DATA --report page.html | head -1` must not lose the page."""
    read, write = os.pipe()
    os.close(read)
    page = tmp_path / "page.html"
    done = covmetric(*arguments, page, cwd=home, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "") and "data-query" in page.read_text()


def test_output_that_was_never_open_is_no_error(home):
    line = " ".join([*COMMAND, "info", "textures.model", ">&-"])
    done = subprocess.run(["sh", "-c", line], cwd=home, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_c_locale_prints_any_name(home, tmp_path):
    shutil.copytree(home / "train", tmp_path / "data")
    (tmp_path / "data" / "wood").rename(tmp_path / "data" / "Bäume ±")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    done = covmetric("fit", "data", "-o", "x.model", "--rule", "mean", "--json", cwd=tmp_path, env=plain)
    assert (done.returncode, done.stderr) == (0, "") and len(json.loads(done.stdout)["classes"]) == 3
    done = covmetric("evaluate", "x.model", "data", cwd=tmp_path, env=plain)
    assert (done.returncode, done.stderr) == (0, "") and "of 18 are right" in done.stdout and done.stdout.isascii()


@pytest.fixture(scope="module")
def slow_data(tmp_path_factory):
    """Matrices whose search takes a few seconds."""
    path = tmp_path_factory.mktemp("slow") / "slow.npz"
    data = make_spd_classes(n_classes=4, n_per_class=90, n=16)
    np.savez(path, X=data.X, y=data.y)
    return path


@pytest.mark.parametrize("keep", [False, True])
def test_ctrl_c_keeps_the_best_so_far_only_with_keep(slow_data, keep):
    """The terminal shows the progress of the search. After two of ten parts, the user presses Ctrl-C."""
    model = slow_data.with_name(f"{keep}.model")
    command = OnTerminal("fit", slow_data, "-o", model, *(["--keep"] if keep else []))
    found = command.wait_for("2/10", "3/10", "4/10")
    command.process.send_signal(signal.SIGINT)
    code, output = command.finish()
    assert found, command.shown
    assert code == 130 and model.exists() is keep and "Traceback" not in command.shown
    if keep:
        assert "Learned from 360 matrices" in output and load_model(model).predict(
            np.load(slow_data)["X"][:2]
        ).shape == (2,)
    else:
        assert output == "" and "stopped" in command.shown


def test_debug_shows_the_traceback(run):
    printed = run("info", "nothing.model", "--debug", code=2)
    assert "Traceback" in printed.err and printed.err.splitlines()[-1].startswith("covmetric info: there is no model")


def test_unexpected_errors_are_one_line(run, monkeypatch):
    def fail(*_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("covmetric.cli.info.read_model_view", fail)
    printed = run("info", "textures.model", code=1)
    assert printed.err == "covmetric info: unexpected error, RuntimeError: two lines (--debug shows where)\n"


def test_warnings_are_one_line(run, home):
    data = make_spd_classes(n_classes=2, n_per_class=2, n=3)
    np.savez(home / "few.npz", X=data.X[[0, 2]], y=data.y[[0, 2]])
    printed = run("fit", "few.npz", "-o", "few.model", "--rule", "neighbors", "--neighbors", "1")
    assert printed.err.startswith("warning: every class has only one example") and printed.err.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    examples = capsys.readouterr().out.partition("examples:\n")[2].splitlines()
    assert examples and all(re.search(rf"(^  |; )covmetric {name}( |$)", line) for line in examples)


@pytest.mark.parametrize("name", ["evaluate", "predict", "search", "explain", "info", "report"])
def test_help_names_both_sources_of_models(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert "a model file (of `covmetric fit` or `save_model`)" in " ".join(capsys.readouterr().out.split())
