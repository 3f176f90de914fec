"""Real EEG after an average reference and the interpolation of channels is classified as well as at full rank."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orth

from covmetric import CovMetric, CovMetricClassifier
from covmetric.datasets import load_ssvep
from covmetric.embeddings import Tangent, get_embedding

pytestmark = pytest.mark.shared

N_CHANNELS, N_BANDS = 8, 3
SQUARED_VOLTS = 1e-12  # the unit of a covariance in squared microvolts

#: The channels that are interpolated before the average reference, and the dimension of the null space.
PREPROCESSING = [pytest.param((), 3, id="average-reference"), pytest.param((2, 5), 9, id="interpolated-channels")]
EMBEDDINGS = [
    pytest.param(lambda: get_embedding("relog"), id="relog"),
    pytest.param(Tangent, id="tangent"),
    pytest.param(lambda: Tangent("logeuclid", n_components=100), id="tangent-pca"),
]


@pytest.fixture(scope="module")
def trials(data_folder):
    """Covariances of 8 channels in 3 bands, in squared microvolts."""
    return load_ssvep(data_folder / "series")


def preprocessing(bad):
    """Return the matrix (24, 24) that replaces bad channels by the mean of the others, and subtracts the average.

    It treats each band in the same way.
    """
    good = np.setdiff1d(np.arange(N_CHANNELS), bad)
    channels = np.eye(N_CHANNELS)
    for channel in bad:
        channels[channel] = np.isin(np.arange(N_CHANNELS), good) / len(good)
    return np.kron(np.eye(N_BANDS), channels - channels.mean(axis=0))


def deficient(X, bad, unit=SQUARED_VOLTS):
    """Return the matrices after the preprocessing, by default in squared volts."""
    return unit * congruence(preprocessing(bad), X)


def twin(X, bad):
    """Return the same signals in an orthonormal basis of their space, in squared microvolts."""
    A = preprocessing(bad)
    return congruence(orth(A).T @ A, X)


def congruence(A, X):
    product = A @ X @ A.T
    return 0.5 * (product + np.swapaxes(product, 1, 2))


def last_recording(trials, subject):
    """Return the trials of a subject before the last recording, and those of the last recording."""
    recordings = np.unique(trials.groups[trials.subject == subject])  # their names are dates
    last = trials.groups == recordings[-1]
    return (trials.subject == subject) & ~last, last


def fit_deficient(model, X, y, n_null):
    """Fit a model, which has to warn of a null space of this dimension once."""
    with pytest.warns(UserWarning, match="projects out") as record:
        model.fit(X, y)
    (warning,) = record
    assert f"projects out {n_null} of 24 dimensions, in which all training matrices are singular" in str(
        warning.message
    )
    return model


def distances(embedded):
    flat = embedded.reshape(len(embedded), -1)
    return np.linalg.norm(flat[:, None] - flat[None], axis=2)


@pytest.mark.parametrize("make", EMBEDDINGS)
@pytest.mark.parametrize(("bad", "n_null"), PREPROCESSING)
@pytest.mark.parametrize("unit", [1e-18, SQUARED_VOLTS, 1.0, 1e6])
def test_null_space_is_that_of_the_preprocessing_in_every_unit(trials, make, bad, n_null, unit):
    X = deficient(trials.X[trials.subject == 1], bad, unit)
    assert np.linalg.matrix_rank(X[::10], rtol=1e-12).tolist() == [24 - n_null] * len(X[::10])
    phi = fit_deficient(make(), X, None, n_null)
    assert phi.null_space_.shape == (24, n_null)
    np.testing.assert_allclose(preprocessing(bad).T @ phi.null_space_, 0.0, atol=1e-9)


@pytest.mark.parametrize("make", EMBEDDINGS)
@pytest.mark.parametrize(("bad", "n_null"), PREPROCESSING)
def test_distances_equal_those_of_the_full_rank_twin(trials, make, bad, n_null):
    train, test = last_recording(trials, subject=1)
    X, full = deficient(trials.X, bad), twin(trials.X, bad)
    found = fit_deficient(make(), X[train], None, n_null).transform(X[test])
    expected = make().fit(full[train]).transform(full[test])
    np.testing.assert_allclose(distances(found), distances(expected), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("phi", ["relog", Tangent()], ids=["relog", "tangent"])
@pytest.mark.parametrize(("bad", "n_null"), PREPROCESSING)
def test_predictions_equal_those_on_the_full_rank_twin_in_every_unit(trials, phi, bad, n_null):
    full, y = twin(trials.X, bad), trials.y
    accuracies = []
    for subject in np.unique(trials.subject):
        train, test = last_recording(trials, subject)
        expected = CovMetricClassifier(CovMetric(phi, random_state=0)).fit(full[train], y[train])
        accuracies.append(expected.score(full[test], y[test]))
        for unit in (SQUARED_VOLTS, 1.0):
            X = deficient(trials.X, bad, unit)
            model = CovMetricClassifier(CovMetric(phi, random_state=0))
            fit_deficient(model, X[train], y[train], n_null)
            assert model.metric_.embedding.null_space_.shape == (24, n_null)
            np.testing.assert_array_equal(model.predict(X[test]), expected.predict(full[test]))
    assert len(accuracies) == 12 and np.mean(accuracies) > 0.45  # by chance 0.25


@pytest.mark.parametrize(("bad", "n_null"), PREPROCESSING)
def test_automatic_choice_equals_that_on_the_full_rank_twin_in_another_unit(trials, bad, n_null):
    train, test = last_recording(trials, subject=1)
    X, full, y = deficient(trials.X, bad), twin(trials.X, bad), trials.y
    model = fit_deficient(CovMetricClassifier(rule="auto", random_state=0), X[train], y[train], n_null)
    expected = CovMetricClassifier(rule="auto", random_state=0).fit(full[train], y[train])
    assert model.metric_.embedding.null_space_.shape == (24, n_null)
    assert str(model.learner_.best_params_) == str(expected.learner_.best_params_)
    np.testing.assert_array_equal(model.predict(X[test]), expected.predict(full[test]))


@pytest.mark.parametrize(("bad", "n_null"), PREPROCESSING)
def test_predictions_equal_those_on_the_remaining_channels(trials, bad, n_null):
    """Channels that the others determine may be left out instead: the Riemannian mean does not depend on the basis."""
    X, y = deficient(trials.X, bad), trials.y
    kept = np.setdiff1d(np.arange(N_CHANNELS), bad)[:-1]
    rows = np.concatenate([kept + band * N_CHANNELS for band in range(N_BANDS)])
    full = X[:, rows][:, :, rows]
    assert full.shape[1] == 24 - n_null
    for subject in np.unique(trials.subject):
        train, test = last_recording(trials, subject)
        model = fit_deficient(CovMetricClassifier(CovMetric(Tangent(), random_state=0)), X[train], y[train], n_null)
        expected = CovMetricClassifier(CovMetric(Tangent(), random_state=0)).fit(full[train], y[train])
        np.testing.assert_array_equal(model.predict(X[test]), expected.predict(full[test]))
