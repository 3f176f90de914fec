"""What a fixed distance is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from covmetric._utils.validation import FloatArray, IntArray


class FixedDistance(ABC):
    """A distance between matrices that nothing is learned for, and the search of neighbours in it.

    Parameters
    ----------
    reg : float, default=0.0
        See `Embedding`.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    """

    name: ClassVar[str]

    def __init__(self, reg: float = 0.0, n_jobs: int | None = None) -> None:
        self.reg = reg
        self.n_jobs = n_jobs

    @abstractmethod
    def fit(self, X: Any) -> Self:
        """Check and remember the matrices to search among, shape (l, n, n)."""

    @abstractmethod
    def nearest(self, X: Any, k: int) -> tuple[FloatArray, IntArray]:
        """Distances and indices of the k nearest fitted matrices, ascending, each (l, k); the first of those that tie.

        X = None: of each fitted matrix among the others.
        """

    @abstractmethod
    def pairwise(self, X: Any) -> FloatArray:
        """The distances of the matrices X, shape (q, n, n), from all the fitted ones, shape (q, l)."""
