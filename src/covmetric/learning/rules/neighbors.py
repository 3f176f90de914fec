"""The vote of the nearest training vectors."""

from __future__ import annotations

import copy
from typing import Self

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.rules.base import Rule
from covmetric.neighbors import get_search
from covmetric.neighbors.votes import check_n_neighbors, count_votes


class NeighborsRule(Rule):
    """The vote of the nearest training vectors.

    Parameters
    ----------
    n_classes : int
        The number of classes.
    n_neighbors : int, default=3
        The number of neighbours. If there are fewer training vectors, all of them vote.
    n_jobs : int or None, default=None
        The number of threads that search for neighbours.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        The search for neighbours. All searches are exact.
    C : float, default=1.0
        Not used.
    """

    name = "neighbors"
    decides_by = "references"
    tuned = "n_neighbors"
    probability_note = (
        "The probabilities count the votes of neighbours: they rank the examples, but are not calibrated."
    )
    is_vote_of_neighbors = True

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:
        return f"{n_neighbors}nn"

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        check_n_neighbors(self.n_neighbors)
        self._codes = codes
        named = isinstance(self.algorithm, str)
        search = get_search(self.algorithm, self.n_jobs if named else None, vectors.shape)
        # The copy leaves a Search object of the user unfitted, so that several rules can use it.
        self._search = copy.copy(search).fit(vectors)
        return self

    def nearest(self, vectors: FloatArray | None, k: int) -> tuple[FloatArray, IntArray]:
        """Return the k nearest training vectors for each vector.

        Parameters
        ----------
        vectors : array of shape (l, q) or None
            The vectors. None means the training vectors, which are then not their own neighbours.
        k : int
            The number of neighbours.

        Returns
        -------
        distances : array of shape (l, k)
            The distances, in ascending order.
        indices : array of int of shape (l, k)
            The indices of the training vectors.
        """
        return self._search.nearest(vectors, k)

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        k = min(self.n_neighbors, len(self._codes))
        votes = self._codes[self.nearest(vectors, k)[1]]
        return count_votes(votes, self.n_classes)
