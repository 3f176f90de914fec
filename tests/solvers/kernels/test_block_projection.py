"""The compiled sweep over blocks of pairs against the literal method and the sweep pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import MetricProblem
from covmetric._utils import tuning
from covmetric.slacks import get_slack
from covmetric.solvers.kernels import block_projection, projection
from covmetric.solvers.kernels.slack import compile_slack
from tests import naive
from tests.problems import SLACKS

COMPILED = {name: compile_slack(get_slack(name)) for name in SLACKS}


def thin_problem(n, m, K, slack="is", seed=0):
    rng = np.random.default_rng(seed)
    F = rng.uniform(-0.5, 0.5, (K, n, m))
    bounds = (F**2).sum(axis=(1, 2)) * rng.uniform(0.3, 3.0, K)
    return MetricProblem.from_differences(F, rng.choice([-1.0, 1.0], K), bounds, rng.uniform(0.5, 20.0, K), slack)


def run(problem, order, size, W=None):
    """Return the status, the metric, the multipliers and the counts after a sweep; size None visits pair by pair."""
    W, alpha, counts = np.eye(problem.n) if W is None else W, np.zeros(problem.n_pairs), np.zeros(2, np.int64)
    arguments = (
        W, alpha, problem.sums.rows, problem.pairs, problem.similar, problem.bounds, problem.weights,
        np.asarray(order), *COMPILED[problem.slack.name].addresses, counts, np.zeros((2, problem.n_pairs)),
    )  # fmt: skip
    status = projection.sweep(*arguments) if size is None else block_projection.sweep_blocks(*arguments, size)
    return status, W, alpha, counts


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 5, 100])
def test_blocks_match_the_literal_method(size, m, slack):
    """Blocks of one pair, blocks that do not divide the order, and a single block with every pair three times."""
    problem = thin_problem(7, m, 8, slack)
    rng = np.random.default_rng(1)
    order = np.concatenate([rng.permutation(8) for _ in range(3)])
    literal_W, literal_alpha = naive.visits(problem, order)
    status, W, alpha, counts = run(problem, order, size)
    assert status == projection.DONE
    np.testing.assert_allclose(alpha, literal_alpha, rtol=1e-6, atol=1e-8 * literal_alpha.max())
    np.testing.assert_allclose(W, literal_W, rtol=1e-6, atol=1e-7 * np.abs(literal_W).max())
    np.testing.assert_array_equal(W, W.T)
    assert counts.sum() == len(order)
    assert counts[0] > 0


@pytest.mark.parametrize("m", [1, 2, 4])
def test_blocks_count_what_the_sweep_counts(m):
    problem = thin_problem(40, m, 60, seed=2)
    order = np.tile(np.random.default_rng(3).permutation(60), 2)
    _, W, alpha, counts = run(problem, order, None)
    _, W_blocks, alpha_blocks, counts_blocks = run(problem, order, 8)
    np.testing.assert_array_equal(counts_blocks, counts)
    assert counts[1] > 0  # some pairs are idle
    np.testing.assert_allclose(W_blocks, W, rtol=0, atol=1e-12 * np.abs(W).max())
    np.testing.assert_allclose(alpha_blocks, alpha, rtol=0, atol=1e-12 * alpha.max())


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_breakdown_within_a_block_keeps_the_visits_before_it(size):
    """The second pair sees a negative distance. The block ends with the first one, whichever block they are in."""
    F = np.eye(3)[[0, 2, 1]][:, :, None]
    problem = MetricProblem.from_differences(F, [1, 1, 1], 0.1, 1.0)
    status, W, alpha, counts = run(problem, [0, 1, 2], size, np.diag([1.0, 1.0, -1.0]))
    assert status == projection.BROKEN
    np.testing.assert_array_equal(counts, [1, 0])
    expected = run(problem, [0], None, np.diag([1.0, 1.0, -1.0]))
    np.testing.assert_allclose(W, expected[1], rtol=1e-14)
    np.testing.assert_allclose(alpha, expected[2], rtol=1e-14)


def test_a_broken_metric_is_reported_and_nothing_is_changed():
    problem = thin_problem(4, 1, 3)
    status, _, alpha, counts = run(problem, [0, 1, 2], 2, np.full((4, 4), np.nan))
    assert status == projection.BROKEN
    np.testing.assert_array_equal(alpha, np.zeros(3))
    np.testing.assert_array_equal(counts, [0, 0])


@pytest.mark.parametrize("slack", ["l2", "re"])
def test_equal_examples_have_their_full_loss_and_change_nothing(slack):
    F = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.5, 1.0]])[:, :, None]
    problem = MetricProblem.from_differences(F, [1, -1, 1, 1], 0.1, 2.0, slack)
    status, W, alpha, counts = run(problem, [0, 1, 2, 3], 4)
    assert status == projection.DONE
    np.testing.assert_array_equal(counts, [2, 2])
    plain = run(problem, [0, 1, 2, 3], None)
    np.testing.assert_allclose(alpha, plain[2], rtol=1e-12)
    np.testing.assert_allclose(W, plain[1], rtol=1e-12)
    assert alpha[1] > 0.0
    assert alpha[2] == 0.0


def test_blocks_are_for_few_columns_and_more_rows():
    assert tuning.visits_blocks(2, 1)
    assert tuning.visits_blocks(8, 4)
    assert not tuning.visits_blocks(1, 1)
    assert not tuning.visits_blocks(7, 4)
    assert not tuning.visits_blocks(100, 5)


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("size", [None, 1, 5])
def test_a_sweep_records_ratios_and_dual_variables_before_each_projection(size, slack):
    problem = thin_problem(6, 2, 12, slack)
    rng, visited = np.random.default_rng(1), np.full((2, 12), np.nan)
    W, alpha, counts = np.eye(6), np.zeros(12), np.zeros(2, np.int64)
    order = np.concatenate([rng.permutation(12), rng.permutation(12)[:7]])  # seven pairs are visited twice
    kernel = projection.sweep if size is None else block_projection.sweep_blocks
    rest = (
        problem.sums.rows, problem.pairs, problem.similar, problem.bounds, problem.weights
    )  # fmt: skip
    extra = () if size is None else (size,)
    kernel(W, alpha, *rest, order, *COMPILED[slack].addresses, counts, visited, *extra)
    W, alpha, expected = np.eye(6), np.zeros(12), np.full((2, 12), np.nan)
    for k in order:
        ratios, t = problem.squared_distances(W) / problem.bounds, problem.similar * alpha * problem.bounds
        expected[:, k] = ratios[k], t[k] / problem.weights[k]
        projection.sweep(W, alpha, *rest, np.array([k]), *COMPILED[slack].addresses, counts, np.zeros((2, 12)))
    np.testing.assert_allclose(visited, expected, rtol=1e-9, atol=1e-12)
    assert (visited[1] != 0.0).any()
