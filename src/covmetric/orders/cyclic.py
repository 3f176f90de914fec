"""The same order in every epoch: Dykstra's own."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.orders.base import Order


class Cyclic(Order):
    """Every pair once, as given."""

    name = "cyclic"

    def epoch(self, n_pairs: int, rng: np.random.Generator) -> IntArray:
        return np.arange(n_pairs, dtype=np.int64)
