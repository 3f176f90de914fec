"""Splits of labelled examples into training and test parts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import LeaveOneGroupOut, StratifiedGroupKFold, StratifiedKFold, check_cv

from covmetric._utils.validation import IntArray, is_count
from covmetric._utils.warning import warn
from covmetric.learning.group_labels import group_labels
from covmetric.model_selection.splitters import default_class_splits

_FOLDS = 5
_INVALID_CV = "cv must be None, an integer >= 2, 'loo', 'classes', a splitter or a list of splits, got {!r}"


@dataclass(frozen=True)
class Split:
    """A training part and a test part.

    Attributes
    ----------
    train : array of int
        The indices of the training examples.
    test : array of int
        The indices of the test examples.
    groups : array or None, default=None
        The group of each training example, or None if there are no groups. Examples of one group stay together if the
        training part is split again, and the selection of pairs depends on the groups.
    leave_one_out : bool, default=False
        If True, both parts hold all examples, and each example is classified by the examples outside its own group.
    test_groups : array or None, default=None
        The group of each test example, or None if there are no groups.
    """

    train: IntArray
    test: IntArray
    groups: npt.NDArray[Any] | None = None
    leave_one_out: bool = False
    test_groups: npt.NDArray[Any] | None = None


def check_groups(groups: Any, X: npt.NDArray[Any]) -> IntArray:
    """Return the groups of examples as numbers.

    Parameters
    ----------
    groups : array of shape (l,) or scalar
        The group of each example, of any type that can be sorted, or one group for all of them.
    X : array of shape (l, ...)
        The examples.

    Returns
    -------
    array of int of shape (l,)
        Numbers from 0 to n_groups - 1, in the order of the sorted groups.

    Raises
    ------
    ValueError
        If there is not one group for each example, or if an entry is missing.
    """
    return np.asarray(np.unique(group_labels(groups, len(X)), return_inverse=True)[1], dtype=np.int64)


def make_splits(
    cv: Any, X: npt.NDArray[Any], codes: IntArray, groups: Any, seed: int, new_classes: bool = False
) -> list[Split]:
    """Return the splits for cross-validation.

    Parameters
    ----------
    cv : int, None, 'loo', 'classes', splitter or list of splits
        An integer is the number of random stratified folds, which is reduced if no class has as many examples or
        groups. None means 5 stratified folds that are not random: consecutive examples of each class form a fold, as in
        scikit-learn. If there are 5 to 10 groups and each has all classes, each group is a fold. 'loo' is
        leave-one-out, or leave-one-group-out if groups are given. 'classes' holds out classes. A splitter is an object
        such as scikit-learn's StratifiedKFold. A split is a tuple of the training and the test indices.
    X : array of shape (l, ...)
        The examples.
    codes : array of int of shape (l,)
        Their classes, 0..n_classes-1.
    groups : array of shape (l,) or None
        The group of each example. Examples of one group stay together.
    seed : int
        The seed of the random folds. It has no effect if `cv` is None.
    new_classes : bool, default=False
        Whether the test parts may have classes that are not in the training parts.

    Returns
    -------
    list of Split
        At least one split.

    Raises
    ------
    ValueError
        If `cv` is invalid, or if a split has an empty part, an index out of range, or only one training class, or if
        no split tests a class that it trains on although `new_classes` is False.

    Warns
    -----
    UserWarning
        If a split tests examples of a class that it does not train on although `new_classes` is False.
    """
    if groups is not None:
        numbers = check_groups(groups, X)
        if not numbers.any():
            only = group_labels(groups, len(X))[0]
            raise ValueError(
                f"groups has only one group, {only!r}: at least two groups are needed; leave groups out, so that the "
                "folds are made of examples"
            )
        groups = numbers
    if isinstance(cv, str) and cv == "classes":
        cv = default_class_splits(codes, seed)
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(_INVALID_CV.format(cv))
        everything = np.arange(len(codes))
        return [Split(everything, everything, groups, leave_one_out=True)]
    if cv is None and groups is not None and _has_few_crossed_groups(codes, groups):
        cv = LeaveOneGroupOut()
    elif cv is None:
        cv = _stratified_folds(_FOLDS, codes, groups, None)
    elif is_count(cv):
        cv = _stratified_folds(int(cv), codes, groups, seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = list(check_cv(cv, codes, classifier=True).split(X, codes, groups))
    splits = [Split(np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64)) for train, test in folds]
    _check_splits(splits, codes, grouped=groups is not None)
    if not new_classes:
        _check_classes(splits, codes, grouped=groups is not None)
    if groups is None:
        return splits
    return [replace(split, groups=groups[split.train], test_groups=groups[split.test]) for split in splits]


def _has_few_crossed_groups(codes: IntArray, groups: IntArray) -> bool:
    """Return whether a fold for each group is stratified and costs at most twice as much as the default folds."""
    n_groups = len(np.unique(groups))
    n_combinations = np.unique(np.stack([groups, codes]), axis=1).shape[1]
    return _FOLDS <= n_groups <= 2 * _FOLDS and n_combinations == n_groups * len(np.unique(codes))


def _stratified_folds(n_folds: int, codes: IntArray, groups: IntArray | None, seed: int | None) -> Any:
    """Return a splitter with at most n_folds folds, and at most as many as a class has examples or groups.

    Without a seed, the folds are not random.
    """
    if n_folds < 2:
        raise ValueError(_INVALID_CV.format(n_folds))
    if groups is not None:
        most_groups = max(len(np.unique(groups[codes == c])) for c in range(int(codes.max()) + 1))
        return StratifiedGroupKFold(max(2, min(n_folds, most_groups)), shuffle=seed is not None, random_state=seed)
    most_examples = int(np.bincount(codes).max())
    if most_examples < 2:
        raise ValueError("every class has only one example: cross-validation needs a class with at least two examples")
    return StratifiedKFold(min(n_folds, most_examples), shuffle=seed is not None, random_state=seed)


def _check_splits(splits: list[Split], codes: IntArray, grouped: bool) -> None:
    """Raise ValueError if a split cannot be learned from."""
    if not splits:
        raise ValueError("cv has no splits: at least one split is needed")
    for fold, split in enumerate(splits):
        for name, part in (("training", split.train), ("test", split.test)):
            if len(part) == 0:
                raise ValueError(f"the {name} part of split {fold} is empty")
            outside = part[(part < 0) | (part >= len(codes))]
            if len(outside):
                raise ValueError(
                    f"the {name} part of split {fold} has the index {outside[0]}: it must be in 0..{len(codes) - 1}"
                )
        if len(np.unique(codes[split.train])) < 2:
            remedy = (
                "finer groups, if one group holds all examples of a class" if grouped else "more examples per class"
            )
            raise ValueError(
                f"the training part of split {fold} has only one class: pass {remedy}, or a list of splits as cv"
            )


def _check_classes(splits: list[Split], codes: IntArray, grouped: bool) -> None:
    """Warn if classes are tested but not trained on; raise ValueError if this holds for all classes of all splits."""
    if not any(np.isin(codes[split.test], codes[split.train]).any() for split in splits):
        raise ValueError(
            "no split tests a class that it trains on, so that every candidate has the accuracy 0; to choose a metric "
            "for new classes, pass scoring='mean_average_precision'"
        )
    untrained = {c for split in splits for c in np.setdiff1d(codes[split.test], codes[split.train]).tolist()}
    if untrained:
        warn(
            f"{len(untrained)} of {int(codes.max()) + 1} classes are tested in a fold that did not train on them, "
            f"because they have too few {'groups' if grouped else 'examples'}: their examples count as errors for "
            "every candidate"
        )
