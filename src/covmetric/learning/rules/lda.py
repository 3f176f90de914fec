"""Linear discriminant analysis on the vectors of the metric."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from covmetric._utils.validation import FloatArray, IntArray
from covmetric.learning.rules.mean import MeanRule
from covmetric.learning.rules.units import Units
from covmetric.learning.shrinkage import ledoit_wolf

# Ledoit and Wolf's shrinkage can be 0 although the scatter is singular, for example with two vectors in each class.
_LEAST_SHRINKAGE = 1e-6


class LdaRule(MeanRule):
    """The nearest class mean after whitening by the shrunk scatter within classes: linear discriminant analysis.

    The scatter is shrunk towards a multiple of the identity by the amount of Ledoit and Wolf, so the geometry of the
    metric counts where there are few vectors. The probabilities are those of `MeanRule` after the whitening; all
    classes have the same prior probability.

    Parameters
    ----------
    n_classes : int
        The number of classes.
    n_neighbors : int, default=3
        Not used.
    n_jobs : int or None, default=None
        Not used.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        Not used.
    C : float, default=1.0
        Not used.
    """

    name = "lda"
    decides_by = "decision boundaries"  # the distances from the class means are not those of the metric
    probability_note = "The probabilities of the discriminant analysis rank the examples, but are not calibrated."

    def fit(self, vectors: FloatArray, codes: IntArray, weights: FloatArray | None = None) -> Self:
        self._units = Units.of_vectors(vectors)
        vectors = self._units.apply(vectors)
        n = vectors.shape[1]
        # Differences of class means lie in the span of the centred vectors, which is smaller if there are few of them.
        self._basis = np.linalg.qr(vectors.T)[0] if n > len(vectors) else None
        coordinates = self._coordinates(vectors)
        present, own = np.unique(codes, return_inverse=True)
        means = np.stack([coordinates[own == c].mean(axis=0) for c in range(len(present))])
        rows = coordinates - means[own]
        scatter = rows.T @ rows / len(rows)
        amount = max(ledoit_wolf(rows, n), _LEAST_SHRINKAGE)
        rest = amount * float(np.trace(scatter)) / n
        shrunk = (1.0 - amount) * scatter + rest * np.eye(len(scatter))
        # Without variation within the classes, the distances are those of the metric.
        self._root = cholesky(shrunk, lower=True) if rest > 0.0 else None
        return super().fit(self._whitened(coordinates), codes, weights)

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        return super().probabilities(self._whitened(self._coordinates(self._units.apply(vectors))))

    def _coordinates(self, vectors: FloatArray) -> FloatArray:
        return vectors if self._basis is None else np.asarray(vectors @ self._basis)

    def _whitened(self, coordinates: FloatArray) -> FloatArray:
        if self._root is None:
            return coordinates
        return np.asarray(solve_triangular(self._root, coordinates.T, lower=True, check_finite=False).T)
