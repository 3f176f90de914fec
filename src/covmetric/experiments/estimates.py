"""Means, standard errors and paired differences of repeated measurements."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

#: The number of standard errors by which a mean difference has to differ from zero to count as a difference.
STANDARD_ERRORS = 2.0
BETTER, WORSE, NO_DIFFERENCE = "better", "worse", "no difference"

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Estimate:
    """A mean over folds, splits or repeats.

    Attributes
    ----------
    mean : float
        The mean of the values.
    standard_error : float or None
        The standard error of the mean, or None if there are fewer than two values.
    count : int
        The number of values.
    """

    mean: float
    standard_error: float | None
    count: int

    def text(self, digits: int = 1, sign: bool = False) -> str:
        """Return the mean and the standard error as text.

        Parameters
        ----------
        digits : int, default=1
            The number of decimals.
        sign : bool, default=False
            Whether a positive mean has a plus sign, as differences should.

        Returns
        -------
        str
            For example "91.5 ± 0.4", or "91.5" if there is no standard error.
        """
        error = "" if self.standard_error is None else f" ± {self.standard_error:.{digits}f}"
        return f"{self.mean:{'+' if sign else ''}.{digits}f}{error}"

    def times(self, factor: float) -> Estimate:
        """Return the estimate in another unit.

        Parameters
        ----------
        factor : float
            A positive number, such as 100 for percent.

        Returns
        -------
        Estimate
            The estimate, multiplied.
        """
        error = None if self.standard_error is None else factor * self.standard_error
        return Estimate(factor * self.mean, error, self.count)


def mean_and_standard_error(values: Sequence[float]) -> Estimate:
    """Compute the mean of values and its standard error.

    Parameters
    ----------
    values : sequence of float
        At least one value.

    Returns
    -------
    Estimate
        The mean and its standard error.

    Raises
    ------
    ValueError
        If there are no values.

    Examples
    --------
    >>> mean_and_standard_error([1.0, 2.0, 3.0]).text(2)
    '2.00 ± 0.58'
    """
    if len(values) == 0:
        raise ValueError("values is empty: a mean needs at least one value")
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return Estimate(float(np.mean(values)), error, len(values))


def paired_difference(values: Mapping[Key, float], baseline: Mapping[Key, float]) -> Estimate:
    """Compute the mean difference of two measurements on the same splits, and its standard error.

    The splits that are hard for one method are usually hard for the other. The differences within a split therefore
    vary less than the values, and their standard error is smaller than the standard errors of the two means suggest.

    Parameters
    ----------
    values : mapping from split to float
        The value on each split.
    baseline : mapping from split to float
        The value on each split that is subtracted.

    Returns
    -------
    Estimate
        The mean of ``values[split] - baseline[split]``.

    Raises
    ------
    ValueError
        If the splits are not the same, or if there are none.

    Examples
    --------
    >>> paired_difference({0: 80.0, 1: 91.0}, {0: 79.0, 1: 89.0}).text(sign=True)
    '+1.5 ± 0.5'
    """
    if values.keys() != baseline.keys():
        only_one = sorted(values.keys() ^ baseline.keys(), key=str)[0]
        raise ValueError(f"values and baseline must have the same splits: only one of them has {only_one!r}")
    return mean_and_standard_error([values[split] - baseline[split] for split in values])


def best_key(values: Mapping[str, Mapping[Key, float]]) -> str:
    """Return the name with the highest mean over the splits.

    Parameters
    ----------
    values : mapping from str to mapping from split to float
        The values of each name on each split.

    Returns
    -------
    str
        The name. The first one wins ties.

    Examples
    --------
    >>> best_key({"log": {0: 90.0, 1: 92.0}, "chol": {0: 89.0, 1: 94.0}})
    'chol'
    """
    return max(values, key=lambda name: float(np.mean(list(values[name].values()))))


def verdict(difference: Estimate) -> str:
    """Say whether a paired difference of accuracies is a difference.

    The rule is "better" or "worse" if the mean is more than two standard errors away from zero, and "no difference"
    otherwise. It is a rule of thumb and not a test of significance: the splits overlap, and there are few of them.

    Parameters
    ----------
    difference : Estimate
        The result of `paired_difference`.

    Returns
    -------
    {'better', 'worse', 'no difference'}
        The verdict on the first argument of `paired_difference`. It is "no difference" if there is no standard error.

    Examples
    --------
    >>> verdict(Estimate(1.5, 0.5, 5)), verdict(Estimate(-0.9, 0.5, 5)), verdict(Estimate(-1.5, 0.5, 5))
    ('better', 'no difference', 'worse')
    """
    error = difference.standard_error
    if error is None or abs(difference.mean) <= STANDARD_ERRORS * error:
        return NO_DIFFERENCE
    return BETTER if difference.mean > 0 else WORSE
