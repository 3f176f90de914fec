"""The weighted mean of calibrated probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from covmetric.learning.blend import Blend, BlendedRule
from covmetric.learning.calibration import Calibration
from covmetric.learning.rules import get_rule
from covmetric.learning.scoring import Scoring

SCORINGS = [Scoring("svm", C=3.0), Scoring("lda"), Scoring("neighbors", n_neighbors=5)]


def predictions(count=200, n_classes=3, seed=0):
    """Return classes, and three lists of probabilities, each less accurate than the one before."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=count)
    result = []
    for strength in (3.0, 2.0, 0.5):
        logits = rng.standard_normal((count, n_classes)) + strength * np.eye(n_classes)[codes]
        result.append(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
    return result, codes


def log_posterior(weights, likelihoods):
    """Return the logarithm of the likelihood of the classes times the product of the weights."""
    total = sum(np.log(w) for w in weights)
    for column in likelihoods.T:
        total += np.log(sum(w * value for w, value in zip(weights, column, strict=True)))
    return total


@pytest.mark.parametrize("count", [10, 200])
def test_weights_maximise_the_posterior(count):
    probabilities, codes = predictions(count)
    blend = Blend.fit(SCORINGS, probabilities, codes)
    calibrated = [Calibration.fit(one, codes).apply(one) for one in probabilities]
    likelihoods = np.array([[row[c] for row, c in zip(one, codes, strict=True)] for one in calibrated])

    def loss(x):
        weights = np.exp(x) / np.exp(x).sum()
        return -log_posterior(weights, likelihoods)

    best = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 2000})
    np.testing.assert_allclose(blend.weights, np.exp(best.x) / np.exp(best.x).sum(), atol=1e-3)
    assert blend.weights[0] > blend.weights[2]


def test_values_are_those_of_the_formula():
    probabilities, codes = predictions()
    blend = Blend.fit(SCORINGS, probabilities, codes)
    mean = np.zeros_like(probabilities[0])
    for weight, calibration, one in zip(blend.weights, blend.calibrations, probabilities, strict=True):
        mean += weight * calibration.apply(one)
    final = Calibration.fit(mean, codes)
    assert (blend.final.smoothing, blend.final.sharpness) == pytest.approx((final.smoothing, final.sharpness), rel=0.01)
    np.testing.assert_allclose(blend.combine(probabilities), blend.final.apply(mean), rtol=1e-12)
    np.testing.assert_allclose(blend.combine(probabilities).sum(axis=1), 1.0, rtol=1e-12)
    assert blend.final.sharpness > 1.0  # a mean of probabilities is not sharp enough


def test_the_blend_has_a_smaller_log_loss_than_each_rule():
    probabilities, codes = predictions(2000)
    (fitted, fresh) = ([one[half] for one in probabilities] for half in (slice(0, 1000), slice(1000, None)))
    blend = Blend.fit(SCORINGS, fitted, codes[:1000])

    def log_loss(p):
        return -np.mean(np.log(p[np.arange(1000), codes[1000:]]))

    single = [Calibration.fit(one, codes[:1000]).apply(new) for one, new in zip(fitted, fresh, strict=True)]
    assert log_loss(blend.combine(fresh)) < 0.95 * min(map(log_loss, single))


def test_a_single_rule_is_only_calibrated():
    probabilities, codes = predictions()
    blend = Blend.fit(SCORINGS[:1], probabilities[:1], codes)
    expected = Calibration.fit(probabilities[0], codes).apply(probabilities[0])
    np.testing.assert_allclose(blend.combine(probabilities[:1]), expected, rtol=1e-12)
    assert blend.weights == (1.0,)
    assert blend.params == {"rule": "svm", "C": 3.0}


def test_the_rule_fits_all_rules_on_the_same_vectors():
    rng = np.random.default_rng(0)
    codes = np.arange(30) % 3
    vectors = rng.standard_normal((30, 4)) + codes[:, None]
    new = rng.standard_normal((7, 4)) + 1.0
    blend = Blend.fit(SCORINGS, *predictions())
    rules = [get_rule("svm", 3, C=3.0), get_rule("lda", 3), get_rule("neighbors", 3, 5)]
    expected = blend.combine([rule.fit(vectors, codes).probabilities(new) for rule in rules])
    rule = BlendedRule(blend, 3).fit(vectors, codes)
    np.testing.assert_allclose(rule.probabilities(new), expected, rtol=1e-12)
    np.testing.assert_array_equal(rule.predict(new), expected.argmax(axis=1))


def test_parts_of_a_file_restore_the_blend():
    blend = Blend.fit(SCORINGS, *predictions())
    rules = [one.params for one in blend.scorings]
    assert rules == [{"rule": "svm", "C": 3.0}, {"rule": "lda"}, {"rule": "neighbors", "n_neighbors": 5}]
    restored = Blend.from_parts(rules, blend.numbers)
    assert restored == blend
    assert restored.params == {
        "rule": "blend",
        "rules": [{**rule, "weight": weight} for rule, weight in zip(rules, blend.weights, strict=True)],
    }


@pytest.mark.parametrize(
    ("rules", "numbers", "message"),
    [
        (None, np.ones((2, 3)), "the rules of the blend must be a list of dictionaries"),
        ([], np.ones((1, 3)), "the rules of the blend must be a list of dictionaries"),
        (["svm"], np.ones((2, 3)), "the rules of the blend must be a list of dictionaries"),
        ([{"rule": "svm"}], np.ones((3, 3)), "the blend must consist of 2 x 3 positive numbers"),
        ([{"rule": "svm"}], -np.ones((2, 3)), "the blend must consist of 2 x 3 positive numbers"),
        ([{"rule": "svm"}], np.full((2, 3), np.nan), "the blend"),
        ([{"rule": "svm", "size": 1}], np.ones((2, 3)), "the rules of the blend have unknown parameters"),
    ],
)
def test_invalid_parts_of_a_file_are_refused(rules, numbers, message):
    with pytest.raises(ValueError, match=message):
        Blend.from_parts(rules, numbers)


@pytest.mark.parametrize(
    "blend", [Blend.fit(SCORINGS, *predictions()), Blend.single(SCORINGS[0], Calibration(0.1, 2.0))]
)
def test_state_round_trip(blend):
    state = blend.get_state()
    assert set(state) <= set(Blend.STATE)
    assert Blend.from_state(state, SCORINGS[0].params) == blend


@pytest.mark.parametrize(
    ("state", "best_rule", "message"),
    [
        ({"_calibration": np.ones(3)}, {"rule": "mean"}, "the calibration must consist of two positive numbers"),
        ({"_calibration": np.array([1.0, 0.0])}, {"rule": "mean"}, "must consist of two positive numbers"),
        ({"_calibration": np.ones(2)}, None, "the calibration needs a rule that a search chose"),
        ({"_rules": []}, {"rule": "mean"}, "the calibration"),
    ],
)
def test_invalid_states_are_refused(state, best_rule, message):
    with pytest.raises(ValueError, match=message):
        Blend.from_state(state, best_rule)
