"""A new permutation for every epoch."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.orders.base import Order


class Permuted(Order):
    """Every pair once, in an order drawn anew for each epoch."""

    name = "perm"

    def epoch(self, n_pairs: int, rng: np.random.Generator) -> IntArray:
        return rng.permutation(n_pairs)
