"""Mean and standard error of repeated measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


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

    def text(self, digits: int = 1) -> str:
        """Return the mean and the standard error as text.

        Parameters
        ----------
        digits : int, default=1
            The number of decimals.

        Returns
        -------
        str
            For example "91.5 ± 0.4", or "91.5" if there is no standard error.
        """
        error = "" if self.standard_error is None else f" ± {self.standard_error:.{digits}f}"
        return f"{self.mean:.{digits}f}{error}"


def mean_and_standard_error(values: Sequence[float]) -> Estimate:
    """Compute the mean of values and its standard error.

    Parameters
    ----------
    values : sequence of float
        At least one value.

    Returns
    -------
    Estimate

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
