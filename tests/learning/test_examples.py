"""Checks of examples and labels, and the choice of an embedding for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from covmetric.embeddings import get_embedding
from covmetric.learning.examples import check_entries, check_examples, check_labelled, embedding_for, require_classes
from tests.data import hermitian, spd

X = spd(6, 3)


def test_check_examples_sets_the_number_of_features_only_with_reset():
    estimator = BaseEstimator()
    np.testing.assert_array_equal(check_examples(estimator, X, reset=True), X)
    assert estimator.n_features_in_ == 3
    with pytest.raises(ValueError, match="4 features, but BaseEstimator is expecting 3"):
        check_examples(estimator, spd(2, 4))
    check_examples(estimator, spd(2, 4), reset=True)
    assert estimator.n_features_in_ == 4
    frame = pd.DataFrame(X[:, 0], columns=list("abc"))
    assert check_examples(estimator, frame, reset=True).shape == (6, 3)
    assert list(estimator.feature_names_in_) == list("abc")


@pytest.mark.parametrize("convert", [np.asarray, list, tuple, lambda H: H.tolist()])
def test_check_examples_keeps_complex_matrices(convert):
    H = hermitian(4, 3)
    array = check_examples(BaseEstimator(), convert(H), reset=True)
    assert array.dtype == np.complex128
    np.testing.assert_array_equal(array, H)
    labelled, *_ = check_labelled(BaseEstimator(), convert(H), [0, 1, 0, 1])
    np.testing.assert_array_equal(labelled, H)


def test_check_examples_leaves_nan_to_the_embedding():
    assert np.isnan(check_examples(BaseEstimator(), X * np.nan, reset=True)).all()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((4, 3, 2)), r"X must hold square matrices, shape \(l, n, n\) with n >= 1; got \(4, 3, 2\)"),
        (np.ones((4, 0, 0)), r"0 feature|n >= 1; got \(4, 0, 0\)"),
        (
            np.ones((1, 4, 3, 3)),
            r"X must have shape \(l, n, n\) for matrices, or \(l, d\) for vectors; got \(1, 4, 3, 3\)",
        ),
        (np.ones((4, 3, 2)) * 1j, r"X must hold square matrices.*got \(4, 3, 2\)"),
        (np.ones((4, 3)) * 1j, "Complex data not supported"),
        ([[[1.0]], [[1.0, 2.0]]], "inhomogeneous|sequence"),
        (np.ones(4), "Expected 2D array, got 1D array"),
    ],
)
def test_check_examples_raises_for_other_shapes(array, message):
    with pytest.raises(ValueError, match=message):
        check_examples(BaseEstimator(), array, reset=True)


def test_check_labelled_returns_sorted_classes_and_codes():
    array, classes, codes = check_labelled(BaseEstimator(), X, ["b", "a", "c", "a", "b", "b"])
    np.testing.assert_array_equal(array, X)
    assert classes.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [1, 0, 2, 0, 1, 1]
    assert codes.dtype == np.int64


def test_check_labelled_needs_two_examples_only_with_reset():
    estimator = BaseEstimator()
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        check_labelled(estimator, X[:1], [0])
    check_labelled(estimator, X, [0, 1] * 3)
    assert check_labelled(estimator, X[:1], [0], reset=False)[0].shape == (1, 3, 3)
    with pytest.raises(ValueError, match="4 features, but BaseEstimator is expecting 3"):
        check_labelled(estimator, spd(2, 4), [0, 1], reset=False)


def test_check_labelled_raises_for_invalid_labels_and_shapes():
    with pytest.raises(ValueError, match="Unknown label type"):
        check_labelled(BaseEstimator(), X, np.linspace(0.1, 0.9, 6))
    with pytest.raises(ValueError, match="X must hold square matrices"):
        check_labelled(BaseEstimator(), X[:, :, :2], [0, 1] * 3)


def test_require_classes_needs_two():
    with pytest.raises(ValueError, match="y has only one class, 'a': at least two classes are needed"):
        require_classes(np.array(["a"]))
    require_classes(np.array(["a", "b"]))


def test_embedding_for_auto_depends_on_the_shape():
    assert embedding_for("auto", X, 0.0).name == "relog"
    assert embedding_for("auto", X[:, 0], 0.0).name == "vector"
    assert embedding_for("sqrt", X, 0.25).reg == 0.25
    assert embedding_for("auto", X, 0.5).reg == 0.5


def test_embedding_for_copies_objects():
    phi = get_embedding("log")
    phi.reg = 0.125
    embedding = embedding_for(phi, X, 0.0)
    assert embedding is not phi
    assert embedding.reg == 0.125
    embedding.fit(X)
    assert not hasattr(phi, "shape_in_")


@pytest.mark.parametrize(
    ("phi", "array", "reg", "message"),
    [
        ("vector", X, 0.0, r"phi 'vector' does not take matrices, shape \(l, n, n\), but X has shape \(6, 3, 3\)"),
        ("log", X[:, 0], 0.0, r"phi 'log' does not take vectors, shape \(l, d\), but X .*\(6, 3\); use phi='auto'"),
        (get_embedding("log"), X[:, 0], 0.0, "phi 'log' does not take vectors"),
        (
            get_embedding("log"),
            X,
            0.1,
            "reg can only be set together with the name of a phi; set the reg of the object Log",
        ),
        ("auto", X[:, 0], 0.1, r"reg applies to matrices, but X holds vectors, shape \(6, 3\); set reg=0"),
        ("cosine", X, 0.0, "phi must be one of"),
    ],
)
def test_embedding_for_raises_if_phi_and_examples_do_not_match(phi, array, reg, message):
    with pytest.raises(ValueError, match=message):
        embedding_for(phi, array, reg)


def test_check_entries_names_the_index():
    broken = X.copy()
    broken[4, 1, 2] = np.inf
    with pytest.raises(ValueError, match=r"^X\[4, 1, 2\] is inf"):
        check_entries(broken)
    vectors = X[:, 0].copy()
    check_entries(vectors)
    vectors[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"^X\[2, 1\] is nan"):
        check_entries(vectors)


def test_check_entries_tolerates_asymmetry_by_the_precision_of_the_input():
    skewed = X + 1e-6 * np.triu(np.ones((3, 3)), 1)
    check_entries(skewed.astype(np.float32))
    with pytest.raises(ValueError, match=r"X\[0\] is not symmetric"):
        check_entries(skewed)
    H = hermitian(3, 2)
    check_entries(H)
    with pytest.raises(ValueError, match=r"X\[0\] is not Hermitian"):
        check_entries(H + 1j)
