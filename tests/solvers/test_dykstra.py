"""Dykstra: the same optimum with every order, epochs like the paper's, and breakdowns."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Dykstra, MetricProblem, Status, make_paper_problem, solve
from covmetric.orders import get_order
from covmetric.solvers import StepFailed
from covmetric.solvers.kernels import block_projection, projection
from tests import naive
from tests.data import quoted
from tests.exact import exact_gap
from tests.problems import ORDERS, problem_seeds, random_problem


@pytest.mark.parametrize("seed", problem_seeds(12))
def test_orders_agree(seed):
    """W is unique; two metrics with gap g are within about sqrt(2 g) of it in the local norm."""
    problem = random_problem(seed)
    results = [solve(problem, Dykstra(order), tol=1e-9, max_iter=100_000, random_state=seed) for order in ORDERS]
    for result in results:
        assert result.status is Status.SOLVED
        np.testing.assert_allclose(result.certificate.primal, results[0].certificate.primal, rtol=3e-9)
        L = np.linalg.cholesky(results[0].W)
        mu = np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, result.W).T))
        lo, hi = (
            a * b
            for a, b in zip(result.certificate.distance_factor, results[0].certificate.distance_factor, strict=True)
        )
        assert lo / hi - 1e-9 <= mu.min()
        assert mu.max() <= hi / lo + 1e-9


@pytest.mark.parametrize("order", ORDERS)
def test_an_epoch_matches_the_literal_method(order):
    """Seven epochs give the same iterate as the literal method in the same order."""
    problem = make_paper_problem(6, 15, 1e-3, seed=4)
    ours = solve(problem, Dykstra(order, certify_every=1), tol=0, max_iter=7, random_state=11)
    rng = np.random.default_rng(11)
    paper = naive.PaperDykstra(*naive.data(problem))
    for _ in range(7):
        paper.epoch(get_order(order).epoch(problem.n_pairs, rng))
    assert ours.history.projections[-1] == 7 * 15
    final = solve(problem, Dykstra(order, certify_every=7), tol=0, max_iter=7, random_state=11)
    np.testing.assert_allclose(final.history.primal[-1], problem.primal(paper.W), rtol=1e-8)
    np.testing.assert_allclose(final.history.primal[-1], ours.history.primal[-1], rtol=1e-10)


def test_another_seed_gives_other_bits():
    problem = make_paper_problem(8, 40, 1e-3, seed=0)
    first, second, other = (solve(problem, "dykstra", tol=1e-6, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.W, second.W)
    np.testing.assert_array_equal(first.multipliers, second.multipliers)
    assert first.n_iter == second.n_iter
    assert not np.array_equal(first.W, other.W)


def test_random_state_may_be_a_generator_or_a_random_state():
    problem = make_paper_problem(5, 20, 1e-2, seed=0)
    by_int = solve(problem, "dykstra", random_state=3)
    by_generator = solve(problem, "dykstra", random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(by_int.W, by_generator.W)
    assert solve(problem, "dykstra", random_state=np.random.RandomState(3)).status is Status.SOLVED


def test_vectors_are_solved():
    """With m = 1, the problem is the one of ITML."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((20, 3)), rng.normal([2, 0, 0], 1.0, (20, 3))])
    y = np.repeat([0, 1], 20)
    pairs = np.array([(i, j) for i in range(40) for j in range(i)])
    similar = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    bounds = np.where(similar > 0, 1.0, 8.0)
    problem = MetricProblem(X[:, :, None], pairs, similar, bounds, 10.0 / len(pairs))
    result = solve(problem, "dykstra", tol=1e-9, random_state=0)
    assert result.status is Status.SOLVED
    assert np.linalg.eigvalsh(result.W)[0] > 0.0
    assert result.certificate.primal < problem.primal(np.eye(3))


def test_bad_settings_are_refused():
    problem = make_paper_problem(3, 5, 1e-2, seed=0)
    with pytest.raises(ValueError, match=r"certify_every must be None or an integer >= 1, got 0"):
        solve(problem, Dykstra(certify_every=0))
    with pytest.raises(ValueError, match=f"order must be one of {quoted(ORDERS)}"):
        solve(problem, Dykstra(order="shuffled"))


def test_representation_has_the_settings():
    assert repr(Dykstra("rand", certify_every=3)) == "Dykstra(order='rand', certify_every=3)"


@pytest.mark.parametrize(("m", "kernel"), [(5, (projection, "sweep")), (1, (block_projection, "sweep_blocks"))])
def test_a_breakdown_is_repaired_by_rebuilding_the_metric(m, kernel, monkeypatch):
    """A sweep that breaks down continues with the next pair from a rebuilt metric."""
    real, calls = getattr(*kernel), []

    def flaky(W, alpha, rows, pairs, y, b, c, order, *rest):
        calls.append(len(order))
        if len(calls) == 2:
            real(W, alpha, rows, pairs, y, b, c, order[:4], *rest)
            W[:] = np.nan
            return projection.BROKEN
        return real(W, alpha, rows, pairs, y, b, c, order, *rest)

    monkeypatch.setattr(*kernel, flaky)
    rng = np.random.default_rng(0)
    F, similar = rng.uniform(-0.5, 0.5, (12, 5, m)), rng.choice([-1.0, 1.0], 12)
    problem = MetricProblem.from_differences(F, similar, 0.3 * m, 5.0)
    result = solve(problem, "dykstra", tol=1e-8, random_state=0)
    assert result.status is Status.SOLVED
    assert calls[1:3] == [12, 8]


def test_a_breakdown_at_the_first_pair_is_repaired(monkeypatch):
    real, calls = projection.sweep, []

    def flaky(*arguments):
        calls.append(1)
        return projection.BROKEN if len(calls) == 2 else real(*arguments)

    monkeypatch.setattr(projection, "sweep", flaky)
    problem = make_paper_problem(5, 12, 1e-2, seed=0)
    assert solve(problem, "dykstra", random_state=0).status is Status.SOLVED


def test_a_distance_that_cancels_to_zero_is_not_mistaken_for_equal_examples():
    problem = MetricProblem.from_differences([[[1e5]], [[1.0]]], [1, -1], [1e-7, 1.0], 1.0, "is")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, "dykstra", random_state=0)
    assert np.isfinite(result.multipliers).all()
    assert exact_gap(problem, result) <= result.certificate.gap + result.certificate.rounding


def test_a_permanent_breakdown_is_a_numerical_error(monkeypatch):
    monkeypatch.setattr(projection, "sweep", lambda *_: projection.BROKEN)
    problem = make_paper_problem(5, 12, 1e-2, seed=0)
    with pytest.warns(ConvergenceWarning, match="NUMERICAL_ERROR"):
        result = solve(problem, "dykstra", random_state=0)
    assert result.status is Status.NUMERICAL_ERROR
    np.testing.assert_array_equal(result.W, np.eye(5))


class Counting(Dykstra):
    """Dykstra with the epochs between certificates on record."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.between = []

    def resume(self, problem, state, point):
        self.between.append(state.epochs_since_certificate)
        super().resume(problem, state, point)


def test_certificates_take_at_most_a_fifth_of_the_modelled_time():
    from covmetric._utils.tuning import CERTIFICATE_FRACTION, certificate_seconds, sweep_seconds

    problem = make_paper_problem(8, 40, 1e-3, seed=0)
    solver = Counting()
    solve(problem, solver, tol=0, max_iter=400, random_state=0)
    certificate = certificate_seconds(8, 8, 40, kept=True)
    idle, busy = (sweep_seconds(8, 8, moved, 40 - moved) for moved in (0, 40))
    assert all(epochs * busy >= certificate / CERTIFICATE_FRACTION for epochs in solver.between[:-1])
    assert all((epochs - 1) * idle <= certificate / CERTIFICATE_FRACTION for epochs in solver.between)


@pytest.mark.parametrize("every", [1, 3])
def test_certify_every_counts_epochs(every):
    solver = Counting(certify_every=every)
    solve(make_paper_problem(8, 40, 1e-3, seed=0), solver, tol=0, max_iter=7, random_state=0)
    assert set(solver.between[:-1]) == {every}


def test_a_breakdown_after_the_last_pair_ends_the_epoch(monkeypatch):
    real, calls = projection.sweep, []

    def late(*arguments):
        calls.append(len(arguments[7]))
        status = real(*arguments)
        return projection.BROKEN if len(calls) == 2 else status

    monkeypatch.setattr(projection, "sweep", late)
    problem = make_paper_problem(5, 12, 1e-2, seed=0)
    result = solve(problem, "dykstra", random_state=0)
    assert result.status is Status.SOLVED
    assert set(calls) == {12}, "no pair is visited twice"


def test_multipliers_outside_of_the_domain_are_moved_into_it():
    """The dual matrix of these multipliers is not positive definite, so that they have no metric."""
    problem = make_paper_problem(5, 12, 1e-2, seed=0)
    state = Dykstra().start(problem, problem.certified(None, np.zeros(12)), np.random.default_rng(0))
    state.alpha = np.where(problem.similar < 0.0, 0.9 * problem.weights / problem.bounds, 0.0)
    alpha = state.alpha.copy()
    with pytest.raises(ValueError, match="positive definite"):
        problem.metric(alpha)
    Dykstra()._rebuild(problem, state)
    assert not np.array_equal(state.alpha, alpha)
    np.testing.assert_allclose(state.W, naive.metric(problem, state.alpha), rtol=1e-8)
    assert np.linalg.eigvalsh(state.W)[0] > 0.0


def test_a_metric_that_stays_degenerate_is_given_up():
    problem = make_paper_problem(5, 12, 1e-2, seed=0)
    solver, point = Dykstra(), problem.certified(None, np.zeros(12))
    state = solver.start(problem, point, np.random.default_rng(0))
    degenerate = replace(point, W=np.diag([1e-16, 1.0, 1.0, 1.0, 1.0]), derived=True)
    for _ in range(5):
        solver.resume(problem, state, degenerate)
    with pytest.raises(StepFailed):
        solver.resume(problem, state, degenerate)
    state = solver.start(problem, point, np.random.default_rng(0))
    for _ in range(5):
        solver.resume(problem, state, degenerate)
    solver.resume(problem, state, point)  # one that is not starts the count again
    solver.resume(problem, state, degenerate)


@pytest.mark.parametrize("slack", ["is", "l2", "re"])
@pytest.mark.parametrize("m", [2, 6])
def test_the_gap_is_a_sum_over_the_pairs(m, slack):
    """For the metric of the multipliers, with ratios and dual variables of the same moment, the estimate is exact."""
    rng = np.random.default_rng(0)
    F, similar = rng.standard_normal((30, 6, m)), rng.choice([-1, 1], 30)
    problem = MetricProblem.from_differences(F, similar, 2.0 * m, 0.5, slack)
    start = problem.certified(None, solve(problem, "dykstra", tol=0, max_iter=2, random_state=0).multipliers)
    solver = Dykstra()
    state = solver.start(problem, start, np.random.default_rng(0))
    state.visited[:] = start.ratios, problem.similar * state.alpha * problem.bounds / problem.weights
    expected = problem.certify(start.W, start.multipliers)
    assert expected.relative_gap > 1e-6
    assert solver.estimated_gap(problem, state) == pytest.approx(expected.relative_gap, rel=1e-8)
    state.visited[0, 3] = np.nan
    assert solver.estimated_gap(problem, state) == np.inf
    state.visited[0, 3], state.W = 1.0, -np.eye(6)
    assert solver.estimated_gap(problem, state) == np.inf


def test_the_estimated_gap_follows_the_certified_one():
    """The estimate is that of a moment within the last epoch: between the gaps before it and after it, or nearly."""
    problem, estimates = make_paper_problem(6, 40, 1e-2, seed=0), []

    class Estimating(Dykstra):
        def step(self, problem, state):
            super().step(problem, state)
            assert state.work_since_estimate > 0.0
            estimates.append(self.estimated_gap(problem, state))
            assert state.work_since_estimate == 0.0

    result = solve(problem, Estimating("cyclic", certify_every=1), tol=0, max_iter=12)
    gaps = result.history.gap / np.maximum(1.0, np.abs(result.history.primal))
    ratios = np.array(estimates) / gaps[:-1]
    assert (ratios[:8] < 3.0).all() and (np.array(estimates)[:8] > 0.3 * gaps[1:9]).all()


@pytest.mark.parametrize("m", [1, 6])
def test_idle_pairs_are_left_out_in_two_of_three_epochs(m):
    """Pairs without a multiplier whose bound held at their last visit; the optimum is that of all pairs."""
    rng = np.random.default_rng(0)
    F, similar = rng.standard_normal((60, 6, m)), rng.choice([-1, 1], 60)
    problem = MetricProblem.from_differences(F, similar, np.where(similar > 0, 8.0 * m, 3.0 * m), 20.0)
    solver, point = Dykstra(), problem.certified(None, np.zeros(60))
    state = solver.start(problem, point, np.random.default_rng(0))
    state.skips_idle = True
    left_out = falling = 0
    for epoch in range(300):
        idle = (state.alpha == 0.0) & (problem.similar * (state.visited[0] - 1.0) <= 0.0)
        before, seen, alpha = state.visits, state.visited.copy(), state.alpha.copy()
        solver.step(problem, state)
        if epoch % 3:
            assert state.visits - before == np.count_nonzero(~idle)
            np.testing.assert_array_equal(state.visited[:, idle], seen[:, idle])
            np.testing.assert_array_equal(state.alpha[idle], alpha[idle])
            left_out += np.count_nonzero(idle)
            falling += np.count_nonzero((alpha > 0.0) & (problem.similar * (seen[0] - 1.0) <= 0.0))
        else:
            assert state.visits - before == 60
    assert left_out > 100 and falling > 0
    assert problem.certify(None, state.alpha).relative_gap < 1e-9


def test_the_papers_method_visits_all_pairs():
    problem = make_paper_problem(6, 15, 1e-1, seed=4)
    result = solve(problem, Dykstra(), tol=0, max_iter=5, random_state=0)
    assert (result.multipliers == 0.0).any()
    assert result.history.projections[-1] == 5 * 15
