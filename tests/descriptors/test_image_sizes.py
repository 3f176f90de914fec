"""Warnings about images of other sizes than those of the training images."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier, load_model, save_model
from covmetric.descriptors import ImageCovariances


def images(*sizes):
    rng = np.random.default_rng(0)
    return [rng.integers(256, size=size).astype(np.float64) for size in sizes]


@pytest.fixture
def descriptor():
    trained = images((40, 60), (44, 60), (200, 61))
    return ImageCovariances().fit(trained).set_sizes([image.shape for image in trained])


@pytest.mark.parametrize("size", [(88, 60), (22, 60), (44, 120), (44, 30)])
def test_images_of_other_sizes_are_named(descriptor, size):
    with pytest.warns(
        UserWarning, match=rf"^1 image has .* 44 x 60 in the median \(images\[1\], {size[0]} x {size[1]}\)"
    ):
        descriptor.transform(images((44, 60), size))
    with pytest.warns(UserWarning, match=r"^2 of 3 images have .* \(the first is images\[0\]"):
        descriptor.transform(images(size, (44, 60), size))


@pytest.mark.filterwarnings("ignore:left out 1 of 3 images")
def test_images_that_are_left_out_count_in_the_name(descriptor):
    broken = np.full((44, 60), np.nan)
    with pytest.warns(UserWarning, match=r"\(images\[2\], 88 x 60\)"):
        descriptor.set_params(errors="skip").transform([broken, *images((44, 60), (88, 60))])


def test_images_of_an_iterator_are_named_by_their_number(descriptor):
    with pytest.warns(UserWarning, match=r"\(images\[1\], 88 x 60\)"):
        descriptor.transform(iter(images((44, 60), (88, 60))))


def test_sizes_near_the_median_and_unknown_sizes_give_no_warning(descriptor):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        descriptor.transform(images((87, 119), (23, 31)))
        ImageCovariances().fit(images((40, 40))).transform(images((400, 400)))
        clone(descriptor).transform(images((400, 400)))
        descriptor.fit(images((40, 40))).transform(images((400, 400)))  # fitted again, without sizes


def test_model_file_keeps_the_sizes(descriptor, tmp_path):
    X = images(*[(40, 60)] * 6)
    classifier = CovMetricClassifier(CovMetric("log", lam=np.inf), rule="mean")
    classifier.fit(descriptor.transform(X), [0, 0, 0, 1, 1, 1])
    save_model(make_pipeline(descriptor, classifier), tmp_path / "a.model")
    loaded = load_model(tmp_path / "a.model")[0]
    assert (loaded.median_rows_, loaded.median_columns_) == (44, 60)
    assert not hasattr(ImageCovariances.from_state(ImageCovariances().get_state()), "median_rows_")  # an older file


@pytest.mark.parametrize("missing", ["median_rows_", "median_columns_"])
def test_states_with_one_of_the_sizes_are_refused(descriptor, missing):
    state = {name: value for name, value in descriptor.get_state().items() if name != missing}
    with pytest.raises(ValueError, match="median_rows_ and median_columns_ of ImageCovariances belong together"):
        ImageCovariances.from_state(state)
