"""Examples that have the names of training examples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier, ImagePatchClassifier, LearnedMetric, Recentre, get_embedding
from covmetric.datasets import make_spd_classes, make_textures
from covmetric.descriptors import GridPatches, ImageCovariances
from covmetric.tasks import ModelView, count_training_names, training_names_in_words

NAMES = np.array([f"trials.npz[{i}]" for i in range(20)])


@pytest.fixture(scope="module")
def data():
    return make_spd_classes(n_classes=2, n_per_class=10, n=3, random_state=0)


def classifier(reg=0.0):
    return CovMetricClassifier(CovMetric("log", lam=np.inf, reg=reg), rule="mean")


def test_another_file_of_the_same_name_is_not_the_training_data(data):
    view = ModelView(classifier(1e-3).fit(data.X, data.y, names=NAMES))
    assert count_training_names(view, NAMES, data.X) == 20
    assert count_training_names(view, NAMES[:5], data.X[:5]) == 5
    others = make_spd_classes(n_classes=2, n_per_class=10, n=3, random_state=1).X
    assert count_training_names(view, NAMES, others) == 0
    assert count_training_names(view, [f"new.npz[{i}]" for i in range(20)], data.X) == 0


def test_recentred_sessions_are_recognised(data):
    groups = np.arange(20) % 2
    model = make_pipeline(Recentre(), classifier())
    X = model[0].fit(data.X, groups=groups).transform(data.X, groups=groups)
    model[1].fit(X, data.y, names=NAMES)
    assert count_training_names(ModelView(model), NAMES, data.X, groups) == 20


def test_other_images_at_the_same_paths_are_not_the_training_images():
    textures = make_textures(n_classes=2, n_per_class=4, size=32)
    names = [f"train/{i}.png" for i in range(8)]
    descriptor = ImageCovariances().fit(textures.images)
    model = make_pipeline(
        descriptor, classifier(1e-6).fit(descriptor.transform(textures.images), textures.y, names=names)
    )
    assert count_training_names(ModelView(model), names, textures.images) == 8
    assert count_training_names(ModelView(model), names, textures.images[::-1]) == 0
    patches = ImagePatchClassifier(ImageCovariances(regions=GridPatches(16)), classifier(1e-6))
    patches.fit(textures.images, textures.y, names=names)
    assert count_training_names(ModelView(patches), names, textures.images[::-1]) == 8


def test_models_without_names_have_none(data):
    assert count_training_names(ModelView(classifier().fit(data.X, data.y)), NAMES, data.X) == 0
    metric = LearnedMetric(get_embedding("log").fit(data.X), np.eye(3))
    assert count_training_names(ModelView(metric), NAMES, data.X) == 0


def test_sentence_has_the_numbers():
    rest = ": an accuracy on training examples says nothing about new ones."
    assert training_names_in_words(0, 5) == ""
    assert training_names_in_words(1, 5) == f"1 of the 5 examples has the name of a training example{rest}"
    assert training_names_in_words(4, 5) == f"4 of the 5 examples have the names of training examples{rest}"
    assert training_names_in_words(5, 5) == f"All 5 examples have the names of training examples{rest}"
