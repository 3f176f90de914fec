"""The contribution of each pair to the objective: its difference, sign, bound, weight and slack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray
from covmetric.problem.sums import PairSums
from covmetric.slacks import Slack


@dataclass(frozen=True)
class PairTerms:
    """The pairs of a problem, with the bound and the loss of each.

    Attributes
    ----------
    sums : PairSums
        The differences F_k.
    similar : array of shape (K,)
        +1 for similar pairs, -1 for dissimilar pairs.
    bounds : array of shape (K,)
        Bounds b_k on the squared distances.
    weights : array of shape (K,)
        Weights c_k of the losses.
    slack : Slack
        The divergence d that penalises violated bounds.
    """

    sums: PairSums
    similar: FloatArray
    bounds: FloatArray
    weights: FloatArray
    slack: Slack

    def active(self, ratios: FloatArray) -> npt.NDArray[np.bool_]:
        """Return which pairs violate their bound, and therefore contribute to the loss.

        Parameters
        ----------
        ratios : array of shape (K,)
            Squared distances divided by their bounds, s_k.

        Returns
        -------
        array of bool of shape (K,)
        """
        return self.similar * (ratios - 1.0) > 0.0

    @property
    def coincident(self) -> npt.NDArray[np.bool_]:
        """Dissimilar pairs of equal examples (F = 0), which no metric can separate, shape (K,)."""
        return np.asarray((self.similar < 0.0) & (self.sums.squared_norms() == 0.0))
