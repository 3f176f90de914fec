"""The calibration of probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from covmetric.learning.calibration import Calibration


def log_loss(probabilities, codes):
    return -np.mean([np.log(max(row[c], 1e-300)) for row, c in zip(probabilities, codes, strict=True)])


def overconfident(count=400, factor=3.0, seed=0):
    """Return classes that were drawn from probabilities, and the probabilities to a power, which are too sharp."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(3), count)
    codes = np.array([rng.choice(3, p=row) for row in true])
    sharp = true**factor
    return true, sharp / sharp.sum(axis=1, keepdims=True), codes


@pytest.mark.parametrize("factor", [3.0, 0.4])
def test_probabilities_to_a_power_are_restored(factor):
    true, wrong, codes = overconfident(4000, factor)
    restored = Calibration.fit(wrong, codes).apply(wrong)
    assert log_loss(restored, codes) <= log_loss(true, codes) + 1e-3 < log_loss(wrong, codes)
    assert np.abs(restored - true).mean() < 0.03 < np.abs(wrong - true).mean()


def test_the_order_of_the_classes_is_kept():
    _, wrong, codes = overconfident()
    restored = Calibration.fit(wrong, codes).apply(wrong)
    np.testing.assert_array_equal(restored.argsort(axis=1), wrong.argsort(axis=1))
    np.testing.assert_allclose(restored.sum(axis=1), 1.0, rtol=1e-12)


def test_calibration_never_increases_the_log_loss():
    true, _, codes = overconfident()
    assert log_loss(Calibration.fit(true, codes).apply(true), codes) <= log_loss(true, codes) + 1e-6


@pytest.mark.parametrize("votes", [False, True])
def test_no_other_smoothing_and_sharpness_has_a_smaller_log_loss(votes):
    _, wrong, codes = overconfident()
    if votes:
        wrong = np.round(3.0 * wrong) / np.round(3.0 * wrong).sum(axis=1, keepdims=True)
    smallest = log_loss(Calibration.fit(wrong, codes).apply(wrong), codes)

    def loss(x):
        return log_loss(Calibration(*np.exp(np.clip(x, [-14.0, -3.0], [1.0, 3.0]))).apply(wrong), codes)

    for start in ((-7.0, 0.0), (-1.0, -1.0), (-3.0, 1.5)):
        assert smallest <= minimize(loss, start, method="Nelder-Mead").fun + 1e-7


def test_votes_without_a_mistake_stay_finite():
    votes = np.eye(3)[[0, 1, 2, 0]]
    restored = Calibration.fit(votes, np.array([0, 1, 2, 0])).apply(votes)
    assert (restored > 0.0).all()
    assert (restored.max(axis=1) > 0.99).all()


def test_values_are_those_of_the_formula():
    p = np.array([[0.7, 0.2, 0.1]])
    expected = (p + 0.05) ** 1.5
    np.testing.assert_allclose(Calibration(0.05, 1.5).apply(p), expected / expected.sum(), rtol=1e-13)
