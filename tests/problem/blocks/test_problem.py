"""A problem in blocks has the values, the certificates and the rounding errors of the whole problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmetric import MetricProblem
from covmetric.problem import BlockProblem, reduce_to_basis
from covmetric.problem.blocks import GivenMultipliers, Threads, ZeroMultipliers, sources
from covmetric.problem.blocks.multipliers import MetricMultipliers
from covmetric.problem.coordinates import CoordinateError
from tests.exact import exact_dual, exact_primal
from tests.problem.points import feasible_multipliers, random_metric
from tests.problem.test_coordinates import tilted
from tests.problems import SLACKS
from tests.solvers.hostile import hostile_problem

# A tolerance for which working precision is not enough.
SMALL = 1e-15
pytestmark = pytest.mark.usefixtures("small_blocks")


def random_problem(slack, n=4, m=2, K=60, seed=0):
    """Return a problem with K pairs of 12 examples, of which a third are similar."""
    rng = np.random.default_rng([seed, n, m, K])
    examples = rng.standard_normal((12, n, m))
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(K)])
    similar = np.where(np.arange(K) % 3, -1.0, 1.0)
    bounds = n * m * rng.uniform(0.5, 4.0, K)
    return MetricProblem(examples, pairs, similar, bounds, rng.uniform(0.1, 2.0, K), slack)


def assert_same_certificate(found, expected):
    """Both are right up to their rounding errors, which are of the same size."""
    error = found.rounding + expected.rounding
    for name in ("primal", "dual", "gap"):
        one, other = getattr(found, name), getattr(expected, name)
        assert abs(one - other) <= error, name
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9), name
    assert found.max_violation == pytest.approx(expected.max_violation, rel=1e-9, abs=1e-12)
    # The bounds on the errors of sums differ, because they are summed in another order.
    assert 0.5 * expected.rounding <= found.rounding <= 2.0 * expected.rounding
    assert (found.tol, found.solved) == (expected.tol, expected.solved)


@pytest.mark.parametrize("tol", [1e-6, SMALL])
@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize(("n", "m"), [(4, 2), (5, 1), (3, 3), (1, 1)])
def test_certificates_are_those_of_the_whole_problem(slack, n, m, tol):
    problem = random_problem(slack, n, m)
    split = BlockProblem.split(problem)
    assert split.source.n_blocks == 9
    assert split.source.ranges() == [(0, 4), (4, 9)]
    W, alpha = random_metric(n), feasible_multipliers(problem)
    for arguments in ((W, alpha), (W, None), (None, alpha), (None, 3.0 * alpha), (W, 1e3 * alpha), (W, 0.0 * alpha)):
        assert_same_certificate(split.certify(*arguments, tol), problem.certify(*arguments, tol))


@pytest.mark.parametrize("slack", SLACKS)
def test_scaled_multipliers_are_gathered_scaled(slack):
    problem = random_problem(slack)
    split = BlockProblem.split(problem)
    alpha = 1e4 * feasible_multipliers(problem)  # far outside of the domain: clipped, and then scaled
    whole, point = problem.certified(None, alpha), split.certified(None, alpha)
    assert 0.0 < point.multipliers.theta < 1.0
    assert point.derived is whole.derived
    multipliers, slacks = split.pair_arrays(point)
    expected = problem.pair_arrays(whole)
    np.testing.assert_allclose(multipliers, expected[0], rtol=1e-9)
    np.testing.assert_allclose(slacks, expected[1], rtol=1e-9)
    again = problem.certify(point.W, multipliers)
    assert again.gap == pytest.approx(point.certificate.gap, abs=again.rounding + point.certificate.rounding)


@given(st.integers(0, 10**6))
def test_hostile_problems_have_the_same_values(seed):
    problem = hostile_problem(seed)
    split = BlockProblem.split(problem)
    rng = np.random.default_rng(seed)
    W = random_metric(problem.n, seed) * 10.0 ** rng.uniform(-3, 3)
    alpha = 10.0 ** rng.uniform(-6, 6) * rng.random(problem.n_pairs) * problem.weights / problem.bounds
    for arguments in ((W, alpha), (None, alpha)):
        for tol in (1e-6, SMALL):
            found, expected = split.certify(*arguments, tol), problem.certify(*arguments, tol)
            error = found.rounding + expected.rounding
            if arguments[0] is not None and np.isfinite(error):
                assert abs(found.primal - expected.primal) <= error
            # The best scale of the multipliers is a choice; its effect on the dual is of second order.
            assert found.dual == pytest.approx(expected.dual, rel=1e-6, abs=error + 1e-9)


def ill_conditioned(slack, seed=0):
    """Return a problem whose similar pairs are a million times as stiff in one direction as in another, and alpha."""
    rng = np.random.default_rng(seed)
    n, K = 3, 24
    F = rng.standard_normal((K, n, 1)) * np.array([1e4, 1.0, 1e-2])[:, None]
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    similar = np.where(np.arange(K) % 4 == 3, -1.0, 1.0)
    F[similar < 0] *= 1e-3
    F = U @ F
    problem = MetricProblem.from_differences(F, similar, 1.0, rng.uniform(0.5, 2.0, K), slack)
    return problem, np.where(similar > 0.0, 0.3, 1e-3 * 0.3) * rng.random(K) * problem.weights


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("seed", range(4))
def test_accurate_dual_is_that_of_the_whole_problem(slack, seed):
    problem, alpha = ill_conditioned(slack, seed)
    split = BlockProblem.split(problem)
    assert split.source.n_blocks == 4
    multipliers = GivenMultipliers(values=alpha)
    with np.errstate(all="ignore"):
        sums = problem._dual.sums(alpha)
        size = np.sqrt(1.0 + sums.plus.diagonal() + sums.minus.diagonal())
        expected = problem._dual._accurate(alpha, size, sums.loss, 0.0)
        found = split._dual._accurate(multipliers, size, sums.loss, 0.0)
        quick = problem._dual.point(alpha, 1.0)
    exact = exact_dual(problem, alpha)
    assert expected is not None
    for point in (expected, found):
        assert abs(point.value - exact) <= point.rounding + 1e-14 * sums.loss_size
    assert found.rounding <= 1e-3 * quick.rounding
    np.testing.assert_allclose(found.metric, expected.metric, rtol=1e-6, atol=1e-10 * np.abs(expected.metric).max())


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_the_accurate_dual(seed):
    """Each of them is compared alone, because an error of the factor is made up for by the residual."""
    problem, alpha = ill_conditioned("l2", seed)
    split, multipliers = BlockProblem.split(problem), GivenMultipliers(values=alpha)
    dual, whole = split._dual, problem._dual
    Q, expected = dual.similar_factor(multipliers), whole.similar_factor(alpha)
    np.testing.assert_allclose(np.abs(Q), np.abs(expected), rtol=1e-7)
    transform = np.linalg.inv(expected)
    gram = dual.dissimilar_gram(multipliers, transform)
    np.testing.assert_allclose(gram, whole.dissimilar_gram(alpha, transform), rtol=1e-10, atol=1e-15)
    assert np.abs(gram).max() > 1e-12
    # In the coordinates of R, the residual is of the size of the unit roundoff, and correct to half of its digits.
    R = np.linalg.cholesky(np.eye(3) + sum(s * a * F @ F.T for s, a, F in _signed(problem, alpha))).T
    inverse = np.linalg.inv(R)
    residuals = [inverse.T @ E @ inverse for E in (dual.residual(multipliers, R), whole.residual(alpha, R))]
    np.testing.assert_allclose(*residuals, rtol=1e-6, atol=1e-20)


@pytest.mark.parametrize("slack", SLACKS)
def test_accurate_primal_is_that_of_the_whole_problem(slack):
    """The eigenvalues of the metric span ten decades, and the differences are small where they are large."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    W = (U * [1e-5, 1.0, 1e5]) @ U.T
    W = 0.5 * (W + W.T)
    F = (U * [1e2, 1.0, 1e-2]) @ rng.standard_normal((24, 3, 1))
    similar = np.where(np.arange(24) % 2, -1.0, 1.0)
    problem = MetricProblem.from_differences(F, similar, np.where(similar > 0.0, 0.5, 50.0), 1.0, slack)
    split = BlockProblem.split(problem)
    with np.errstate(all="ignore"):
        found, expected = split._primal.point(W, SMALL), problem._primal.point(W, SMALL)
        quick = split._primal.quick_losses(W)
    assert abs(found.value - exact_primal(problem, W)) <= found.rounding
    assert found.rounding == pytest.approx(expected.rounding, rel=0.5)
    assert found.rounding < 0.1 * quick.error


def _signed(problem, alpha):
    rows = problem.embedded
    return ((y, a, rows[i] - rows[j]) for y, a, (i, j) in zip(problem.similar, alpha, problem.pairs, strict=True))


def test_blocks_without_similar_pairs_have_a_factor():
    problem = random_problem("l2").replace(keep=[k for k in range(60) if k % 3])
    split = BlockProblem.split(problem)
    alpha = feasible_multipliers(problem)
    Q = split._dual.similar_factor(GivenMultipliers(values=alpha))
    np.testing.assert_allclose(np.abs(Q), np.eye(4), atol=1e-15)
    assert_same_certificate(split.certify(None, alpha, SMALL), problem.certify(None, alpha, SMALL))


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("seed", range(3))
def test_rounding_bound_covers_the_true_error(slack, seed):
    problem = random_problem(slack, 3, 1, 30, seed)
    if seed == 2:  # weights of very different sizes, so that the sums over blocks cancel and round
        problem = problem.replace(weights=10.0 ** np.random.default_rng(0).uniform(-4, 4, 30))
    split = BlockProblem.split(problem)
    W, alpha = random_metric(3, seed), feasible_multipliers(problem, seed)
    for tol in (1e-6, SMALL):
        with np.errstate(all="ignore"):
            primal = split._primal.point(W, tol)
            duals = [split._dual.point(GivenMultipliers(values=alpha), tol)]
            duals += [split._dual.repaired(GivenMultipliers(values=scale * alpha), tol) for scale in (0.05, 1.0, 1e3)]
        assert abs(primal.value - exact_primal(problem, W)) <= primal.rounding
        for dual in duals:
            multipliers = np.concatenate([dual.multipliers.of_block(split.source.block(k)) for k in range(5)])
            assert abs(dual.value - exact_dual(problem, multipliers)) <= dual.rounding


def test_rounding_bound_counts_the_levels_of_the_tree(monkeypatch):
    problem = random_problem("l2")
    W, alpha = random_metric(4), feasible_multipliers(problem)
    few = BlockProblem.split(problem)
    monkeypatch.setattr(sources, "BLOCK_PAIRS", (1, 1))
    many = BlockProblem.split(problem)
    lengths = [split.source.block(0).problem.sums.gram_length for split in (few, many)]
    assert [few._dual._gram_length, many._dual._gram_length] == [lengths[0] + 4, lengths[1] + 6]
    assert many._dual._loss_length == 128 + 6
    losses = [split._primal.quick_losses(W) for split in (few, many)]
    difference = losses[1].error - losses[0].error
    assert difference == pytest.approx(2 * 2.0**-53 * losses[0].value, rel=1e-2, abs=0.0)
    assert many.certify(W, alpha).rounding > few.certify(W, alpha).rounding


@pytest.mark.parametrize("seed", range(3))
def test_coordinates_of_a_span(seed, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_PAIRS", (1, 1))
    problem, Q, V, _ = tilted(6, seed)
    reduced = reduce_to_basis(problem, Q).problem
    # Large errors of the coordinates make up most of the rounding errors.
    error = CoordinateError(1e-9 * np.arange(1.0, 5.0), 1e-9)
    assert reduced.sums.coordinates is not None
    reduced = reduced.with_sums(type(reduced.sums)(reduced.sums.rows, problem.pairs, error))
    split, alpha = BlockProblem.split(reduced), np.array([2e2, 1e-3, 3e2, 1e-3])
    for arguments in ((V, alpha), (None, alpha), (None, 3e3 * alpha)):
        found, expected = split.certify(*arguments), reduced.certify(*arguments)
        assert_same_certificate(found, expected)
        assert found.rounding == pytest.approx(expected.rounding, rel=1e-3)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("ranges", [1, 2, 4, 256])
def test_bits_depend_on_the_blocks_alone(n_jobs, ranges, monkeypatch):
    monkeypatch.setattr(sources, "MAX_RANGES", ranges)
    problem = random_problem("is")
    W, alpha = random_metric(4), feasible_multipliers(problem)
    expected = BlockProblem.split(problem)
    with Threads(n_jobs) as executor:
        split = BlockProblem.split(problem, executor)
        for arguments in ((W, alpha), (None, 3.0 * alpha), (W, None)):
            assert split.certify(*arguments, SMALL) == expected.certify(*arguments, SMALL)


def test_kept_triangles_make_no_difference():
    problem = random_problem("re", 3, 3)
    kept, not_kept = BlockProblem.split(problem), BlockProblem.split(problem, memory=0)
    assert (kept.source.keeps_triangles, not_kept.source.keeps_triangles) == (True, False)
    W, alpha = random_metric(3), feasible_multipliers(problem)
    assert_same_certificate(kept.certify(W, alpha), not_kept.certify(W, alpha))


def test_blocks_are_the_pairs_in_their_order():
    problem = random_problem("l2")
    source = BlockProblem.split(problem).source
    blocks = [source.block(k) for k in range(source.n_blocks)]
    assert [block.start for block in blocks] == list(range(0, 60, 7))
    for name in ("pairs", "similar", "bounds", "weights"):
        joined = np.concatenate([getattr(block.problem, name) for block in blocks])
        np.testing.assert_array_equal(joined, getattr(problem, name))
    part = source.part(3, 6)
    np.testing.assert_array_equal(part.block(4).problem.pairs, blocks[4].problem.pairs)
    np.testing.assert_array_equal(part.block(5).problem.bounds, blocks[5].problem.bounds)
    assert len(part._pairs) == 21


def test_kinds_of_multipliers():
    problem = random_problem("l2")
    split = BlockProblem.split(problem)
    W = random_metric(4)
    assert isinstance(split.certified(W, np.zeros(60)).multipliers, ZeroMultipliers)
    gathered = split.pair_arrays(split.certified(W))[0]
    np.testing.assert_allclose(gathered, problem.certified(W).multipliers, rtol=1e-9)
    half = 0.5 * (0.5 * MetricMultipliers(W=W))
    assert half.theta == 0.25
    block = split.source.block(2)
    np.testing.assert_array_equal(half.of_block(block), 0.25 * MetricMultipliers(W=W).of_block(block))
    given = GivenMultipliers(values=np.where(np.arange(60) == 15, np.nan, -1.0))
    assert not given.of_block(block).any(), "neither negative numbers nor nan are multipliers"


def test_dual_value_of_infeasible_multipliers():
    problem = random_problem("l2")
    split = BlockProblem.split(problem)
    alpha = feasible_multipliers(problem)
    with np.errstate(all="ignore"):
        assert split.dual_value(GivenMultipliers(values=alpha)) == pytest.approx(problem._dual.point(alpha, 1.0).value)
        assert split.dual_value(GivenMultipliers(values=1e9 * problem.weights * (problem.similar < 0))) == -np.inf


@pytest.mark.parametrize(
    ("W", "alpha", "message"),
    [
        (None, None, "W and multipliers are both None"),
        (np.eye(3), None, r"W must have shape \(4, 4\), got \(3, 3\)"),
        (-np.eye(4), None, "W must be positive definite; its smallest eigenvalue is -1"),
        (np.eye(4), np.ones(59), r"multipliers must have one entry per pair, shape \(60,\); got \(59,\)"),
    ],
)
def test_invalid_arguments(W, alpha, message):
    with pytest.raises(ValueError, match=message):
        BlockProblem.split(random_problem("l2")).certify(W, alpha)
