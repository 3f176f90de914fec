"""solve: arguments, warnings, warm starts, and solvers that cannot be trusted."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import Dykstra, MetricProblem, Status, make_paper_problem, solve
from covmetric.solvers import Solver
from tests.problems import problem_seeds, random_problem


@pytest.fixture
def problem():
    return make_paper_problem(8, 40, 1e-3, seed=0)


def test_auto_solves_every_kind_of_problem():
    for seed in problem_seeds(9):
        problem = random_problem(seed)
        result = solve(problem, tol=1e-8, random_state=0)
        assert result.status is Status.SOLVED
        assert problem.certify(result.W, result.multipliers, tol=1e-8).solved


def test_history_of_dykstra(problem):
    result = solve(problem, Dykstra(certify_every=2), tol=1e-6, random_state=0)
    h = result.history
    for name in ("n_iter", "projections", "seconds", "primal", "dual", "gap"):
        assert getattr(h, name).shape == h.n_iter.shape
    assert h.n_iter[0] == 0
    np.testing.assert_array_equal(np.diff(h.n_iter[:-1]), 2)
    np.testing.assert_array_equal(h.projections, 40 * h.n_iter)
    assert (np.diff(h.seconds) > 0.0).all()
    np.testing.assert_array_equal(h.gap, h.primal - h.dual)
    assert (np.diff(h.dual) >= -1e-12).all(), "coordinate ascent never decreases the dual"
    assert h.primal[0] == problem.primal(np.eye(8))


def test_max_iter_warns_and_keeps_the_best(problem):
    with pytest.warns(ConvergenceWarning, match=r"MAX_ITER after 3 iterations, relative gap .* with tolerance 1e-06"):
        result = solve(problem, Dykstra(certify_every=1), max_iter=3, random_state=0)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 3
    assert result.certificate.primal == pytest.approx(result.history.primal.min())
    assert result.certificate.dual == pytest.approx(result.history.dual.max())


def test_tol_zero_continues_after_convergence_without_a_warning(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve(problem, "dykstra", tol=0, max_iter=600, random_state=0)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 600
    assert result.history.projections[-1] == 600 * 40


def test_solved_at_the_start_needs_no_iteration():
    problem = MetricProblem.from_differences(np.eye(2)[None], [1], 5.0, 1.0)
    result = solve(problem)
    assert result.status is Status.SOLVED
    assert result.n_iter == 0
    assert result.certificate.gap == 0.0


def test_callback_sees_every_certificate_and_can_stop(problem):
    seen = []

    def callback(state):
        seen.append(state)
        return len(seen) == 3

    with pytest.warns(ConvergenceWarning, match="INTERRUPTED"):
        result = solve(problem, Dykstra(certify_every=1), random_state=0, callback=callback)
    assert result.status is Status.INTERRUPTED
    assert [s.n_iter for s in seen] == [0, 1, 2]
    assert seen[-1].projections == 80
    assert seen[-1].certificate.primal == pytest.approx(problem.primal(seen[-1].W))
    assert result.certificate.gap <= seen[-1].certificate.gap + 1e-12


def test_warm_start_is_repaired_if_the_weights_change(problem):
    """With weights a thousand times smaller, multipliers above c/b are not feasible."""
    first = solve(problem, "dykstra", tol=1e-8, random_state=0)
    lighter = MetricProblem.from_differences(
        problem.embedded[:-1], problem.similar, problem.bounds, problem.weights / 1000.0
    )
    assert lighter.dual(first.multipliers) == -np.inf
    warm = solve(lighter, "dykstra", tol=1e-8, random_state=0, warm_start=first)
    cold = solve(lighter, "dykstra", tol=1e-8, random_state=0)
    assert warm.status is Status.SOLVED
    np.testing.assert_allclose(warm.W, cold.W, rtol=1e-3, atol=1e-4)


def test_warm_start_helps_along_a_path(problem):
    first = solve(problem, Dykstra(certify_every=1), tol=1e-6, random_state=0)
    heavier = MetricProblem.from_differences(
        problem.embedded[:-1], problem.similar, problem.bounds, problem.weights * 1.05
    )
    cold = solve(heavier, Dykstra(certify_every=1), tol=1e-6, random_state=0)
    warm = solve(heavier, Dykstra(certify_every=1), tol=1e-6, random_state=0, warm_start=first)
    assert warm.n_iter < cold.n_iter


class Stuck(Solver[list]):
    """A solver that never moves."""

    name = "stuck"
    default_max_iter = 10_000

    def start(self, problem, point, rng):
        return [point.multipliers]

    def step(self, problem, state):
        pass

    def due(self, problem, state, tol):
        return True

    def candidate(self, state):
        return None, state[0]

    def resume(self, problem, state, point):
        pass

    def projections(self, state):
        return 0


def test_a_stall_is_never_solved(problem):
    with pytest.warns(ConvergenceWarning, match="STALLED"):
        result = solve(problem, Stuck())
    assert result.status is Status.STALLED
    assert result.n_iter < 200
    assert not result.certificate.solved


def test_a_certificate_spoilt_by_rounding_is_a_numerical_error(problem, monkeypatch):
    """The gap is within the tolerance, but its rounding error is not."""
    real = MetricProblem.certified_arrays

    def coarse(self, *arguments):
        point = real(self, *arguments)
        certificate = dataclasses.replace(point.certificate, rounding=1.0)
        return dataclasses.replace(point, certificate=certificate)

    monkeypatch.setattr(MetricProblem, "certified_arrays", coarse)
    with pytest.warns(ConvergenceWarning, match="NUMERICAL_ERROR"):
        result = solve(problem, "dykstra", random_state=0)
    assert result.status is Status.NUMERICAL_ERROR


def test_a_negative_gap_beyond_the_tolerance_is_a_numerical_error(problem, monkeypatch):
    real = MetricProblem.certified_arrays

    def wrong(self, *arguments):
        point = real(self, *arguments)
        now = point.certificate
        worse = dataclasses.replace(now, dual=now.primal + 1.0, gap=-1.0, relative_gap=-1.0)
        return dataclasses.replace(point, certificate=worse)

    monkeypatch.setattr(MetricProblem, "certified_arrays", wrong)
    with pytest.warns(ConvergenceWarning, match="NUMERICAL_ERROR"):
        assert solve(problem, "dykstra", random_state=0).status is Status.NUMERICAL_ERROR


class Rogue(Stuck):
    """A solver whose candidates cannot be trusted."""

    def __init__(self, mess):
        self.mess = mess

    def start(self, problem, point, rng):
        solved = solve(problem, "newton", tol=1e-9)
        return [solved.W.copy(), solved.multipliers.copy()]

    def step(self, problem, state):
        self.mess(*state)

    def candidate(self, state):
        return tuple(state)


@pytest.mark.parametrize(
    "mess",
    [
        lambda W, alpha: W.__setitem__((0, 1), W[0, 1] + 0.03),
        lambda W, alpha: W.__imul__(1.5),
        lambda W, alpha: W.fill(np.nan),
        lambda W, alpha: alpha.fill(np.nan),
        lambda W, alpha: (W.fill(np.nan), alpha.fill(np.inf)),
    ],
)
def test_untrustworthy_candidates_get_a_true_certificate(problem, mess):
    """Candidates are asymmetric, modified in place or not finite; the certificate belongs to the returned point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(problem, Rogue(mess), max_iter=3)
    np.testing.assert_array_equal(result.W, result.W.T)
    again = problem.certify(result.W, result.multipliers, tol=1e-6)
    assert again.primal == pytest.approx(result.certificate.primal, rel=1e-12)
    assert again.dual == pytest.approx(result.certificate.dual, rel=1e-12, abs=1e-12)
    assert (result.status is Status.SOLVED) <= again.solved


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"solver": "simplex"}, r"solver must be one of .*got 'simplex'"),
        ({"tol": -1.0}, r"tol must be a number >= 0, got -1.0"),
        ({"tol": np.nan}, r"tol must be a number >= 0, got nan"),
        ({"tol": "small"}, r"tol must be a number >= 0, got 'small'"),
        ({"solver": np.ones(3)}, r"solver must be one of 'auto', 'dykstra'.*or an object of the class Solver"),
        ({"tol": True}, r"tol must be a number >= 0, got True"),
        ({"random_state": "a"}, r"random_state must be None, an integer >= 0, a Generator or a RandomState, got 'a'"),
        ({"random_state": -1}, r"random_state must be"),
        ({"callback": 3}, r"callback must be None or callable, got 3"),
        ({"max_iter": True}, r"max_iter must be None or an integer"),
        ({"max_iter": -1}, r"max_iter must be None or an integer >= 0, got -1"),
        ({"max_iter": 1.5}, r"max_iter must be None or an integer >= 0, got 1.5"),
        (
            {"warm_start": np.zeros(3)},
            r"warm_start does not fit the problem: multipliers must have one entry per pair",
        ),
        ({"warm_start": np.full(40, np.nan)}, r"warm_start does not fit the problem: multipliers\[0\] is nan"),
    ],
)
def test_bad_arguments_are_refused(problem, arguments, message):
    with pytest.raises(ValueError, match=message):
        solve(problem, **arguments)


def test_objects_that_are_not_problems_are_refused():
    with pytest.raises(ValueError, match="problem must be a MetricProblem or a BlockProblem, got ndarray"):
        solve(np.eye(3))


def test_the_number_of_blas_threads_is_restored(problem):
    from threadpoolctl import threadpool_info

    before = [pool["num_threads"] for pool in threadpool_info()]
    solve(problem, "dykstra", random_state=0)
    assert [pool["num_threads"] for pool in threadpool_info()] == before
