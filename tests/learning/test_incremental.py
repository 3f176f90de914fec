"""Incremental learning: the pairs, weights, bounds and warm start after new examples."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from covmetric.constraints import NeighborPairs, QuantileBounds, RandomPairs
from covmetric.learning import incremental
from covmetric.learning.fit import FittedProblem, fit_path
from covmetric.learning.incremental import extend
from covmetric.solvers import Status, solve
from tests.learning.problems import embedded_classes, recorder, settings

PRIOR = np.diag([2.0, 1.0, 0.5])
N_OLD = 20


def fitted_and_new(lam=1e-2, copies=1, **changes):
    """Return a problem that was fitted on 20 examples, and 4 new examples with their classes."""
    embedded, codes = embedded_classes()
    start = FittedProblem.at_prior(settings(**changes), embedded[:N_OLD], codes[:N_OLD], copies)
    (fitted,) = fit_path(start, [lam], np.random.default_rng(0))
    return fitted, embedded[N_OLD:], codes[N_OLD:]


def literal_new_pairs(vectors, codes, k):
    """Return pairs of each new example with its k nearest of the same class and of others, one distance at a time."""
    chosen = set()
    for i in range(N_OLD, len(vectors)):
        for same in (True, False):
            others = [j for j in range(len(vectors)) if j != i and (codes[j] == codes[i]) == same]
            others.sort(key=lambda j: float(((vectors[i] - vectors[j]) ** 2).sum()))
            chosen.update((min(i, j), max(i, j)) for j in others[:k])
    return np.array(sorted(chosen))


@pytest.mark.parametrize("prior", ["identity", PRIOR])
def test_examples_are_added_in_the_coordinates_of_the_prior(prior):
    fitted, new, codes = fitted_and_new(prior=prior)
    extended = extend(fitted, new, codes, 0)
    root = np.eye(3) if fitted.root is None else fitted.root
    np.testing.assert_allclose(extended.examples[N_OLD:], root @ new, rtol=1e-14)
    np.testing.assert_array_equal(extended.examples[:N_OLD], fitted.examples)
    np.testing.assert_array_equal(extended.codes, np.arange(24) % 2)
    assert extended.root is fitted.root
    assert extended.lam == fitted.lam
    assert extended.settings is fitted.settings


def test_old_pairs_stay_and_new_pairs_have_a_new_example():
    fitted, new, codes = fitted_and_new()
    before, after = fitted.constraints, extend(fitted, new, codes, 0).constraints
    n_before = len(before.pairs)
    assert len(after.pairs) > n_before
    np.testing.assert_array_equal(after.pairs[:n_before], before.pairs)
    assert (after.pairs[n_before:].max(axis=1) >= N_OLD).all()
    all_codes = np.arange(24) % 2
    np.testing.assert_array_equal(
        after.similar, np.where(all_codes[after.pairs[:, 0]] == all_codes[after.pairs[:, 1]], 1, -1)
    )


@pytest.mark.parametrize("bounds", [None, QuantileBounds(0.2, 0.7)])
def test_bounds_and_scale_are_the_old_ones_and_weights_are_equal(bounds):
    fitted, new, codes = fitted_and_new(**({} if bounds is None else {"bounds": bounds}))
    before, after = fitted.constraints, extend(fitted, 3.0 * new, codes, 0).constraints
    near, far = before.limits
    np.testing.assert_array_equal(after.bounds, np.where(after.similar > 0, near, far))
    assert after.scale == before.scale
    assert after.limits == before.limits
    assert len(after.weights) == len(after.pairs) == len(after.similar)
    np.testing.assert_array_equal(after.weights, 1.0 / len(after.pairs))


@pytest.mark.parametrize("rounds", [1, 2])
def test_new_pairs_are_the_neighbours_under_the_metric_of_the_last_round(rounds):
    """With one round, neighbours are chosen under W = I; with more, under the learned W. The two choices differ."""
    fitted, new, codes = fitted_and_new(selection=NeighborPairs(2, rounds=rounds))
    extended = extend(fitted, new, codes, 0)
    unlearned = literal_new_pairs(extended.examples.reshape(24, -1), extended.codes, 2)
    mapped = np.linalg.cholesky(fitted.result.W).T @ extended.examples
    learned = literal_new_pairs(mapped.reshape(24, -1), extended.codes, 2)
    assert not np.array_equal(learned, unlearned)
    actual = extended.constraints.pairs[len(fitted.constraints.pairs) :]
    np.testing.assert_array_equal(actual, unlearned if rounds == 1 else learned)


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("selection", [NeighborPairs(3), RandomPairs(20)])
def test_result_is_the_optimum_of_the_extended_problem(selection, copies):
    fitted, new, codes = fitted_and_new(selection=selection, copies=copies, tol=1e-9)
    extended = extend(fitted, new, codes, 0)
    assert extended.result.status is Status.SOLVED
    assert extended.copies == copies
    problem = extended.problem(extended.constraints, 1e-2)
    np.testing.assert_allclose(problem.weights, copies * 100.0 / len(extended.constraints.pairs), rtol=1e-12)
    np.testing.assert_allclose(extended.result.W, solve(problem, tol=1e-9).W, rtol=1e-3, atol=1e-5)


def test_warm_start_is_the_old_multipliers_times_the_ratio_of_the_weights(monkeypatch):
    fitted, new, codes = fitted_and_new(solver="newton", tol=1e-7, max_iter=55)
    calls = recorder(monkeypatch, incremental, "solve")
    extended = extend(fitted, new, codes, 0)
    (problem, solver, tol, max_iter, source, warm_start), _ = calls[0]
    n_before, n_after = len(fitted.constraints.pairs), len(extended.constraints.pairs)
    expected = np.concatenate([fitted.result.multipliers * n_before / n_after, np.zeros(n_after - n_before)])
    np.testing.assert_allclose(warm_start, expected, rtol=1e-14)
    assert np.abs(expected).max() > 0.0
    assert (solver, tol, max_iter) == ("newton", 1e-7, 55)
    assert isinstance(source, np.random.Generator)
    assert problem.n_pairs == n_after


def test_random_pairs_follow_the_random_state():
    fitted, new, codes = fitted_and_new(selection=RandomPairs(5))
    pairs = [extend(fitted, new, codes, seed).constraints.pairs for seed in (0, 0, 1)]
    np.testing.assert_array_equal(pairs[0], pairs[1])
    assert not np.array_equal(pairs[0], pairs[2])


def test_random_order_follows_the_random_state():
    fitted, new, codes = fitted_and_new(solver="dykstra", tol=1e-4)
    results = [extend(fitted, new, codes, seed).result.W for seed in (0, 0, 1)]
    np.testing.assert_array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])


def test_nothing_is_solved_at_infinite_lambda(monkeypatch):
    fitted, new, codes = fitted_and_new(lam=np.inf, prior=PRIOR)
    calls = recorder(monkeypatch, incremental, "solve")
    extended = extend(fitted, new, codes, 0)
    assert not calls
    assert len(extended.examples) == len(extended.codes) == 24
    assert extended.constraints is None
    assert extended.result is None
    np.testing.assert_allclose(extended.metric(), PRIOR, rtol=1e-12)


def test_new_examples_without_a_distinct_pair_keep_the_constraints():
    """All examples of class 0 are equal, and only similar pairs are drawn: a new copy adds no information."""
    embedded, codes = embedded_classes()
    embedded[codes == 0] = embedded[0]
    start = FittedProblem.at_prior(settings(selection=RandomPairs(20, balance=1.0), tol=1e-9), embedded, codes)
    (fitted,) = fit_path(start, [1e-2], np.random.default_rng(0))
    extended = extend(fitted, embedded[:1], codes[:1], 0)
    assert extended.constraints is fitted.constraints
    assert len(extended.codes) == 25
    np.testing.assert_allclose(extended.result.W, fitted.result.W, rtol=1e-3, atol=1e-6)


def test_new_pairs_are_added_however_close_their_examples_are():
    embedded, codes = embedded_classes()
    embedded = 1e-3 * embedded
    start = FittedProblem.at_prior(settings(), embedded[:N_OLD], codes[:N_OLD])
    (fitted,) = fit_path(start, [1e-2], np.random.default_rng(0))
    extended = extend(fitted, embedded[N_OLD:], codes[N_OLD:], 0)
    assert len(extended.constraints.pairs) > len(fitted.constraints.pairs)


def test_equal_examples_of_two_classes_are_left_out_with_a_warning():
    fitted, _, _ = fitted_and_new()
    with pytest.warns(UserWarning, match="left out, because they are dissimilar but their examples are equal"):
        extended = extend(fitted, fitted.examples[:1], 1 - fitted.codes[:1], 0)
    assert [0, N_OLD] not in extended.constraints.pairs.tolist()
    np.testing.assert_allclose(extended.constraints.weights.sum(), 1.0, rtol=1e-12)


def test_the_given_problem_is_not_changed():
    fitted, new, codes = fitted_and_new()
    before = dataclasses.replace(fitted)
    extend(fitted, new, codes, 0)
    assert len(fitted.examples) == len(fitted.codes) == N_OLD
    assert fitted.constraints is before.constraints
