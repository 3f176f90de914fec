"""Saved pipelines come back bit by bit, and steps that a file cannot hold are refused with the way that works."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from pyriemann.tangentspace import TangentSpace
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, NuSVC

import covmetric
from covmetric import CovMetric, CovMetricClassifier, get_embedding, load_model, save_model
from covmetric.descriptors import ImageCovariances, SeriesCovariances
from tests.model_file.forging import unpack
from tests.model_file.pipelines import PIPELINES, fitted, images, series

METHODS = ("predict", "predict_proba", "decision_function", "transform")


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_come_back_bit_by_bit(name, tmp_path):
    pipeline, X = fitted(name)
    save_model(pipeline, tmp_path / "model.npz")
    back = load_model(tmp_path / "model.npz")
    assert type(back) is Pipeline and repr(back) == repr(pipeline)
    compared = 0
    for method in METHODS:
        if (hasattr(pipeline, method) and name != "lda, lsqr") or (method == "predict" and name == "lda, lsqr"):
            np.testing.assert_array_equal(getattr(back, method)(X), getattr(pipeline, method)(X))
            compared += 1
    assert compared > 0
    save_model(back, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


def test_pipeline_gives_the_same_bits_in_another_process(tmp_path):
    pipeline, X = fitted("logistic")
    save_model(pipeline, tmp_path / "model.npz")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np, covmetric\n"
        "model = covmetric.load_model(sys.argv[1] + '/model.npz')\n"
        "np.save(sys.argv[1] + '/out.npy', model.predict_proba(np.load(sys.argv[1] + '/X.npy')))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), pipeline.predict_proba(X))


def test_loading_does_not_import_pyriemann_unless_the_file_names_it(tmp_path):
    """It takes two seconds to import, and `ImageCovariances` does not need it."""
    save_model(fitted("images")[0], tmp_path / "model.npz")
    code = "import sys, covmetric; covmetric.load_model(sys.argv[1]); assert 'pyriemann' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "model.npz")], check=True)


def test_pipeline_records_the_versions_of_other_libraries(tmp_path):
    import pyriemann
    import sklearn

    save_model(fitted("logistic")[0], tmp_path / "model.npz")
    manifest = json.loads(unpack((tmp_path / "model.npz").read_bytes())["manifest.json"])
    steps = manifest["model"]["state"]["steps"]
    assert steps[0]["$class"] == "pyriemann.estimation.Covariances"
    assert steps[0]["state"]["version"] == pyriemann.__version__
    assert steps[2]["$class"] == "sklearn.linear_model.LogisticRegression"
    assert steps[2]["state"]["version"] == sklearn.__version__


def test_composed_pipeline_of_fitted_steps_is_saved(tmp_path):
    """Descriptors need no fit, so that a classifier of matrices can be given a descriptor afterwards."""
    X, y = images()
    classifier = CovMetricClassifier(random_state=0).fit(ImageCovariances().transform(X), y)
    pipeline = Pipeline([("describe", ImageCovariances()), ("classify", classifier)])
    save_model(pipeline, tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").predict(X), pipeline.predict(X))


def test_pipeline_that_is_not_fitted_is_refused(tmp_path):
    for last in (CovMetricClassifier(), LogisticRegression(), get_embedding("log")):
        with pytest.raises(NotFittedError, match="this Pipeline is not fitted yet"):
            save_model(make_pipeline(SeriesCovariances(), last), tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def shifted(X):
    return X + 1.0


UNSUPPORTED = {
    "TangentSpace": lambda: make_pipeline(SeriesCovariances(), TangentSpace(), LogisticRegression()),
    "NuSVC": lambda: make_pipeline(SeriesCovariances(), CovMetric(random_state=0), NuSVC(nu=0.1)),
    "Pipeline of an SVC": lambda: make_pipeline(SeriesCovariances(), make_pipeline(TangentSpace(), SVC())),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_error_names_the_skops_call_that_works(name, tmp_path):
    skops = pytest.importorskip("skops.io")
    X, y = series()
    pipeline = UNSUPPORTED[name]().fit(X, y)
    with pytest.raises(ValueError, match="which a model file cannot hold; save the pipeline with skops") as caught:
        save_model(pipeline, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []
    (trusted,) = re.findall(r"trusted=(\[.*\])\)", str(caught.value))
    skops.dump(pipeline, tmp_path / "pipeline.skops")
    back = skops.load(tmp_path / "pipeline.skops", trusted=eval(trusted, {"covmetric": covmetric}))
    np.testing.assert_array_equal(back.predict(X), pipeline.predict(X))


def test_functions_and_states_that_a_file_cannot_hold_are_refused(tmp_path):
    X, y = images()
    pipeline = make_pipeline(ImageCovariances(["I", np.gradient]), CovMetricClassifier(random_state=0))
    pipeline.steps[1][1].fit(ImageCovariances(["I", "Ix"]).transform(X), y)
    with pytest.raises(ValueError, match=r"steps.0.features.1 is a .*, which a model file cannot hold; .*skops"):
        save_model(pipeline, tmp_path / "model.npz")
    X, y = series()
    for step, message in [
        (FunctionTransformer(shifted), "steps.2 is a FunctionTransformer"),
        (StandardScaler(with_std=False), "with_std of StandardScaler is False, .*; save the pipeline with skops"),
        (
            SVC(kernel=linear_kernel),
            "kernel of SVC is a function, which files cannot hold, only 'linear', .*; save the",
        ),
    ]:
        pipeline = make_pipeline(SeriesCovariances(), CovMetric(random_state=0), step).fit(X, y)
        with pytest.raises(ValueError, match=message):
            save_model(pipeline, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_missing_folder_is_named(tmp_path):
    path = tmp_path / "models" / "today" / "model.npz"
    with pytest.raises(FileNotFoundError, match=re.escape(f"the folder {path.parent} does not exist")):
        save_model(fitted("series")[0], path)


def test_steps_that_do_not_fit_each_other_are_refused_without_another_format(tmp_path):
    X, y = series()
    inner = CovMetric(random_state=0).fit(SeriesCovariances().fit_transform(X), y)
    pipeline = make_pipeline(SeriesCovariances().fit(X[:, :2]), inner)
    with pytest.raises(ValueError, match=r"takes 3 .* but .*returns 2: fit all steps on the same examples$"):
        save_model(pipeline, tmp_path / "model.npz")
