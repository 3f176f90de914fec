"""The paper's experiments, on small stand-ins for its data."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from covmetric.cli import main
from covmetric.datasets import make_textures
from covmetric.experiments import convergence as section
from covmetric.experiments.image_sets import image_sets, split
from covmetric.experiments.recognition import brodatz_splits, eth80_by_image, eth80_by_object, means, recognition
from covmetric.plotting import plot_convergence, plot_groups
from covmetric.plotting.figures import new_figure

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def textures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("brodatz")
    data = make_textures(n_classes=3, n_per_class=1, size=264)
    for number, image in enumerate(data.images, start=1):
        Image.fromarray(image.astype(np.uint8)).save(folder / f"D{number}.gif")
    return folder


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("eth80"), np.random.default_rng(0)
    for c, name in enumerate(("apple", "car")):
        for number in range(1, 7):
            (folder / f"{name}{number}").mkdir()
            tint = rng.uniform(0.5, 1.0, 3)
            for view in range(22):
                noise = rng.uniform(0, 255, (12, 12, 3)) * tint
                noise[:, : 3 + 4 * c] *= 0.4
                path = folder / f"{name}{number}" / f"{name}{number}-000-{view:03d}.png"
                Image.fromarray(noise.astype(np.uint8)).save(path)
    return folder


def read(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_convergence(tmp_path, monkeypatch, capsys):
    small = section.convergence
    monkeypatch.setattr(section, "convergence", lambda **kw: small(sizes=[4, 6], lambdas=[1e-1, 1e-2], **kw))
    assert main(["reproduce", "convergence", "--seeds", "2", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "convergence.md").read_text()
    assert "`covmetric reproduce convergence --seeds 2`" in page and page.count("| perm |") == 4
    for x in ("epoch", "projections", "seconds"):
        assert (tmp_path / f"convergence-{x}.png").read_bytes()[:4] == b"\x89PNG" and f"convergence-{x}.png" in page
    points = read(tmp_path / "convergence.csv")
    # The certified bound is above the true gap, at every point of every run.
    for order in ("cyclic", "perm", "rand"):
        for n in ("4", "6"):
            for lam in ("0.1", "0.01"):
                for seed in ("0", "1"):
                    run = [p for p in points if (p["order"], p["n"], p["lam"], p["seed"]) == (order, n, lam, seed)]
                    true = np.minimum.accumulate([float(p["true_gap"]) for p in run])
                    bound = np.array([float(p["gap"]) for p in run])
                    assert len(run) > 1 and (true <= bound + 1e-9).all()
    assert "The page is" in capsys.readouterr().out


def test_brodatz(tmp_path, textures, monkeypatch):
    monkeypatch.setattr("covmetric.experiments.recognition._CHOOSE_ON", 150)
    assert main(["reproduce", "brodatz", "--seeds", "1", "--data", str(textures), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "brodatz.md").read_text()
    assert page.count("## brodatz 3/1") == page.count("## brodatz 2/2") == 3
    rows = read(tmp_path / "brodatz.csv")
    assert len(rows) == 2 * 4 * (1 + 3 * 3)
    assert all(float(row["relative_gap"]) <= 1e-6 for row in rows)
    assert {row["W"] for row in rows} == {"eye", "is", "l2", "re"}
    assert (tmp_path / "brodatz.png").is_file()


def test_eth80(objects):
    rows = list(recognition(["eth80 by image", "eth80 by object"], objects, seeds=2, phis=["log"], slacks=["is"]))
    assert len(rows) == 2 * 2 * 2
    found = means(rows)
    for mean, error, count in found.values():
        assert 50.0 <= mean <= 100.0 and error >= 0.0 and count == 2
    with pytest.raises(ValueError, match="protocol must be one of 'brodatz 3/1'"):
        list(recognition(["mnist"], objects))


def test_splits_are_what_they_say():
    from sklearn.utils import Bunch

    y, quarter = np.repeat(np.arange(5), 40), np.tile(np.repeat(np.arange(4), 10), 5)
    for n_train in (2, 3):
        one = brodatz_splits(Bunch(y=y, groups=quarter), 0, n_train)
        assert len(one.train) == 5 * 10 * n_train and len(np.intersect1d(one.train, one.test)) == 0
        assert {len(set(quarter[one.train][y[one.train] == c])) for c in range(5)} == {n_train}
    names = np.array([f"{c}{i}" for c in "ab" for i in range(10) for _ in range(41)])
    data = Bunch(y=np.array([name[0] for name in names]), groups=names)
    one = eth80_by_image(data, 0)
    assert set(np.unique(names[one.train], return_counts=True)[1]) == {20} and len(one.test) == 20 * 21
    one = eth80_by_object(data, 0)
    assert not set(names[one.train]) & set(names[one.test]) and len(set(names[one.train])) == 10
    train, test = split(np.repeat(np.arange(8), 10), 3)
    assert len(train) == len(test) == 40 and not set(train) & set(test)


def test_image_sets(objects, monkeypatch):
    from covmetric.experiments import image_sets as module

    load = module.load_eth80_sets
    monkeypatch.setattr(module, "load_eth80_sets", lambda folder: load(folder, size=(3, 3)))
    rows = list(image_sets(objects, lambdas=[1e-1, 1e-3], repeats=2, tol=1e-6))
    assert [row.lam for row in rows] == [np.inf, 1e-1, 1e-3] * 2
    assert all(row.status in ("", "SOLVED") and row.relative_gap <= 1e-6 for row in rows)


def test_the_command_for_image_sets(objects, tmp_path, monkeypatch):
    from covmetric.experiments import image_sets as module

    load = module.load_eth80_sets
    monkeypatch.setattr(module, "load_eth80_sets", lambda folder: load(folder, size=(2, 2)))
    assert main(["reproduce", "eth80-sets", "--seeds", "1", "--data", str(objects), "--out", str(tmp_path)]) == 0
    assert "leave-one-out" in (tmp_path / "eth80-sets.md").read_text()
    assert len(read(tmp_path / "eth80-sets.csv")) == 6


def test_leml_stays_above_the_optimum(tmp_path, monkeypatch):
    from covmetric.experiments import rank_one as module

    few = module.rank_one
    monkeypatch.setattr(module, "rank_one", lambda seeds: few(n=6, K=15, seeds=seeds, cycles=60))
    assert main(["reproduce", "leml", "--seeds", "2", "--out", str(tmp_path)]) == 0
    rows = read(tmp_path / "leml.csv")
    assert all(float(row["excess"]) > 1e-3 for row in rows) and (tmp_path / "leml.png").is_file()


def test_failures(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("COVMETRIC_DATA", raising=False)
    assert main(["reproduce", "brodatz", "--out", str(tmp_path)]) == 2
    assert "COVMETRIC_DATA is not set" in capsys.readouterr().err
    assert main(["reproduce", "convergence", "--out", str(tmp_path / "no")]) == 2
    assert "--out: there is no folder" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["reproduce", "convergence", "--seeds", "0"])
    assert "is not an integer >= 1" in capsys.readouterr().err


def test_pictures_refuse_what_they_cannot_draw():
    with pytest.raises(ValueError, match="x must be one of 'epoch'"):
        plot_convergence([], "hours")
    _, (axes,) = new_figure(3, 3, 1)
    plot_groups(axes, ["log"], ["eye", "is"], {("log", "eye"): (90.0, 1.0), ("log", "is"): (92.0, 0.5)})
    assert len(axes.patches) == 2
