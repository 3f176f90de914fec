"""The method of Yger and Sugiyama."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric.peers import KernelTargetAlignment
from tests import naive


def test_objective_increases_in_every_step(data):
    X, y = data
    peer = KernelTargetAlignment(tol=1e-6).fit(X, y)
    assert (np.diff(peer.history_) >= 0.0).all()
    assert len(peer.history_) == peer.n_iter_ + 1
    w, V = np.linalg.eigh(peer.G_)
    assert w[0] > 0.0
    assert peer.alignment_ == pytest.approx(naive.alignment(peer.G_, X, y), rel=1e-8)
    S = (V * np.log(w)) @ V.T
    assert peer.history_[-1] == pytest.approx(peer.alignment_ - 1e-4 * np.sum(S**2), rel=1e-9)
    np.testing.assert_array_equal(peer.W_, np.eye(4))


def test_larger_penalty_keeps_G_closer_to_the_identity(data):
    fits = [KernelTargetAlignment(penalty).fit(*data) for penalty in (1e-1, 1e-2, 1e-4)]
    conditions = [np.linalg.cond(peer.G_) for peer in fits]
    assert conditions == sorted(conditions)
    assert [peer.alignment_ for peer in fits] == sorted(peer.alignment_ for peer in fits)


def test_embedding_is_inverted(data):
    X, y = data
    metric = KernelTargetAlignment().fit(X, y).metric_
    np.testing.assert_allclose(metric.mean(X[:1]), X[0], rtol=1e-8, atol=1e-8)


def test_too_few_steps_give_a_warning(data):
    with pytest.warns(ConvergenceWarning, match="was still increasing after 2 steps"):
        KernelTargetAlignment(max_iter=2).fit(*data)


def test_equal_matrices_raise():
    with pytest.raises(ValueError, match="all matrices in X are equal"):
        KernelTargetAlignment().fit(np.stack([np.eye(3)] * 4), [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"penalty": 0.0}, "penalty must be a positive number, got 0.0"),
        ({"tol": -1.0}, "tol must be a number >= 0"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"reg": -1.0}, "reg must be a number >= 0"),
    ],
)
def test_fit_raises_for_invalid_settings(settings, message, data):
    with pytest.raises(ValueError, match=message):
        KernelTargetAlignment(**settings).fit(*data)
