"""What every metric learner in PEERS must do: a new entry is tested without further work."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from covmetric import LearnedMetric, solve
from covmetric.datasets import make_spd_classes
from covmetric.experiments.compare import compare
from covmetric.experiments.methods import available_methods
from covmetric.peers import PEERS, FixedDistanceClassifier, PeerMetric
from tests.peers.estimators import make_peer


def within_to_between(D, y):
    """Return the ratio of the mean squared distances within and between classes."""
    same = y[:, None] == y
    return (D[same] ** 2).mean() / (D[~same] ** 2).mean()


@pytest.mark.parametrize("name", PEERS)
def test_registered_class_is_a_peer_with_default_settings(name):
    assert issubclass(PEERS[name], PeerMetric)
    assert all(
        parameter.default is not parameter.empty for parameter in inspect.signature(PEERS[name]).parameters.values()
    )


def test_transform_is_finite_with_one_row_per_matrix(peer, data):
    X, y = data
    assert peer.fit(X, y) is peer
    T = peer.transform(X[:5])
    assert T.dtype == np.float64
    assert T.shape == (5, len(peer.get_feature_names_out()))
    assert np.isfinite(T).all()
    np.testing.assert_allclose(peer.transform(X)[:5], T, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(clone(peer).fit_transform(X, y), peer.transform(X))


def test_pairwise_equals_euclidean_distances_of_transform(peer, data):
    X, y = data
    peer.fit(X, y)
    assert isinstance(peer.metric_, LearnedMetric)
    expected = cdist(peer.transform(X[:20]), peer.transform(X[20:40]))
    np.testing.assert_allclose(peer.pairwise(X[:20], X[20:40]), expected, rtol=1e-9)
    np.testing.assert_allclose(peer.metric_.pairwise(X[:20], X[20:40]), expected, rtol=1e-9)
    np.testing.assert_allclose(peer.distance(X[:20], X[20:40]), expected.diagonal(), rtol=1e-9)
    np.testing.assert_allclose(peer.pair_distance(np.stack([X[:20], X[20:40]], axis=1)), expected.diagonal(), rtol=1e-9)


def test_distances_are_a_metric(peer, data):
    D = peer.fit(*data).pairwise(data[0])
    scale = D.max()
    assert (D >= 0.0).all()
    np.testing.assert_allclose(D, D.T, rtol=0.0, atol=1e-9 * scale)
    np.testing.assert_allclose(np.diag(D), 0.0, rtol=0.0, atol=1e-6 * scale)
    assert (D + np.eye(len(D)) > 0.0).all()
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-9 * scale).all()


def test_W_is_positive_definite(peer, data):
    W = peer.fit(*data).W_
    np.testing.assert_array_equal(W, W.T)
    assert np.linalg.eigvalsh(W)[0] > 0.0


def test_fit_has_the_same_bits_for_the_same_seed(peer, data):
    one, two = clone(peer).fit(*data), clone(peer).fit(*data)
    np.testing.assert_array_equal(one.W_, two.W_)
    np.testing.assert_array_equal(one.transform(data[0]), two.transform(data[0]))


@pytest.mark.parametrize("cls", [cls for cls in PEERS.values() if "random_state" in inspect.signature(cls).parameters])
def test_another_seed_gives_another_metric(cls, data):
    one, two = (make_peer(cls, random_state=seed).fit(*data).W_ for seed in (0, 1))
    assert not np.array_equal(one, two)


def test_learning_lowers_the_ratio_of_distances_within_to_between_classes(peer, data):
    """Relative to the log-Euclidean distance, or to the Frobenius distance for the peer that learns on raw matrices."""
    X, y = data
    fixed = "euclid" if peer.get_params().get("vectors") == "raw" else "logeuclid"
    reference = FixedDistanceClassifier(fixed, 42).fit(X, y)._distance.pairwise(X)
    assert within_to_between(peer.fit(X, y).pairwise(X), y) < within_to_between(reference, y)


def test_certificate_is_confirmed_by_the_problem(peer, data):
    """For peers that have one: the objective is that of W, and the proven interval holds the optimum."""
    peer.fit(*data)
    if not hasattr(peer, "certificate_"):
        assert not hasattr(peer, "problem_")
        return
    certificate, problem, W = peer.certificate_, peer.problem_, peer.W_ * peer.scale_
    again = problem.certify(W)
    assert again.primal == pytest.approx(certificate.primal, rel=1e-9)
    assert certificate.gap == pytest.approx(certificate.primal - certificate.dual)
    optimum = solve(problem, tol=1e-9).certificate
    slack = 1e-9 * max(1.0, abs(optimum.primal))
    for one in (certificate, again):
        assert one.dual <= optimum.primal + slack
        assert one.primal >= optimum.dual - slack


def test_learning_beats_the_fixed_metric_on_average():
    """Over five simulations, 3-NN after each peer is more accurate than log-Euclidean 3-NN."""
    scores = {name: [] for name in ["logeuclid", *PEERS]}
    for seed in range(5):
        made = make_spd_classes(n_classes=4, n_per_class=30, n=5, random_state=seed)
        train, test = (made.X[::2], made.y[::2]), (made.X[1::2], made.y[1::2])
        scores["logeuclid"].append(FixedDistanceClassifier("logeuclid").fit(*train).score(*test))
        for name, cls in PEERS.items():
            learner = cls(**({"random_state": 0} if "random_state" in inspect.signature(cls).parameters else {}))
            scores[name].append(make_pipeline(learner, KNeighborsClassifier(3)).fit(*train).score(*test))
    mean = {name: np.mean(values) for name, values in scores.items()}
    assert all(mean[name] > mean["logeuclid"] for name in PEERS), mean


def test_every_peer_takes_part_in_compare(data):
    names = [f"peer:{name}" for name in PEERS]
    assert [name for name in available_methods() if name.startswith("peer:")] == names
    table = compare(*data, methods=names, folds=2)
    assert [(row.method, row.failure) for row in table.rows] == [(name, "") for name in names]
    assert all(row.accuracy > 0.5 for row in table.rows)
