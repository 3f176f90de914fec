"""The unit of length in which rules that are fitted by optimisation see the vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from covmetric._utils.validation import FloatArray


@dataclass(frozen=True)
class Units:
    """The centre of the training vectors, and their root mean square distance from it.

    In these units C does not depend on the scale of the data, and the geometry of the metric is kept: all directions
    are divided by the same number.

    Attributes
    ----------
    centre : array of shape (q,)
        The mean of the training vectors.
    length : float
        The root mean square distance of the training vectors from their mean, or 1 if they are all equal.
    """

    centre: FloatArray
    length: float

    @classmethod
    def of_vectors(cls, vectors: FloatArray) -> Self:
        """Return the units of training vectors.

        Parameters
        ----------
        vectors : array of shape (l, q)
            The training vectors.

        Returns
        -------
        Units
            Their centre and length.

        Raises
        ------
        ValueError
            If squared distances overflow.
        """
        with np.errstate(over="ignore"):
            centre = vectors.mean(axis=0)
            mean_square = float(((vectors - centre) ** 2).sum(axis=1).mean())
        if not np.isfinite(mean_square):
            raise ValueError("squared distances of the examples from their mean overflow: rescale X")
        return cls(centre, float(np.sqrt(mean_square)) or 1.0)

    def apply(self, vectors: FloatArray) -> FloatArray:
        """Return vectors in these units.

        Parameters
        ----------
        vectors : array of shape (l, q)
            The vectors.

        Returns
        -------
        array of shape (l, q)
            The centred vectors, divided by the length.
        """
        return (vectors - self.centre) / self.length
