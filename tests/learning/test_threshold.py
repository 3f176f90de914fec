"""The calibrated threshold against a literal implementation of each strategy."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from covmetric.learning.threshold import STRATEGIES, best_threshold, check_calibration, only_kind


def literal_scores(strategy, similar, predicted, min_rate, beta):
    """Return the score of predictions in {+1, -1}, counted one pair at a time."""
    outcomes = list(zip(similar.tolist(), predicted.tolist(), strict=True))
    positives, negatives = sum(s > 0 for s, _ in outcomes), sum(s < 0 for s, _ in outcomes)
    true_positives, true_negatives = (
        sum(s > 0 and p > 0 for s, p in outcomes),
        sum(s < 0 and p < 0 for s, p in outcomes),
    )
    false_positives, false_negatives = negatives - true_negatives, positives - true_positives
    if strategy == "accuracy":
        return (true_positives + true_negatives) / len(outcomes)
    if strategy == "f_beta":
        weighted = (1 + beta**2) * true_positives
        return weighted / (weighted + beta**2 * false_negatives + false_positives) if true_positives else 0.0
    true_positive_rate, true_negative_rate = true_positives / positives, true_negatives / negatives
    if strategy == "max_tpr":
        return true_positive_rate if true_negative_rate >= min_rate else -1.0
    return true_negative_rate if true_positive_rate >= min_rate else -1.0


def literal_threshold(distances, similar, strategy, min_rate, beta):
    """Return the smallest of the best candidates, each scored separately."""
    distinct = sorted(set(distances.tolist()))
    candidates = [
        *([distinct[0] / 2] if distinct[0] > 0.0 else []),
        *((a + b) / 2 for a, b in pairwise(distinct)),
        distinct[-1] + 1.0,
    ]
    scores = []
    for threshold in candidates:
        predicted = np.where(distances <= threshold, 1.0, -1.0)
        scores.append(literal_scores(strategy, similar, predicted, min_rate, beta))
    best = max(scores)
    return next(t for t, score in zip(candidates, scores, strict=True) if score > best - 1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("ties", [False, True])
def test_threshold_is_that_of_the_literal_implementation(strategy, ties):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        distances = rng.integers(1, 6, 20).astype(float) if ties else rng.random(20)
        similar = np.where(distances + rng.normal(0, 0.3 * distances.std(), 20) < np.median(distances), 1.0, -1.0)
        for rate, beta in ((0.0, 0.5), (0.5, 1.0), (0.8, 2.0), (1.0, 0.0)):
            expected = literal_threshold(distances, similar, strategy, rate, beta)
            assert best_threshold(distances, similar, strategy, rate, beta) == pytest.approx(expected)


def test_default_strategy_is_accuracy_and_default_beta_is_one():
    rng = np.random.default_rng(5)
    distances, similar = rng.random(30), rng.choice([-1.0, 1.0], 30)
    assert best_threshold(distances, similar) == literal_threshold(distances, similar, "accuracy", None, None)
    assert best_threshold(distances, similar, "f_beta") == literal_threshold(distances, similar, "f_beta", None, 1.0)


def test_rate_that_is_met_exactly_counts():
    distances, similar = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, -1.0, 1.0, -1.0])
    assert best_threshold(distances, similar, "max_tpr", 0.5) == 3.5
    assert best_threshold(distances, similar, "max_tnr", 0.5) == 1.5


def test_rates_of_a_single_pair_are_zero_or_one():
    distances = np.array([1.0, 2.0, 3.0])
    assert best_threshold(distances, np.array([-1.0, 1.0, -1.0]), "max_tnr", 0.9) == 2.5
    assert best_threshold(distances, np.array([1.0, -1.0, 1.0]), "max_tpr", 0.1) == 1.5


def test_threshold_is_beyond_all_distances_if_all_labels_are_equal():
    distances = np.array([1.0, 2.0, 4.0])
    assert best_threshold(distances, np.ones(3)) == 5.0
    assert best_threshold(distances, -np.ones(3)) == 0.5
    assert best_threshold(distances, -np.ones(3), "f_beta") == 0.5
    assert best_threshold(distances, np.ones(3), "max_tnr", 1.0) == 5.0
    assert best_threshold(distances, -np.ones(3), "max_tpr", 1.0) == 0.5


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_threshold_is_a_distance_although_equal_examples_are_called_dissimilar(strategy):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        distances, similar = rng.integers(0, 4, 20).astype(float), np.where(rng.random(20) < 0.3, 1.0, -1.0)
        distances[0], similar[:2] = 0.0, [-1.0, 1.0]
        for rate, beta in ((0.0, 0.5), (0.3, 1.0)):
            found = best_threshold(distances, similar, strategy, rate, beta)
            assert found == literal_threshold(distances, similar, strategy, rate, beta) > 0.0
    assert best_threshold(np.array([1e-300, 2e-300]), np.array([-1.0, 1.0]), "max_tpr", 1.0) == 5e-301


def test_rate_that_no_threshold_reaches_is_refused():
    distances, similar = np.array([0.0, 0.0, 1.0, 2.0]), np.array([1.0, -1.0, -1.0, -1.0])
    message = r"no threshold recognises a fraction of 0\.9 .* 1 of 3 have distance 0: lower min_rate to at most 0\.66"
    with pytest.raises(ValueError, match=message) as raised:
        best_threshold(distances, similar, "max_tpr", 0.9)
    reachable = float(re.search(r"at most (\S+),", str(raised.value))[1])
    assert best_threshold(distances, similar, "max_tpr", reachable) == 0.5


def test_kind_is_named_if_it_is_the_only_one():
    assert only_kind(np.ones(3)) == "similar (+1)" and only_kind(-np.ones(1)) == "dissimilar (-1)"
    assert only_kind(np.array([1.0, 1.0, -1.0])) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("weird", None, 1.0), "strategy must be one of 'accuracy', 'f_beta', 'max_tpr', 'max_tnr', got 'weird'"),
        (("max_tpr", None, 1.0), "strategy 'max_tpr' needs a min_rate from 0 to 1, got None"),
        (("max_tnr", 1.5, 1.0), "strategy 'max_tnr' needs a min_rate from 0 to 1, got 1.5"),
        (("max_tnr", -0.1, 1.0), "needs a min_rate from 0 to 1, got -0.1"),
        (("f_beta", None, "a"), "strategy 'f_beta' needs a beta >= 0, got 'a'"),
        (("f_beta", None, -1.0), "strategy 'f_beta' needs a beta >= 0, got -1.0"),
    ],
)
def test_invalid_calibration_raises_value_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_calibration(*arguments)
    with pytest.raises(ValueError, match=message):
        best_threshold(np.ones(1), np.ones(1), *arguments)


@pytest.mark.parametrize(
    "arguments",
    [("max_tpr", 0.0, 1.0), ("max_tnr", 1, 1.0), ("f_beta", None, 0), ("accuracy", None, -1.0), ("accuracy", 7, 1.0)],
)
def test_valid_calibration_passes(arguments):
    check_calibration(*arguments)
