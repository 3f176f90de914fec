"""The recognition experiments, on small stand-ins for the paper's data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import Bunch

from covmetric.experiments.recognition import (
    RecognitionRow,
    brodatz_splits,
    eth80_by_image,
    eth80_by_object,
    recognition,
    summarize_recognition,
)
from tests.images import write_objects

pytest.importorskip("PIL.Image")


def test_learned_and_fixed_metrics_recognise_objects(tmp_path):
    folder = write_objects(tmp_path)
    rows = list(recognition(["eth80 by image", "eth80 by object"], folder, seeds=2, phis=["log"], slacks=["is"]))
    assert [(row.protocol, row.seed, row.W, row.variant) for row in rows] == [
        (protocol, seed, W, variant)
        for protocol in ("eth80 by image", "eth80 by object")
        for seed in (0, 1)
        for W, variant in (("eye", ""), ("is", "paper"))
    ]
    assert all(row.accuracy >= 0.5 and row.relative_gap <= 1e-6 for row in rows)
    assert all((row.lam == np.inf) == (row.W == "eye") for row in rows)


def test_unknown_protocol_raises(tmp_path):
    with pytest.raises(ValueError, match=r"protocol must be one of 'brodatz 3/1'.*, got 'mnist'"):
        list(recognition(["mnist"], tmp_path))


def test_summary_averages_over_the_splits():
    rows = [
        RecognitionRow("p", variant, seed, "log", W, lam, accuracy, 0.0, 1.0)
        for variant, W, lam, accuracies in (("", "eye", np.inf, (0.8, 0.9)), ("paper", "is", 1e-2, (0.7, 1.0)))
        for seed, accuracy in enumerate(accuracies)
    ]
    eye, learned = summarize_recognition(rows)
    assert (eye.variant, eye.phi, eye.W, eye.lambdas) == ("", "log", "eye", (np.inf, np.inf))
    assert (eye.accuracy.mean, eye.accuracy.standard_error) == (pytest.approx(85.0), pytest.approx(5.0))
    assert (learned.accuracy.mean, learned.accuracy.standard_error) == (pytest.approx(85.0), pytest.approx(15.0))
    assert learned.lambdas == (1e-2, 1e-2)


@pytest.mark.parametrize("n_train", [2, 3])
def test_brodatz_splits_have_whole_quarters(n_train):
    y, quarter = np.repeat(np.arange(5), 40), np.tile(np.repeat(np.arange(4), 10), 5)
    split = brodatz_splits(Bunch(y=y, groups=quarter), 0, n_train)
    assert len(split.train) == 5 * 10 * n_train and len(split.test) == 5 * 10 * (4 - n_train)
    assert len(np.intersect1d(split.train, split.test)) == 0
    assert {len(set(quarter[split.train][y[split.train] == c])) for c in range(5)} == {n_train}
    np.testing.assert_array_equal(split.groups, quarter[split.train])


@pytest.fixture
def views():
    """41 views of each of ten objects of two classes."""
    names = np.array([f"{c}{i}" for c in "ab" for i in range(10) for _ in range(41)])
    return Bunch(y=np.array([name[0] for name in names]), groups=names)


def test_split_by_image_has_20_views_of_each_object(views):
    split = eth80_by_image(views, 0)
    assert set(np.unique(views.groups[split.train], return_counts=True)[1]) == {20}
    assert len(split.test) == 20 * 21 and len(np.intersect1d(split.train, split.test)) == 0


def test_split_by_object_has_whole_objects(views):
    split = eth80_by_object(views, 0)
    train, test = set(views.groups[split.train]), set(views.groups[split.test])
    assert not train & test
    assert len(train) == len(test) == 10 and sum(name.startswith("a") for name in train) == 5
