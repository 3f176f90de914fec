"""Class means that blend first examples with later ones."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.learning.mean_blend import MeanBlend, estimated_strength
from covmetric.learning.rules import MeanRule
from tests import naive


@pytest.mark.parametrize("strength", [0.0, 0.5, 3.0, 100.0])
def test_weights_give_the_stated_means(strength):
    rng = np.random.default_rng(0)
    codes = np.array([0, 0, 0, 1, 1, 2, 2, 0, 1, 1, 1, 3])  # class 2 has no later example, class 3 no first one
    vectors = rng.standard_normal((12, 4))
    blend = MeanBlend.create(strength, 7)
    rule = MeanRule(4).fit(vectors, codes, blend.weights(vectors, codes))
    expected = naive.blended_means(vectors, codes, 7, strength)
    np.testing.assert_allclose(rule._means, expected, rtol=1e-12)
    squared = ((vectors[:, None] - expected) ** 2).sum(axis=2)
    np.testing.assert_array_equal(rule.predict(vectors), squared.argmin(axis=1))
    weights = blend.weights(vectors, codes)
    unit = (weights * squared[np.arange(12), codes]).sum() / weights.sum()
    expected = np.exp(-squared / unit) / np.exp(-squared / unit).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rule.probabilities(vectors), expected, rtol=1e-9)


def test_without_later_examples_the_means_are_those_of_the_first():
    rng = np.random.default_rng(1)
    vectors, codes = rng.standard_normal((9, 2)), np.repeat([0, 1, 2], 3)
    blend = MeanBlend.create(5.0, 9)
    np.testing.assert_allclose(
        MeanRule(3).fit(vectors, codes, blend.weights(vectors, codes))._means, MeanRule(3).fit(vectors, codes)._means
    )


def literal_strength(vectors, codes, n_first):
    """Return s2 / B, one vector at a time."""
    first, later = range(n_first), range(n_first, len(codes))
    classes = sorted({codes[i] for i in first})
    means = {c: sum(vectors[i] for i in first if codes[i] == c) / sum(codes[i] == c for i in first) for c in classes}
    s2 = sum(((vectors[i] - means[codes[i]]) ** 2).sum() for i in first) / (n_first - len(classes))
    excesses = []
    for c in classes:
        new = [vectors[i] for i in later if codes[i] == c]
        if new:
            n_old = sum(codes[i] == c for i in first)
            excesses.append(((sum(new) / len(new) - means[c]) ** 2).sum() - s2 * (1 / len(new) + 1 / n_old))
    return s2 / (sum(excesses) / len(excesses))


def test_estimated_strength_follows_its_formula():
    rng = np.random.default_rng(0)
    codes = np.array([0, 0, 0, 1, 1, 2, 2, 0, 1, 1, 1, 3])
    vectors = rng.standard_normal((12, 4)) + 2.0 * (np.arange(12) >= 7)[:, None]
    strength = literal_strength(vectors, codes, 7)
    assert estimated_strength(vectors, codes, 7) == pytest.approx(strength, rel=1e-12)
    assert 0.0 < strength < 2.0
    weights = MeanBlend.create("auto", 7).weights(vectors, codes)
    np.testing.assert_allclose(
        MeanRule(4).fit(vectors, codes, weights)._means, naive.blended_means(vectors, codes, 7, strength)
    )


@pytest.mark.parametrize("shots", [1, 4])
def test_estimated_strength_is_the_ratio_of_the_variances(shots):
    """Class means move by the variance 4, examples vary by 36: kappa is 9 for any number of labels."""
    rng = np.random.default_rng(0)
    classes = np.arange(4000)
    first = np.repeat(classes, 20)
    later = np.repeat(classes, shots)
    centres, moves = 100.0 * rng.standard_normal((4000, 5)), 2.0 * rng.standard_normal((4000, 5))
    vectors = np.concatenate([centres[first], (centres + moves)[later]])
    vectors += 6.0 * rng.standard_normal(vectors.shape)
    strength = estimated_strength(vectors, np.r_[first, later], len(first))
    assert strength == pytest.approx(9.0, rel=0.25)


def test_equal_sessions_are_pooled():
    """Without a contradiction, all examples count equally."""
    vectors, codes = np.array([[0.0], [2.0], [10.0], [12.0], [1.0], [11.0]]), np.array([0, 0, 1, 1, 0, 1])
    blend = MeanBlend.create("auto", 4)
    assert blend.kappa(vectors, codes) == np.inf
    np.testing.assert_array_equal(blend.weights(vectors, codes), np.ones(6))
    assert estimated_strength(vectors[:4], codes[:4], 4) == np.inf
    assert estimated_strength(vectors[[0, 2, 4, 5]], np.array([0, 1, 0, 1]), 2) == 0.0  # no variance: later ones decide


@pytest.mark.parametrize("strength", [-1, "much", np.nan, True])
def test_invalid_strength_is_refused(strength):
    with pytest.raises(ValueError, match="mean_strength must be None, 'auto' or a number >= 0"):
        MeanBlend.create(strength, 2)


@pytest.mark.parametrize("state", [(0, 1.0), (7, 1.0), (2, -1.0), (2, np.nan), (2,), [2, 1.0], (2.5, 1.0), 3])
def test_invalid_states_are_refused(state):
    with pytest.raises(ValueError, match=r"weights of the class means|mean_strength"):
        MeanBlend.from_state(state, 6)
    assert MeanBlend.from_state((6, 0.5), 6) == MeanBlend(6, 0.5)
    assert MeanBlend.from_state((6, None), 6) == MeanBlend(6, None)
    assert MeanBlend.from_state(None, 6) is None
