"""A new embedding that learns something can be saved once it is registered."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from covmetric import CovMetric, LearnedMetric, load_model
from covmetric.embeddings import Embedding
from covmetric.model_file import kinds, register_stateful
from tests.data import two_classes
from tests.model_file.forging import pack, unpack, with_array, with_manifest


class Centred(Embedding):
    """The matrix minus a multiple of the mean of the training set."""

    name = "centred"
    fitted_attributes = ("mean_", "count_")

    def __init__(self, fraction=1.0, reg=0.0):
        super().__init__(reg)
        self.fraction = fraction

    def _fit(self, X, eps):
        self.mean_ = X.mean(axis=0)
        self.count_ = len(X)

    def _transform(self, X, eps):
        return X - self.fraction * self.mean_

    def _inverse(self, embedded):
        return embedded + self.fraction * self.mean_


@pytest.fixture
def saved(tmp_path):
    """A model on a registered `Centred`, and its file."""
    X, y = two_classes()
    path = tmp_path / "model.npz"
    model = CovMetric(Centred(0.5), random_state=0).fit(X, y)
    with mock.patch.dict(kinds.KINDS), mock.patch.dict(kinds.KINDS_BY_CLASS):
        register_stateful(Centred)
        model.save(path)
        yield model, path


def test_embedding_that_is_not_registered_is_refused(tmp_path):
    X, _ = two_classes()
    metric = LearnedMetric(Centred().fit(X), np.eye(3))
    with pytest.raises(ValueError, match="embedding is a Centred, which a model file cannot hold"):
        metric.save(tmp_path / "metric.npz")


def test_registered_embedding_comes_back_bit_by_bit(saved):
    model, path = saved
    X, _ = two_classes()
    back = load_model(path)
    phi = back.metric_.embedding
    assert type(phi) is Centred and phi.fraction == 0.5 and phi.count_ == len(X)
    np.testing.assert_array_equal(phi.mean_, model.metric_.embedding.mean_)
    np.testing.assert_array_equal(back.transform(X), model.transform(X))
    assert type(back.phi) is Centred and not hasattr(back.phi, "mean_")  # the parameter is not fitted


MEAN = "metric_.embedding.mean_"


def drop_mean(content):
    def change(manifest):
        del manifest["model"]["state"]["metric_"]["state"]["embedding"]["state"]["mean_"]
        del manifest["arrays"][MEAN]

    members = unpack(with_manifest(content, change))
    del members[f"{MEAN}.npy"]
    return pack(members)


def change_state(**values):
    def change(manifest):
        manifest["model"]["state"]["metric_"]["state"]["embedding"]["state"].update(values)

    return lambda content: with_manifest(content, change)


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (drop_mean, r"'centred' .*\['complex_', 'count_', 'mean_', 'shape_in_'\]"),
        (change_state(transform="mine"), r"'centred' .*'transform'"),
        (change_state(count_={"$float": "nan"}), "count_ is nan"),
        (change_state(count_="many"), "count_ must be an array of numbers"),
        (change_state(fraction="half"), "UFuncTypeError|TypeError"),
        (lambda content: with_array(content, MEAN, np.full((3, 3), np.nan)), r"mean_\[0, 0\] is nan"),
        (lambda content: with_array(content, MEAN, np.ones((2, 2))), "could not be broadcast"),
        (lambda content: with_array(content, MEAN, np.array([["a"] * 3] * 3)), "mean_ must be an array of numbers"),
    ],
)
def test_hostile_files_with_a_new_embedding_are_refused(forge, message, saved):
    _, path = saved
    path.write_bytes(forge(path.read_bytes()))
    with pytest.raises(ValueError, match=message):
        load_model(path)
