"""The accuracy of candidates on one split, against separate fits and literal neighbours."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier
from covmetric._utils import tuning
from covmetric.constraints import AbsoluteBounds, NeighborPairs, RandomPairs
from covmetric.embeddings import get_embedding
from covmetric.learning import scoring
from covmetric.learning.scoring import (
    INTERRUPTED,
    CandidatePath,
    PhiCandidates,
    Scoring,
    embed_once,
    leave_one_out,
    score_candidates,
    threads_for,
)
from covmetric.learning.settings import LearningSettings
from covmetric.learning.splits import Split
from tests import naive
from tests.data import classes_of_matrices, hermitian
from tests.learning.problems import recorder

X, CODES = classes_of_matrices(36, n=3)
TRAIN, TEST = np.arange(24), np.arange(24, 36)
SPLIT = Split(TRAIN, TEST)
EVERYTHING = np.arange(36)
LEAVE_ONE_OUT = Split(EVERYTHING, EVERYTHING, EVERYTHING // 2, leave_one_out=True)
SETTINGS = LearningSettings(NeighborPairs(3), AbsoluteBounds(), tol=1e-8)


def candidates(phi="log", reg=0.0, settings=SETTINGS, lambdas=(1e-1, 1e-2)):
    return PhiCandidates(phi, reg, (CandidatePath(settings, (np.inf,)), CandidatePath(settings, lambdas)))


def score(grid, split=SPLIT, rule="neighbors", k=3, seed=0, **arguments):
    rng = np.random.default_rng(seed)
    return score_candidates(grid, arguments.pop("X", X), CODES, split, [Scoring(rule, k)], rng, **arguments)


def separate_scores(lambdas, rule="neighbors", k=3, **parameters):
    """Return the accuracies of classifiers that are fitted one by one."""
    scores = []
    for lam in lambdas:
        learner = CovMetric(**{"phi": "log", "budget": 3, "tol": 1e-8, **parameters}, lam=lam)
        classifier = CovMetricClassifier(learner, rule=rule, n_neighbors=k).fit(X[TRAIN], CODES[TRAIN])
        scores.append(classifier.score(X[TEST], CODES[TEST]))
    return scores


def test_lambdas_are_listed_path_by_path():
    assert candidates().lambdas == (np.inf, 1e-1, 1e-2)


@pytest.mark.parametrize("rule", ["neighbors", "mean"])
@pytest.mark.parametrize("phi", ["log", "relog"])
@pytest.mark.parametrize("k", [1, 5])
def test_scores_are_those_of_separate_fits(rule, phi, k):
    scores, reason = score(candidates(phi), rule=rule, k=k)
    assert reason == ""
    assert scores.tolist() == separate_scores([np.inf, 1e-1, 1e-2], rule, k, phi=phi)


def test_scores_follow_the_order_of_the_lambdas():
    ascending, descending = (score(candidates(lambdas=l))[0] for l in ((1e-3, 1e1), (1e1, 1e-3)))  # noqa: E741
    assert ascending[1] != ascending[2]
    assert ascending.tolist() == [descending[0], descending[2], descending[1]]


def test_reg_is_used():
    singular = X.copy()
    singular[0] = np.outer(singular[0, 0], singular[0, 0])
    scores, reason = score(candidates(), X=singular)
    assert np.isnan(scores).all()
    assert "X[0] is not positive definite" in reason
    assert score(candidates(reg=1e-3), X=singular)[1] == ""


@pytest.mark.parametrize("phi", ["log", "sqrt"])
@pytest.mark.parametrize("split", [SPLIT, LEAVE_ONE_OUT], ids=["split", "loo"])
def test_shared_embedding_gives_the_same_scores(phi, split):
    grid = candidates(phi)
    assert score(grid, split, shared=embed_once(phi, X, 0.0))[0].tolist() == score(grid, split)[0].tolist()


def test_random_pairs_follow_the_generator():
    grid = candidates(settings=LearningSettings(RandomPairs(3), AbsoluteBounds()), lambdas=(1e-3,))
    scores = [score(grid, seed=seed)[0].tolist() for seed in (0, 0, 1, 2, 3, 4)]
    assert scores[0] == scores[1]
    assert len({tuple(s) for s in scores}) > 1


def test_hermitian_matrices_are_scored_as_the_classifier_does(monkeypatch):
    H = hermitian(36, 2)
    H[CODES == 1, 0, 0] *= 3.0
    calls = recorder(monkeypatch, scoring, "fit_path")
    scores, _ = score(candidates("log"), X=H)
    assert [arguments[0].copies for arguments, _ in calls] == [2, 2]
    for lam, value in zip((np.inf, 1e-1, 1e-2), scores, strict=True):
        classifier = CovMetricClassifier(CovMetric("log", lam=lam, budget=3, tol=1e-8)).fit(H[TRAIN], CODES[TRAIN])
        assert classifier.score(H[TEST], CODES[TEST]) == value


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


def test_candidates_that_were_scored_before_an_error_keep_their_score():
    grid = PhiCandidates(
        "log",
        0.0,
        (
            CandidatePath(SETTINGS, (np.inf,)),
            CandidatePath(LearningSettings(None, AbsoluteBounds(), prior="no"), (1.0,)),
        ),
    )
    scores, reason = score(grid)
    assert np.isfinite(scores).tolist() == [True, False]
    assert reason.startswith("prior must be")


def test_candidates_that_were_scored_before_ctrl_c_keep_their_score():
    stop = LearningSettings(NeighborPairs(3), AbsoluteBounds(), callback=lambda _: os.kill(os.getpid(), signal.SIGINT))
    grid = PhiCandidates("log", 0.0, (CandidatePath(SETTINGS, (np.inf,)), CandidatePath(stop, (1e-1, 1e-2))))
    scores, reason = score(grid)
    assert np.isfinite(scores).tolist() == [True, False, False]
    assert reason == INTERRUPTED


@pytest.mark.parametrize("lambdas", [(1e-1,), (1e-1, 1e-2)])
def test_interrupted_last_solve_is_not_scored(lambdas):
    starts = []

    def stop(state):
        starts.append(state.n_iter == 0)
        return sum(starts) == len(lambdas)

    settings = LearningSettings(NeighborPairs(3), AbsoluteBounds(), callback=stop)
    scores, reason = score(PhiCandidates("log", 0.0, (CandidatePath(settings, lambdas),)))
    assert np.isnan(scores).all()
    assert reason == INTERRUPTED


def test_unfinished_solves_and_warnings_are_silent():
    settings = LearningSettings(NeighborPairs(3), AbsoluteBounds(), tol=1e-12, max_iter=1)
    duplicated = X.copy()
    duplicated[1] = duplicated[0]  # of the other class
    assert score(candidates(settings=settings), X=duplicated)[1] == ""


def test_programming_errors_are_not_hidden(monkeypatch):
    def broken(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(scoring, "fit_path", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        score(candidates())


def test_embed_once_embeds_all_examples_unless_phi_learns():
    shared = embed_once("log", X, 0.1)
    embedding = get_embedding("log")
    embedding.reg = 0.1
    np.testing.assert_array_equal(shared.embedded, embedding.fit_transform(X))
    assert shared.embedding.reg == 0.1
    assert embed_once("relog", X, 0.0) is None
    assert embed_once("log", -X, 0.0) is None


@pytest.mark.parametrize(("n", "threads"), [(1, 1), (tuning.ONE_THREAD_BELOW - 1, 1), (tuning.ONE_THREAD_BELOW, None)])
def test_small_examples_use_one_thread(n, threads):
    assert threads_for(np.zeros((2, n))) == threads
