"""Scores on one split, against the rules of classifiers and literal neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier
from covmetric.learning import scoring
from covmetric.learning.candidates import CandidatePath, PhiCandidates
from covmetric.learning.scoring import leave_one_out
from tests import naive
from tests.learning.candidates import CODES, LEAVE_ONE_OUT, SETTINGS, TEST, TRAIN, X, candidates, score
from tests.learning.problems import recorder


@pytest.mark.parametrize("limit", [0, 24 * 12 - 1, 24 * 12])
def test_rule_and_shortcut_give_the_same_scores(monkeypatch, limit):
    expected = score(candidates())[0]
    used = []
    real = scoring.cross_distances
    monkeypatch.setattr(scoring, "cross_distances", lambda *a: used.append(1) or real(*a))
    monkeypatch.setattr(scoring, "SEARCH_ENTRIES", limit)
    np.testing.assert_array_equal(score(candidates())[0], expected)
    assert len(used) == (3 if limit == 24 * 12 else 0)


def test_shortcut_is_taken_for_small_matrices_with_zeros(monkeypatch):
    calls = recorder(monkeypatch, scoring, "cross_distances")
    diagonal = X[:, :2, :2] * np.eye(2)
    assert score(candidates("id"), X=diagonal)[1] == ""
    assert len(calls) == 3


@pytest.mark.parametrize("scale", [1e-103, 1e103])
def test_shortcut_is_not_taken_near_overflow_and_underflow(monkeypatch, scale):
    monkeypatch.setattr(scoring, "cross_distances", lambda *_: pytest.fail("not exact at this scale"))
    grid = PhiCandidates("id", 0.0, (CandidatePath(SETTINGS, (np.inf,)),))
    plain = CovMetricClassifier(CovMetric("id", lam=np.inf)).fit(X[TRAIN], CODES[TRAIN]).score(X[TEST], CODES[TEST])
    assert score(grid, X=scale * X)[0].tolist() == [plain]


def test_vectors_are_scored_by_the_exact_rule(monkeypatch):
    monkeypatch.setattr(scoring, "cross_distances", lambda *_: pytest.fail("vectors may tie"))
    vectors = np.log(np.diagonal(X, axis1=1, axis2=2))
    for k in (1, 7):
        scores, _ = score(candidates("vector"), X=vectors, k=k)
        classifier = CovMetricClassifier(CovMetric(lam=np.inf), n_neighbors=k).fit(vectors[TRAIN], CODES[TRAIN])
        assert scores[0] == classifier.score(vectors[TEST], CODES[TEST])
    assert score(candidates("vector"), X=vectors, k=1)[0][0] != scores[0]


def test_leave_one_out_is_the_literal_vote():
    rng = np.random.default_rng(0)
    vectors, codes, groups = rng.standard_normal((40, 5)), rng.integers(3, size=40), rng.integers(12, size=40)
    for k in (1, 3, 37, 60):
        expected = naive.leave_one_out(vectors, codes, groups, k, 3)
        predicted = leave_one_out(vectors, codes, groups, k, 3)
        assert predicted.dtype == np.int64
        np.testing.assert_array_equal(predicted, expected)


def test_leave_one_out_ignores_votes_of_the_same_group():
    vectors, codes = np.arange(5.0)[:, None], np.array([0, 0, 0, 1, 1])
    np.testing.assert_array_equal(leave_one_out(vectors, codes, codes, 5, 2), [1, 1, 1, 0, 0])
    np.testing.assert_array_equal(leave_one_out(vectors, codes, np.zeros(5), 5, 2), np.zeros(5))


def test_leave_one_out_raises_on_overflow():
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="squared distances of the examples overflow"):
        leave_one_out(1e200 * np.arange(6.0)[:, None], CODES[:6], np.arange(6), 1, 2)


@pytest.mark.parametrize("k", [1, 3])
def test_leave_one_out_scores_are_those_of_the_literal_vote(k):
    scores, _ = score(candidates("relog"), LEAVE_ONE_OUT, k=k)
    for lam, value in zip((np.inf, 1e-1, 1e-2), scores, strict=True):
        vectors = CovMetric("relog", lam=lam, budget=3, tol=1e-8).fit(X, CODES).transform(X)
        predicted = naive.leave_one_out(vectors, CODES, LEAVE_ONE_OUT.groups, k, 2)
        assert value == (predicted == CODES).mean()


def test_leave_one_out_needs_the_rule_of_neighbours():
    scores, reason = score(candidates(), LEAVE_ONE_OUT, rule="mean")
    assert np.isnan(scores).all()
    assert reason == "cv='loo' needs rule='neighbors', got rule='mean'; use a number of folds as cv"
