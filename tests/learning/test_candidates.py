"""The scores of candidates on one split, against separate fits."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier
from covmetric.constraints import AbsoluteBounds, NeighborPairs, RandomPairs
from covmetric.embeddings import get_embedding
from covmetric.learning import candidates as module
from covmetric.learning.candidates import INTERRUPTED, CandidatePath, PhiCandidates, embed_once
from covmetric.learning.settings import LearningSettings
from tests.data import hermitian
from tests.learning.candidates import CODES, LEAVE_ONE_OUT, SETTINGS, SPLIT, TEST, TRAIN, X, candidates, score
from tests.learning.problems import recorder


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
    calls = recorder(monkeypatch, module, "fit_path")
    scores, _ = score(candidates("log"), X=H)
    assert [arguments[0].copies for arguments, _ in calls] == [2, 2]
    for lam, value in zip((np.inf, 1e-1, 1e-2), scores, strict=True):
        classifier = CovMetricClassifier(CovMetric("log", lam=lam, budget=3, tol=1e-8)).fit(H[TRAIN], CODES[TRAIN])
        assert classifier.score(H[TEST], CODES[TEST]) == value


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

    monkeypatch.setattr(module, "fit_path", broken)
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
