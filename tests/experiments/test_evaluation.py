"""3-NN with W = I and with learned W on one split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.constraints import RandomPairs
from covmetric.datasets import make_spd_classes
from covmetric.experiments import evaluation
from covmetric.experiments.evaluation import (
    FOLDS,
    REG,
    Learner,
    choose_lambda,
    evaluate,
    grid_end,
    grid_text,
    grid_values,
    tuning_subset,
)
from covmetric.learning.splits import Split

LEARNER = Learner(RandomPairs(30, balance=0.5), (0.05, 0.95))
LAMBDAS = (1.0, 1e-1, 1e-2)


@pytest.fixture(scope="module")
def problem():
    """Overlapping classes, so that lambda matters, and a split into halves."""
    data = make_spd_classes(n_classes=3, n_per_class=30, n=4, random_state=1)
    indices = np.random.default_rng(0).permutation(90)
    return data.X, data.y, Split(np.sort(indices[:45]), np.sort(indices[45:]))


def test_W_I_is_3_nearest_neighbours_of_the_embedding(problem):
    X, y, split = problem
    outcome = evaluate(X, y, split, "log", None, LAMBDAS, seed=0)
    fixed = CovMetricClassifier(CovMetric("log", lam=np.inf, reg=REG)).fit(X[split.train], y[split.train])
    assert outcome.accuracy == fixed.score(X[split.test], y[split.test])
    assert (outcome.lam, outcome.relative_gap) == (np.inf, 0.0) and outcome.seconds > 0.0


@pytest.mark.parametrize("learner", [LEARNER, replace(LEARNER, scale=None, slack="l2", bounds=(0.1, 2.0))])
def test_learned_W_is_that_of_the_chosen_lambda_on_the_training_part(problem, learner):
    X, y, split = problem
    outcome = evaluate(X, y, split, "chol", learner, LAMBDAS, seed=2)
    lam = choose_lambda(X, y, split, "chol", learner, LAMBDAS, seed=2)
    settings = {name: getattr(learner, name) for name in ("pairs", "bounds", "scale", "slack")}
    metric = CovMetric("chol", lam=lam, reg=REG, random_state=2, **settings)
    learned = CovMetricClassifier(metric).fit(X[split.train], y[split.train])
    assert outcome.lam == lam and outcome.relative_gap == learned.learner_.result_.certificate.relative_gap <= 1e-6
    assert outcome.accuracy == learned.score(X[split.test], y[split.test])


@pytest.mark.parametrize("phi", ["id", "log", "sqrt", "chol"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("grouped", [False, True])
def test_lambda_is_that_of_CovMetricCV_without_W_I(problem, phi, seed, grouped):
    """Groups stay together in the folds, but the pairs do not depend on them, as in the paper."""
    X, y, split = problem
    if grouped:
        split = replace(split, groups=np.arange(45) // 3)
    settings = {"pairs": RandomPairs(30, groups="ignore"), "bounds": LEARNER.bounds, "search_tol": LEARNER.search_tol}
    search = CovMetricCV(phi, lambdas=LAMBDAS, cv=FOLDS, random_state=seed, reg=REG, **settings)
    search.fit(X[split.train], y[split.train], groups=split.groups)
    scores = {
        params["lam"]: round(score, 12)
        for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
        if params["lam"] != np.inf
    }
    expected = max(scores, key=lambda lam: (scores[lam], lam))
    assert choose_lambda(X, y, split, phi, LEARNER, LAMBDAS, seed) == expected


@pytest.mark.parametrize("lambdas", [(1e2, 1.0, 1e-2), (1e-2, 1.0, 1e2)])
def test_largest_lambda_wins_ties(problem, lambdas, monkeypatch):
    X, y, split = problem
    monkeypatch.setattr(evaluation, "search_candidates", lambda *_: np.array([[0.5, 0.8], [0.7, 0.6], [0.6, 0.6]]))
    assert choose_lambda(X, y, split, "log", LEARNER, lambdas, seed=0) == 1e2
    monkeypatch.setattr(evaluation, "search_candidates", lambda *_: np.array([[0.5, 0.7], [0.7, 0.6], [0.6, 0.7]]))
    assert choose_lambda(X, y, split, "log", LEARNER, lambdas, seed=0) == 1.0


def test_choice_of_lambda_does_not_see_the_test_part(problem):
    X, y, split = problem
    changed = X.copy()
    changed[split.test] = np.nan
    for phi in ("id", "chol"):
        assert choose_lambda(changed, y, split, phi, LEARNER, LAMBDAS, 0) == choose_lambda(
            X, y, split, phi, LEARNER, LAMBDAS, 0
        )


def test_groups_and_tolerance_reach_the_search(problem, monkeypatch):
    X, y, split = problem
    seen = {}

    def remember(grid, X, codes, folds, scorings, seed):
        seen.update(grid=grid, folds=folds, scorings=scorings, X=X)
        return np.zeros((3, len(folds)))

    monkeypatch.setattr(evaluation, "search_candidates", remember)
    monkeypatch.setattr(evaluation, "TUNING_EXAMPLES", 40)
    groups = np.arange(45) % 3
    learner = Learner(LEARNER.pairs, LEARNER.bounds, scale=None, slack="l2", search_tol=1e-3)
    choose_lambda(X, y, Split(split.train, split.test, groups), "log", learner, LAMBDAS, seed=0)
    kept = groups[tuning_subset(split, 0)]
    assert len(seen["X"]) == 40 and len(seen["folds"]) == 3 and [s.n_neighbors for s in seen["scorings"]] == [3]
    assert all(len(set(kept[fold.test])) == 1 for fold in seen["folds"])
    (candidates,) = seen["grid"]
    (path,) = candidates.paths
    settings = path.settings
    assert (settings.tol, settings.slack, settings.scale, candidates.reg) == (1e-3, "l2", None, REG)
    assert path.lambdas == (1.0, 1e-1, 1e-2)


def test_tuning_subset_is_a_sorted_draw_of_limited_size(problem, monkeypatch):
    split = problem[2]
    np.testing.assert_array_equal(tuning_subset(split, 0), np.arange(45))
    monkeypatch.setattr(evaluation, "TUNING_EXAMPLES", 20)
    subset = tuning_subset(split, 0)
    assert len(subset) == 20 and (np.diff(subset) > 0).all() and subset.max() < 45
    assert not np.array_equal(subset, tuning_subset(split, 1))


def test_grid_survives_as_text():
    grid = grid_text([1e-4, 1e2, 0.1 + 0.2])
    assert grid_values(grid) == [1e2, 0.1 + 0.2, 1e-4]
    assert [grid_end(lam, grid) for lam in grid_values(grid)] == ["largest", "", "smallest"]
    assert grid_end(np.inf, "") == "" and grid_end(np.inf, grid) == ""
