"""Class means that blend first examples with later ones."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.learning.mean_blend import MeanBlend, strength_of_groups
from covmetric.learning.rules import MeanRule
from tests import naive


@pytest.mark.parametrize("strength", [0.0, 0.5, 3.0, 100.0])
def test_weights_give_the_stated_means(strength):
    rng = np.random.default_rng(0)
    codes = np.array([0, 0, 0, 1, 1, 2, 2, 0, 1, 1, 1, 3])  # class 2 has no later example, class 3 no first one
    vectors = rng.standard_normal((12, 4))
    blend = MeanBlend.create(strength, vectors[:7], codes[:7], None)
    rule = MeanRule(4).fit(vectors, codes, blend.weights(codes))
    expected = naive.blended_means(vectors, codes, 7, strength)
    np.testing.assert_allclose(rule._means, expected, rtol=1e-12)
    squared = ((vectors[:, None] - expected) ** 2).sum(axis=2)
    np.testing.assert_array_equal(rule.predict(vectors), squared.argmin(axis=1))
    weights = blend.weights(codes)
    unit = (weights * squared[np.arange(12), codes]).sum() / weights.sum()
    expected = np.exp(-squared / unit) / np.exp(-squared / unit).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rule.probabilities(vectors), expected, rtol=1e-9)


def test_without_later_examples_the_means_are_those_of_the_first():
    rng = np.random.default_rng(1)
    vectors, codes = rng.standard_normal((9, 2)), np.repeat([0, 1, 2], 3)
    blend = MeanBlend.create(5.0, vectors, codes, None)
    np.testing.assert_allclose(
        MeanRule(3).fit(vectors, codes, blend.weights(codes))._means, MeanRule(3).fit(vectors, codes)._means
    )


def test_strength_of_groups_is_the_ratio_of_the_variances():
    """Class means vary between groups with the variance 4, examples within them with the variance 36."""
    rng = np.random.default_rng(0)
    groups, codes = np.repeat(np.arange(300), 40), np.tile(np.arange(2), 6000)
    offsets = 2.0 * rng.standard_normal((300, 2, 5))
    vectors = offsets[groups, codes] + 100.0 * codes[:, None] + 6.0 * rng.standard_normal((12000, 5))
    assert strength_of_groups(vectors, codes, groups) == pytest.approx(9.0, rel=0.1)
    assert MeanBlend.create("auto", vectors, codes, groups).strength == pytest.approx(9.0, rel=0.1)


@pytest.mark.parametrize("groups", [None, np.zeros(6, dtype=int), np.arange(6)])
def test_strength_needs_groups(groups):
    vectors, codes = np.arange(12.0).reshape(6, 2), np.array([0, 1] * 3)
    with pytest.raises(ValueError, match=r"mean_strength='auto' needs groups .* pass groups to fit, or a number"):
        MeanBlend.create("auto", vectors, codes, groups)


@pytest.mark.parametrize("strength", [-1, "much", np.nan, True])
def test_invalid_strength_is_refused(strength):
    with pytest.raises(ValueError, match="mean_strength must be None, 'auto' or a number >= 0"):
        MeanBlend.create(strength, np.zeros((2, 1)), np.array([0, 1]), None)


@pytest.mark.parametrize("state", [(0, 1.0), (7, 1.0), (2, -1.0), (2, np.nan), (2,), [2, 1.0], (2.5, 1.0), 3])
def test_invalid_states_are_refused(state):
    with pytest.raises(ValueError, match="weights of the class means"):
        MeanBlend.from_state(state, 6)
    assert MeanBlend.from_state((6, 0.5), 6) == MeanBlend(6, 0.5)
    assert MeanBlend.from_state(None, 6) is None
