"""The interface of fixed distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from covmetric._utils.validation import FloatArray, IntArray


class FixedDistance(ABC):
    """A fixed distance between matrices, with a search for nearest neighbours.

    Parameters
    ----------
    reg : float, default=0.0
        The fraction of its mean eigenvalue that is added to the diagonal of each matrix.
    n_jobs : int or None, default=None
        The number of threads. The result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from covmetric.peers import FIXED_DISTANCES
    >>> distance = FIXED_DISTANCES["riemann"]().fit(np.stack([np.eye(2), 2.0 * np.eye(2)]))
    >>> distance.pairwise(np.eye(2)[None]).round(3)
    array([[0.  , 0.98]])
    """

    name: ClassVar[str]
    #: The Phi for which this is, up to a factor, the distance with W = I; None if there is no such Phi.
    phi: ClassVar[str | None] = None

    def __init__(self, reg: float = 0.0, n_jobs: int | None = None) -> None:
        self.reg = reg
        self.n_jobs = n_jobs

    @abstractmethod
    def fit(self, X: Any) -> Self:
        """Check and store the matrices among which neighbours are searched.

        Parameters
        ----------
        X : array of shape (l, n, n)
            The matrices.

        Returns
        -------
        self
            The fitted distance.
        """

    @abstractmethod
    def nearest(self, X: Any, k: int) -> tuple[FloatArray, IntArray]:
        """Return the k nearest stored matrices; ties are broken by the index.

        Parameters
        ----------
        X : array of shape (q, n, n) or None
            The matrices. None means the stored matrices, which are then not their own neighbours.
        k : int
            The number of neighbours.

        Returns
        -------
        distances : array of shape (q, k)
            The distances in ascending order.
        indices : array of int of shape (q, k)
            The indices of the stored matrices.
        """

    @abstractmethod
    def pairwise(self, X: Any) -> FloatArray:
        """Return the distances to all stored matrices.

        Parameters
        ----------
        X : array of shape (q, n, n)
            The matrices.

        Returns
        -------
        array of shape (q, l)
            The distances.
        """
