"""What a selection order is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from covmetric._utils.validation import IntArray


class Order(ABC):
    """The order in which an epoch of Dykstra's algorithm visits the pairs."""

    name: ClassVar[str]

    @abstractmethod
    def epoch(self, n_pairs: int, rng: np.random.Generator) -> IntArray:
        """The `n_pairs` indices that the next epoch visits."""
