"""The nearest-neighbour classifier with each fixed distance."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.peers import FIXED_DISTANCES, FixedDistanceClassifier


def test_ties_are_broken_by_the_index(classifier, data):
    X, y = data
    classifier.fit(np.concatenate([X, X]), np.concatenate([y, y]))
    indices = classifier.kneighbors(X, n_neighbors=2, return_distance=False)
    np.testing.assert_array_equal(indices, np.stack([np.arange(42), np.arange(42) + 42], axis=1))


def test_training_matrices_are_not_their_own_neighbours(classifier, data):
    X, y = data
    classifier.fit(np.concatenate([X, X]), np.concatenate([y, y]))
    distances, indices = classifier.kneighbors(n_neighbors=1)
    np.testing.assert_array_equal(indices[:, 0], (np.arange(84) + 42) % 84)
    np.testing.assert_allclose(distances, 0.0, atol=1e-6)
    with pytest.raises(ValueError, match="n_neighbors is 84, but there are only 83"):
        classifier.kneighbors(n_neighbors=84)


def test_probabilities_are_the_votes_of_the_neighbours(classifier, data):
    X, y = data
    classifier.fit(X[::2], y[::2])
    votes = classifier.predict_proba(X)
    indices = classifier.kneighbors(X, return_distance=False)
    expected = [[np.mean(y[::2][row] == c) for c in range(3)] for row in indices]
    np.testing.assert_allclose(votes, expected)
    np.testing.assert_array_equal(classifier.predict(X), votes.argmax(axis=1))


def test_more_neighbours_than_training_matrices_vote_with_all(classifier, data):
    X, y = data
    votes = classifier.set_params(n_neighbors=100).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(votes, 1.0 / 3.0)


def test_settings_reach_the_distance(data):
    classifier = FixedDistanceClassifier("riemann", reg=0.1).fit(*data)
    expected = FIXED_DISTANCES["riemann"](reg=0.1).fit(data[0]).nearest(None, 3)[0]
    np.testing.assert_array_equal(classifier.kneighbors()[0], expected)
    assert not np.allclose(expected, FixedDistanceClassifier("riemann").fit(*data).kneighbors()[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distance": "cosine"}, "distance must be one of 'riemann', 'stein'"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer >= 1"),
    ],
)
def test_fit_raises_for_invalid_settings(settings, message, data):
    with pytest.raises(ValueError, match=message):
        FixedDistanceClassifier(**settings).fit(*data)
