"""The names and thumbnails of the references, and the class means, of CovMetricClassifier."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier, load_model
from covmetric.descriptors import SeriesCovariances
from tests.data import hermitian, spd, two_classes


def pictures(count, seed=0):
    return np.random.default_rng(seed).integers(256, size=(count, 5, 7, 3)).astype(np.uint8)


def named(**settings):
    X, y = two_classes()
    names = [f"folder/{i}é.png" for i in range(len(X))]
    clf = CovMetricClassifier(random_state=0, **settings).fit(X, y, names=names, thumbnails=pictures(len(X)))
    return clf, X, y, names


def test_references_hold_what_was_passed_to_fit():
    clf, X, y, names = named()
    references = clf.references_
    assert len(references) == 40
    assert references.names.tolist() == names and references.labels.tolist() == y.tolist()
    for kept, given in zip(references.thumbnails, pictures(40), strict=True):
        np.testing.assert_array_equal(kept, given)
    np.testing.assert_array_equal(clf.metric_.map(references.embedded), clf.metric_.transform(X))


def test_references_have_no_names_unless_they_are_passed():
    X, y = two_classes()
    clf = CovMetricClassifier(random_state=0).fit(X, y, names=list(range(40)))
    assert clf.references_.names.tolist() == [str(i) for i in range(40)] and clf.references_.thumbnails is None
    clf.fit(X, y)  # a second fit forgets them
    assert clf.references_.names is None
    with pytest.raises(ValueError, match=r"have no names: pass names=\.\.\. to fit"):
        clf.kneighbors(X, return_names=True)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, tuple])
def test_names_may_be_any_sequence(make):
    X, y = two_classes()
    names = [f"trial {i}" for i in range(40)]
    assert CovMetricClassifier(random_state=0).fit(X, y, names=make(names)).references_.names.tolist() == names


def test_names_may_be_paths():
    X, y = two_classes()
    paths = [Path("a") / f"{i}.png" for i in range(40)]
    kept = CovMetricClassifier(random_state=0).fit(X, y, names=paths).references_.names
    assert kept.tolist() == [str(path) for path in paths]


def test_kneighbors_returns_names_after_the_usual_arrays():
    clf, X, _, names = named()
    distances, indices = clf.kneighbors(X[:3], 2)
    answer = clf.kneighbors(X[:3], 2, return_names=True)
    np.testing.assert_array_equal(answer[0], distances)
    np.testing.assert_array_equal(answer[1], indices)
    assert answer[2].tolist() == [[names[i] for i in row] for row in indices]
    alone = clf.kneighbors(X[:3], 2, return_distance=False)
    np.testing.assert_array_equal(alone, indices)
    assert len(clf.kneighbors(None, 2, return_distance=False, return_names=True)) == 2


def test_partial_fit_extends_names_and_thumbnails(tmp_path):
    clf, X, y, names = named()
    clf.partial_fit(X[:2], y[:2])
    clf.partial_fit(X[:2], y[:2], names=["new", "newer"], thumbnails=[None, pictures(1, 1)[0]])
    for one in (clf, saved_and_loaded(clf, tmp_path)):
        references = one.references_
        assert references.names.tolist() == [*names, "", "", "new", "newer"]
        assert [picture is None for picture in references.thumbnails[38:]] == [False, False, True, True, True, False]
        np.testing.assert_array_equal(references.thumbnails[-1], pictures(1, 1)[0])
        np.testing.assert_array_equal(references.thumbnails[7], pictures(40)[7])
    first = CovMetricClassifier(random_state=0).partial_fit(X, y)
    assert first.references_.names is None
    first.partial_fit(X[:1], y[:1], names=["late"])
    assert first.references_.names.tolist() == [*[""] * 40, "late"]


def saved_and_loaded(clf, folder):
    clf.save(folder / "model.npz")
    return load_model(folder / "model.npz")


def test_names_and_thumbnails_of_various_sizes_are_saved(tmp_path):
    X, y = two_classes()
    sizes = np.random.default_rng(0).integers(1, 65, (40, 2))
    thumbnails = [np.full((*size, 3), i, dtype=np.uint8) for i, size in enumerate(sizes)]
    thumbnails[3] = None
    clf = CovMetricClassifier(random_state=0).fit(X, y, names=np.arange(40), thumbnails=thumbnails)
    back = saved_and_loaded(clf, tmp_path)
    assert back.references_.thumbnails[3] is None
    for kept, given in zip(back.references_.thumbnails, thumbnails, strict=True):
        np.testing.assert_array_equal(kept, given)
    assert back.kneighbors(X[:4], 1, return_names=True)[2].ravel().tolist() == ["0", "1", "2", "3"]
    before = (tmp_path / "model.npz").read_bytes()
    back.save(tmp_path / "model.npz")
    assert (tmp_path / "model.npz").read_bytes() == before


INVALID = {
    "few": ({"names": ["a"]}, "names must be a list with one entry for each of the 40 examples, but it has length 1"),
    "text": ({"names": "a"}, "but it is 'a'"),
    "number": ({"names": 3}, "but it is 3"),
    "missing": ({"names": [None] * 40}, r"names\[0\] must be text, a path or a whole number, got None"),
    "empty": ({"names": ["a"] * 39 + [""]}, r"names\[39\] must have 1 to 4096 characters"),
    "nul": ({"names": ["a\0"] * 40}, r"names\[0\] must have 1 to 4096 characters"),
    "long": ({"names": ["a" * 5000] * 40}, r"names\[0\] must have 1 to 4096 characters"),
    "few pictures": ({"thumbnails": pictures(3)}, "thumbnails must be a list .* has length 3"),
    "floats": ({"thumbnails": pictures(40) / 255}, r"thumbnails\[0\] must be an array of uint8 .*make_thumbnail"),
    "grey": ({"thumbnails": pictures(40)[..., 0]}, r"got uint8 of shape \(5, 7\)"),
    "large": ({"thumbnails": [np.zeros((65, 3, 3), np.uint8)] * 40}, r"at most 64 rows .* got uint8 of shape \(65"),
    "no rows": ({"thumbnails": [np.zeros((0, 3, 3), np.uint8)] * 40}, r"got uint8 of shape \(0, 3, 3\)"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_names_and_thumbnails_are_refused(case):
    X, y = two_classes()
    arguments, message = INVALID[case]
    with pytest.raises(ValueError, match=message):
        CovMetricClassifier(random_state=0).fit(X, y, **arguments)


def test_refused_names_leave_a_fitted_classifier_unchanged():
    clf, X, y, names = named()
    with pytest.raises(ValueError, match="names must be a list"):
        clf.partial_fit(X[:2], y[:2], names=["one"])
    assert clf.references_.names.tolist() == names and len(clf.references_) == 40


def test_names_pass_through_pipelines_and_cross_validation():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3, 50)), np.arange(20) % 2
    pipe = make_pipeline(SeriesCovariances(), CovMetricClassifier(random_state=0, n_neighbors=1))
    names = [f"trial {i}" for i in range(20)]
    pipe.fit(X, y, covmetricclassifier__names=names)
    nearest = pipe[-1].kneighbors(pipe[:-1].transform(X), return_names=True)[2]
    assert nearest.ravel().tolist() == names
    scores = cross_val_score(pipe, X, y, cv=2, params={"covmetricclassifier__names": names}, error_score="raise")
    assert len(scores) == 2


@pytest.mark.parametrize("make", [spd, hermitian])
@pytest.mark.parametrize("phi", ["relog", "log", "chol", "tangent"])
def test_class_means_are_those_of_the_metric(phi, make, tmp_path):
    X, y = two_classes(make)
    clf = CovMetricClassifier(CovMetric(phi, random_state=0)).fit(X, y)
    vectors = clf.metric_.transform(X)
    expected = np.stack([vectors[y == c].mean(axis=0) for c in clf.classes_])
    np.testing.assert_allclose(clf.class_means_, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(clf.class_mean_matrices_, clf.metric_.class_means(X, y)[1], rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(saved_and_loaded(clf, tmp_path).class_means_, clf.class_means_)


def test_class_without_references_has_no_mean():
    X, y = two_classes(labels=("a", "b"))
    clf = CovMetricClassifier(random_state=0).partial_fit(X, y, classes=["a", "b", "c"])
    assert np.isnan(clf.class_means_).all(axis=1).tolist() == [False, False, True]
    assert np.isnan(clf.class_mean_matrices_).all(axis=(1, 2)).tolist() == [False, False, True]
