"""The accuracy of combined rules on examples outside their training folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.blend import Blend


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What combined rules predict for the test parts of folds.

    Attributes
    ----------
    probabilities : array of shape (l_test, n_classes)
        The probabilities, fold by fold.
    places : array of int of shape (l_test,)
        The examples that they belong to.
    folds : array of int of shape (l_test,)
        The folds that they belong to.
    """

    probabilities: FloatArray
    places: IntArray
    folds: IntArray

    @classmethod
    def cross_fit(
        cls, blend: Blend, probabilities: Sequence[FloatArray], codes: IntArray, tests: Sequence[IntArray]
    ) -> Self | None:
        """Combine rules for each fold with the weights and calibrations that suit the other folds.

        A blend that was fitted on all folds has seen the classes of the examples that it would be tested on.

        Parameters
        ----------
        blend : Blend
            The blend that suits all folds.
        probabilities : sequence of arrays of shape (l_test, n_classes)
            What each rule predicts for the test parts, fold by fold.
        codes : array of int of shape (l_test,)
            The classes of the same examples.
        tests : sequence of arrays of int
            The test part of each fold.

        Returns
        -------
        OutOfFold or None
            The predictions; None if there is a single fold.

        Examples
        --------
        >>> from covmetric.learning.scoring import Scoring
        >>> codes = np.array([0, 1, 0, 1])
        >>> good, bad = np.eye(2)[codes], np.eye(2)[[0, 0, 1, 1]]
        >>> tests = [np.array([0, 1]), np.array([2, 3])]
        >>> blend = Blend.fit([Scoring("svm"), Scoring("mean")], [good, bad], codes)
        >>> found = OutOfFold.cross_fit(blend, [good, bad], codes, tests)
        >>> found.count_right(codes).tolist()
        [[2, 2], [2, 2]]
        """
        if len(tests) < 2:
            return None
        folds = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
        combined = np.empty_like(probabilities[0])
        for fold in range(len(tests)):
            here = folds == fold
            others = Blend.fit(blend.scorings, [one[~here] for one in probabilities], codes[~here])
            combined[here] = others.combine([one[here] for one in probabilities])
        return cls(combined, np.concatenate(tests), folds)

    def count_right(self, codes: IntArray) -> IntArray:
        """Return how many examples of each fold are predicted correctly.

        Parameters
        ----------
        codes : array of int of shape (l,)
            The classes of all examples.

        Returns
        -------
        array of int of shape (n_folds, 2)
            The number of correct predictions and of predictions in each fold.
        """
        right = self.probabilities.argmax(axis=1) == codes[self.places]
        n_folds = int(self.folds.max()) + 1
        return np.stack(
            [np.bincount(self.folds, right, n_folds), np.bincount(self.folds, minlength=n_folds)], axis=1
        ).astype(np.int64)

    def of_sets(self, members: IntArray) -> Self | None:
        """Return the mean predictions for sets of examples, such as the regions of an image.

        Parameters
        ----------
        members : array of int of shape (l,)
            The set that each example belongs to.

        Returns
        -------
        OutOfFold or None
            The predictions for the sets; None if a set is split between folds, so that a part of it was trained on.
        """
        pairs, inverse = np.unique(np.stack([self.folds, members[self.places]]), axis=1, return_inverse=True)
        folds, sets = pairs
        if len(np.unique(sets)) < len(sets):
            return None
        sums = np.zeros((len(sets), self.probabilities.shape[1]))
        np.add.at(sums, inverse.reshape(-1), self.probabilities)
        return type(self)(sums / np.bincount(inverse.reshape(-1))[:, None], sets, folds)


def total_accuracy(counts: IntArray | None) -> float | None:
    """Return the fraction of correct predictions of all folds.

    Parameters
    ----------
    counts : array of int of shape (n_folds, 2) or None
        The result of `OutOfFold.count_right`.

    Returns
    -------
    float or None
        The fraction; None if there are no counts.

    Examples
    --------
    >>> total_accuracy(np.array([[3, 4], [1, 4]]))
    0.5
    """
    return None if counts is None else float(counts[:, 0].sum() / counts[:, 1].sum())


def check_counts_by_fold(counts: Any) -> IntArray | None:
    """Check counts of a model file, which may be hostile.

    Parameters
    ----------
    counts : object
        The entry of the file.

    Returns
    -------
    array of int of shape (n_folds, 2) or None
        The counts.

    Raises
    ------
    ValueError
        If the entry is neither None nor the counts of right and of all predictions in at least two folds.
    """
    if counts is None:
        return None
    if not (isinstance(counts, np.ndarray) and counts.dtype == np.int64 and counts.ndim == 2 and counts.shape[1] == 2):
        raise ValueError("the accuracy outside the training folds must be counted by two integers for each fold")
    right, total = counts.T
    if len(counts) < 2 or (right < 0).any() or (right > total).any() or (total < 1).any() or (total > 2**40).any():
        raise ValueError("the accuracy outside the training folds has impossible counts")
    return counts
