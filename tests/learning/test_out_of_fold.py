"""The accuracy of combined rules outside their training folds, against loops over the folds."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.learning.blend import Blend
from covmetric.learning.out_of_fold import OutOfFold, check_counts_by_fold, total_accuracy
from covmetric.learning.scoring import Scoring

SCORINGS = [Scoring("svm"), Scoring("mean"), Scoring("neighbors")]


@pytest.fixture
def predicted():
    """Probabilities of three rules of different quality for 60 examples in four folds."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=60)
    rules = []
    for noise in (0.6, 1.0, 3.0):
        scores = np.eye(3)[codes] + noise * rng.standard_normal((60, 3))
        rules.append(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
    order = rng.permutation(60)
    return rules, codes, np.split(order, [10, 30, 45])


def cross_fit(rules, codes, tests):
    order = np.concatenate(tests)
    rows, tested = [one[order] for one in rules], codes[order]
    return OutOfFold.cross_fit(Blend.fit(SCORINGS, rows, tested), rows, tested, tests)


def test_each_fold_is_predicted_by_the_blend_of_the_others(predicted):
    rules, codes, tests = predicted
    found = cross_fit(rules, codes, tests)
    right = []
    for fold, test in enumerate(tests):
        rest = np.setdiff1d(np.arange(60), test)
        blend = Blend.fit(SCORINGS, [one[rest] for one in rules], codes[rest])
        expected = blend.combine([one[test] for one in rules])
        np.testing.assert_allclose(found.probabilities[found.folds == fold], expected, atol=1e-9)
        right.append([int((expected.argmax(axis=1) == codes[test]).sum()), len(test)])
    assert found.count_right(codes).tolist() == right
    assert total_accuracy(found.count_right(codes)) == sum(r for r, _ in right) / 60


def test_classes_of_a_fold_do_not_change_its_predictions(predicted):
    """Otherwise the accuracy would be measured on examples whose classes the weights have seen."""
    rules, codes, tests = predicted
    other = codes.copy()
    other[tests[1]] = (other[tests[1]] + 1) % 3
    here = cross_fit(rules, codes, tests).folds == 1
    np.testing.assert_allclose(
        cross_fit(rules, other, tests).probabilities[here],
        cross_fit(rules, codes, tests).probabilities[here],
        atol=1e-9,
    )


def test_sets_are_predicted_by_the_mean_of_their_members(predicted):
    rules, codes, tests = predicted
    found = cross_fit(rules, codes, tests)
    members = np.empty(60, dtype=np.int64)
    number = 0
    for test in tests:  # sets of five examples, each within a fold
        for start in range(0, len(test), 5):
            members[test[start : start + 5]] = number
            number += 1
    sets = found.of_sets(members)
    assert len(sets.places) == number and sorted(sets.places.tolist()) == list(range(number))
    for row, one in zip(sets.probabilities, sets.places, strict=True):
        of_set = members[found.places] == one
        np.testing.assert_allclose(row, found.probabilities[of_set].mean(axis=0), rtol=1e-12)
        assert set(found.folds[of_set]) == {sets.folds[sets.places == one][0]}
    classes = np.arange(number) % 3
    counts = sets.count_right(classes)
    assert counts[:, 1].tolist() == [2, 4, 3, 3]
    assert counts[:, 0].sum() == (sets.probabilities.argmax(axis=1) == classes[sets.places]).sum()


def test_set_that_is_split_between_folds_has_no_honest_prediction(predicted):
    rules, codes, tests = predicted
    members = np.arange(60)
    members[tests[0][0]] = members[tests[1][0]]
    assert cross_fit(rules, codes, tests).of_sets(members) is None


def test_single_fold_has_no_other_folds(predicted):
    rules, codes, _ = predicted
    assert cross_fit(rules, codes, [np.arange(60)]) is None and total_accuracy(None) is None


@pytest.mark.parametrize(
    "counts",
    [
        [[3, 4]],
        [[5, 4], [1, 2]],
        [[-1, 4], [1, 2]],
        [[0, 0], [1, 2]],
        [[1, 2**60], [1, 2]],
        [1, 2],
        [[1, 2, 3], [1, 2, 3]],
        [[1.0, 2.0], [1.0, 2.0]],
        "many",
    ],
)
def test_impossible_counts_of_a_file_are_refused(counts):
    with pytest.raises(ValueError, match="the accuracy outside the training folds"):
        check_counts_by_fold(counts if isinstance(counts, str) else np.array(counts))
    assert check_counts_by_fold(None) is None and check_counts_by_fold(np.array([[1, 2], [0, 1]])) is not None
