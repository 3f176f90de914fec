"""Hostile files of pipelines are refused with a reason, without running code and without reading much."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from covmetric import load_model, save_model
from tests.model_file.forging import check_refused, pack, read_array, set_at, unpack, with_array, with_manifest
from tests.model_file.pipelines import fitted, named_pipeline, series

STEPS = "model/state/steps"
NAMES, PIXELS, SIZES = (f"steps.1._captions.{part}" for part in ("names", "pixels", "sizes"))


def setting(path, value):
    """Return a forger that sets an entry of the manifest."""
    return lambda g: with_manifest(g, set_at(path, value))


def array(name, value):
    """Return a forger that replaces an array."""
    return lambda g: with_array(g, name, value)


def without(step, key):
    """Return a forger that drops an entry of a step, and the array that belongs to it."""

    def forge(content):
        members = unpack(content)
        manifest = json.loads(members["manifest.json"])
        del manifest["model"]["state"]["steps"][step]["state"][key]
        manifest["arrays"].pop(f"steps.{step}.{key}", None)
        members.pop(f"steps.{step}.{key}.npy", None)
        members["manifest.json"] = json.dumps(manifest).encode()
        return pack(members)

    return forge


def resized(content, row):
    sizes = read_array(content, SIZES)
    sizes[0] = row
    return with_array(content, SIZES, sizes)


SVC = "steps.3"


def counted(content, first):
    """Return a file whose SVC counts other support vectors of its first class."""
    counts = read_array(content, f"{SVC}._n_support")
    counts[0] = first
    return with_array(content, f"{SVC}._n_support", counts)


def cut(content, name):
    return with_array(content, f"{SVC}.{name}", np.ascontiguousarray(read_array(content, f"{SVC}.{name}")[:1]))


def single(content, name):
    return with_array(content, f"{SVC}.{name}", read_array(content, f"{SVC}.{name}").astype(np.float32))


def shifted(content, name):
    return with_array(content, f"{SVC}.{name}", read_array(content, f"{SVC}.{name}") + np.int32(24))


def nested(content):
    """Return a file with a pipeline within a pipeline, a hundred times."""

    def change(manifest):
        for _ in range(100):
            state = {"names": ["a"], "steps": [manifest["model"]], "verbose": False}
            manifest["model"] = {"$class": "Pipeline", "state": state}

    return with_manifest(content, change)


NEWTON = {"$class": "Newton", "state": {"memory": 1}}
HOSTILE = {
    # The names and pictures of the references.
    "few names": ("names", array(NAMES, np.array(["a"])), r"must be 16 texts, got shape \(1,\)"),
    "names as numbers": ("names", array(NAMES, np.zeros(16)), "Captions.names must be"),
    "names as bytes": ("names", array(NAMES, np.zeros((16, 2), np.uint8)), "Captions.names must be"),
    "large pictures": ("names", lambda g: resized(g, [65, 1]), "must have 1 to 64 rows and columns"),
    "huge pictures": ("names", lambda g: resized(g, [2**62, 2**62]), "must have 1 to 64 rows and columns"),
    "negative pictures": ("names", lambda g: resized(g, [-8, -8]), "must have 1 to 64 rows and columns"),
    "flat pictures": ("names", lambda g: resized(g, [0, 8]), "must have 1 to 64 rows and columns"),
    "other pictures": ("names", lambda g: resized(g, [8, 7]), "do not match their pixels"),
    "few pictures": ("names", array(SIZES, np.full((3, 2), 8)), "must be 16 pictures in colour"),
    "pictures of floats": ("names", array(PIXELS, np.zeros((1024, 3))), "Captions.pixels must be"),
    "grey pictures": ("names", array(PIXELS, np.zeros((1024, 1), np.uint8)), "must be 16 pictures in colour"),
    "captions of another class": (
        "names",
        setting(f"{STEPS}/1/state/_captions", NEWTON),
        "does not use the arrays|names and thumbnails of the references are invalid",
    ),
    # The steps.
    "unknown class": ("names", setting(f"{STEPS}/0/$class", "os.system"), "holds a 'os.system', which is not a class"),
    "class that is not listed": ("names", setting(f"{STEPS}/0/$class", "sklearn.svm.SVR"), "holds a 'sklearn.svm.SVR'"),
    "class is not text": ("names", setting(f"{STEPS}/0/$class", ["a"]), r"it holds a \['a'\], which is not a class"),
    "step that is no step": ("names", setting(f"{STEPS}/0", NEWTON), "the step 'imagecovariances' .* is a Newton"),
    "step that is text": ("names", setting(f"{STEPS}/0", "eval"), "the step 'imagecovariances' .* is a str"),
    "names of steps": ("names", setting("model/state/names", [1, 2]), "the names of the steps .* must be text"),
    "equal names of steps": ("names", setting("model/state/names", ["a", "a"]), "all different"),
    "few names of steps": ("names", setting("model/state/names", ["a"]), "one name for each step"),
    "memory": ("names", setting("model/state/memory", "/tmp/cache"), "a Pipeline has names, steps and verbose"),
    "a hundred pipelines": ("names", nested, "nested too deeply"),
    "a class at the top": ("names", setting("class", "sklearn.pipeline.Pipeline"), "is not the name of a class"),
    "another model at the top": ("names", setting("class", "CovMetricClassifier"), "but it does not"),
    # Descriptors.
    "unknown feature": ("names", setting(f"{STEPS}/0/state/features", ["I", "J", "K"]), r"features\[1\]"),
    "other features": (
        "names",
        setting(f"{STEPS}/0/state/features", ["I", "Ix"]),
        "'covmetricclassifier' .* takes 3 channels or features, but 'imagecovariances' returns 2",
    ),
    "unknown regions": ("names", setting(f"{STEPS}/0/state/regions", "everywhere"), "regions must be one of"),
    "regions that are none": ("names", setting(f"{STEPS}/0/state/regions", NEWTON), "regions must be one of"),
    "unknown mask": ("names", setting(f"{STEPS}/0/state/mask", "all"), "mask must be None, 'alpha'"),
    "unknown errors": ("names", setting(f"{STEPS}/0/state/errors", "hide"), "errors must be 'raise' or 'skip'"),
    "more attributes": ("names", setting(f"{STEPS}/0/state/transform", 1), r"\['transform'\] of ImageCovariances"),
    "missing features": ("names", without(0, "features"), "the ImageCovariances in it has no entry 'features'"),
    "boxes of text": (
        "boxes",
        setting(f"{STEPS}/0/state/regions/state/boxes", "0000"),
        "boxes must have one entry per image",
    ),
    "size of a set": ("image sets", setting(f"{STEPS}/0/state/size", {"$tuple": [10**6] * 2}), "takes 6 channels"),
    "size that is none": ("image sets", setting(f"{STEPS}/0/state/size", 3), "size must be .rows, columns."),
    "unknown estimator": ("series", setting(f"{STEPS}/0/state/estimator", "eval"), "estimator must be one of"),
    "estimator is a list": ("series", setting(f"{STEPS}/0/state/estimator", []), "estimator must be one of"),
    "channels": ("series", setting(f"{STEPS}/0/state/n_channels_", 10**12), "takes 3 channels or features, but"),
    "negative channels": ("series", setting(f"{STEPS}/0/state/n_channels_", -3), "n_channels_ .* integer >= 1"),
    "bands": ("filter bank", setting(f"{STEPS}/0/state/bands", [[8, 12], [30, 15]]), r"bands\[1\] is \(30, 15\)"),
    "more bands": ("filter bank", setting(f"{STEPS}/0/state/bands", [[8, 12]] * 9), "takes 6 .* returns 27"),
    "frequency": ("filter bank", setting(f"{STEPS}/0/state/sfreq", "1e9"), "sfreq must be a positive number"),
    # Other libraries.
    "covariances": ("logistic", setting(f"{STEPS}/0/state/estimator", "eval"), "'eval', which pyRiemann does not have"),
    "argument": ("logistic", setting(f"{STEPS}/0/state/kwds", {"$dict": {"out": 1}}), "out of Covariances is 1"),
    "arguments": ("logistic", setting(f"{STEPS}/0/state/kwds", [1]), "kwds of Covariances must be a dict"),
    "coefficients with NaN": ("logistic", array("steps.2.coef_", np.full((3, 9), np.nan)), "coef_ must hold finite"),
    "few coefficients": ("logistic", array("steps.2.coef_", np.ones((3, 4))), "axis d should have 9 entries"),
    "flat coefficients": ("logistic", array("steps.2.coef_", np.ones(27)), "coef_ must be an array with 2 axes"),
    "coefficients of text": ("logistic", array("steps.2.coef_", np.array([["a"] * 9] * 3)), "coef_ must hold finite"),
    "classes out of order": ("logistic", array("steps.2.classes_", np.array(["b", "a", "c"])), "two classes, sorted"),
    "features": ("logistic", setting(f"{STEPS}/2/state/n_features_in_", -1), "n_features_in_ must be of the kind"),
    "missing iterations": ("logistic", without(2, "n_iter_"), "which scikit-learn .* would restore, has no n_iter_"),
    "attribute that is a method": ("logistic", setting(f"{STEPS}/2/state/predict", 1), "unknown entries .'predict'"),
    "parameter of an unknown version": ("logistic", setting(f"{STEPS}/2/state/magic", 1), "unknown entries .'magic'"),
    "parameter that is an object": ("logistic", setting(f"{STEPS}/2/state/C", NEWTON), "C of LogisticRegression is"),
    "version": ("logistic", setting(f"{STEPS}/2/state/version", 3), "version of the library .* must be text"),
    "no version": ("logistic", without(2, "version"), "has no entry 'version'"),
    "columns": ("logistic", setting(f"{STEPS}/2/state/by_columns", ["C"]), "does not have the arrays"),
    "output": (
        "logistic, pandas",
        setting(f"{STEPS}/2/state/_sklearn_output_config", {"$dict": {"transform": "evil"}}),
        "must be of the kind 'output'",
    ),
    "feature names": ("logistic, pandas", setting(f"{STEPS}/3/state/feature_names_in_", "a"), "array with 1 axes"),
    "solver": ("lda", setting(f"{STEPS}/2/state/solver", "eval"), "solver of LinearDiscriminantAnalysis is 'eval'"),
    "no projection": ("lda", without(2, "scalings_"), "has no scalings_"),
    "other widths": ("scaler and pca", array("steps.2.mean_", np.ones(4)), "axis d should have 9 entries"),
    "step of another width": (
        "pca and metric",
        setting(f"{STEPS}/3/state/n_features_in_", 5),
        "n_features_in_ is 5, but the metric",
    ),
    "examples with NaN": ("knn", array("steps.2.examples", np.full((24, 9), np.nan)), "examples must hold finite"),
    "codes": ("knn", array("steps.2.codes", np.arange(24)), "codes must hold the indices of the classes"),
    "metric": ("knn", setting(f"{STEPS}/2/state/metric", "eval"), "'metric' parameter of KNeighborsClassifier"),
    "weights": ("knn", setting(f"{STEPS}/2/state/weights", "eval"), "weights of KNeighborsClassifier is 'eval'"),
    "counts beyond the vectors": ("svc", lambda g: counted(g, 10**6), "must count the .* support vectors by class"),
    "negative counts": ("svc", lambda g: counted(g, -1), "must count the .* support vectors by class"),
    "counts that overflow": ("svc", lambda g: counted(g, 2**31 - 1), "must count the .* support vectors by class"),
    "counts of another type": ("svc", array(f"{SVC}._n_support", np.ones(3)), "must count the .* support vectors"),
    "few counts": ("svc", array(f"{SVC}._n_support", np.ones(2, np.int32)), "axis c should have 3 entries"),
    "few intercepts": ("svc", array(f"{SVC}._intercept_", np.zeros(1)), "its axis p should have 1 entries"),
    "few weights": ("svc", lambda g: cut(g, "_dual_coef_"), "_dual_coef_ has shape .1, .*but should have shape .2, "),
    "single precision": ("svc", lambda g: single(g, "support_vectors_"), "of the type float64"),
    "probabilities": ("svc", array(f"{SVC}._probA", np.ones(3)), "_probA has shape .3,., but|axis a"),
    "no probabilities": ("svc, probabilities", setting(f"{STEPS}/2/state/probability", False), "_probA has shape"),
    "support": ("svc", lambda g: shifted(g, "support_"), "support_ must hold indices of the 24 training examples"),
    "precomputed kernel": ("svc", setting(f"{STEPS}/3/state/kernel", "precomputed"), "kernel of SVC is 'precomputed'"),
    "degree": ("svc", setting(f"{STEPS}/3/state/degree", 2**40), "degree and coef0 of SVC are 1099511627776"),
    "dict as a choice": ("svc", setting(f"{STEPS}/3/state/kernel", {"$dict": {}}), "kernel of SVC is {}"),
    "shape of the fit": ("svc", setting(f"{STEPS}/3/state/shape_fit_", {"$tuple": [24, 7]}), "has 7 features, but"),
    "width": ("linear svc", array("steps.2.coef_", np.ones((3, 4))), "axis d should have 9 entries"),
    "ridge for two classes": ("ridge", array("steps.2.coef_", np.ones(9)), "which is for two classes"),
    "binarizer": ("ridge", setting(f"{STEPS}/2/state/_label_binarizer", NEWTON), "unknown entries .*_label_binarizer"),
    "variances": ("naive bayes", array("steps.2.var_", np.zeros((3, 9))), "var_ must hold positive variances"),
}  # fmt: skip


@cache
def saved(name, folder):
    path = folder / "valid.npz"
    save_model(named_pipeline() if name == "names" else fitted(name)[0], path)
    content = path.read_bytes()
    path.unlink()
    return content


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pipelines")


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_pipelines_are_refused(case, folder, tmp_path):
    name, forge, message = HOSTILE[case]
    path = tmp_path / "model.npz"
    path.write_bytes(forge(saved(name, folder)))
    check_refused(path, message)


@pytest.mark.parametrize("name", sorted({name for name, _, _ in HOSTILE.values()}))
def test_valid_pipelines_load_after_repacking(name, folder, tmp_path):
    """The hostile files differ from valid ones only in the forged part."""
    (tmp_path / "model.npz").write_bytes(pack(unpack(saved(name, folder))))
    assert load_model(tmp_path / "model.npz").steps


def test_filters_of_a_huge_order_are_refused_before_they_are_made(folder, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(setting(f"{STEPS}/0/state/order", 10**12)(saved("filter bank", folder)))
    model = load_model(path)
    with pytest.raises(ValueError, match="a filter of order 1000000000000 needs"):
        model.predict(series()[0])
