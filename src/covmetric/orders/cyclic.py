"""The cyclic order of Dykstra's original algorithm."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.orders.base import Order


class Cyclic(Order):
    """Every pair once per epoch, always in the given order.

    Examples
    --------
    >>> import numpy as np
    >>> Cyclic().epoch(4, np.random.default_rng(0))
    array([0, 1, 2, 3])
    """

    name = "cyclic"
    visits_every_pair = True

    def epoch(self, n_pairs: int, rng: np.random.Generator) -> IntArray:
        return np.arange(n_pairs, dtype=np.int64)
