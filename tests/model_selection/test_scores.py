"""Scores of distances: against literal versions, scikit-learn, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from sklearn.metrics.pairwise import euclidean_distances

from covmetric.model_selection import (
    distances,
    few_shot,
    few_shot_accuracy,
    mean_average_precision,
    recall_at_1,
    verification_auc,
    verification_eer,
)
from tests import naive

SCORES = {
    "mean_average_precision": (mean_average_precision, naive.mean_average_precision),
    "recall_at_1": (recall_at_1, naive.recall_at_1),
    "verification_auc": (verification_auc, naive.verification_auc),
    "verification_eer": (verification_eer, naive.verification_eer),
}
ALL = [mean_average_precision, recall_at_1, few_shot_accuracy, verification_auc, verification_eer]


def random_examples(seed, ties=False, count=40, n_classes=5):
    """Return vectors, classes and groups; with ties, vectors are small integers, so that many distances are equal."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=count)
    vectors = 0.7 * codes[:, None] + rng.standard_normal((count, 2))
    return np.round(vectors) if ties else vectors, codes, rng.integers(6, size=count)


@pytest.fixture(params=[False, True], ids=["distinct", "ties"])
def ties(request):
    return request.param


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_their_literal_versions(name, grouped, seed, ties):
    vectors, codes, groups = random_examples(seed, ties)
    score, literal = SCORES[name]
    D = euclidean_distances(vectors).round(12)
    expected = literal(D, codes, groups if grouped else np.arange(len(codes)))
    given = {"groups": groups} if grouped else {}
    assert score(vectors, codes, **given) == pytest.approx(expected, abs=1e-12)
    assert score(D, codes, metric="precomputed", **given) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("score", ALL)
def test_blocks_do_not_change_scores(score, monkeypatch, ties):
    vectors, codes, groups = random_examples(5, ties)
    whole = score(vectors, codes, groups=groups)
    monkeypatch.setattr(distances, "DISTANCE_BLOCK_BYTES", 8 * 7 * len(codes))
    assert score(vectors, codes, groups=groups) == pytest.approx(whole, abs=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_mean_average_precision_equals_scikit_learns(seed, ties):
    vectors, codes, _ = random_examples(seed, ties)
    D = euclidean_distances(vectors).round(12)
    values = [
        average_precision_score(np.delete(codes == codes[i], i), -np.delete(D[i], i))
        for i in range(len(codes))
        if (codes == codes[i]).sum() > 1
    ]
    assert mean_average_precision(vectors, codes) == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_verification_equals_scikit_learns(seed, ties):
    vectors, codes, _ = random_examples(seed, ties)
    i, j = np.triu_indices(len(codes), 1)
    D = euclidean_distances(vectors).round(12)
    same = codes[i] == codes[j]
    assert verification_auc(vectors, codes) == pytest.approx(roc_auc_score(same, -D[i, j]), abs=1e-12)
    fpr, tpr, _ = roc_curve(same, -D[i, j], drop_intermediate=False)
    rate = verification_eer(vectors, codes)
    assert np.interp(rate, fpr, 1 - tpr) == pytest.approx(rate, abs=1e-12) or rate in fpr


def test_scores_by_hand():
    D = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0.0]])
    y = ["a", "b", "a", "b"]  # the only relevant example of each query is the second of three
    assert mean_average_precision(D, y, metric="precomputed") == 0.5
    assert recall_at_1(D, y, metric="precomputed") == 0.0
    # Pairs of one class at 2, 2; others at 1, 1, 3, 3.
    assert verification_auc(D, y, metric="precomputed") == 0.5
    assert verification_eer(D, y, metric="precomputed") == 0.5


def test_equal_distances_are_retrieved_together():
    X, y = np.zeros((4, 1)), ["a", "a", "b", "b"]
    assert mean_average_precision(X, y) == pytest.approx(1 / 3)
    assert recall_at_1(X, y) == pytest.approx(1 / 3)
    assert few_shot_accuracy(X, y) == 0.5
    assert verification_auc(X, y) == 0.5
    assert verification_eer(X, y) == 0.5


def test_queries_without_relevant_examples_are_left_out():
    X, y = np.array([[0.0], [1.0], [0.4]]), ["a", "a", "alone"]
    # The lonely example is not a query, but the others find it before each other.
    assert mean_average_precision(X, y) == 0.5
    assert recall_at_1(X, y) == 0.0


@pytest.mark.parametrize("score", ALL)
def test_groups_leave_out_pairs_of_one_class_and_group(score):
    """Two near-copies of each example in its group make retrieval trivial, unless the group is left out."""
    rng = np.random.default_rng(0)
    codes, groups = np.repeat(np.arange(4), 30), np.repeat(np.arange(40), 3)
    vectors = np.repeat(rng.standard_normal((40, 8)), 3, axis=0) + 1e-3 * rng.standard_normal((120, 8))
    leaky = score(vectors, codes)
    assert (score(vectors, codes, groups=groups) - leaky) * (1 if score is verification_eer else -1) > 0.01


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_shots", [1, 3])
@pytest.mark.parametrize("grouped", [False, True])
def test_few_shot_accuracy_equals_nearest_means(n_shots, seed, grouped, monkeypatch):
    vectors, codes, groups = random_examples(seed, count=60, n_classes=3)
    draws = []
    draw = few_shot._draw
    monkeypatch.setattr(few_shot, "_draw", lambda *args: draws.append(draw(*args)) or draws[-1])
    given = {"groups": groups} if grouped else {}
    accuracy = few_shot_accuracy(vectors, codes, n_shots=n_shots, n_draws=4, random_state=seed, **given)
    expected = np.mean([naive.few_shot_accuracy(vectors, *one) for one in draws])
    assert accuracy == pytest.approx(expected, abs=1e-12)
    D = euclidean_distances(vectors)
    same = few_shot_accuracy(D, codes, n_shots=n_shots, n_draws=4, random_state=seed, metric="precomputed", **given)
    assert same == pytest.approx(expected, abs=1e-12)
    assert len({str(shots) for shots, _ in draws}) == 8 // 2  # draws of one call differ, and equal seeds repeat them
    for shots, tested in draws:
        assert shots.shape == (3, n_shots)
        assert all(len(set(own)) == n_shots for own in shots.tolist())
        for c, own in enumerate(shots):
            assert (codes[own] == c).all()
            queries = np.flatnonzero(tested == c)
            assert len(queries)
            of_class = np.flatnonzero(codes == c)
            source = groups if grouped else np.arange(60)
            assert set(queries) == {i for i in of_class if source[i] not in source[own]}


def test_every_example_is_drawn_and_every_example_is_tested():
    """Without groups, shots are uniform: all examples are shots about equally often."""
    examples = distances.labelled_distances(np.zeros((8, 1)), np.repeat([0, 1], 4))
    rng, counts = np.random.default_rng(0), np.zeros(8)
    for _ in range(2000):
        shots, tested = few_shot._draw(examples, few_shot._large_classes(examples, 1), 1, rng)
        counts[shots.ravel()] += 1
        assert (tested >= 0).sum() == 6
    np.testing.assert_allclose(counts / 2000, 0.25, atol=0.04)


def test_small_classes_are_left_out_of_few_shot_classification():
    X, y = np.array([0.0, 1, 10, 11, 0.1])[:, None], [0, 0, 1, 1, 2]
    assert few_shot_accuracy(X, y) == 1.0


@pytest.mark.parametrize("score", ALL)
@pytest.mark.parametrize("factor", [1e-160, 1e160, 3.0])
def test_scores_do_not_depend_on_the_unit(score, factor):
    vectors, codes, groups = random_examples(0)
    expected = score(vectors, codes, groups=groups)
    assert score(factor * vectors, codes, groups=groups) == pytest.approx(expected, abs=1e-12)
    D = euclidean_distances(vectors)
    assert score(factor * D, codes, groups=groups, metric="precomputed") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("score", ALL)
def test_labels_of_any_type_and_read_only_input(score):
    vectors, codes, groups = random_examples(0)
    expected = score(vectors, codes, groups=groups)
    vectors.flags.writeable = False
    names = np.array(["a", "b", "c", "d", "e"])
    assert score(vectors.tolist(), names[codes].tolist(), groups=groups.astype(str)) == expected
    pandas = pytest.importorskip("pandas")
    assert score(pandas.DataFrame(vectors), pandas.Series(names[codes], index=codes), groups=groups) == expected
    before = vectors.copy()
    score(vectors, codes)
    np.testing.assert_array_equal(vectors, before)


@pytest.mark.parametrize("score", ALL)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.zeros((4, 2, 2))}, r"X must hold vectors, shape \(l, q\)"),
        ({"X": np.full((4, 1), np.nan)}, r"X\[0, 0\] is nan"),
        ({"y": [0, 0, 1]}, "X and y must have the same length, got 4 and 3"),
        ({"y": [1, 1, 1, 1]}, "y has only one class, 1: at least two classes are needed"),
        ({"y": [0.5, 1.5, 0.5, 1.5]}, "Unknown label type"),
        ({"y": [[0, 1], [0, 1]]}, "y must have one class per example"),
        ({"groups": [0, 1]}, "groups must have one entry per example, 4; got 2"),
        ({"metric": "cosine"}, "metric must be one of 'euclidean', 'precomputed', got 'cosine'"),
        ({"metric": "precomputed"}, "X must be square"),
        ({"metric": "precomputed", "X": -np.eye(4)}, r"X\[0, 0\] is -1, which is negative"),
        ({"y": [0, 1, 2, 3]}, "no class has examples in two groups|needs two classes with more than 1 examples"),
        ({"groups": [0, 0, 1, 1]}, "no class has examples in two groups|needs two classes with more than 1 examples"),
    ],
)
def test_invalid_arguments(score, changes, message):
    arguments = {"X": np.zeros((4, 1)), "y": [0, 0, 1, 1], **changes}
    with pytest.raises(ValueError, match=message):
        score(arguments.pop("X"), arguments.pop("y"), **arguments)


@pytest.mark.parametrize("changes", [{"n_shots": 0}, {"n_draws": 0}, {"n_shots": 1.5}])
def test_invalid_numbers_of_shots(changes):
    with pytest.raises(ValueError, match="must be an integer >= 1"):
        few_shot_accuracy(np.zeros((4, 1)), [0, 0, 1, 1], **changes)
