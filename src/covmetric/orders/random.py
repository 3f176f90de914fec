"""Independent draws."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.orders.base import Order


class Random(Order):
    """As many pairs as there are, each drawn uniformly: some come twice, some not at all."""

    name = "rand"

    def epoch(self, n_pairs: int, rng: np.random.Generator) -> IntArray:
        return rng.integers(n_pairs, size=n_pairs)
