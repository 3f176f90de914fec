"""MetricProblem: its arrays, its certificates, and the problems derived from it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from covmetric import Certificate, MetricProblem
from covmetric.problem import CertifiedPoint
from tests import naive
from tests.problem.points import feasible_multipliers, random_metric
from tests.problems import problem_seeds, random_problem


def test_from_differences_is_the_same_problem():
    problem = random_problem(5)
    i, j = problem.pairs.T
    F = problem.embedded[i] - problem.embedded[j]
    other = MetricProblem.from_differences(F, problem.similar, problem.bounds, problem.weights, problem.slack)
    W, alpha = random_metric(problem.n), feasible_multipliers(problem)
    assert other.primal(W) == pytest.approx(problem.primal(W), rel=1e-13)
    assert other.dual(alpha) == pytest.approx(problem.dual(alpha), rel=1e-12)
    np.testing.assert_array_equal(other.embedded[:-1], F)
    np.testing.assert_array_equal(other.embedded[-1], np.zeros((problem.n, problem.m)))


def test_scalars_lists_and_read_only_arrays_are_accepted():
    embedded = np.arange(12.0).reshape(3, 2, 2) ** 1.5
    embedded.flags.writeable = False
    a = MetricProblem(embedded, [[0, 1], [1, 2]], [1, -1], 2.0, 3)
    b = MetricProblem(embedded.tolist(), np.array([[0, 1], [1, 2]], np.int32), [1.0, -1.0], [2.0, 2.0], [3.0, 3.0])
    assert a.primal(np.eye(2)) == b.primal(np.eye(2))
    c = MetricProblem(embedded.astype(np.float32), [[0, 1], [1, 2]], [1, -1], 2.0, 3)
    assert c.embedded.dtype == np.float64


def test_arrays_are_copied_and_read_only():
    embedded, pairs = np.random.default_rng(0).standard_normal((3, 2, 2)), np.array([[0, 1]])
    similar, bounds, weights = np.ones(1), np.ones(1), np.ones(1)
    problem = MetricProblem(embedded, pairs, similar, bounds, weights)
    for array in (embedded, pairs, similar, bounds, weights):
        assert array.flags.writeable
    before = problem.primal(np.eye(2))
    for array in (embedded, pairs, similar, bounds, weights):
        array[:] = 0
    assert problem.primal(np.eye(2)) == before, "the problem holds copies"
    for array in (problem.embedded, problem.pairs, problem.similar, problem.bounds, problem.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_repr_counts_the_pairs():
    problem = MetricProblem.from_differences(np.ones((5, 3, 2)), [1, 1, 1, -1, -1], 1.0, 1.0, "re")
    assert repr(problem) == "MetricProblem(n=3, m=2, pairs=5 (3 similar, 2 dissimilar), slack='re')"


def test_properties_give_the_sizes():
    problem = MetricProblem(np.arange(24.0).reshape(4, 3, 2) ** 1.5, [[0, 1], [2, 3]], [1, -1], 2.0, 3.0)
    assert (problem.n, problem.m, problem.n_pairs) == (3, 2, 2)
    assert problem.embedded.shape == (4, 3, 2)
    i, j = problem.pairs.T
    np.testing.assert_allclose(problem.squared_norms, ((problem.embedded[i] - problem.embedded[j]) ** 2).sum((1, 2)))


@pytest.mark.parametrize("seed", problem_seeds(18))
def test_certificate_matches_the_formulas(seed):
    """The largest violation, too: y (s - xi), with a metric and multipliers that do not belong together."""
    problem = random_problem(seed)
    W, alpha = random_metric(problem.n, seed), feasible_multipliers(problem, seed)
    point = problem.certified(W, alpha, tol=0.5)
    assert isinstance(point, CertifiedPoint) and isinstance(point.certificate, Certificate)
    got = point.certificate
    np.testing.assert_array_equal(point.W, W)
    assert got.primal == pytest.approx(naive.primal(problem, W), rel=1e-10)
    assert got.dual == pytest.approx(naive.dual(problem, point.multipliers), rel=1e-9, abs=1e-10)
    assert got.max_violation == pytest.approx(naive.max_violation(problem, W, point.multipliers), rel=1e-6, abs=1e-9)
    assert got.gap == got.primal - got.dual
    with np.errstate(all="ignore"):
        parts = problem._primal.point(W, 0.5).rounding + problem._dual.repaired(alpha, 0.5).rounding
    assert got.rounding == parts + 2.0**-53 * abs(got.gap)
    assert got.tol == 0.5
    assert not point.derived
    np.testing.assert_allclose(point.ratios * problem.bounds, problem.squared_distances(W))


@pytest.mark.parametrize(
    ("similar", "W", "expected"),
    [(1, 3.0, 2.0), (1, 1.0, 0.0), (1, 0.25, 0.0), (-1, 3.0, 0.0), (-1, 1.0, 0.0), (-1, 0.25, 0.75)],
)
def test_max_violation_is_the_distance_on_the_wrong_side(similar, W, expected):
    """One pair with squared distance W and bound 1; with a multiplier of zero its slack is 1."""
    problem = MetricProblem.from_differences([[[1.0]]], [similar], 1.0, 1.0, "l2")
    assert problem.certify([[W]], [0.0]).max_violation == pytest.approx(expected)


def test_max_violation_is_the_largest_of_all_pairs():
    problem = MetricProblem.from_differences(np.array([[[1.0]], [[2.0]], [[1.5]]]), [1, 1, -1], 1.0, 1.0, "l2")
    assert problem.certify([[1.0]], np.zeros(3)).max_violation == pytest.approx(3.0)


def test_max_violation_uses_the_slack_of_the_multiplier():
    """The squared distance is 4; a multiplier of 0.4 raises the slack from 1 to 1.4."""
    problem = MetricProblem.from_differences([[[2.0]]], [1], 1.0, 1.0, "l2")
    point = problem.certified([[1.0]], [0.4])
    np.testing.assert_array_equal(point.multipliers, [0.4])
    assert point.certificate.max_violation == pytest.approx(4.0 - 1.4)


@pytest.mark.parametrize("seed", problem_seeds(9))
def test_missing_arguments_are_derived(seed):
    problem = random_problem(seed)
    alpha = feasible_multipliers(problem, seed)
    derived = problem.certified(None, alpha)
    # The metric of the repaired multipliers or, if its objective is lower, of those that were given.
    candidates = [naive.metric(problem, derived.multipliers), naive.metric(problem, alpha)]
    expected = min(candidates, key=lambda W: naive.primal(problem, W))
    np.testing.assert_allclose(derived.W, expected, rtol=1e-9, atol=1e-12)
    assert derived.derived == np.array_equal(expected, candidates[0])
    W = random_metric(problem.n, seed)
    from_W = problem.certified(W)
    both = problem.certified(W, problem._primal.multipliers(from_W.ratios))
    np.testing.assert_array_equal(from_W.multipliers, both.multipliers)
    assert from_W.certificate == both.certificate


def test_a_derived_metric_that_cannot_be_stored_is_replaced_by_the_identity():
    problem = MetricProblem.from_differences([[[1.0], [0.7], [0.3]]], [1], 1e-16, 1e6, "l2")
    point = problem.certified(None, [1e16])
    assert np.isfinite(point.certificate.gap)
    if not point.derived:
        np.testing.assert_array_equal(point.W, np.eye(3))


def test_certify_is_the_certificate_of_certified():
    problem = random_problem(4)
    W, alpha = random_metric(problem.n), feasible_multipliers(problem)
    assert problem.certify(W, alpha) == problem.certified(W, alpha).certificate
    assert problem.certify(W) == problem.certified(W).certificate
    assert problem.certify(multipliers=alpha) == problem.certified(None, alpha).certificate


def test_the_default_tolerance_is_1e_6():
    problem = random_problem(4)
    W, alpha = random_metric(problem.n), feasible_multipliers(problem)
    assert problem.certify(W).tol == problem.certified(W).certificate.tol == 1e-6
    assert problem.certified_arrays(W, alpha).certificate.tol == 1e-6


def test_points_and_certificates_cannot_be_changed():
    point = random_problem(4).certified(multipliers=np.zeros(random_problem(4).n_pairs))
    for record, name in ((point, "derived"), (point.certificate, "gap"), (random_problem(4).terms, "slack")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, name, None)


def test_replace_keeps_pairs_in_the_given_order():
    problem = random_problem(5)
    other = problem.replace(keep=[3, 0])
    np.testing.assert_array_equal(other.pairs, problem.pairs[[3, 0]])
    for name in ("similar", "bounds", "weights"):
        np.testing.assert_array_equal(getattr(other, name), getattr(problem, name)[[3, 0]])
    assert other.slack is problem.slack
    assert np.shares_memory(other.sums.rows, problem.sums.rows), "the examples are shared"


def test_replace_without_pairs_shares_the_sums():
    problem = random_problem(5)
    other = problem.replace(bounds=2.0, weights=3.0)
    assert other.sums is problem.sums
    np.testing.assert_array_equal(other.bounds, np.full(problem.n_pairs, 2.0))
    np.testing.assert_array_equal(other.weights, np.full(problem.n_pairs, 3.0))
    assert problem.replace(keep=np.arange(problem.n_pairs)).sums is not problem.sums


def test_replace_adds_pairs_at_the_end():
    problem = random_problem(5)
    other = problem.replace(keep=[1], pairs=[[0, 1], [1, 2]], similar=[1, -1], bounds=2.0, weights=3.0)
    np.testing.assert_array_equal(other.pairs, [problem.pairs[1], [0, 1], [1, 2]])
    np.testing.assert_array_equal(other.similar, [problem.similar[1], 1.0, -1.0])
    alone = problem.replace(keep=[], pairs=[[0, 1]], similar=[1], bounds=2.0, weights=3.0)
    np.testing.assert_array_equal(alone.pairs, [[0, 1]])


def test_replace_refuses_bad_arguments():
    problem = random_problem(5)
    mask = np.zeros(problem.n_pairs, dtype=bool)
    mask[[0, 2]] = True
    np.testing.assert_array_equal(problem.replace(keep=mask).pairs, problem.pairs[[0, 2]])
    with pytest.raises(ValueError, match="no pairs are left: keep or add at least one pair"):
        problem.replace(keep=[])
    for arguments in ({"pairs": [[0, 1]]}, {"similar": [1]}):
        with pytest.raises(ValueError, match="pairs and similar must be given together"):
            problem.replace(**arguments)
    for arguments in ({}, {"bounds": 1.0}, {"weights": 1.0}):
        with pytest.raises(ValueError, match="bounds and weights of all pairs must be given when pairs are added"):
            problem.replace(pairs=[[0, 1]], similar=[1], **arguments)
    with pytest.raises(ValueError, match=r"pairs\[0, 1\] is 10000"):
        problem.replace(pairs=[[0, 10000]], similar=[1], bounds=1.0, weights=1.0)


def test_changed_is_a_deprecated_alias_of_replace():
    problem = random_problem(5)
    with pytest.warns(FutureWarning, match="MetricProblem.changed is deprecated, use MetricProblem.replace"):
        other = problem.changed(keep=[0, 1], weights=2.0)
    np.testing.assert_array_equal(other.pairs, problem.pairs[:2])
    np.testing.assert_array_equal(other.weights, [2.0, 2.0])
