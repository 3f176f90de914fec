"""Fitted problems: coordinates, scale, weights, the path of lambda, and re-chosen pairs."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

from covmetric.constraints import NeighborPairs, QuantileBounds, RandomPairs, constrain
from covmetric.learning import fit
from covmetric.learning.fit import FittedProblem, fit_constraints, fit_path
from covmetric.solvers import Dykstra, Status, solve, solve_path
from tests import naive
from tests.learning.problems import embedded_classes, recorder, settings, start_problem

PRIOR = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])


def rng(seed=0):
    return np.random.default_rng(seed)


def arguments(call, function):
    """Return the arguments of a recorded call by name."""
    bound = inspect.signature(function).bind(*call[0], **call[1])
    bound.apply_defaults()
    return bound.arguments


def test_at_prior_keeps_the_embedded_examples_for_the_identity():
    embedded, codes = embedded_classes()
    start = FittedProblem.at_prior(settings(), embedded, codes)
    assert start.root is None
    assert start.examples is embedded
    assert start.codes is codes
    assert (start.lam, start.constraints, start.result, start.copies, start.scale) == (np.inf, None, None, 1, 1.0)
    assert not start.interrupted
    np.testing.assert_array_equal(start.metric(), np.eye(3))


def test_defaults_are_those_of_a_real_problem_at_its_prior():
    embedded, codes = embedded_classes()
    plain = FittedProblem(settings(), embedded, codes, None)
    assert (plain.lam, plain.constraints, plain.result, plain.copies) == (np.inf, None, None, 1)
    assert "constraints" not in repr(plain)
    assert "result" not in repr(plain)


def test_at_prior_transforms_the_examples_by_the_root():
    embedded, codes = embedded_classes()
    start = FittedProblem.at_prior(settings(prior=PRIOR), embedded, codes, copies=2)
    np.testing.assert_allclose(start.root @ start.root, PRIOR, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(start.examples, start.root @ embedded, rtol=1e-14)
    np.testing.assert_allclose(start.metric(), PRIOR, rtol=1e-10, atol=1e-12)
    assert start.copies == 2


def test_at_prior_passes_copies_to_the_prior():
    embedded = np.concatenate([embedded_classes(m=6)[0], embedded_classes(m=6, seed=1)[0]], axis=1)
    start = FittedProblem.at_prior(settings(prior=np.diag([1.0, 4.0, 9.0])), embedded, np.arange(24) % 2, 2)
    np.testing.assert_allclose(start.root, np.diag([1.0, 2.0, 3.0, 1.0, 2.0, 3.0]), atol=1e-12)


@pytest.mark.parametrize("prior", ["identity", PRIOR])
def test_metric_gives_the_squared_distances_of_the_solver_times_the_scale(prior):
    embedded, codes = embedded_classes()
    start = FittedProblem.at_prior(settings(prior=prior), embedded, codes)
    (fitted,) = fit_path(start, [1e-2], rng())
    assert fitted.scale == fitted.constraints.scale != 1.0
    W = fitted.metric()
    np.testing.assert_array_equal(W, W.T)
    problem = fitted.problem(fitted.constraints, fitted.lam)
    for i, j in fitted.constraints.pairs[:5]:
        solver_distance = naive.squared_distance(fitted.result.W, problem.embedded[i], problem.embedded[j])
        assert naive.squared_distance(W, embedded[i], embedded[j]) == pytest.approx(solver_distance, rel=1e-9)


@pytest.mark.parametrize("copies", [1, 2])
def test_problem_has_scaled_examples_and_weights(copies):
    start = start_problem(copies=copies, slack="l2")
    constraints = constrain(start.examples, start.codes, NeighborPairs(3), start.settings.bounds, "median", rng())
    problem = start.problem(constraints, 0.25)
    np.testing.assert_allclose(problem.embedded, start.examples / np.sqrt(constraints.scale), rtol=1e-14)
    np.testing.assert_array_equal(problem.pairs, constraints.pairs)
    np.testing.assert_array_equal(problem.similar, constraints.similar)
    np.testing.assert_array_equal(problem.bounds, constraints.bounds)
    np.testing.assert_allclose(problem.weights, copies * 4.0 / len(constraints.pairs), rtol=1e-12)
    assert problem.slack.name == "l2"
    np.testing.assert_allclose(start.problem(constraints).weights, copies / len(constraints.pairs), rtol=1e-12)


def test_path_returns_the_optimum_at_each_lambda_in_the_given_order():
    start = start_problem(tol=1e-9)
    lambdas = [1e-2, np.inf, 1.0, 1e-1, 1e-2]
    path = fit_path(start, lambdas, rng())
    assert [fitted.lam for fitted in path] == lambdas
    assert path[1] is start
    for fitted in path:
        if fitted is start:
            continue
        assert fitted.result.status is Status.SOLVED
        assert fitted.constraints is path[0].constraints
        alone = solve(start.problem(fitted.constraints, fitted.lam), tol=1e-9)
        np.testing.assert_allclose(fitted.result.W, alone.W, rtol=1e-3, atol=1e-4)
    assert path[2].result.certificate.primal < path[3].result.certificate.primal < path[0].result.certificate.primal


def test_path_at_infinity_only_solves_nothing(monkeypatch):
    calls = recorder(monkeypatch, fit, "solve_path")
    start = start_problem(selection=None)
    assert fit_path(start, [np.inf], rng()) == [start]
    assert fit_path(start, [], rng()) == []
    assert not calls


def test_path_passes_the_settings_to_the_solver(monkeypatch):
    calls = recorder(monkeypatch, fit, "solve_path")
    source, seen = rng(), []
    start = start_problem(solver="newton", tol=1e-4, max_iter=77, callback=seen.append)
    fit_path(start, [1e-1, 1.0], source)
    given = arguments(calls[0], solve_path)
    assert given["lambdas"] == [1.0, 1e-1]
    assert (given["solver"], given["tol"], given["max_iter"]) == ("newton", 1e-4, 77)
    assert given["random_state"] is source
    assert given["callback"] is start.settings.callback
    assert seen


def test_path_uses_the_bounds_the_scale_and_the_random_numbers():
    start = start_problem(selection=RandomPairs(4), bounds=QuantileBounds(0.1, 0.6), scale=3.0)
    (fitted,) = fit_path(start, [1.0], rng(5))
    expected = constrain(start.examples, start.codes, RandomPairs(4), QuantileBounds(0.1, 0.6), 3.0, rng(5))
    np.testing.assert_array_equal(fitted.constraints.pairs, expected.pairs)
    assert fitted.constraints.limits == expected.limits
    assert fitted.scale == 3.0
    other = fit_path(start, [1.0], rng(6))[0]
    assert not np.array_equal(other.constraints.pairs, expected.pairs)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_rounds_choose_the_neighbours_under_the_learned_metric(monkeypatch, rounds):
    """The pairs are the literal neighbours under the metric of the round before, which differ from those under I."""
    calls = recorder(monkeypatch, fit, "solve")
    start = start_problem(selection=NeighborPairs(2, rounds=rounds))
    W = np.eye(3)
    for completed in range(1, rounds + 1):
        mapped = np.linalg.cholesky(W).T @ start.examples
        expected = naive.neighbor_pairs(mapped.reshape(24, -1), start.codes, 2)
        partial = dataclasses.replace(start, settings=settings(selection=NeighborPairs(2, rounds=completed)))
        fitted = fit_path(partial, [1e-2], rng())[0]
        np.testing.assert_array_equal(fitted.constraints.pairs, expected)
        W = fitted.result.W
    assert len(calls) == rounds * (rounds - 1) // 2
    unlearned = naive.neighbor_pairs(start.examples.reshape(24, -1), start.codes, 2)
    assert np.array_equal(fitted.constraints.pairs, unlearned) == (rounds == 1)


def test_rounds_pass_the_random_numbers_to_the_solver():
    start = start_problem(selection=NeighborPairs(2, rounds=2), solver=Dykstra("rand"), tol=1e-3)
    one, other = (fit_path(start, [1e-2], rng(3))[0] for _ in range(2))
    np.testing.assert_array_equal(one.result.W, other.result.W)


def test_rounds_give_each_lambda_its_own_pairs():
    start = start_problem(selection=NeighborPairs(2, rounds=2))
    weak, strong = fit_path(start, [1.0, 1e-3], rng())
    assert not np.array_equal(weak.constraints.pairs, strong.constraints.pairs)
    for fitted in (weak, strong):
        optimum = solve(start.problem(fitted.constraints, fitted.lam), tol=1e-6)
        np.testing.assert_allclose(fitted.result.W, optimum.W, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize(
    ("rounds", "interrupted", "expected"),
    [(1, 2, [1e-1, 1e-2]), (2, 2, [1e-1, 1e-2]), (2, 4, [1e-1]), (3, 4, [1e-1]), (3, 5, [1e-1])],
)
def test_interrupted_path_returns_the_lambdas_that_were_reached(rounds, interrupted, expected):
    """The three solves of the path come first, then the further rounds of each lambda."""
    starts = []

    def stop(state):
        starts.append(state.n_iter == 0)
        return sum(starts) == interrupted

    start = start_problem(selection=NeighborPairs(2, rounds=rounds), callback=stop, tol=1e-9)
    with pytest.warns(match="INTERRUPTED"):
        path = fit_path(start, [1e-1, 1e-2, 1e-3], rng())
    assert [fitted.lam for fitted in path] == expected
    assert [fitted.interrupted for fitted in path] == [False] * (len(expected) - 1) + [True]
    if interrupted > 3:
        assert sum(starts) == interrupted  # nothing is solved after the interruption


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan])
def test_invalid_lambda_raises_value_error(wrong):
    start = start_problem()
    with pytest.raises(ValueError, match="lam must be a positive number or infinity"):
        fit_path(start, [1.0, wrong], rng())
    with pytest.raises(ValueError, match="lam must be a positive number or infinity"):
        fit_constraints(start, None, wrong, rng())


def test_fit_constraints_solves_the_given_problem(monkeypatch):
    start = start_problem(solver="newton", tol=1e-8, max_iter=66, callback=lambda _: None)
    constraints = constrain(start.examples, start.codes, NeighborPairs(2), start.settings.bounds, "median", rng())
    calls, source = recorder(monkeypatch, fit, "solve"), rng()
    fitted = fit_constraints(start, constraints, 1e-2, source)
    given = arguments(calls[0], solve)
    assert (given["solver"], given["tol"], given["max_iter"]) == ("newton", 1e-8, 66)
    assert given["random_state"] is source
    assert given["callback"] is start.settings.callback
    assert fitted.constraints is constraints
    assert fitted.lam == 1e-2
    np.testing.assert_allclose(given["problem"].weights, 100.0 / len(constraints.pairs), rtol=1e-12)
    np.testing.assert_array_equal(fitted.result.W, solve(start.problem(constraints, 1e-2), "newton", 1e-8).W)
    assert fit_constraints(start, constraints, np.inf, source) is start
