"""A new random permutation of the pairs in every epoch."""

from __future__ import annotations

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.orders.base import Order


class Permuted(Order):
    """Every pair once per epoch, in a new random order each time.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(Permuted().epoch(4, np.random.default_rng(0)).tolist())
    [0, 1, 2, 3]
    """

    name = "perm"
    visits_every_pair = True

    def epoch(self, n_pairs: int, rng: np.random.Generator) -> IntArray:
        return rng.permutation(n_pairs)
