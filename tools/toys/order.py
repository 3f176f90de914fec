"""A toy order: the pairs from the last to the first."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.orders.base import Order


class Reversed(Order):
    """Every pair once per epoch, from the last to the first.

    Examples
    --------
    >>> import numpy as np
    >>> Reversed().epoch(3, np.random.default_rng(0))
    array([2, 1, 0])
    """

    name = "toy"

    def epoch(self, n_pairs: int, rng: np.random.Generator) -> IntArray:
        return np.arange(n_pairs, dtype=np.int64)[::-1].copy()
