"""The readings of the paper, on small stand-ins for its data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from covmetric.datasets import load_brodatz, load_eth80
from covmetric.descriptors import ImageCovariances
from covmetric.experiments import reading_definitions as definitions
from covmetric.experiments import readings as module
from covmetric.experiments.evaluation import Learner, Outcome
from covmetric.experiments.reading_definitions import (
    FILTERS,
    READINGS,
    Reading,
    correlations,
    features_of_unit_variance,
    grey_from_0_to_1,
    load_filtered,
)
from covmetric.experiments.readings import ReadingRow, readings
from covmetric.experiments.recognition import BALANCED, PHIS, VARIANTS, recognition
from covmetric.experiments.rows import RowFile
from tests.images import write_objects, write_textures

pytest.importorskip("PIL.Image")
NAMES = ["x", "y", "R", "G", "B", "|Ix|", "|Iy|", "|Ixx|", "|Iyy|"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    (root / "brodatz").mkdir()
    (root / "eth80").mkdir()
    write_textures(root / "brodatz")
    write_objects(root / "eth80")
    return root


@pytest.fixture(autouse=True)
def few_patches(monkeypatch):
    few = {"brodatz": lambda *given, **settings: load_brodatz(*given, patches=8, **settings), "eth80": load_eth80}
    monkeypatch.setattr(definitions, "LOADERS", few)


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(256, size=(4, 15, 12, 3)).astype(float)


@pytest.fixture
def matrices(images):
    return ImageCovariances("colour").fit_transform(list(images))


SMALL = {"seeds": 1, "lambdas": [1.0, 1e-2]}


def test_every_reading_runs_on_both_data_sets(folder):
    rows = readings(folder, seeds=1, lambdas=[1e-1])
    assert [(row.reading, row.protocol, row.phi, row.W) for row in rows] == [
        (name, protocol, phi, W)
        for name in READINGS
        for protocol in ("brodatz 3/1", "eth80 by image")
        for phi in PHIS
        for W in ("eye", "is")
    ]
    assert all(0.0 <= row.accuracy <= 1.0 and row.relative_gap <= 1e-6 for row in rows)
    assert all((row.lam == np.inf) == (row.lambdas == "") == (row.W == "eye") for row in rows)


def test_first_reading_is_the_recognition_experiment(folder):
    rows = readings(folder, names=["ours"], protocols=["eth80 by image"], **SMALL)
    same = recognition(["eth80 by image"], folder / "eth80", slacks=["is"], variants=[BALANCED], **SMALL)
    assert [(row.phi, row.lam, row.accuracy) for row in rows] == [(row.phi, row.lam, row.accuracy) for row in same]


def test_each_reading_changes_one_choice_of_ours():
    ours = Reading("")
    changes = {
        name: [key for key in ("learner", "filters", "adapt") if getattr(reading, key) != getattr(ours, key)]
        for name, reading in READINGS.items()
    }
    assert changes.pop("ours") == [] and next(iter(READINGS)) == "ours"
    assert changes.pop("raw distances, grey 0..1") == ["learner", "adapt"]  # the only one that says so
    assert all(len(changed) == 1 for changed in changes.values()) and len(changes) == 8
    assert READINGS["ours"].learner == VARIANTS[BALANCED]
    assert READINGS["raw distances"].learner == replace(VARIANTS[BALANCED], scale=None)
    assert READINGS["uniform pairs"].learner.pairs.balance is None
    assert all(isinstance(reading.learner, Learner) and reading.description for reading in READINGS.values())


@pytest.mark.parametrize("name", READINGS)
def test_each_reading_is_learned_with_its_matrices_and_learner(folder, monkeypatch, name):
    given = []

    def remember(X, y, split, phi, learner, lambdas, seed):
        given.append((X, learner, split))
        return Outcome(1.0, 0.5, 0.0, 1.0)

    monkeypatch.setattr(module, "evaluate", remember)
    readings(folder, names=[name], protocols=["eth80 by image"], seeds=1)
    reading = READINGS[name]
    data = load_filtered("eth80", reading.filters, folder)
    expected = data.X if reading.adapt is None else reading.adapt(data.X, data.names, given[0][2].train)
    assert [learner for _, learner, _ in given] == [None, reading.learner] * len(PHIS)
    for X, _, _ in given:
        np.testing.assert_array_equal(X, expected)


def test_experiment_resumes_with_the_missing_rows(folder, tmp_path, monkeypatch):
    settings = {**SMALL, "names": ["ours", "correlations"], "protocols": ["eth80 by image"]}
    file = RowFile(tmp_path / "rows.csv", ReadingRow)
    real, computed = module.evaluate, []

    def counted(*given):
        computed.append(given)
        if len(computed) == 9:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(module, "evaluate", counted)
    with pytest.raises(KeyboardInterrupt):
        readings(folder, **settings, file=file)
    assert {row.reading for row in file.read()} == {"ours"}
    rows = readings(folder, **settings, file=file)
    assert len(computed) == 9 + 8 and len(rows) == 16 and file.read() == rows
    monkeypatch.setattr(definitions, "LOADERS", {})
    assert readings(folder, **settings, file=file) == rows


def test_unknown_names_raise(tmp_path):
    with pytest.raises(ValueError, match=r"reading must be one of 'ours', .*, got 'theirs'"):
        readings(tmp_path, names=["theirs"])
    with pytest.raises(ValueError, match=r"protocol must be one of 'brodatz 3/1', .*, got 'mnist'"):
        readings(tmp_path, protocols=["mnist"])


@pytest.mark.parametrize("name", ["brodatz", "eth80"])
def test_filters_of_tuzel_give_the_matrices_of_the_loaders(folder, name, monkeypatch):
    expected = load_filtered(name, "tuzel", folder)
    monkeypatch.setitem(FILTERS, "same", FILTERS["tuzel"])
    computed = load_filtered(name, "same", folder)
    np.testing.assert_allclose(computed.X, expected.X, rtol=1e-9, atol=1e-9)
    assert computed.names == expected.names == definitions.FEATURE_SETS[{"brodatz": "grey", "eth80": "colour"}[name]]


def test_central_differences_are_halved_and_applied_twice(images):
    grey = images[0, :, :, 0]
    first = definitions._derivative(grey, FILTERS["central"], 1, 1)
    np.testing.assert_allclose(first[:, 1:-1], np.abs(grey[:, 2:] - grey[:, :-2]) / 2)
    twice = np.gradient(np.gradient(grey, axis=0), axis=0)
    second = definitions._derivative(grey, FILTERS["central"], 2, 0)
    np.testing.assert_allclose(second[2:-2], np.abs(twice[2:-2]))


@pytest.mark.parametrize("axis", [0, 1])
def test_sobel_filters_are_those_of_scipy(images, axis):
    grey = images[0, :, :, 0]
    first = definitions._derivative(grey, FILTERS["sobel"], 1, axis)
    np.testing.assert_allclose(first, np.abs(ndimage.sobel(grey, axis=axis, mode="nearest")), atol=1e-9)
    kernel = np.outer([1, -2, 1], [1, 2, 1]) if axis == 0 else np.outer([1, 2, 1], [1, -2, 1])
    second = definitions._derivative(grey, FILTERS["sobel"], 2, axis)
    np.testing.assert_allclose(second, np.abs(ndimage.correlate(grey, kernel, mode="nearest")), atol=1e-9)


def test_derivatives_of_colour_images_are_those_of_the_luma(images):
    luma = images[0] @ [0.299, 0.587, 0.114]
    np.testing.assert_allclose(
        definitions._derivative(images[0], FILTERS["sobel"], 1, 0),
        definitions._derivative(luma, FILTERS["sobel"], 1, 0),
    )


def test_grey_range_from_0_to_1_is_that_of_divided_images(images, matrices):
    divided = ImageCovariances("colour").fit_transform(list(images / 255.0))
    np.testing.assert_allclose(grey_from_0_to_1(matrices, NAMES, np.arange(2)), divided, rtol=1e-9, atol=1e-12)


def test_scaled_features_have_mean_variance_1_over_the_training_part(matrices):
    scaled = features_of_unit_variance(matrices, NAMES, np.array([0, 2]))
    np.testing.assert_allclose(np.einsum("lii->li", scaled[[0, 2]]).mean(axis=0), 1.0)
    assert np.abs(np.einsum("lii->li", scaled).mean(axis=0) - 1.0).max() > 1e-3
    np.testing.assert_allclose(correlations(scaled, NAMES, np.arange(4)), correlations(matrices, NAMES, np.arange(4)))


def test_correlations_are_those_of_the_features(images, matrices):
    from covmetric.descriptors.features import pixel_features

    computed = correlations(matrices, NAMES, np.arange(2))
    np.testing.assert_allclose(computed[1], np.corrcoef(pixel_features(images[1], "colour").reshape(9, -1)), atol=1e-12)


def test_correlations_without_variance_raise(matrices):
    matrices[2, 4] = matrices[2, :, 4] = 0.0
    with pytest.raises(ValueError, match=r"X\[2\] has no variance in feature 4"):
        correlations(matrices, NAMES, np.arange(2))
