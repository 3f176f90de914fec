"""Examples in the coordinates of a basis: the part of their rounding error in a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray

# The relative error of I + S, or of W, up to which first-order bounds hold.
_SAFE = 0.1


@dataclass(frozen=True)
class CoordinateError:
    """How far examples in the coordinates of a basis Q are from the examples themselves.

    F_k = Q f_k + D_k with the stored coordinates f_k, and Q^T Q = I + E. docs/theory/rounding.md derives the bounds.

    Attributes
    ----------
    examples : array of shape (l,)
        Bounds on the distance of each example, minus the reference of its component, from its coordinates. For a pair
        k = (i, j), ||D_k|| is at most the sum of the bounds of i and j.
    orthogonality : float
        A bound on ||E|| in the Frobenius norm.
    """

    examples: FloatArray
    orthogonality: float

    def deviations(self, pairs: IntArray) -> FloatArray:
        """Return bounds on the norms of D_k.

        Parameters
        ----------
        pairs : array of int of shape (K, 2)
            The pairs.

        Returns
        -------
        array of shape (K,)
        """
        return np.asarray(self.examples[pairs[:, 0]] + self.examples[pairs[:, 1]])

    def ratio_shift(
        self, V: FloatArray, ratios: FloatArray, bounds: FloatArray, squared_norms: FloatArray, pairs: IntArray
    ) -> FloatArray:
        """Return a bound on the error of the squared distances, divided by their bounds.

        Parameters
        ----------
        V : array of shape (r, r)
            The metric in the coordinates of the basis.
        ratios : array of shape (K,)
            The squared distances <f_k f_k^T, V>, divided by their bounds.
        bounds : array of shape (K,)
            The bounds b_k.
        squared_norms : array of shape (K,)
            The squared norms of f_k.
        pairs : array of int of shape (K, 2)
            The pairs.

        Returns
        -------
        array of shape (K,)
        """
        largest = max(1.0, float(np.linalg.norm(V)))
        eta = self.deviations(pairs) + self.orthogonality * np.sqrt(squared_norms)
        first = 2.0 * eta * np.sqrt(largest * np.maximum(ratios, 0.0) / bounds)
        return np.asarray(first + (largest * eta**2 + self.orthogonality * squared_norms) / bounds)

    def primal_error(self, V: FloatArray, inverse: FloatArray) -> float:
        """Return a bound on the error of tr W - log det W.

        Parameters
        ----------
        V : array of shape (r, r)
            The metric in the coordinates of the basis.
        inverse : array of shape (r, r)
            The inverse of a triangular factor of V.

        Returns
        -------
        float
            Infinity if the error is too large for a first-order bound.
        """
        size = float(np.linalg.norm(V)) + 2.0 * np.sqrt(len(V)) + float((inverse**2).sum())
        return _within_reach(self.orthogonality * size)

    def dual_error(self, V: FloatArray, squared: float, gram: FloatArray) -> float:
        """Return a bound on the error of log det(I + S).

        Parameters
        ----------
        V : array of shape (r, r)
            The metric of the multipliers.
        squared : float
            The sum of alpha_k ||D_k||^2 over all pairs, with the bounds of `deviations`.
        gram : array of shape (r, r)
            The sum of alpha_k f_k f_k^T over all pairs.

        Returns
        -------
        float
            Infinity if the error is too large for a first-order bound.
        """
        norm = float(np.linalg.norm(V))
        largest = max(1.0, norm)
        moved = 2.0 * np.sqrt(largest * squared * max(float((gram * V).sum()), 0.0)) + largest * squared
        return _within_reach(self.orthogonality * (np.sqrt(len(V)) + norm) + float(moved))


def _within_reach(error: float) -> float:
    """Return the error, or infinity if second-order terms may matter."""
    return float(error) if error < _SAFE else np.inf
