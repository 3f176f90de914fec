"""ImagePatchClassifier: several regions per image."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from covmetric import CovMetric, CovMetricClassifier, ImagePatchClassifier, load_model, save_model
from covmetric.datasets import make_textures
from covmetric.descriptors import Boxes, GridPatches, ImageCovariances
from covmetric.estimators.set_distances import set_distances

REGIONS = ImageCovariances("grey", regions=GridPatches(24))


def classifier(**settings):
    return ImagePatchClassifier(REGIONS, CovMetricClassifier(CovMetric(random_state=0)), **settings)


@pytest.fixture(scope="module")
def data():
    made = make_textures(n_classes=3, n_per_class=8, size=48)
    return made.images, np.array(["wood", "bark", "sand"])[made.y]


@pytest.fixture(scope="module")
def fitted(data):
    images, y = data
    return classifier().fit(images[::2], y[::2], names=[f"{i}.png" for i in range(0, 24, 2)])


def naive_set_distance(A, B):
    """The larger of the two mean distances to the nearest vector of the other set, pair by pair."""
    d = [[float(np.linalg.norm(a - b)) for b in B] for a in A]
    return max(np.mean([min(row) for row in d]), np.mean([min(row[j] for row in d) for j in range(len(B))]))


def test_set_distances_agree_with_the_naive_implementation():
    rng = np.random.default_rng(0)
    query, sets = rng.standard_normal((5, 3)), [rng.standard_normal((k, 3)) for k in (1, 4, 7, 2)]
    starts = np.cumsum([0, 1, 4, 7])
    expected = [naive_set_distance(query, one) for one in sets]
    np.testing.assert_allclose(set_distances(query, np.concatenate(sets), starts), expected, rtol=1e-12)


def test_vote_is_the_mean_of_the_probabilities_of_the_regions(data, fitted):
    images, y = data
    described = REGIONS.describe(images[1::2])
    regions = fitted.classifier_.predict_proba(described.X)
    expected = [regions[described.image == i].mean(axis=0) for i in range(12)]
    np.testing.assert_allclose(fitted.predict_proba(images[1::2]), expected, rtol=1e-12)
    assert fitted.score(images[1::2], y[1::2]) > 0.8


def test_nearest_set_is_the_class_of_the_nearest_training_image(data, fitted):
    images, y = data
    nearest = classifier(decision="nearest-set").fit(images[::2], y[::2])
    distances, indices = nearest.kneighbors(images[1::2], 12)
    vectors = [nearest.metric_.transform(REGIONS.describe(image[None]).X) for image in images]
    expected = [[naive_set_distance(vectors[i], vectors[j]) for j in range(0, 24, 2)] for i in range(1, 24, 2)]
    np.testing.assert_allclose(np.take_along_axis(np.array(expected), indices, axis=1), distances, rtol=1e-9, atol=1e-7)
    assert (np.diff(distances, axis=1) >= 0).all()
    assert (
        nearest.predict(images[1::2]).tolist()
        == y[::2][indices[:, 0]].tolist()
        == nearest.references_.labels[indices[:, 0]].tolist()
    )
    assert (nearest.predict_proba(images[1::2]).max(axis=1) == 1.0).all()


def test_images_may_have_different_sizes(data, fitted):
    images, _ = data
    mixed = [images[0], np.tile(images[1], (2, 1))]
    assert fitted.predict(mixed).shape == (2,) and fitted.kneighbors(mixed, 1, return_distance=False).shape == (2, 1)
    with pytest.raises(
        ValueError, match=r"images\[1\]: the image of 20 x 48 pixels is smaller than a patch of 24 x 24"
    ):
        fitted.predict([images[0], images[0][:20]])


def test_regions_of_an_image_stay_together_in_the_folds(data):
    images, y = data
    seen = []

    class Spy(CovMetricClassifier):
        def fit(self, X, y, groups=None, **settings):
            seen.append(groups)
            return super().fit(X, y, groups, **settings)

    regions = ImagePatchClassifier(REGIONS, Spy(CovMetric(lam=np.inf)))
    regions.fit(images, y)
    assert seen[-1].tolist() == np.repeat(np.arange(24), 4).tolist()
    regions.fit(images, y, groups=np.arange(24) // 2)
    assert seen[-1].tolist() == np.repeat(np.arange(24) // 2, 4).tolist()
    one_per_class = [int(np.flatnonzero(y == c)[0]) for c in np.unique(y)]
    regions.fit(images[one_per_class], y[one_per_class])
    assert seen[-1] is None


def test_default_searches_for_the_rule(data):
    images, _ = data
    big = np.tile(images, (1, 2, 2))[:8]
    auto = ImagePatchClassifier(random_state=0).fit(big, np.arange(8) % 2)
    assert auto.classifier_.rule == "auto" and len(auto.references_.labels) == 8 and clone(auto).descriptor is None


def test_skipped_images_are_left_out_of_the_references(data):
    images, y = data[0][::4], data[1][::4]
    lenient = ImageCovariances("grey", regions=GridPatches(24), errors="skip")
    model = ImagePatchClassifier(lenient, CovMetricClassifier(CovMetric(lam=np.inf)))
    with pytest.warns(UserWarning, match="left out 1 of 6 images"):
        model.fit([*images[:3], images[3][:5], *images[4:6]], y[:6], names=list("abcdef"))
    assert (
        model.references_.names.tolist() == list("abcef")
        and model.references_.labels.tolist() == y[[0, 1, 2, 4, 5]].tolist()
    )
    with (
        pytest.warns(UserWarning, match="left out"),
        pytest.raises(ValueError, match=r"X\[1\] has no regions, or only"),
    ):
        model.predict([images[0], images[1][:5]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decision": "best"}, "decision must be one of 'vote', 'nearest-set', got 'best'"),
        ({"descriptor": "grey"}, "descriptor must be an ImageCovariances or None, got 'grey'"),
        ({"classifier": CovMetric()}, r"classifier must be a CovMetricClassifier or None, got CovMetric\(\)"),
    ],
)
def test_invalid_parameters_raise_value_error_in_fit(settings, message, data):
    with pytest.raises(ValueError, match=message):
        classifier().set_params(**settings).fit(*data)


def test_invalid_labels_raise_value_error(data):
    images, y = data
    for wrong in (y[:-1], [*y, "wood"]):
        with pytest.raises(ValueError, match="inconsistent numbers"):
            classifier().fit(images, wrong)
    with pytest.raises(ValueError, match="y must have one label per image, but it has 23"):
        classifier().fit_described(REGIONS.describe(images), y[:-1])
    with pytest.raises(ValueError, match="only one class"):
        classifier().fit(images, ["a"] * 24)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        classifier().fit(images, y, names=["a"])
    with pytest.raises(ValueError, match="the images have no regions"):
        ImagePatchClassifier(ImageCovariances("grey", regions=Boxes(np.empty((0, 4), dtype=int)))).fit(images, y)


@pytest.fixture
def saved(data, tmp_path):
    images, y = data
    model = classifier(decision="nearest-set").fit(
        images[::2], y[::2], names=[f"{i}.png" for i in range(12)], thumbnails=[np.zeros((4, 5, 3), np.uint8)] * 12
    )
    save_model(model, tmp_path / "patches.model")
    return model, tmp_path / "patches.model"


def test_saved_model_gives_the_same_results(saved, data):
    model, path = saved
    images, _ = data
    again = load_model(path)
    assert isinstance(again, ImagePatchClassifier) and again.decision == "nearest-set"
    np.testing.assert_array_equal(again.predict_proba(images), model.predict_proba(images))
    for found, expected in zip(again.kneighbors(images, 3), model.kneighbors(images, 3), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert again.references_.names.tolist() == model.references_.names.tolist()
    assert again.references_.thumbnails[3].shape == (4, 5, 3)
    assert again.classifier_.references_.names[1] == "0.png [0, 24, 24, 24]"
    with pytest.raises(ValueError, match="not fitted"):
        save_model(classifier(), path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"_image": np.zeros(48, np.int64)}, "the regions do not belong to the images"),
        ({"_image": np.repeat(np.arange(12)[::-1], 4)}, "the regions do not belong to the images"),
        ({"_image": np.arange(12)}, "the regions do not belong to the images"),
        ({"_codes": np.full(12, 3)}, "the images must belong to the classes"),
        ({"_codes": np.full(12, -1)}, "the images must belong to the classes"),
        ({"_codes": np.zeros(12)}, "_codes must be an array of integers"),
        ({"_image": []}, "_image must be an array of integers"),
        ({"_captions": None}, "the names and thumbnails of the images are invalid"),
        ({"classes_": np.array(["a", "b"])}, "classes_ differ"),
        ({"classifier_": CovMetric()}, "classifier_ must be a CovMetricClassifier"),
    ],
)
def test_damaged_states_are_refused(saved, change, message):
    model, _ = saved
    state = {**model.get_state(), **change}
    with pytest.raises(ValueError, match=message):
        ImagePatchClassifier.from_state(state)


def test_regions_of_a_single_value_are_left_out(data):
    """As for a white background. An image of a single value has no regions left."""
    images, y = data
    marked = images.copy()
    marked[:, :25, :25] = 255.0  # the derivatives of the last pixels need one more
    model = classifier().fit(marked[::2], y[::2])
    assert len(model.classifier_.references_) == 3 * 12 and model.predict(marked[1::2]).shape == (12,)
    with pytest.raises(ValueError, match=r"X\[1\] has no regions, or only regions of a single value"):
        model.predict([marked[0], np.full((48, 48), 7.0)])


def test_accuracy_of_images_is_that_of_votes_outside_the_folds(tmp_path):
    """The literal twin averages the predictions of the regions of each image, and counts the images."""
    data = make_textures(n_classes=3, n_per_class=6, size=64)
    model = ImagePatchClassifier(ImageCovariances("grey", regions=GridPatches(32)), random_state=0)
    model.fit(data.images + 60.0 * np.random.default_rng(0).standard_normal(data.images.shape), data.y)
    regions = model.classifier_._out_of_fold()
    votes = [regions.probabilities[model._image[regions.places] == i].mean(axis=0).argmax() for i in range(18)]
    assert model.out_of_fold_accuracy_ == np.mean(np.array(votes) == data.y)
    assert model.out_of_fold_counts_[:, 1].sum() == 18 < model.classifier_.out_of_fold_counts_[:, 1].sum()
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.out_of_fold_accuracy_ == model.out_of_fold_accuracy_
    assert again.classifier_.out_of_fold_accuracy_ == model.classifier_.out_of_fold_accuracy_


def test_accuracy_of_images_is_unknown_where_regions_of_an_image_are_trained_on():
    data = make_textures(n_classes=2, n_per_class=1, size=96)
    model = ImagePatchClassifier(ImageCovariances("grey", regions=GridPatches(24)), random_state=0)
    assert model.fit(data.images, data.y).out_of_fold_accuracy_ is None
    assert model.classifier_.out_of_fold_accuracy_ is not None
    nearest = ImagePatchClassifier(model.descriptor, decision="nearest-set", random_state=0)
    data = make_textures(n_classes=2, n_per_class=4, size=48)
    assert nearest.fit(data.images, data.y).out_of_fold_accuracy_ is None
