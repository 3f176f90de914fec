"""Independent uniform draws of the pairs."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.orders.base import Order


class Random(Order):
    """Pairs drawn uniformly and independently. An epoch may visit a pair several times, or never.

    Examples
    --------
    >>> import numpy as np
    >>> Random().epoch(4, np.random.default_rng(0))
    array([3, 2, 2, 1])
    """

    name = "rand"

    def epoch(self, n_pairs: int, rng: np.random.Generator) -> IntArray:
        return rng.integers(n_pairs, size=n_pairs)
