"""Splits of labelled examples into training and test parts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_consistent_length

from covmetric._utils.validation import IntArray, is_count
from covmetric._utils.warning import warn


@dataclass(frozen=True)
class Split:
    """A training part and a test part.

    Attributes
    ----------
    train, test : arrays of int
        Indices of the examples.
    groups : array or None
        The group of each training example, or None. Examples of one group stay together if the training part is split
        again.
    leave_one_out : bool
        If True, all examples are in both parts, and each is tested on those outside its own group.
    """

    train: IntArray
    test: IntArray
    groups: npt.NDArray[Any] | None = None
    leave_one_out: bool = False


def make_splits(cv: Any, X: npt.NDArray[Any], codes: IntArray, groups: Any, seed: int) -> list[Split]:
    """Return the splits that `cv` stands for.

    Parameters
    ----------
    cv : int, "loo", splitter or list of splits
        As in `CovMetricCV`.
    X : array of shape (l, ...)
        The examples.
    codes : array of int, shape (l,)
        Their classes, 0..n_c-1.
    groups : array of shape (l,), or None
        Examples of one group stay together.
    seed : int
        Seed of the random folds.

    Returns
    -------
    list of Split

    Raises
    ------
    ValueError
        If the examples cannot be split like that.

    Warns
    -----
    UserWarning
        If a class is tested in a fold without any training example of that class.
    """
    if groups is not None:
        check_consistent_length(X, groups)
        distinct, groups = np.unique(np.asarray(groups), return_inverse=True)
        if len(distinct) < 2:
            raise ValueError(f"groups has only one group, {distinct[0]!r}: at least two are needed; leave groups out")
    everyone = np.arange(len(codes))
    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv must be an integer >= 2, 'loo', a splitter or a list of splits, got {cv!r}")
        return [Split(everyone, everyone, everyone if groups is None else groups, leave_one_out=True)]
    if is_count(cv):
        cv = _stratified(int(cv), codes, groups, seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = list(check_cv(cv, codes, classifier=True).split(X, codes, groups))
    splits = [Split(np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64)) for train, test in folds]
    _check_splits(splits, codes)
    return splits


def _check_splits(splits: list[Split], codes: IntArray) -> None:
    """Raise for folds that cannot be learned from; warn about those that cannot be fair."""
    if not splits:
        raise ValueError("cv has no splits: at least one is needed")
    for fold, split in enumerate(splits):
        for name, part in (("training", split.train), ("test", split.test)):
            if len(part) == 0 or part.min() < 0 or part.max() >= len(codes):
                raise ValueError(f"the {name} part of split {fold} is empty, or has indices beyond the examples")
        if len(np.unique(codes[split.train])) < 2:
            raise ValueError(
                f"the training part of split {fold} has one class only; groups that hold all examples of a class "
                "cannot be split fairly: give finer groups, or splits of your own as cv"
            )
    unseen = {c for split in splits for c in np.setdiff1d(codes[split.test], codes[split.train]).tolist()}
    if unseen:
        warn(
            f"{len(unseen)} of {int(codes.max()) + 1} classes are tested in a fold that did not train on them (too few "
            "examples or groups): their examples count as errors for every candidate"
        )


def _stratified(folds: int, codes: IntArray, groups: IntArray | None, seed: int) -> Any:
    """As many stratified folds as asked for, or as many as there are examples or groups for."""
    if folds < 2:
        raise ValueError(f"cv must be an integer >= 2, 'loo', a splitter or a list of splits, got {folds}")
    if groups is not None:
        per_class = [len(np.unique(groups[codes == c])) for c in range(int(codes.max()) + 1)]
        possible = max(2, min(folds, max(per_class)))
        return StratifiedGroupKFold(possible, shuffle=True, random_state=seed)
    possible = int(np.bincount(codes).max())
    if possible < 2:
        raise ValueError("every class has one example only: cross-validation needs at least two of some class")
    return StratifiedKFold(min(folds, possible), shuffle=True, random_state=seed)
