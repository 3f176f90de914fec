"""The search over candidates and splits, and the choice of the best candidate."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from covmetric._utils import parallel
from covmetric.constraints import AbsoluteBounds, RandomPairs
from covmetric.learning import search
from covmetric.learning.candidates import INTERRUPTED, CandidatePath, PhiCandidates, score_candidates
from covmetric.learning.scoring import Scoring
from covmetric.learning.search import choose_candidate, search_candidates
from covmetric.learning.settings import LearningSettings
from covmetric.learning.splits import Split
from tests.data import classes_of_matrices

X, CODES = classes_of_matrices(36, n=3)
PARTS = np.arange(36) % 3
SPLITS = [Split(np.flatnonzero(fold != PARTS), np.flatnonzero(fold == PARTS)) for fold in range(3)]
SCORING = [Scoring("neighbors", 3)]


def candidates(phi, lambdas=(1e-1, 1e-3)):
    settings = LearningSettings(RandomPairs(10), AbsoluteBounds(), tol=1e-3)
    return PhiCandidates(phi, 0.0, (CandidatePath(settings, (np.inf,)), CandidatePath(settings, lambdas)))


GRID = [candidates("log"), candidates("relog", (1e-2,))]
THREE = [*GRID, candidates("sqrt", (1e-1, 1e-2, 1e-3))]


def run(grid=GRID, splits=SPLITS, seed=7, **arguments):
    return search_candidates(grid, X, CODES, splits, SCORING, seed, **arguments)


def scores_of(monkeypatch, answers):
    """Let `score_candidates` give these answers, or raise them, one after the other."""
    remaining = iter(answers)

    def answer(*_):
        value = next(remaining)
        if isinstance(value, BaseException):
            raise value
        return value

    monkeypatch.setattr(search, "score_candidates", answer)


def good(*values):
    return np.array(values), ""


LOG, RELOG = good(0.5, 0.6, 0.7), good(0.8, 0.9)


def test_scores_are_those_of_each_split_and_phi():
    scores = run(THREE)
    assert scores.shape == (9, 3)
    for fold, split in enumerate(SPLITS):
        for rows, grid in ((slice(0, 3), THREE[0]), (slice(3, 5), THREE[1]), (slice(5, 9), THREE[2])):
            expected, _ = score_candidates(grid, X, CODES, split, SCORING, np.random.default_rng([7, fold]))
            np.testing.assert_array_equal(scores[rows, fold], expected)
    assert not np.array_equal(run(THREE, seed=8), scores)


@pytest.mark.parametrize(("factor", "shared"), [(1, True), (0.99, False)])
def test_examples_are_embedded_once_within_the_memory_limit(monkeypatch, factor, shared):
    expected, seen = run(), []

    def record(*arguments):
        seen.append(arguments[-1])
        return score_candidates(*arguments)

    monkeypatch.setattr(search, "score_candidates", record)
    monkeypatch.setattr(search, "SHARED_EMBEDDING_BYTES", factor * 2 * 8 * X.size)
    np.testing.assert_array_equal(run(), expected)
    assert [entry is not None for entry in seen] == [shared, False] * 3  # relog is learned in each fold


def test_memory_limit_counts_the_real_form_of_hermitian_matrices(monkeypatch):
    monkeypatch.setattr(search, "embed_once", lambda *_: "embedded")
    monkeypatch.setattr(search, "SHARED_EMBEDDING_BYTES", 2 * 4 * 8 * X.size)
    assert search._shared_embeddings(GRID, X.astype(complex)) == ["embedded"] * 2
    monkeypatch.setattr(search, "SHARED_EMBEDDING_BYTES", 2 * 4 * 8 * X.size - 1)
    assert search._shared_embeddings(GRID, X.astype(complex)) == [None, None]
    assert search._shared_embeddings(GRID, X) == ["embedded"] * 2


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), TerminatedWorkerError("killed"), INTERRUPTED])
@pytest.mark.parametrize("n_done", [1, 2, 3, 4, 5])
def test_interrupted_search_keeps_complete_folds(monkeypatch, interruption, n_done):
    """Only complete folds are compared; within the first fold, everything that was scored is kept."""
    if interruption == INTERRUPTED:
        interruption = (np.array([0.1, np.nan, np.nan][: 3 if n_done % 2 == 0 else 2]), INTERRUPTED)
    scores_of(monkeypatch, [*([LOG, RELOG] * 3)[:n_done], interruption])
    reason = "TerminatedWorkerError: killed" if isinstance(interruption, TerminatedWorkerError) else "Ctrl-C"
    with pytest.warns(UserWarning, match=rf"the search was cut short \({reason}\); the best of the candidates"):
        scores = run()
    if n_done == 1:
        np.testing.assert_array_equal(scores[:3, 0], LOG[0])
        np.testing.assert_array_equal(scores[3:, 0], [0.1, np.nan] if isinstance(interruption, tuple) else [np.nan] * 2)
        assert np.isnan(scores[:, 1:]).all()
    else:
        complete = np.concatenate([LOG[0], RELOG[0]])[:, None]
        np.testing.assert_array_equal(scores[:, : n_done // 2], np.repeat(complete, n_done // 2, axis=1))
        assert np.isnan(scores[:, n_done // 2 :]).all()


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, TerminatedWorkerError])
def test_interruption_before_the_first_score_is_raised(monkeypatch, interruption):
    scores_of(monkeypatch, [interruption()])
    with pytest.raises(interruption):
        run()


def test_candidates_that_fail_are_reported_in_a_warning(monkeypatch):
    failed = np.array([0.5, np.nan, np.nan]), "not positive definite"
    scores_of(monkeypatch, [failed, RELOG] * 3)
    with pytest.warns(UserWarning, match="some candidates failed and were left out: phi 'log': not positive definite"):
        scores = run()
    np.testing.assert_array_equal(np.isnan(scores), [[False] * 3, [True] * 3, [True] * 3, [False] * 3, [False] * 3])


@pytest.mark.parametrize("fixed", [0.5, np.nan])
def test_search_raises_if_no_learned_candidate_was_scored(monkeypatch, fixed):
    scores_of(monkeypatch, [(np.array([fixed, np.nan, np.nan]), "first"), (np.array([fixed, np.nan]), "second")] * 3)
    with pytest.raises(ValueError, match=r"^phi 'log': first"):
        run()


def test_fixed_metrics_alone_may_fail_in_part(monkeypatch):
    fixed = [dataclasses.replace(entry, paths=entry.paths[:1]) for entry in GRID]
    scores_of(monkeypatch, [good(0.5), (np.array([np.nan]), "singular")] * 3)
    with pytest.warns(UserWarning, match="some candidates failed and were left out: phi 'relog': singular"):
        np.testing.assert_array_equal(run(fixed), [[0.5] * 3, [np.nan] * 3])


def test_progress_is_shown_on_request(monkeypatch, capsys):
    for arguments, shown in (({}, False), ({"verbose": 0}, False), ({"verbose": 1}, True)):
        scores_of(monkeypatch, [LOG, RELOG] * 3)
        run(**arguments)
        assert ("search" in capsys.readouterr().err) == shown


def test_number_of_jobs_is_used(monkeypatch):
    real, seen = parallel.Parallel, []
    monkeypatch.setattr(parallel, "Parallel", lambda n_jobs, **options: seen.append(n_jobs) or real(1, **options))
    run(n_jobs=3)
    run()
    assert seen == [3, None]


nan = np.nan


@pytest.mark.parametrize(
    ("preference", "scores", "best"),
    [
        ([0, 1, 2], [[0.5, 0.6], [0.7, 0.7], [0.9, 0.2]], 1),  # the best mean, not the best score
        ([2, 0, 1], [[0.7, 0.7], [0.6, 0.8], [0.8, 0.6]], 1),  # among equals the preferred candidate
        ([1, 0], [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], 1),  # sums in another order are equal
        ([1, 0], [[0.7 + 1e-9], [0.7]], 0),  # but a small difference counts
        ([0, 1], [[1.0, nan], [0.5, 0.5]], 1),  # a candidate that failed on a split is left out
        ([0, 1], [[0.5, nan, nan], [0.6, nan, nan]], 1),  # splits without any scores do not count
        ([0, 1], [[nan, 0.5], [0.6, nan]], 1),  # unless all failed on some split
        ([0, 1], [[nan], [0.0]], 1),
    ],
)
def test_the_best_candidate_is_chosen_without_a_tolerance(preference, scores, best):
    assert choose_candidate(preference, np.array(scores)) == best


def test_the_preferred_candidate_within_the_tolerance_is_chosen():
    """Against the definition: the root mean square of the standard errors of the paired differences."""
    rng = np.random.default_rng(0)
    chosen = set()
    for _ in range(300):
        n_candidates, n_splits = rng.integers(1, 7), rng.integers(1, 6)
        scores = rng.integers(0, 10, (n_candidates, n_splits)) / 10 + rng.random((n_candidates, 1)) / 5
        preference, n_std_errors = rng.permutation(n_candidates), rng.choice([0.0, 0.5, 1.0, 1.5])
        means = scores.mean(axis=1)
        best = int(means.argmax())
        errors = [
            np.std(scores[best] - other, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else 0.0
            for i, other in enumerate(scores)
            if i != best
        ]
        tolerance = n_std_errors * np.sqrt(np.mean(np.square(errors))) if errors else 0.0
        close = [i for i in range(n_candidates) if means[best] - means[i] <= tolerance + 1e-12]
        expected = min(close, key=lambda i: preference[i])
        assert choose_candidate(preference, scores, n_std_errors) == expected
        chosen.add(expected == best)
    assert chosen == {True, False}


def test_common_changes_of_the_splits_do_not_widen_the_tolerance():
    """If one split is harder for all candidates, their differences are as certain as before."""
    scores = np.array([[0.50, 0.52, 0.51], [0.60, 0.61, 0.62]])
    harder = scores - np.array([0.4, 0.0, 0.2])
    assert choose_candidate([0, 1], scores, 1.5) == choose_candidate([0, 1], harder, 1.5) == 1
