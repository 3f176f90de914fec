"""Recipes make the pairs of a block again whenever they are needed."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from covmetric import MetricProblem, Status, solve
from covmetric.constraints import PairRecipe, RandomPairRecipe
from covmetric.constraints.base import LabelledPairs
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import sources
from tests.problem.points import random_metric
from tests.problems import SLACKS

LABELS = np.array(["b", "a", "c", "a", "b", "a", "d"])


def check_pairs(labels, made, count):
    """Check the number of pairs, their labels, and that no example is paired with itself."""
    assert made.pairs.shape == (count, 2) and made.similar.shape == (count,)
    i, j = made.pairs.T
    assert (i != j).all()
    assert ((made.pairs >= 0) & (made.pairs < len(labels))).all()
    np.testing.assert_array_equal(made.similar, np.where(labels[i] == labels[j], 1.0, -1.0))


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=12),
    st.integers(1, 50),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.integers(0, 10**6),
)
def test_labels_are_right(labels, count, balance, index):
    labels = np.array(labels)
    counts = np.bincount(labels)
    if (balance > 0.0 and counts.max() < 2) or (balance < 1.0 and counts.max() == len(labels)):
        with pytest.raises(ValueError, match=r"there are no (dis)?similar pairs"):
            RandomPairRecipe(labels, 1, balance)
        return
    made = RandomPairRecipe(labels, 10**6, balance, seed=3).make(index, count)
    check_pairs(labels, made, count)
    assert (made.similar > 0.0).sum() == round(balance * count)


def test_similar_pairs_are_drawn_by_their_first_example():
    """Each example that has a partner is first equally often, and each of its partners is second equally often."""
    made = RandomPairRecipe(LABELS, 1, balance=1.0, seed=1).make(0, 60_000)
    expected = np.zeros((7, 7))
    for i in range(7):
        others = [j for j in range(7) if j != i and LABELS[j] == LABELS[i]]
        for j in others:
            expected[i, j] = 1.0 / (5 * len(others))  # examples 2 and 6 have no partner
    assert_drawn_from(expected, made)


def test_dissimilar_pairs_are_drawn_by_their_first_example():
    made = RandomPairRecipe(LABELS, 1, balance=0.0, seed=1).make(0, 60_000)
    expected = np.zeros((7, 7))
    for i in range(7):
        others = np.flatnonzero(LABELS[i] != LABELS)
        expected[i, others] = 1.0 / (7 * len(others))
    assert_drawn_from(expected, made)


def assert_drawn_from(probabilities, made):
    counts = np.zeros(probabilities.shape)
    np.add.at(counts, tuple(made.pairs.T), 1.0)
    possible = probabilities > 0.0
    assert not counts[~possible].any()
    assert chisquare(counts[possible], probabilities[possible] * len(made.pairs)).pvalue > 1e-3


def test_blocks_are_the_same_each_time_and_differ_from_each_other():
    recipe = RandomPairRecipe(LABELS, 1000, seed=5)
    blocks = [recipe.make(k, 100).pairs for k in range(3)]
    again = pickle.loads(pickle.dumps(recipe))
    other = RandomPairRecipe(LABELS, 1000, seed=6)
    for k in (2, 0, 1):
        np.testing.assert_array_equal(again.make(k, 100).pairs, blocks[k])
        assert (other.make(k, 100).pairs != blocks[k]).any()
    assert (blocks[0] != blocks[1]).any() and (blocks[1] != blocks[2]).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": [[0, 1]]}, r"labels must have shape \(l,\) with l >= 2, got \(1, 2\)"),
        ({"labels": [0]}, r"labels must have shape \(l,\) with l >= 2, got \(1,\)"),
        ({"n_pairs": 0}, "n_pairs must be an integer >= 1, got 0"),
        ({"n_pairs": 1.5}, r"n_pairs must be an integer >= 1, got 1\.5"),
        ({"balance": 1.1}, r"balance must be a number from 0 to 1, got 1\.1"),
        ({"balance": np.nan}, "balance must be a number from 0 to 1, got nan"),
        ({"seed": -1}, "seed must be an integer >= 0, got -1"),
        ({"seed": None}, "seed must be an integer >= 0, got None"),
        ({"labels": [0, 1, 2]}, "labels has no two examples of one class.*set balance=0"),
        ({"labels": [0, 0, 0]}, "labels has a single class.*set balance=1"),
    ],
)
def test_invalid_arguments(settings, message):
    with pytest.raises(ValueError, match=message):
        RandomPairRecipe(**{"labels": [0, 0, 1], "n_pairs": 5, **settings})


# --- Problems whose pairs come from a recipe --------------------------------------------------------------------------

BOUNDS = (4.0, 20.0)


def examples(n=3, m=2, count=20, seed=0):
    y = np.arange(count) % 3
    embedded = np.random.default_rng(seed).standard_normal((count, n, m))
    embedded[:, 0] += y[:, None]
    return embedded, y


def both(slack="is", K=100, weight=0.05, seed=0):
    """Return a problem from a recipe, and the same problem from arrays."""
    embedded, y = examples(seed=seed)
    recipe = RandomPairRecipe(y, K, seed=seed)
    split = BlockProblem.from_recipe(embedded, recipe, BOUNDS, weight, slack)
    size = split.source.block_pairs
    made = [recipe.make(k, min(size, K - k * size)) for k in range(-(-K // size))]
    similar = np.concatenate([block.similar for block in made])
    pairs = np.concatenate([block.pairs for block in made])
    return split, MetricProblem(embedded, pairs, similar, np.where(similar > 0.0, *BOUNDS), weight, slack)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("slack", SLACKS)
def test_problem_is_that_of_the_pairs(slack):
    split, problem = both(slack)
    assert (split.n_pairs, split.source.n_blocks, repr(split)) == (
        100,
        15,
        f"BlockProblem(n=3, m=2, pairs=100, slack={slack!r})",
    )
    for arguments in ((random_metric(3), None), (None, np.full(100, 1e-3))):
        found, expected = split.certify(*arguments), problem.certify(*arguments)
        assert found.gap == pytest.approx(expected.gap, rel=1e-10)
        assert found.max_violation == pytest.approx(expected.max_violation, rel=1e-10)
    result, reference = solve(split, tol=1e-12), solve(problem, "newton", tol=1e-12)
    assert result.status is Status.SOLVED
    np.testing.assert_allclose(result.W, reference.W, rtol=1e-9, atol=1e-9)
    again = problem.certify(result.W, result.multipliers, 1e-12)
    assert again.gap == pytest.approx(result.certificate.gap, abs=again.rounding + result.certificate.rounding)
    np.testing.assert_allclose(result.slacks, problem.pair_arrays(problem.certified(result.W))[1], rtol=1e-9)


@pytest.mark.usefixtures("small_blocks")
def test_threads_give_the_same_bits():
    first, *others = [solve(both("re", weight=10.0)[0], tol=1e-9, n_jobs=n_jobs) for n_jobs in (1, 2, 3)]
    for other in others:
        assert other.W.tobytes() == first.W.tobytes()
        assert other.certificate == first.certificate


@pytest.mark.usefixtures("small_blocks")
def test_the_last_block_is_shorter():
    source = both(K=100)[0].source
    sizes = [source.block(k).problem.n_pairs for k in range(source.n_blocks)]
    assert sizes == [7] * 14 + [2]
    assert source.bounds_of(14) == (98, 100)
    assert [source.block(k).start for k in (0, 1, 14)] == [0, 7, 98]


def test_memory_does_not_grow_with_the_pairs(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_PAIRS", (2**13, 2**13))
    embedded, y = examples(n=3, m=1)
    K = 1_000_000
    problem = BlockProblem.from_recipe(embedded, RandomPairRecipe(y, K), BOUNDS, 1.0 / K)
    solve(BlockProblem.from_recipe(embedded, RandomPairRecipe(y, 100), BOUNDS, 0.1))  # compile first
    tracemalloc.start()
    try:
        result = solve(problem, max_iter=30)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.status is Status.SOLVED
    # The pairs alone take 16 K bytes, and any array over all pairs 8 K.
    assert peak < 4 * K
    assert not vars(problem.source).get("_blocks")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_dissimilar_pair_of_equal_examples_is_named(n_jobs):
    embedded, y = examples()
    embedded[4] = embedded[0]  # classes 1 and 0
    recipe = RandomPairRecipe(y, 300)
    pairs = np.concatenate([recipe.make(k, 7 if k < 42 else 6).pairs for k in range(43)])
    first = next(k for k, pair in enumerate(pairs.tolist()) if sorted(pair) == [0, 4])
    assert first >= 7, "not in the first block"
    i, j = pairs[first]
    message = rf"pair {first} \({i}, {j}\) is dissimilar, but its examples are equal"
    with pytest.raises(ValueError, match=message):
        solve(BlockProblem.from_recipe(embedded, recipe, BOUNDS, 0.1), n_jobs=n_jobs)
    assert solve(BlockProblem.from_recipe(embedded, recipe, BOUNDS, 0.1, "l2")).status is Status.SOLVED


class Fixed(PairRecipe):
    """The same pairs in every block."""

    n_pairs, n_examples = 20, 20

    def __init__(self, pairs, similar):
        self.made = LabelledPairs(np.array(pairs), np.array(similar))

    def make(self, index, count):
        return LabelledPairs(self.made.pairs[:count], self.made.similar[:count])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"embedded": np.ones((20, 3))}, r"embedded must have shape \(l, n, m\) with l, n, m >= 1; got \(20, 3\)"),
        ({"embedded": np.ones((20, 3, 0))}, "embedded must have shape"),
        ({"embedded": np.ones((19, 3, 2))}, "recipe is for 20 examples, but embedded has 19"),
        ({"embedded": np.full((20, 3, 2), np.nan)}, r"embedded\[0, 0, 0\] is nan"),
        ({"recipe": [[0, 1]]}, "recipe must be a PairRecipe, got list"),
        ({"bounds": 3.0}, r"bounds must be two numbers.*got shape \(\)"),
        ({"bounds": (1.0, -1.0)}, r"bounds\[1\]"),
        ({"weights": 0.0}, "weights"),
        ({"weights": np.ones(20)}, "weights"),
        ({"slack": "none"}, "slack"),
    ],
)
def test_invalid_problems(settings, message):
    embedded, y = examples()
    recipe = RandomPairRecipe(y, 20)
    arguments = {"embedded": embedded, "recipe": recipe, "bounds": BOUNDS, "weights": 1.0, **settings}
    with pytest.raises(ValueError, match=message):
        BlockProblem.from_recipe(**arguments)


@pytest.mark.usefixtures("small_blocks")
def test_recipes_of_users():
    embedded, _ = examples()
    recipe = Fixed([[0, 3], [1, 2], [4, 7], [5, 9], [6, 8], [1, 4], [2, 9]], [1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
    result = solve(BlockProblem.from_recipe(embedded, recipe, BOUNDS, 0.5), tol=1e-10)
    assert result.status is Status.SOLVED
    assert result.multipliers.shape == (20,)
    np.testing.assert_allclose(result.multipliers[:7], result.multipliers[7:14])


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("pairs", "similar", "message"),
    [
        ([[0, 1]] * 6, [1.0] * 6, r"recipe.make\(0, 7\) must return int64 pairs of shape \(7, 2\) and as many labels"),
        ([[0.0, 1.0]] * 7, [1.0] * 7, "got float64 pairs"),
        ([[0, 1]] * 7, [1.0] * 6, r"labels of shape \(6,\)"),
        ([[0, 20]] * 7, [1.0] * 7, r"returned indices from 0 to 20; they must be in 0\.\.19"),
        ([[-1, 1]] * 7, [1.0] * 7, "returned indices from -1 to 1"),
        ([[0, 1]] * 7, [0.0] * 7, "labels other than 1 and -1"),
        ([[0, 1]] * 7, [np.nan] * 7, "labels other than 1 and -1"),
    ],
)
def test_faulty_recipes_are_refused(pairs, similar, message):
    with pytest.raises(ValueError, match=message):
        solve(BlockProblem.from_recipe(examples()[0], Fixed(pairs, similar), BOUNDS, 0.5))
