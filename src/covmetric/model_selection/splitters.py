"""Splitters that hold out classes: the test part has only classes that the training part does not have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from math import ceil, comb
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import check_consistent_length

from covmetric._utils.validation import IntArray, generator, is_count, is_number
from covmetric.model_selection.distances import class_codes

#: With a single class in the test part, there is nothing to confuse it with; with a single class in the training part,
#: there is nothing to learn.
MIN_CLASSES = 2


class _ClassSplitter(BaseCrossValidator):
    """Base class of splitters that hold out classes. A subclass implements `_test_classes`."""

    n_splits: int
    random_state: Any

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored, as in scikit-learn.

        Returns
        -------
        int
            The number of splits.
        """
        return int(self.n_splits)

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Iterate over the splits.

        Parameters
        ----------
        X : array of shape (l, ...)
            The examples, of which only the number matters.
        y : array of shape (l,)
            The class of each example, of any type.
        groups : object, default=None
            Ignored: the examples of a class stay together anyway.

        Yields
        ------
        train : array of int
            The indices of the training examples.
        test : array of int
            The indices of the test examples, which are all examples of the classes that are held out.

        Raises
        ------
        ValueError
            If y does not hold classes, or if there are too few of them.
        """
        check_consistent_length(X, y)
        codes = class_codes(y)[1]
        for held_out in self._test_classes(int(codes.max()) + 1):
            is_test = np.isin(codes, held_out)
            yield np.flatnonzero(~is_test), np.flatnonzero(is_test)

    @abstractmethod
    def _test_classes(self, n_classes: int) -> list[IntArray]:
        """Return the codes of the classes that each split holds out."""

    def _check_n_splits(self, least: int) -> None:
        if not (is_count(self.n_splits) and self.n_splits >= least):
            raise ValueError(f"n_splits must be an integer >= {least}, got {self.n_splits!r}")


class ClassKFold(_ClassSplitter):
    """K folds of classes: every class is held out once.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds, at least 2. There must be at least two classes per fold.
    shuffle : bool, default=False
        Whether the classes are shuffled. Otherwise, the folds are blocks of the sorted classes.
    random_state : int, RandomState, Generator or None, default=None
        The seed of the shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.model_selection import ClassKFold
    >>> y = np.array(["bark", "sand", "grass", "water", "bark", "sand"])
    >>> for train, test in ClassKFold(n_splits=2).split(y, y):
    ...     print(sorted(set(y[train].tolist())), sorted(set(y[test].tolist())))
    ['sand', 'water'] ['bark', 'grass']
    ['bark', 'grass'] ['sand', 'water']
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def _test_classes(self, n_classes: int) -> list[IntArray]:
        self._check_n_splits(2)
        if n_classes < MIN_CLASSES * self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} needs at least {MIN_CLASSES * self.n_splits} classes, because each fold "
                f"holds out at least {MIN_CLASSES}; y has {n_classes}: use fewer folds, or ClassShuffleSplit"
            )
        order = np.arange(n_classes)
        if self.shuffle:
            order = generator(self.random_state).permutation(n_classes)
        return np.array_split(order, self.n_splits)


class ClassShuffleSplit(_ClassSplitter):
    """Random splits of the classes, no two of which hold out the same classes.

    Parameters
    ----------
    n_splits : int, default=5
        The number of splits.
    test_size : int or float, default=0.25
        The number of classes that a split holds out, at least 2, or their fraction, which is rounded up.
    random_state : int, RandomState, Generator or None, default=None
        The seed of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.model_selection import ClassShuffleSplit
    >>> y = np.repeat([0, 1, 2, 3], 3)
    >>> splitter = ClassShuffleSplit(n_splits=6, test_size=2, random_state=0)
    >>> sorted(sorted(set(y[test].tolist())) for _, test in splitter.split(y, y))
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """

    def __init__(self, n_splits: int = 5, *, test_size: Any = 0.25, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.test_size = test_size
        self.random_state = random_state

    def _test_classes(self, n_classes: int) -> list[IntArray]:
        self._check_n_splits(1)
        size = self._n_test_classes(n_classes)
        if comb(n_classes, size) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} is too large: there are only {comb(n_classes, size)} ways to hold out "
                f"{size} of {n_classes} classes"
            )
        rng, drawn = generator(self.random_state), dict[tuple[int, ...], None]()
        while len(drawn) < self.n_splits:
            drawn.setdefault(tuple(sorted(rng.permutation(n_classes)[:size].tolist())))
        return [np.array(classes) for classes in drawn]

    def _n_test_classes(self, n_classes: int) -> int:
        value = self.test_size
        if is_count(value):
            size = int(value)
        elif is_number(value) and 0.0 < value < 1.0:
            size = max(MIN_CLASSES, ceil(value * n_classes))
        else:
            raise ValueError(f"test_size must be a number of classes or a fraction between 0 and 1, got {value!r}")
        if not MIN_CLASSES <= size <= n_classes - MIN_CLASSES:
            raise ValueError(
                f"test_size={value!r} holds out {size} of {n_classes} classes, but at least {MIN_CLASSES} classes are "
                "needed on each side"
            )
        return size


def default_class_splits(codes: npt.NDArray[Any], seed: int) -> _ClassSplitter:
    """Return the splitter that searches use by default: five folds of classes, or five draws if there are few classes.

    Parameters
    ----------
    codes : array of shape (l,)
        The class of each example.
    seed : int
        The seed of the splits.

    Returns
    -------
    ClassKFold or ClassShuffleSplit
        Five folds if there are at least ten classes. Otherwise, five draws of two classes to hold out.

    Raises
    ------
    ValueError
        If there are fewer than four classes.
    """
    n_classes, n_splits = len(np.unique(codes)), 5
    if n_classes < 2 * MIN_CLASSES:
        raise ValueError(
            f"cv='classes' needs at least {2 * MIN_CLASSES} classes, {MIN_CLASSES} to learn from and {MIN_CLASSES} to "
            f"hold out, but y has {n_classes}; use a number of folds as cv"
        )
    if n_classes >= MIN_CLASSES * n_splits:
        return ClassKFold(n_splits, shuffle=True, random_state=seed)
    return ClassShuffleSplit(n_splits, test_size=MIN_CLASSES, random_state=seed)
