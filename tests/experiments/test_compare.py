"""`covmetric compare` and the function behind it: simulated matrices, series and images."""

from __future__ import annotations

import csv
import json
import warnings
from importlib.util import find_spec

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.cli import main
from covmetric.cli.compare import read_data
from covmetric.datasets import make_spd_classes, make_textures
from covmetric.experiments import compare as experiment
from covmetric.experiments.compare import compare
from covmetric.experiments.fold_results import ComparisonTable
from covmetric.experiments.methods import CS, Method, available_methods

FEW = ["log-3nn", "relog-mean", "mdm", "covmetric-3nn"]


@pytest.fixture(scope="module")
def data():
    found = make_spd_classes(n_classes=3, n_per_class=12, n=4)
    found.groups = np.arange(36) % 6
    found.names = np.array(["a", "long name", "b"])[found.y]  # which pyRiemann's neighbours would cut
    return found


@pytest.fixture
def file(data, tmp_path):
    np.savez(tmp_path / "mine.npz", X=data.X, y=data.names, groups=data.groups)
    return tmp_path / "mine.npz"


def run(capsys, *arguments):
    code = main(["compare", *map(str, arguments)])
    return code, capsys.readouterr()


def broken(reason):
    def make(_):
        raise TypeError(reason)

    return make


def with_methods(monkeypatch, **methods):
    monkeypatch.setattr(experiment, "available_methods", lambda: {**available_methods(), **methods})


def test_all_methods(data):
    names = [name for name, method in available_methods().items() if not name.startswith(("peer:", "distance:"))]
    assert len(names) == 19
    table = compare(data.X, data.names, data.groups, names, folds=2)
    assert [row.method for row in table.rows] == names
    assert [row.failure for row in table.rows if row.failure] == []
    assert all(0.5 < row.accuracy <= 1.0 and len(row.folds) == 2 for row in table.rows)
    candidates = {row.method: row.candidates for row in table.rows if row.candidates}
    assert candidates["covmetriccv-3nn"] == len(CS) == 20
    assert candidates == {
        "mdm": 2, "fgmdm": 2, "tangent-logreg": 40, "riemann-knn": 10, "covmetriccv-3nn": 20, "covmetriccv-mean": 20,
        "covmetric-logreg": 40,
    }  # fmt: skip
    knn = next(row for row in table.rows if row.method == "riemann-knn")
    assert sum(knn.chosen.values()) == 2 and all("n_neighbors=" in words for words in knn.chosen)


@pytest.mark.skipif(find_spec("covmetric.peers") is None, reason="covmetric.peers is not there")
def test_peers(data):
    names = [name for name in available_methods() if name.startswith(("peer:", "distance:"))]
    table = compare(data.X, data.y, methods=names, folds=2)
    assert names and [row.failure for row in table.rows if row.failure] == []


def test_accuracies_are_those_of_the_estimators(data):
    table = compare(data.X, data.y, data.groups, ["sqrt-3nn", "covmetriccv-mean"], folds=2, reg=1e-3, seed=4)
    splits = experiment.make_splits(2, data.X, data.y, data.groups, experiment._seed([4, 0]))
    for fold, split in enumerate(splits):
        train, test = split.train, split.test
        fixed = CovMetricClassifier(CovMetric("sqrt", lam=np.inf, reg=1e-3)).fit(data.X[train], data.y[train])
        assert table.rows[0].folds[fold].accuracy == fixed.score(data.X[test], data.y[test])
        search = CovMetricCV(rule="mean", reg=1e-3, random_state=4)  # draws the inner folds itself, by groups
        ours = CovMetricClassifier(search, rule="mean").fit(data.X[train], data.y[train], data.groups[train])
        assert table.rows[1].folds[fold].accuracy == ours.score(data.X[test], data.y[test])
        assert f"phi={ours.learner_.best_params_['phi']}" in table.rows[1].folds[fold].chosen


@pytest.mark.parametrize("grouped", [True, False])
def test_groups_stay_together_and_folds_are_shared(data, monkeypatch, grouped):
    seen = []

    class Spy:
        def __init__(self, given):
            self.inner = given.inner_folds()

        def fit(self, X, y):
            self.X, self.first = X, y[0]
            return self

        def predict(self, X):
            seen.append((self.X, X, self.inner))
            return np.full(len(X), self.first)

    with_methods(monkeypatch, spy=Method("peer", Spy), spy_too=Method("peer", Spy))
    compare(data.X, data.y, data.groups if grouped else None, ["spy", "spy_too"], folds=3, repeats=2)
    assert len(seen) == 12
    which = {matrix.tobytes(): i for i, matrix in enumerate(0.5 * (data.X + data.X.transpose(0, 2, 1)))}
    tested = []
    for train, test, inner in seen:
        first, second = (np.array([which[matrix.tobytes()] for matrix in part]) for part in (train, test))
        tested.append(second)
        together = [(first, second)] + [(first[a], first[b]) for a, b in inner]
        assert len(inner) == 3
        overlaps = [np.intersect1d(data.groups[a], data.groups[b]).size for a, b in together]
        assert not any(overlaps) if grouped else all(overlaps)
    for one, other in zip(tested[::2], tested[1::2], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.sort(np.concatenate(tested[0:6:2])), np.arange(36))
    assert any(not np.array_equal(a, b) for a, b in zip(tested[:6], tested[6:], strict=True))


def test_one_group_for_training_is_tuned_without_groups(data):
    table = compare(data.X, data.y, np.arange(36) % 2, ["mdm"], folds=5)
    assert table.folds == 2 and table.groups == 2 and not table.rows[0].failure


def test_differences_are_paired(data):
    table = compare(data.X, data.y, methods=FEW, folds=3, repeats=2)
    best = table.best_fixed
    assert best.kind == "fixed" and best.accuracy == max(r.accuracy for r in table.rows if r.kind == "fixed")
    ours = table.rows[-1]
    differences = [a.accuracy - b.accuracy for a, b in zip(ours.folds, best.folds, strict=True)]
    expected = np.mean(differences), np.std(differences, ddof=1) / np.sqrt(6)
    np.testing.assert_allclose(table.difference(ours), expected)
    assert table.difference(best) == (None, None)
    assert compare(data.X, data.y, methods=["mdm"], folds=2).best_fixed is None


def test_jobs_do_not_matter(data):
    one, two = (compare(data.X, data.y, methods=FEW[:2], folds=2, n_jobs=jobs) for jobs in (None, 2))
    assert [row.accuracies for row in one.rows] == [row.accuracies for row in two.rows]


def test_dict_round_trip(data, monkeypatch):
    with_methods(monkeypatch, broken=Method("peer", broken("no such thing")))
    table = compare(data.X, data.y, data.groups, [*FEW, "broken"], folds=2)
    text = json.dumps(table.as_dict(), allow_nan=False)
    assert ComparisonTable.from_dict(json.loads(text)) == table
    assert json.loads(text)["summary"][-1]["failure"] == "no such thing"


def test_a_method_that_fails_does_not_end_the_run(file, capsys, monkeypatch, tmp_path):
    with_methods(monkeypatch, broken=Method("peer", broken("no such thing")))
    arguments = [file, "--folds", 2, "--methods", "broken,log-3nn", "--out", tmp_path / "a.png"]
    code, printed = run(capsys, *arguments)
    assert code == 0 and "peer broken  failed: no such thing" in printed.out and "fixed log-3nn" in printed.out
    code, printed = run(capsys, *arguments, "--json")
    folds = json.loads(printed.out)["rows"][0]["folds"]
    assert [(one["accuracy"], one["failure"]) for one in folds] == [(None, "no such thing")] * 2
    code, printed = run(capsys, *arguments, "--methods", "broken")
    assert code == 0 and "no picture: every method failed" in printed.err


def test_the_reason_when_all_candidates_fail(data):
    singular = data.X * np.array([1.0, 1.0, 1.0, 0.0])[:, None] * np.array([1.0, 1.0, 1.0, 0.0])
    with np.errstate(all="ignore"):
        table = compare(singular, data.y, methods=["id-3nn", "log-3nn", "riemann-knn"], folds=2, reg=0)
    assert table.rows[0].failure == "" and "set reg" in table.rows[1].failure
    assert "\n" not in table.rows[2].failure


def test_ctrl_c_keeps_what_is_done(file, capsys, monkeypatch):
    calls = []

    def stop(_):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return CovMetricClassifier(CovMetric("log", lam=np.inf))

    with_methods(monkeypatch, stop=Method("peer", stop))
    code, printed = run(capsys, file, "--methods", "log-3nn,stop", "--folds", 3)
    assert code == 130 and "[2 of 3 folds]" in printed.out and "[1 of 3 folds]" in printed.out
    assert "stopped" in printed.err
    calls[:] = [1]
    code, printed = run(capsys, file, "--methods", "stop,log-3nn")
    assert code == 130 and printed.out == ""  # nothing was done


def test_ctrl_c_within_a_search_is_no_result(data, monkeypatch):
    class CutShort(CovMetricClassifier):
        def fit(self, X, y, groups=None):
            warnings.warn("the search was cut short (Ctrl-C); ...", UserWarning, stacklevel=2)
            return super().fit(X, y)

    with_methods(monkeypatch, cut=Method("learned", lambda _: CutShort(CovMetric("log", lam=np.inf))))
    table = compare(data.X, data.y, methods=["log-3nn", "cut"], folds=2)
    assert table.interrupted and [row.method for row in table.rows] == ["log-3nn"]


def test_command(file, capsys, tmp_path):
    picture, sheet = tmp_path / "a.png", tmp_path / "a.csv"
    code, printed = run(
        capsys, file, "--quick", "--methods", ",".join(FEW), "--out", picture, "--csv", sheet, "--repeats", 2
    )
    assert code == 0 and "compare: 100%" in printed.err
    assert "36 matrices, 4 x 4, 3 classes (matrices)." in printed.out
    assert "3 folds that keep 6 groups together, 2 times" in printed.out and "; of 2" in printed.out
    assert picture.read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.DictReader(sheet.read_text().splitlines()))
    assert [row["method"] for row in rows] == FEW and 0 < float(rows[0]["accuracy"]) <= 1
    code, printed = run(capsys, file, "--folds", 2, "--methods", ",".join(FEW), "--json", "--seed", 3)
    result = json.loads(printed.out)
    assert code == 0 and printed.err == "" and result["what"] == "matrices"
    table = ComparisonTable.from_dict(result)
    assert table.seed == 3 and table.folds == 2 and result["best_fixed"] == table.best_fixed.method


def test_quick_leaves_out_what_is_slow(file, capsys, monkeypatch):
    asked = {}

    def remember(*given, **_):
        asked.update(methods=given[3], folds=given[4])
        raise ValueError("enough")

    monkeypatch.setattr(experiment, "compare", remember)
    assert run(capsys, file, "--quick")[0] == 2
    assert asked["folds"] == 3 and "covmetriccv-3nn" in asked["methods"] and "riemann-knn" not in asked["methods"]
    assert not any(name.startswith(("peer:", "distance:")) for name in asked["methods"])
    assert run(capsys, file)[0] == 2
    assert asked == {"methods": None, "folds": 5}


def test_series(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 3, 20)), np.arange(24) % 2
    X[y == 1, 0] *= 3.0
    np.savez(tmp_path / "one.npz", X=X, y=y)
    np.savez(tmp_path / "two.npz", X_train=X[:10], y_train=y[:10], X_test=X[10:], y_test=y[10:])
    np.savez(tmp_path / "square.npz", X=X[:, :, :3], y=y)
    found = [read_data(tmp_path / f"{name}.npz") for name in ("one", "two", "square")]
    assert all(one.X.shape == (24, 3, 3) and "series" in one.what and one.groups is None for one in found)
    np.testing.assert_array_equal(found[0].X, found[1].X)
    matrices = X @ X.transpose(0, 2, 1)
    np.savez(tmp_path / "matrices.npz", X=matrices.astype(np.float32), y=y)
    assert read_data(tmp_path / "matrices.npz").what == "matrices"
    assert "series" in read_data(tmp_path / "matrices.npz", "series").what
    code, printed = run(capsys, tmp_path / "two.npz", "--folds", 2, "--methods", "log-mean")
    assert code == 0 and "24 matrices, 3 x 3, 2 classes (shrunk covariances (OAS) of series)" in printed.out


def test_one_bad_matrix_is_named(data, tmp_path, capsys):
    for value, words in ((9.0, "X[7] is not symmetric"), (np.nan, "X[7, 0, 1] is nan")):
        X = data.X.copy()
        X[7, 0, 1] = value
        np.savez(tmp_path / "bad.npz", X=X, y=data.y)
        code, printed = run(capsys, tmp_path / "bad.npz")
        assert code == 2 and words in printed.err and printed.err.count("\n") == 1


def test_images(tmp_path, capsys):
    Image = pytest.importorskip("PIL.Image")
    textures = make_textures(n_classes=2, n_per_class=6, size=24)
    rng = np.random.default_rng(0)
    for i, (image, c) in enumerate(zip(textures.images.astype(np.uint8), textures.y, strict=True)):
        for kind in ("grey", "colour"):
            folder = tmp_path / kind / f"class {c}" / f"object {i % 3}"
            folder.mkdir(parents=True, exist_ok=True)
            coloured = np.clip(image[..., None] + rng.integers(0, 30, (24, 24, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(image if kind == "grey" else coloured).save(folder / f"{i}.png")
    for kind, size in (("grey", 5), ("colour", 9)):
        found = read_data(tmp_path / kind)
        assert found.X.shape == (12, size, size) and kind in found.what
        assert set(found.y) == {"class 0", "class 1"} and len(set(found.groups)) == 6
    assert read_data(tmp_path / "colour", features="grey").X.shape == (12, 5, 5)
    code, printed = run(capsys, tmp_path / "grey", "--folds", 3, "--methods", "log-mean,mdm")
    assert code == 0 and "3 folds that keep 6 groups together" in printed.out
    code, printed = run(capsys, tmp_path / "grey", "--features", "colour")
    assert code == 2 and "needs a colour image" in printed.err
    (tmp_path / "grey" / "class 0" / "note.txt").write_text("not an image")
    code, printed = run(capsys, tmp_path / "grey")
    assert code == 2 and "note.txt" in printed.err


def test_clear_errors(file, tmp_path, capsys):
    def error(*arguments):
        code, printed = run(capsys, *arguments)
        assert code == 2 and printed.err.count("\n") == 1 and printed.out == ""
        return printed.err

    def saved(**arrays):
        np.savez(tmp_path / "other.npz", **arrays)
        return tmp_path / "other.npz"

    X, y = np.stack([np.eye(3)] * 8), np.arange(8) % 2
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.npz").write_text("hello")
    assert "there is no file or folder" in error(tmp_path / "nothing.npz")
    assert "is no .npz file" in error(tmp_path / "text.npz")
    assert "holds no images" in error(tmp_path / "empty")
    assert "--kind series" in error(tmp_path / "empty", "--kind", "series")
    assert "is a file: images come from a folder" in error(file, "--kind", "images")
    assert "has no array y" in error(saved(X=X))
    assert "has no array y_test" in error(saved(X_train=X, y_train=y, X_test=X))
    assert "X has shape (8, 3)" in error(saved(X=X[0][[0] * 8], y=y))
    assert "cannot read" in error(saved(X=X, y=np.array([None] * 8)))
    assert "y must have one entry per matrix" in error(saved(X=X, y=y[:5]))
    assert "groups must have one entry per matrix" in error(saved(X=X, y=y, groups=y[:5]))
    assert "only one class" in error(saved(X=X, y=0 * y))
    assert "continuous" in error(saved(X=X, y=y + 0.5 * np.arange(8) / 7))
    assert "there is no method 'magic'; there are id-3nn, log-3nn" in error(file, "--methods", "log-3nn,magic")
    assert "methods is empty" in error(file, "--methods", ",")
    assert "--csv: there is no folder" in error(file, "--csv", tmp_path / "no" / "a.csv")
    assert "--out: there is no folder" in error(file, "--out", tmp_path / "no" / "a.png")
    assert "integer >= 2" in error(file, "--folds", 1)
    assert "repeats must be" in error(file, "--repeats", 0)
    assert "reg must be" in error(file, "--reg", -1)
