"""Splits for cross-validation: the number of folds, their seed, groups, and messages."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold

from covmetric.learning.splits import Split, make_splits

CODES = np.arange(30) % 3
X = np.zeros((30, 2))
GROUPS = np.arange(30) // 3


def parts(splits):
    return [(split.train.tolist(), split.test.tolist()) for split in splits]


def expected_parts(splitter, codes=CODES, groups=None):
    return [(train.tolist(), test.tolist()) for train, test in splitter.split(np.zeros(len(codes)), codes, groups)]


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("k", [2, 3, np.int64(5)])
def test_integer_gives_shuffled_stratified_folds(k, seed):
    splits = make_splits(k, X, CODES, None, seed)
    assert parts(splits) == expected_parts(StratifiedKFold(int(k), shuffle=True, random_state=seed))
    assert all(split.groups is None and not split.leave_one_out for split in splits)
    assert splits[0].train.dtype == splits[0].test.dtype == np.int64


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("k", [2, 3])
def test_integer_with_groups_keeps_groups_together(k, seed):
    names = np.array([f"object {g}" for g in GROUPS])
    splits = make_splits(k, X, CODES, names.tolist(), seed)
    splitter = StratifiedGroupKFold(k, shuffle=True, random_state=seed)
    assert parts(splits) == expected_parts(splitter, groups=np.unique(names, return_inverse=True)[1])
    for split in splits:
        assert not set(names[split.train]) & set(names[split.test])


@pytest.mark.parametrize(("counts", "asked", "expected"), [([4, 2], 5, 4), ([4, 2], 3, 3), ([1, 4, 1], 9, 4)])
def test_number_of_folds_is_at_most_the_size_of_the_largest_class(counts, asked, expected):
    codes = np.repeat(np.arange(len(counts)), counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(make_splits(asked, np.zeros(len(codes)), codes, None, 0)) == expected


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("asked", "expected"), [(9, 4), (3, 3), (2, 2)])
def test_number_of_folds_is_at_most_the_largest_number_of_groups_of_a_class(asked, expected, largest):
    codes = np.repeat([largest, 1 - largest], [8, 6])
    groups = np.repeat([0, 1, 2, 3, 4, 5, 6], 2)  # four groups in one class, three in the other
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(make_splits(asked, np.zeros(14), codes, groups, 0)) == expected


def test_splits_without_any_trained_class_are_an_error_unless_new_classes_are_wanted():
    codes = np.repeat(np.arange(4), 3)
    with pytest.raises(ValueError, match=r"no split tests a class that it trains on, .* scoring='mean_average_prec"):
        make_splits(5, np.zeros(12), codes, codes, 0)
    splits = make_splits(5, np.zeros(12), codes, codes, 0, new_classes=True)
    assert len(splits) == 2
    for split in splits:
        np.testing.assert_array_equal(split.test_groups, codes[split.test])


def test_classes_are_held_out():
    codes = np.repeat(np.arange(12), 3)
    splits = make_splits("classes", np.zeros(36), codes, None, 0, new_classes=True)
    assert sorted(c for split in splits for c in set(codes[split.test])) == list(range(12))
    assert all(split.test_groups is None for split in splits)
    assert parts(splits) == parts(make_splits("classes", np.zeros(36), codes, None, 0, new_classes=True))
    assert parts(splits) != parts(make_splits("classes", np.zeros(36), codes, None, 1, new_classes=True))


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_loo_is_one_split_with_all_examples_in_both_parts(groups):
    (split,) = make_splits("loo", X, CODES, groups, 0)
    assert split.leave_one_out
    np.testing.assert_array_equal(split.train, np.arange(30))
    np.testing.assert_array_equal(split.test, np.arange(30))
    assert split.groups is None if groups is None else np.array_equal(split.groups, groups)


def test_splits_hold_the_groups_of_their_training_parts():
    names = np.array(list("abcdefghij"))[GROUPS]
    for split in make_splits(3, X, CODES, names, 0):
        np.testing.assert_array_equal(split.groups, GROUPS[split.train])
    assert all(split.groups is None for split in make_splits(3, X, CODES, None, 0))


def test_splitters_and_lists_are_used_as_given():
    assert parts(make_splits(KFold(4), X, CODES, None, 0)) == expected_parts(KFold(4))
    splitter = StratifiedGroupKFold(5)
    assert parts(make_splits(splitter, X, CODES, GROUPS, 0)) == expected_parts(splitter, groups=GROUPS)
    given = [(np.arange(20), np.arange(20, 30)), ([0, 1, 2, 29], [5, 0])]
    assert parts(make_splits(given, X, CODES, None, 0)) == [(list(a), list(b)) for a, b in given]


def test_indices_are_converted_to_int64():
    (split,) = make_splits([(np.arange(20, dtype=np.int32), np.arange(20, 30, dtype=np.uint8))], X, CODES, None, 0)
    assert split.train.dtype == split.test.dtype == np.int64


def test_warnings_of_a_splitter_are_shown():
    class SpecialKFold(KFold):
        def split(self, *arguments):
            warnings.warn("these folds are special", UserWarning, stacklevel=1)
            return super().split(*arguments)

    with pytest.warns(UserWarning, match="these folds are special"):
        make_splits(SpecialKFold(3), X, CODES, None, 0)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv must be None, an integer >= 2, 'loo', 'classes', a splitter or a list of splits, got 1"),
        (0, "cv must be None, an integer >= 2, .* got 0"),
        (
            "bootstrap",
            "cv must be None, an integer >= 2, 'loo', 'classes', a splitter or a list of splits, got 'bootstrap'",
        ),
        ([], "cv has no splits: at least one split is needed"),
        ([(np.arange(20), [])], "the test part of split 0 is empty"),
        ([(np.arange(20), [20]), ([], [20])], "the training part of split 1 is empty"),
        ([(np.arange(20), [30])], r"the test part of split 0 has the index 30: it must be in 0\.\.29"),
        ([([0, 1, 30], [2])], r"the training part of split 0 has the index 30: it must be in 0\.\.29"),
        ([([0, 1, -1], [2])], r"the training part of split 0 has the index -1: it must be in 0\.\.29"),
        (
            [(np.arange(20), [20]), ([0, 3], [20])],
            "the training part of split 1 has only one class: pass more examples per class, or a list of splits as cv",
        ),
    ],
)
def test_invalid_cv_raises_value_error(cv, message):
    with pytest.raises(ValueError, match=message):
        make_splits(cv, X, CODES, None, 0)


def test_first_and_last_index_are_valid():
    assert len(make_splits([([0, 1, 2], [29]), ([29, 0, 1], [0])], X, CODES, None, 0)) == 2


def test_invalid_groups_raise_value_error():
    with pytest.raises(ValueError, match=r"groups has only one group, 'a': at least two groups .*; leave groups out"):
        make_splits(3, X, CODES, ["a"] * 30, 0)
    with pytest.raises(ValueError, match="groups must have one entry per example"):
        make_splits(3, X, CODES, GROUPS[:-1], 0)
    with pytest.raises(
        ValueError, match="pass finer groups, if one group holds all examples of a class, or a list of splits"
    ):
        make_splits(3, X, CODES > 0, CODES > 0, 0)


def test_classes_of_one_example_cannot_be_split():
    with pytest.raises(
        ValueError, match="every class has only one example: cross-validation needs a class with at least"
    ):
        make_splits(3, X[:3], np.arange(3), None, 0)
    with pytest.warns(UserWarning, match="2 of 4 classes are tested"):
        assert len(make_splits(3, X[:6], np.array([0, 0, 1, 1, 2, 3]), None, 0)) == 2


def test_untrained_classes_are_counted_in_a_warning():
    given = [([0, 1, 3, 4], [2, 5, 8]), ([0, 1, 3, 4], [2, 6])]
    with pytest.warns(UserWarning, match="1 of 3 classes are tested in a fold that did not train on them, because"):
        make_splits(given, X, CODES, None, 0)


def test_split_has_no_groups_by_default():
    split = Split(np.arange(2), np.arange(2, 3))
    assert split.groups is None
    assert split.leave_one_out is False


@pytest.mark.parametrize(("n_groups", "expected"), [(4, 4), (5, 5), (6, 6), (10, 10), (11, 5)])
def test_each_of_a_few_groups_with_all_classes_is_a_fold_by_default(n_groups, expected):
    codes, groups = np.tile(np.arange(3), n_groups), np.repeat(np.arange(n_groups), 3)
    drawn = [make_splits(None, np.zeros((len(codes), 2)), codes, groups, seed) for seed in (0, 1)]
    assert len(drawn[0]) == len(drawn[1]) == expected
    if 5 <= n_groups <= 10:
        assert parts(drawn[0]) == parts(drawn[1])  # nothing is random
        assert all(len(np.unique(groups[split.test])) == 1 for split in drawn[0])
    assert len(make_splits(3, np.zeros((len(codes), 2)), codes, groups, 0)) == 3
    # A class that only the first two groups have.
    codes, groups = np.concatenate([codes, [3, 3]]), np.concatenate([groups, [0, 1]])
    assert len(make_splits(None, np.zeros((len(codes), 2)), codes, groups, 0)) == min(5, n_groups)


def test_five_folds_that_are_not_random_are_the_default():
    expected = expected_parts(StratifiedKFold(5))
    assert parts(make_splits(None, X, CODES, None, 3)) == parts(make_splits(None, X, CODES, None, 4)) == expected
    uneven = GROUPS % 4  # no group is a fold of its own
    expected = expected_parts(StratifiedGroupKFold(4), groups=uneven)
    assert parts(make_splits(None, X, CODES, uneven, 3)) == parts(make_splits(None, X, CODES, uneven, 4)) == expected
