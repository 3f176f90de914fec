"""The base class of selection orders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from covmetric._utils.validation import IntArray


class Order(ABC):
    """The order in which an epoch of Dykstra's algorithm visits the pairs.

    The algorithm converges only if every pair is visited again and again. A new order is one file with a
    subclass and one line in `covmetric.orders.ORDERS`.

    Examples
    --------
    >>> import numpy as np
    >>> class Backwards(Order):
    ...     name = "backwards"
    ...     visits_every_pair = True
    ...
    ...     def epoch(self, n_pairs, rng):
    ...         return np.arange(n_pairs)[::-1].copy()
    >>> Backwards().epoch(3, np.random.default_rng(0))
    array([2, 1, 0])
    """

    #: The name of the order in `ORDERS`.
    name: ClassVar[str]
    #: Whether each epoch visits every pair exactly once.
    visits_every_pair: ClassVar[bool] = False

    @abstractmethod
    def epoch(self, n_pairs: int, rng: np.random.Generator) -> IntArray:
        """Return the pairs that the next epoch visits.

        Parameters
        ----------
        n_pairs : int
            The number of pairs of the problem.
        rng : numpy.random.Generator
            The only source of randomness.

        Returns
        -------
        array of int64 of shape (n_pairs,)
            Indices of pairs, in the order of the visits. The caller may modify the array.
        """
