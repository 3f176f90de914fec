"""Splitters that hold out classes."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.model_selection import ClassKFold, ClassShuffleSplit
from covmetric.model_selection.splitters import default_class_splits

Y = np.array([f"class {c}" for c in np.random.default_rng(0).integers(11, size=200)])


def held_out(splitter, y=Y):
    return [frozenset(np.unique(y[test]).tolist()) for _, test in splitter.split(np.zeros(len(y)), y)]


@pytest.mark.parametrize(
    "splitter",
    [
        ClassKFold(5),
        ClassKFold(3, shuffle=True, random_state=1),
        ClassShuffleSplit(7),
        ClassShuffleSplit(4, test_size=9),
    ],
    ids=repr,
)
def test_every_class_is_on_one_side(splitter):
    n_splits = 0
    for train, test in splitter.split(Y, Y):
        assert sorted([*train, *test]) == list(range(len(Y)))
        assert not set(Y[train]) & set(Y[test])
        assert len(set(Y[train])) >= 2 and len(set(Y[test])) >= 2
        n_splits += 1
    assert n_splits == splitter.get_n_splits() == splitter.get_n_splits(Y, Y)


@pytest.mark.parametrize("shuffle", [False, True])
def test_folds_hold_out_each_class_once(shuffle):
    folds = held_out(ClassKFold(4, shuffle=shuffle, random_state=0 if shuffle else None))
    assert sorted(name for fold in folds for name in fold) == sorted(set(Y))
    assert sorted(map(len, folds)) == [2, 3, 3, 3]


def test_seeds_of_folds():
    def folds(seed):
        return held_out(ClassKFold(5, shuffle=True, random_state=seed))

    assert folds(0) == folds(0) != folds(1)
    assert held_out(ClassKFold(5)) == held_out(ClassKFold(5))


def test_draws_are_distinct_and_have_the_right_size():
    y = np.repeat(np.arange(4), 3)
    draws = held_out(ClassShuffleSplit(6, test_size=2, random_state=0), y)
    assert len(set(draws)) == 6  # all the ways to hold out two of four classes
    assert {len(draw) for draw in held_out(ClassShuffleSplit(5, test_size=0.25, random_state=0))} == {3}
    assert {len(draw) for draw in held_out(ClassShuffleSplit(5, test_size=1e-3, random_state=0))} == {2}


@pytest.mark.parametrize(
    ("splitter", "y", "message"),
    [
        (ClassKFold(5), np.arange(8), "n_splits=5 needs at least 10 classes.* y has 8: use fewer folds"),
        (ClassKFold(1), Y, "n_splits must be an integer >= 2, got 1"),
        (ClassKFold(2.5), Y, "n_splits must be an integer >= 2, got 2.5"),
        (ClassShuffleSplit(0), Y, "n_splits must be an integer >= 1, got 0"),
        (ClassShuffleSplit(7, test_size=2), np.arange(4), "there are only 6 ways to hold out 2 of 4 classes"),
        (ClassShuffleSplit(1, test_size=1), Y, "test_size=1 holds out 1 of 11 classes, but at least 2"),
        (ClassShuffleSplit(1, test_size=10), Y, "test_size=10 holds out 10 of 11 classes, but at least 2"),
        (ClassShuffleSplit(1, test_size=1.5), Y, "test_size must be a number of classes or a fraction"),
        (ClassShuffleSplit(1, test_size="half"), Y, "test_size must be a number of classes or a fraction"),
        (ClassKFold(2), np.linspace(0, 1, 9), "Unknown label type"),
    ],
)
def test_invalid_splits(splitter, y, message):
    with pytest.raises(ValueError, match=message):
        list(splitter.split(y, y))


def test_default_splits():
    folds = held_out(default_class_splits(Y, 0))
    assert len(folds) == 5 and set.union(*map(set, folds)) == set(Y)
    for n_classes in (4, 9):
        y = np.repeat(np.arange(n_classes), 2)
        draws = held_out(default_class_splits(y, 0), y)
        assert len(set(draws)) == 5 and {len(draw) for draw in draws} == {2}
    with pytest.raises(ValueError, match=r"cv='classes' needs at least 4 classes, .* but y has 3"):
        default_class_splits(np.array([0, 1, 2]), 0)
