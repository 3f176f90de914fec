"""LEML: the reconstructed iteration, and how far it stays from the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import PAPER_SETTINGS, CovMetric, MetricProblem, RandomPairs, make_paper_problem, solve
from covmetric.peers import LEML, leml
from tests import naive


@pytest.mark.parametrize("cycles", [1, 7])
def test_iteration_equals_the_literal_one(cycles):
    problem = make_paper_problem(n=6, K=20, lam=1e-2, seed=3)
    result = leml(problem, tol=0.0, max_iter=20 * cycles - 1)
    assert result.history.n_iter[-1] == cycles
    np.testing.assert_allclose(result.W, naive.leml(problem, cycles), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_problems_of_rank_one_are_solved(seed):
    """There, LEML is ITML, whose closed form is exact: the next test is about the rank, not about a bug."""
    rng = np.random.default_rng(seed)
    F = rng.uniform(-0.5, 0.5, (30, 4, 1))
    problem = MetricProblem.from_differences(F, rng.choice([-1.0, 1.0], 30), 0.4, 0.5, "is")
    best = solve(problem, tol=1e-9).certificate.primal
    result = leml(problem, tol=1e-12)
    assert result.certificate.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("lam", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("seed", [0, 1])
def test_iteration_converges_above_the_optimum(lam, seed):
    problem = make_paper_problem(n=10, lam=lam, seed=seed)
    result, best = leml(problem, tol=1e-7), solve(problem, tol=1e-9)
    assert result.converged and best.certificate.solved
    excess = result.history.primal[-1] - best.certificate.primal
    assert excess > 0.05
    assert excess <= result.certificate.gap
    assert abs(result.history.primal[-1] - result.history.primal[-2]) < 1e-4 * excess


def test_history_has_one_entry_per_cycle(data):
    X, y = data
    peer = LEML(random_state=0).fit(X, y)
    h = peer.history_
    assert len(h.primal) == len(h.gap) == peer.n_iter_ + 1
    assert h.projections[1] == peer.problem_.n_pairs
    assert h.primal[0] == pytest.approx(peer.problem_.primal(np.eye(4)))
    assert peer.certificate_.primal == h.primal[-1] == pytest.approx(peer.problem_.primal(peer.W_ * peer.scale_))


def test_problem_equals_that_of_cov_metric_on_logs(data):
    X, y = data
    ours = CovMetric("log", lam=1e-2, random_state=0, tol=1e-9, **{**PAPER_SETTINGS, "solver": "auto"}).fit(X, y)
    peer = LEML(pairs=RandomPairs(100), random_state=0, max_iter=1).fit(X, y)
    assert solve(peer.problem_, tol=1e-9).certificate.primal == pytest.approx(ours.result_.certificate.primal, rel=1e-8)


def test_limit_of_projections_gives_no_warning(data):
    peer = LEML(random_state=0, max_iter=1).fit(*data)
    assert (peer.n_iter_, peer.converged_) == (1, False)


def test_pairs_of_equal_examples_are_left_out():
    F = np.random.default_rng(0).uniform(-0.5, 0.5, (6, 3, 3))
    similar = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    whole = MetricProblem.from_differences(np.concatenate([F, F[:1] * 0]), [*similar, 1.0], 1.0, 2.0, "is")
    part = MetricProblem.from_differences(F, similar, 1.0, 2.0, "is")
    np.testing.assert_allclose(leml(whole).W, leml(part).W, rtol=1e-12)


def test_other_slacks_raise():
    with pytest.raises(ValueError, match="LEML needs a problem with slack 'is', got 'l2'"):
        leml(make_paper_problem(n=3, K=5, slack="l2"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": np.inf}, "lam must be finite"),
        ({"tol": -1.0}, "tol must be a number >= 0"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
    ],
)
def test_fit_raises_for_invalid_settings(settings, message, data):
    with pytest.raises(ValueError, match=message):
        LEML(**settings).fit(*data)
