"""Saved models come back bit by bit, and a failure to save leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from covmetric import (
    CovMetric,
    CovMetricClassifier,
    CovMetricCV,
    CovMetricPairs,
    LearnedMetric,
    get_embedding,
    load_model,
    save_model,
)
from covmetric.model_file import files
from tests.data import MATRIX_PHIS, hermitian, spd, two_classes
from tests.model_file.fitted import ESTIMATORS, answers


@pytest.mark.parametrize("make", [spd, hermitian])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_come_back_bit_by_bit(name, make, tmp_path):
    X, y = two_classes(make)
    model = ESTIMATORS[name]().fit(X, y)
    model.save(tmp_path / "model.npz")
    back = type(model).load(tmp_path / "model.npz")
    assert repr(back) == repr(model)
    np.testing.assert_array_equal(answers(back, X), answers(model, X))
    np.testing.assert_array_equal(back.classes_, model.classes_)
    learner = getattr(model, "learner_", model)
    learned = getattr(back, "learner_", back)
    assert learned.status_ is learner.status_ and learned.duality_gap_ == learner.duality_gap_
    assert str(learned.result_) == str(learner.result_)
    save_model(back, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
    if isinstance(model, CovMetricClassifier):
        more_examples = X[:6] * 1.1
        for one in (model, back):
            one.partial_fit(more_examples, y[:6])
        np.testing.assert_array_equal(answers(back, X), answers(model, X))
        np.testing.assert_array_equal(back.kneighbors(X)[1], model.kneighbors(X)[1])


@pytest.mark.parametrize("make", [spd, hermitian])
@pytest.mark.parametrize("name", MATRIX_PHIS)
def test_metrics_come_back_bit_by_bit(name, make, tmp_path):
    X = make(10, 3)
    phi = get_embedding(name, reg=0.01).fit(X)
    A = np.random.default_rng(0).standard_normal((phi.shape_out_[0],) * 2)
    metric = LearnedMetric(phi, A @ A.T)
    metric.save(tmp_path / "metric.npz")
    back = LearnedMetric.load(tmp_path / "metric.npz")
    assert repr(back) == repr(metric)
    np.testing.assert_array_equal(back.transform(X), metric.transform(X))
    np.testing.assert_array_equal(back.mean(X), metric.mean(X))


@pytest.mark.parametrize(
    "labels", [(0, 1), (True, False), (2.0, 1.0), ("a", "bé"), np.array([3, 7], dtype=np.uint8), pd.array(["x", "y"])]
)
def test_labels_of_any_type_come_back(labels, tmp_path):
    X, codes = two_classes(labels=(0, 1))
    y = pd.Series(np.asarray(labels)[codes])
    model = CovMetricClassifier(random_state=0).fit(X, y)
    model.save(tmp_path / "model.npz")
    back = load_model(tmp_path / "model.npz")
    assert back.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_pairs_and_feature_names_come_back(tmp_path):
    X, y = two_classes()
    pairs, near = np.stack([X[:20], X[1::2]], axis=1), np.where(y[:20] == y[1::2], 1, -1)
    model = CovMetricPairs(random_state=0).fit(pairs, near)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(CovMetricPairs.load(tmp_path / "model.npz").predict(pairs), model.predict(pairs))
    frame = pd.DataFrame(X[:, 0], columns=["Fz", "Cz", "Pz"])
    named = CovMetricClassifier(random_state=0).fit(frame, y)
    named.save(tmp_path / "named.npz")
    back = load_model(tmp_path / "named.npz")
    assert back.feature_names_in_.tolist() == ["Fz", "Cz", "Pz"]
    with pytest.raises(ValueError, match="feature names should match"):
        back.predict(frame.rename(columns={"Fz": "F7"}))


def test_loaded_model_gives_the_same_bits_in_another_process(tmp_path):
    X, y = two_classes(n=6)
    model = CovMetricClassifier(random_state=0).fit(X, y)
    model.save(tmp_path / "model.npz")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np, covmetric\n"
        "model = covmetric.load_model(sys.argv[1] + '/model.npz'); X = np.load(sys.argv[1] + '/X.npy')\n"
        "np.savez(sys.argv[1] + '/out.npz', a=model.predict(X), b=model.predict_proba(X), c=model.kneighbors(X)[0])\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    out = np.load(tmp_path / "out.npz")
    np.testing.assert_array_equal(out["a"], model.predict(X))
    np.testing.assert_array_equal(out["b"], model.predict_proba(X))
    np.testing.assert_array_equal(out["c"], model.kneighbors(X)[0])


def test_estimator_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError, match="this CovMetric is not fitted yet"):
        CovMetric().save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_random_generator_is_replaced_with_a_warning(tmp_path):
    X, y = two_classes()
    path = tmp_path / "model.npz"
    model = CovMetric(random_state=np.random.default_rng(0)).fit(X, y)
    with pytest.warns(UserWarning, match=r"random_state is a Generator.*its default None was saved instead; set it"):
        model.save(path)
    back = load_model(path)
    assert back.random_state is None
    np.testing.assert_array_equal(back.transform(X), model.transform(X))


def test_failure_to_write_leaves_the_existing_file_unchanged(tmp_path, monkeypatch):
    X, y = two_classes()
    path = tmp_path / "model.npz"
    CovMetric(random_state=0).fit(X, y).save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        CovMetric(random_state=1, lam=1.0).fit(X, y).save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_numpy_reads_the_arrays_of_a_file(tmp_path):
    X, y = two_classes()
    model = CovMetric(random_state=0).fit(X, y)
    model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["metric_.W"], model.W_)


def test_parameters_set_after_fit_are_saved(tmp_path):
    X, y = two_classes()
    model = CovMetricClassifier(random_state=0).fit(X, y).set_params(n_neighbors=1)
    assert set(np.unique(model.predict_proba(X))) == {0.0, 1.0}  # as in scikit-learn, it applies at once
    model.set_params(rule="mean")  # for the next fit
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").predict_proba(X), model.predict_proba(X))
    model.set_params(n_neighbors=0)
    with pytest.raises(ValueError, match="the model cannot be saved: n_neighbors must be an integer >= 1, got 0"):
        model.save(tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").n_neighbors == 1


def test_parameters_that_a_file_cannot_hold_are_replaced_with_a_warning(tmp_path):
    from sklearn.model_selection import LeaveOneOut

    X, y = two_classes()
    X, y = np.concatenate([X] * 7), np.concatenate([y] * 7)
    X = X * np.random.default_rng(0).uniform(0.8, 1.2, (len(X), 1, 1))
    model = CovMetricCV("log", lambdas=[0.1], cv=LeaveOneOut(), random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="cv is a LeaveOneOut.*its default None was saved instead"):
        model.save(tmp_path / "model.npz")
    assert len([k for k in load_model(tmp_path / "model.npz").cv_results_ if k.startswith("split")]) == len(X)
    with pytest.warns(UserWarning, match="lam is a longdouble"):
        CovMetric(lam=np.longdouble(0.01), random_state=0).fit(X, y).save(tmp_path / "model.npz")


def test_pandas_output_comes_back_and_jobs_do_not(tmp_path):
    X, y = two_classes()
    model = CovMetric(random_state=0, n_jobs=2).set_output(transform="pandas").fit(X, y)
    model.save(tmp_path / "model.npz")
    back = load_model(tmp_path / "model.npz")
    assert back.n_jobs is None  # belongs to the machine
    pd.testing.assert_frame_equal(back.transform(X), model.transform(X))


@pytest.mark.skipif(os.name == "nt", reason="links and permissions")
def test_save_keeps_links_and_permissions(tmp_path):
    X, y = two_classes()
    target, link = tmp_path / "target.npz", tmp_path / "link.npz"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    CovMetric(random_state=0).fit(X, y).save(link)
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o600
    assert isinstance(load_model(target), CovMetric)
    with pytest.raises(IsADirectoryError, match="is a folder: give the name of a file"):
        CovMetric(random_state=0).fit(X, y).save(tmp_path)


def test_model_of_tiny_matrices_comes_back(tmp_path):
    X, y = two_classes()
    model = CovMetricClassifier(CovMetric("relog", random_state=0)).fit(X * 1e-300, y)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").predict(X * 1e-300), model.predict(X * 1e-300))


def test_part_that_ends_too_early_is_a_reason():
    """Zip archives with wrong offsets can raise an EOFError without a message."""
    assert files._reason(EOFError()) == "it is damaged or was tampered with: one of its parts ends too early"
