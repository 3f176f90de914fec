"""Fitting models to inputs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from covmetric import load_model, save_model
from covmetric.datasets import make_spd_classes, make_textures
from covmetric.datasets.inputs import Inputs
from covmetric.estimators import CovMetric
from covmetric.tasks import (
    FitSettings,
    ModelView,
    choose_features,
    describe_inputs,
    fit_model,
    make_classifier,
    origin,
    predict,
)

Image = pytest.importorskip("PIL.Image")
MEAN = FitSettings(rule="mean", lam=np.inf)


@pytest.fixture
def images(tmp_path):
    made = make_textures(n_classes=2, n_per_class=4, size=32)
    paths = [tmp_path / f"{i}.png" for i in range(8)]
    for path, image in zip(paths, made.images.astype(np.uint8), strict=True):
        Image.fromarray(image).save(path)
    return Inputs("images", paths, np.array([path.name for path in paths]), made.y)


def test_matrices_give_a_classifier_with_names():
    data = make_spd_classes(n_classes=2, n_per_class=6, n=3)
    names = np.array([f"trial {i}" for i in range(12)])
    result = fit_model(Inputs("matrices", data.X, names, data.y, np.arange(12) // 2), MEAN)
    assert result.n_examples == 12 and not result.interrupted and result.skipped == ()
    assert result.model.references_.names.tolist() == names.tolist() and result.model.references_.thumbnails is None


@pytest.mark.parametrize("patches", [None, 16])
def test_images_give_a_model_that_takes_images(images, patches, tmp_path):
    result = fit_model(
        images, FitSettings(rule="neighbors", lam=np.inf, n_neighbors=1, patches=patches, progress=False)
    )
    save_model(result.model, tmp_path / "a.model")
    again = load_model(tmp_path / "a.model")
    assert again.predict(images.examples).tolist() == images.y.tolist()
    references = (again if patches else again[-1]).references_
    assert references.names.tolist() == images.names.tolist() and references.thumbnails[0].shape == (32, 32, 3)


@pytest.mark.parametrize("patches", [None, 16])
def test_broken_images_are_left_out_with_their_thumbnails(images, patches):
    images.examples[2].write_text("no image")
    with pytest.raises(ValueError, match=r"2\.png"):
        fit_model(images, FitSettings(rule="mean", patches=patches))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # `skipped` says it
        result = fit_model(images, FitSettings(rule="mean", lam=np.inf, patches=patches, skip_broken=True))
    ((name, reason),) = result.skipped
    assert name == "2.png" and "Pillow does not recognise" in reason and result.n_examples == 7
    references = (result.model if patches else result.model[-1]).references_
    assert "2.png" not in references.names and [one.shape for one in references.thumbnails] == [(32, 32, 3)] * 7


def test_progress_is_not_part_of_the_model(images, capsys):
    result = fit_model(images, FitSettings(rule="mean", patches=16, progress=True))
    assert result.model.descriptor_.verbose == 0 and result.model.classifier_.learner_.verbose == 0
    assert result.model.classifier.learner.verbose == 0
    capsys.readouterr()
    result.model.predict(images.examples[:2])
    assert capsys.readouterr().err == ""


def test_settings_reach_the_classifier():
    default = make_classifier(FitSettings())
    assert default.rule == "auto" and default.learner.phi == ["relog", "tangent-pca"] and default.learner.reg == 1e-6
    one = make_classifier(FitSettings(rule="svm", phi="chol", lam=0.3, reg=0.0, seed=4, n_jobs=2))
    assert isinstance(one.learner, CovMetric) and (one.learner.phi, one.learner.lam, one.learner.reg) == (
        "chol",
        0.3,
        0.0,
    )
    assert one.learner.random_state == one.random_state == 4 and one.n_jobs == 2 and one.rule == "svm"
    searched = make_classifier(FitSettings(phi="chol", lam=0.3, n_neighbors=7)).learner
    assert (searched.phi, searched.lambdas, searched.n_neighbors) == ("chol", (0.3,), 7)


def test_invalid_inputs_are_refused(images):
    data = make_spd_classes(n_classes=2, n_per_class=3, n=3)
    matrices = Inputs("matrices", data.X, np.array(list("abcdef")), data.y)
    with pytest.raises(ValueError, match="patches are for images, but the examples are matrices"):
        fit_model(matrices, FitSettings(patches=8))
    with pytest.raises(ValueError, match="features are for images, but the examples are matrices"):
        describe_inputs(matrices, "grey")
    with pytest.raises(ValueError, match="the examples have no labels"):
        fit_model(Inputs("images", images.examples, images.names))


def test_features_are_grey_if_one_image_is(images, tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "colour.png")
    assert choose_features([tmp_path / "colour.png"], None) == "colour"
    assert choose_features(images.examples, None) == "grey"
    assert choose_features(images.examples, "color") == "color"
    mixed = [tmp_path / "colour.png", *images.examples[:2]]
    with pytest.warns(UserWarning, match=r"^2 of 3 images are grey \(the first is .*0\.png\), .* of the other one are"):
        assert choose_features(mixed, None) == "grey"
    (tmp_path / "note.png").write_text("neither grey nor in colour")
    assert choose_features([tmp_path / "note.png", *images.examples], None) == "grey"  # without a warning
    assert choose_features([tmp_path / "note.png", tmp_path / "colour.png"], None) == "colour"


def test_origin_can_be_pasted_into_a_shell():
    assert (
        origin(["fit", "my data/", "-o", "it's.model"])["command"] == "covmetric fit 'my data/' -o 'it'\"'\"'s.model'"
    )


@pytest.mark.parametrize("patches", [None, 16])
def test_constant_images_are_named_or_left_out(images, patches, tmp_path):
    Image.new("L", (32, 32), 200).save(images.examples[5])
    if patches is None:
        with pytest.raises(ValueError, match=r"5\.png has the same value everywhere.*--skip-broken"):
            fit_model(images, MEAN)
    result = fit_model(images, FitSettings(rule="mean", lam=np.inf, patches=patches, skip_broken=True))
    ((name, reason),) = result.skipped
    assert name == "5.png" and "the same value everywhere" in reason and result.n_examples == 7
    with pytest.raises(ValueError, match=r"^5\.png (is|has) "):
        predict(ModelView(result.model), images.names[[0, 5]], [images.examples[0], images.examples[5]])
